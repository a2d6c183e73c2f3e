/* Describes TensorBoard's event files for liana inspect. */
#include "base/memory.h"
#include "base/scoped.h"
#include "cli/inspect/inspect.h"
#include "formats/event.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A file may have any number of tags; a report does not. */
enum { MAX_TAGS = 1000 };

typedef struct tag_sum {
    const char *tag;
    const char *kind;
    int64_t values;
    int64_t first_step, last_step;
    bool has_number;
    double last;
} tag_sum;

typedef struct survey {
    liana__arena *arena;
    liana__tallies kinds;
    tag_sum tags[MAX_TAGS];
    size_t num_tags;
    const char *version;
    double first_time, last_time;
    int64_t first_step, last_step;
    size_t num_events;
    size_t num_damaged, num_others;
    liana__error first_damage, first_other;
} survey;

static void add_value(survey *all, const liana__event_record *event, const liana__event_value *value)
{
    size_t i = 0;
    while (i < all->num_tags && strcmp(all->tags[i].tag, value->tag) != 0) i++;
    if (i == MAX_TAGS) return;
    tag_sum *sum = &all->tags[i];
    if (i == all->num_tags) {
        const char *tag = liana__arena_string(all->arena, value->tag),
                   *kind = liana__arena_string(all->arena, value->kind);
        if (!tag || !kind) return;
        all->num_tags++;
        *sum = (tag_sum){.tag = tag, .kind = kind, .first_step = event->step};
    }
    sum->values++;
    sum->last_step = event->step;
    sum->has_number = value->has_number;
    sum->last = value->number;
}

static void add_event(survey *all, const liana__event_record *event)
{
    if (all->num_events++ == 0) {
        all->first_time = event->wall_time;
        all->first_step = event->step;
    }
    all->last_time = event->wall_time;
    all->last_step = event->step;
    if (event->file_version && !all->version) all->version = liana__arena_string(all->arena, event->file_version);
    liana__tallies_add(&all->kinds, event->what, 0);
    for (size_t i = 0; i < event->num_values; i++) add_value(all, event, &event->values[i]);
}

static void look_at(survey *all, const liana__tfrecord *file, size_t record)
{
    const uint8_t *bytes;
    size_t size;
    liana__error error = {0};
    liana__event_record event = {0};
    if (liana__tfrecord_get(file, record, &bytes, &size, &error) != LIANA_OK) {
        if (all->num_damaged++ == 0) all->first_damage = error;
    } else if (liana__event_parse(bytes, size, &event, &error) != LIANA_OK) {
        if (all->num_others++ == 0) all->first_other = error;
    } else {
        add_event(all, &event);
    }
    liana__event_free(&event);
}

static void report_time(liana__value *report, const char *key, double seconds, liana__arena *arena)
{
    char text[40];
    struct tm parts;
    const time_t whole = seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    if (!gmtime_r(&whole, &parts) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)) return;
    liana__findings_text(arena, report, key, liana__arena_string(arena, text));
}

static void report_tags(const survey *all, liana__value *report)
{
    liana__arena *arena = all->arena;
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < all->num_tags; i++) {
        const tag_sum *sum = &all->tags[i];
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "tag", sum->tag);
        liana__findings_text(arena, row, "kind", sum->kind);
        liana__findings_int(arena, row, "values", sum->values);
        liana__findings_int(arena, row, "first_step", sum->first_step);
        liana__findings_int(arena, row, "last_step", sum->last_step);
        if (sum->has_number) liana__findings_number(arena, row, "last_value", sum->last);
        liana__value_add(arena, rows, row);
    }
    if (all->num_tags) liana__value_set(arena, report, "tags", rows);
}

static void report_survey(survey *all, liana__value *report)
{
    liana__arena *arena = all->arena;
    liana__findings_int(arena, report, "wrong_checksums", (int64_t)all->num_damaged);
    if (all->num_others) {
        liana__findings_int(arena, report, "records_that_are_no_event", (int64_t)all->num_others);
        liana__findings_text(arena, report, "first_of_them", liana__arena_string(arena, all->first_other.message));
    }
    liana__findings_text(arena, report, "version", all->version);
    if (all->num_events) {
        report_time(report, "first_time", all->first_time, arena);
        report_time(report, "last_time", all->last_time, arena);
        liana__findings_int(arena, report, "first_step", all->first_step);
        liana__findings_int(arena, report, "last_step", all->last_step);
    }
    liana__tallies_report(&all->kinds, "event", "records", false, "events", report, arena);
    report_tags(all, report);
}

bool liana__inspect_is_event_file(const liana__tfrecord *file)
{
    const uint8_t *bytes;
    size_t size;
    return liana__tfrecord_count(file) && liana__tfrecord_get(file, 0, &bytes, &size, NULL) == LIANA_OK &&
           liana__event_begins_file(bytes, size);
}

liana_status liana__inspect_events(const liana__tfrecord *file, liana__value *report, liana__arena *arena,
                                   liana__error *error)
{
    LIANA__SCOPED_MEMORY survey *all = calloc(1, sizeof *all);
    if (!all) return liana__fail_memory(error, "the events");
    all->arena = arena;
    for (size_t record = 0; record < liana__tfrecord_count(file); record++) look_at(all, file, record);
    report_survey(all, report);
    if (!all->num_damaged) return LIANA_OK;
    if (error) *error = all->first_damage;
    return all->first_damage.status;
}
