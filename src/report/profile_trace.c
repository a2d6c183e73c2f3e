/* The trace, as "Trace Event Format" (Duan, Chromium project): complete events in microseconds. */
#include "base/file.h"
#include "base/scoped.h"
#include "base/value.h"
#include "remote/store.h"
#include "report/reports.h"

#include <stdio.h>

enum { PROCESS = 1 };

static void add_string(liana__text *text, const char *string)
{
    liana__value value = {.kind = LIANA__VALUE_STRING, .string = string};
    liana__value_write_json(&value, 0, text);
}

static void name_track(const liana__profile *profile, size_t track, liana__text *text)
{
    size_t workers = (size_t)profile->num_workers;
    char name[64];
    if (track < workers) {
        snprintf(name, sizeof name, "worker %zu", track);
    } else if (track == workers) {
        snprintf(name, sizeof name, "steps");
    } else {
        snprintf(name, sizeof name, "input %zu", track - workers - 1);
    }
    liana__text_add(text, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%zu,\"args\":{\"name\":", PROCESS,
                    track);
    add_string(text, name);
    /* Steps on top, then workers, then input. */
    liana__text_add(text,
                    "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%zu,\"args\":{\"sort_index\":"
                    "%zu}},\n",
                    PROCESS, track, track == workers ? 0 : track + 1);
}

static void add_node(const liana__event *event, liana__text *text)
{
    const liana__node *node = event->subject;
    const liana__kernel *kernel = event->how;
    liana__profile_row row = {.node = node, .cost = liana__node_cost(node)};
    const bool packs = event->kind == LIANA__EVENT_PACK;
    char op[128], name[160];
    liana__profile_op_name(&row, op, sizeof op);
    snprintf(name, sizeof name, "%s%s", packs ? "pack for " : "", op);
    liana__text_add(text, "\"cat\":\"node\",\"name\":");
    add_string(text, name);
    liana__text_add(text, ",\"args\":{\"node\":%u,\"type\":", node->id);
    add_string(text, liana__type_print(node->dtype, &node->shape).text);
    liana__text_add(text, ",\"kernel\":");
    add_string(text, kernel->name);
    liana__text_add(text, ",\"variable\":");
    add_string(text, liana__profile_variable_name(node));
    liana__text_add(text, ",\"flops\":%.0f,\"bytes\":%.0f}", packs ? 0 : row.cost.flops, packs ? 0 : row.cost.bytes);
}

static void add_event(const liana__profile *profile, const liana__profile_event *item, liana__text *text)
{
    static const char *const names[LIANA__NUM_EVENTS] = {
        [LIANA__EVENT_SHARD] = "shard",   [LIANA__EVENT_REDUCE] = "add gradients",
        [LIANA__EVENT_SHARDS] = "shards", [LIANA__EVENT_ADD] = "add a gradient",
        [LIANA__EVENT_UPDATE] = "update", [LIANA__EVENT_WAIT] = "wait for input",
        [LIANA__EVENT_STEP] = "step",     [LIANA__EVENT_READ] = "read"};
    const liana__event *event = &item->event;
    double begin = ((double)event->begin - (double)profile->begin) * 1e-3;
    liana__text_add(text, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,", PROCESS, item->track, begin,
                    (double)(event->end - event->begin) * 1e-3);
    if (event->kind == LIANA__EVENT_NODE || event->kind == LIANA__EVENT_PACK) {
        add_node(event, text);
    } else {
        liana__text_add(text, "\"cat\":\"phase\",\"name\":\"%s\",\"args\":{\"%s\":%u}", names[event->kind],
                        event->kind == LIANA__EVENT_READ ? "examples" : "number", event->number);
    }
    liana__text_add(text, "},\n");
}

enum { PIECE = 1 << 16 };

/* Without a writer all stays in the text. */
static liana_status flush(liana__file_writer *writer, liana__text *text, size_t least, liana__error *error)
{
    if (text->failed) return liana__fail_memory(error, "the trace");
    if (!writer || text->length < least) return LIANA_OK;
    LIANA_TRY(liana__file_write(writer, text->data, text->length, error));
    text->length = 0;
    return LIANA_OK;
}

static liana_status write_events(const liana__profile *profile, liana__file_writer *writer, liana__text *text,
                                 liana__error *error)
{
    liana__text_add(text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    size_t tracks = (size_t)(profile->num_workers + 1 + profile->num_readers);
    for (size_t i = 0; i < tracks; i++) name_track(profile, i, text);
    for (size_t i = 0; i < profile->num_events; i++) {
        add_event(profile, &profile->events[i], text);
        LIANA_TRY(flush(writer, text, PIECE, error));
    }
    /* Last, because a list's last item has no comma behind it. */
    liana__text_add(text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"liana\"}}\n]}\n",
                    PROCESS);
    return flush(writer, text, 1, error);
}

/* An object of a bucket is sent whole. */
static liana_status send_trace(const liana__profile *profile, const char *url, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    LIANA_TRY(write_events(profile, NULL, &text, error));
    return liana__store_replace(url, text.data, text.length, error);
}

liana_status liana__profile_write_trace(const liana__profile *profile, const char *path, liana__error *error)
{
    if (liana__path_is_remote(path)) return send_trace(profile, path, error);
    liana__file_writer writer;
    liana__text text = {0};
    LIANA_TRY(liana__file_begin(&writer, path, error));
    liana_status status = write_events(profile, &writer, &text, error);
    liana__text_free(&text);
    if (status == LIANA_OK) return liana__file_commit(&writer, false, error);
    liana__file_abandon(&writer);
    return status;
}
