/* RemoteMonitor: sends the loss and the metrics of each epoch to a server, as Keras's callback of this name does. A
 * server that does not answer is told, and the training goes on. */
#include "base/scoped.h"
#include "formats/json.h"
#include "remote/post.h"
#include "train/callbacks/callback.h"

#include <ctype.h>

typedef struct monitor_options {
    const char *root, *path, *field;
    const liana__value *headers;
    bool send_as_json;
} monitor_options;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(monitor_options, root, STRING, .default_text = "http://localhost:9000", .doc = "The server."),
    LIANA_OPTION_ROW(monitor_options, path, STRING, .default_text = "/publish/epoch/end/",
                     .doc = "The path that is appended to it."),
    LIANA_OPTION_ROW(monitor_options, field, STRING, .default_text = "data",
                     .doc = "The field of the form that has the values, as JSON; with send_as_json there is none."),
    LIANA_OPTION_ROW(monitor_options, headers, VALUE, .doc = "Further headers: {NAME: text}."),
    LIANA_OPTION_ROW(monitor_options, send_as_json, BOOL, .default_text = "false",
                     .doc = "Whether the request is JSON itself, and not a form."),
};

enum { MOST_HEADERS = 16 };

static liana_status check(liana_check *check)
{
    const monitor_options *options = check->options;
    const liana__value *headers = options->headers;
    const bool is_url = strncmp(options->root, "http://", 7) == 0 || strncmp(options->root, "https://", 8) == 0;
    if (!is_url) {
        return liana_option_refuse(check, "root", "found '%.100s', expected http:// or https:// and a server",
                                   options->root);
    }
    if (!headers || headers->kind == LIANA__VALUE_NULL) return LIANA_OK;
    bool fits = headers->kind == LIANA__VALUE_MAP && headers->count <= MOST_HEADERS;
    for (size_t i = 0; fits && i < headers->count; i++) fits = headers->items[i]->kind == LIANA__VALUE_STRING;
    if (fits) return LIANA_OK;
    return liana_option_refuse(check, "headers", "expected at most %d texts by name: {NAME: text}", MOST_HEADERS);
}

/* {"loss": 0.5, "val_loss": 0.6, "epoch": 0}; Keras counts epochs from 0. */
static void add_values(const liana_fit_context *context, liana__arena *arena, liana__value *map)
{
    const liana__training *training = context->training;
    const liana__totals *totals[] = {context->totals, context->validation};
    for (size_t part = 0; part < 2; part++) {
        if (!totals[part] || !totals[part]->count) continue;
        for (size_t i = 0; i <= training->num_metrics; i++) {
            const char *name = i ? training->metric_names[i - 1] : "loss";
            const char *key = liana__arena_format(arena, "%s%s", part ? "val_" : "", name);
            if (!key) return;
            liana__value_set(arena, map, key, liana__value_float(arena, liana__totals_value(totals[part], i)));
        }
    }
    liana__value_set(arena, map, "epoch", liana__value_int(arena, context->epoch - 1));
}

/* The form: "data=%7B...". */
static void add_encoded(liana__text *text, const char *plain)
{
    for (; *plain; plain++) {
        const unsigned char letter = (unsigned char)*plain;
        liana__text_add(text, isalnum(letter) ? "%c" : "%%%02X", letter);
    }
}

static liana_status send(void *user, bool is_chief, liana__error *error)
{
    const liana_callback_item *item = ((const void *const *)user)[0];
    const liana_fit_context *context = ((const void *const *)user)[1];
    const monitor_options *options = item->options;
    const char *headers[2 * MOST_HEADERS + 1] = {0};
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) json = {0};
    LIANA__SCOPED(liana__text) form = {0};
    LIANA__SCOPED(liana__text) url = {0};
    if (!is_chief) return LIANA_OK;
    liana__value *map = liana__value_map(&arena);
    if (map) add_values(context, &arena, map);
    if (!map || arena.failed) return liana__fail_memory(error, "the monitor");
    liana__value_write_json(map, 0, &json);
    liana__text_add(&form, "%s=", options->field);
    if (json.data) add_encoded(&form, json.data);
    liana__text_add(&url, "%s%s", options->root, options->path);
    for (size_t i = 0; options->headers && i < options->headers->count; i++) {
        headers[2 * i] = options->headers->keys[i];
        headers[2 * i + 1] = options->headers->items[i]->string;
    }
    if (json.failed || form.failed || url.failed) return liana__fail_memory(error, "the monitor");
    const liana__posting posting = {url.data,
                                    options->send_as_json ? "application/json" : "application/x-www-form-urlencoded",
                                    headers, options->send_as_json ? json.data : form.data};
    liana__error failed = {0};
    const liana_status status = liana__remote_post(&posting, &failed);
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, "the monitor");
    liana__note(&context->notes, "RemoteMonitor does not reach its server: %s", failed.message);
    return LIANA_OK;
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const void *both[] = {item, context};
    return liana__chief_does(context->training->cluster, send, (void *)both, context->error);
}

const liana_callback_type liana__callback_RemoteMonitor = {
    LIANA_PART(CALLBACK, liana_callback_type, "RemoteMonitor",
               "Sends the loss and the metrics of each epoch to a server by HTTP.",
               LIANA_PART_OPTIONS(monitor_options, fields), .check = check),
    .on = {[LIANA_ON_EPOCH_END] = epoch_end},
};
