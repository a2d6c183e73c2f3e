/* Compares the training data with the state that a checkpoint records. */
#include "train/checkpoint/data_state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const liana__value *value_at(const liana__value *map, const char *key, liana__value_kind kind)
{
    const liana__value *value = map && map->kind == LIANA__VALUE_MAP ? liana__value_get(map, key) : NULL;
    return value && value->kind == kind ? value : NULL;
}

static int64_t number_at(const liana__value *map, const char *key)
{
    const liana__value *value = value_at(map, key, LIANA__VALUE_INT);
    return value ? value->integer : -1;
}

static const char *text_at(const liana__value *map, const char *key)
{
    const liana__value *value = value_at(map, key, LIANA__VALUE_STRING);
    return value ? value->string : "";
}

static liana_status fail_changed(const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA, "the training data have changed since the checkpoint: %s", what);
}

/* A time for people. */
typedef struct time_text {
    char text[48];
} time_text;

static time_text show_time(int64_t nanoseconds)
{
    time_text shown = {"another time"};
    time_t seconds = (time_t)(nanoseconds / 1000000000);
    struct tm fields;
    if (nanoseconds < 0 || !gmtime_r(&seconds, &fields)) return shown;
    if (!strftime(shown.text, sizeof shown.text, "%Y-%m-%d %H:%M:%S UTC", &fields)) shown.text[0] = 0;
    return shown;
}

static liana_status fail_contents(const liana__value *before, const liana__data_file *now, liana__error *error)
{
    char what[600];
    if (now->last) {
        snprintf(what, sizeof what,
                 "of the %lld files from '%.120s' to '%.120s', at least one has other contents with the same size",
                 (long long)now->count, now->name, now->last);
    } else if (liana__path_is_remote(liana__remote_name(now->paths[0]))) {
        snprintf(what, sizeof what, "'%.120s' has other contents on its server, with the same %lld bytes", now->name,
                 (long long)now->bytes);
    } else {
        snprintf(what, sizeof what,
                 "'%.120s' has other contents with the same %lld bytes: it was changed at %s, the recorded one at %s",
                 now->name, (long long)now->bytes, show_time(now->time).text,
                 show_time(number_at(before, "time")).text);
    }
    return fail_changed(what, error);
}

/* How many files have other times, while nothing of them is known to differ. */
typedef struct doubts {
    int64_t count;
    const char *first;
} doubts;

/* Names and sizes are the same. */
static liana_status check_contents(const liana__value *before, liana__data_file *now, const liana__data_state *state,
                                   bool same_way, doubts *doubt, liana__error *error)
{
    int64_t time = number_at(before, "time"), contents = same_way ? number_at(before, "contents") : -1;
    if (time < 0) return LIANA_OK; /* an older liana's */
    if (time == now->time) {
        now->contents = contents;
        return LIANA_OK;
    }
    liana__data_file_read_contents(now, state->samples);
    bool known = contents >= 0 && now->contents >= 0;
    if (known && contents != now->contents) return fail_contents(before, now, error);
    if (known && (now->whole || !state->samples)) return LIANA_OK;
    if (!doubt->count) doubt->first = now->name;
    doubt->count += now->count;
    return LIANA_OK;
}

static liana_status check_file(const liana__value *before, const liana__data_file *now, liana__error *error)
{
    int64_t bytes = number_at(before, "bytes"), records = number_at(before, "records");
    const char *name = text_at(before, "name");
    char what[400];
    bool same_size = bytes == now->bytes || bytes < 0 || now->bytes < 0;
    bool same_records = records == now->records || (records < 0 && !now->records);
    if (strcmp(name, now->name) != 0) {
        snprintf(what, sizeof what, "'%.120s' is in the place of '%.120s'", now->name, name);
        return fail_changed(what, error);
    }
    if (now->last && (number_at(before, "names") != now->names || !same_size)) {
        snprintf(what, sizeof what,
                 "of the %lld files from '%.120s' to '%.120s', at least one has another name or size",
                 (long long)now->count, now->name, now->last);
        return fail_changed(what, error);
    }
    if (same_size && same_records) return LIANA_OK;
    if (now->records) {
        snprintf(what, sizeof what, "'%.120s' had %lld records in %lld bytes, and now has %lld in %lld", name,
                 (long long)records, (long long)bytes, (long long)now->records, (long long)now->bytes);
    } else {
        snprintf(what, sizeof what, "'%.120s' had %lld bytes, and now has %lld", name, (long long)bytes,
                 (long long)now->bytes);
    }
    return fail_changed(what, error);
}

static liana_status check_list(const liana__value *recorded, const liana__data_list *now, liana__data_state *state,
                               bool same_way, doubts *doubt, liana__error *error)
{
    size_t count = recorded ? recorded->count : 0;
    char what[400];
    for (size_t i = 0; i < count && i < now->count; i++) {
        LIANA_TRY(check_file(recorded->items[i], &now->items[i], error));
    }
    if (count < now->count && count) {
        snprintf(what, sizeof what, "'%.120s' is new: there were %zu files, now there are %zu", now->items[count].name,
                 count, now->count);
        return fail_changed(what, error);
    }
    if (count > now->count && now->count) {
        snprintf(what, sizeof what, "'%.120s' is missing: there were %zu files, now there are %zu",
                 text_at(recorded->items[now->count], "name"), count, now->count);
        return fail_changed(what, error);
    }
    for (size_t i = 0; i < count && i < now->count; i++) {
        LIANA_TRY(check_contents(recorded->items[i], &now->items[i], state, same_way, doubt, error));
    }
    return LIANA_OK;
}

/* Where neighbours were joined, as many were joined as the number of files says. */
static liana_status check_number(const liana__value *recorded, const liana__data_state *now, liana__error *error)
{
    int64_t before = number_at(recorded, "num_others");
    bool joined = now->others.count && now->others.items[0].last;
    if (before < 0 || before == now->num_others || !joined) return LIANA_OK;
    char what[120];
    snprintf(what, sizeof what, "there were %lld files, now there are %lld", (long long)before,
             (long long)now->num_others);
    return fail_changed(what, error);
}

static liana_status check_state(const liana__value *recorded, liana__data_state *now, liana__error *error)
{
    if (!recorded || recorded->kind != LIANA__VALUE_MAP) return LIANA_OK;
    bool same_way = strcmp(text_at(recorded, "contents"), now->samples ? "samples" : "whole") == 0;
    doubts doubt = {0};
    LIANA_TRY(check_list(value_at(recorded, "files", LIANA__VALUE_LIST), &now->files, now, same_way, &doubt, error));
    LIANA_TRY(check_number(recorded, now, error));
    LIANA_TRY(check_list(value_at(recorded, "others", LIANA__VALUE_LIST), &now->others, now, same_way, &doubt, error));
    now->note[0] = 0;
    if (doubt.count) {
        snprintf(now->note, sizeof now->note,
                 "%lld files of the training data, first '%.120s', have other times than when the checkpoint was "
                 "written; names, sizes and the compared parts of their contents are the same",
                 (long long)doubt.count, doubt.first);
    }
    int64_t records = number_at(recorded, "records");
    if (records < 0 || records == now->num_records) return LIANA_OK;
    char what[160];
    snprintf(what, sizeof what, "there were %lld examples, now there are %lld", (long long)records,
             (long long)now->num_records);
    return fail_changed(what, error);
}

liana_status liana__data_state_check(const liana__value *recorded, liana__data_state *now, liana__error *error)
{
    liana__error changed = {0};
    liana_status status = check_state(recorded, now, &changed);
    if (status == LIANA_INVALID_DATA && now->may_change) {
        snprintf(now->note, sizeof now->note, "other training data, which is allowed: %.400s", changed.message);
        return LIANA_OK;
    }
    if (status == LIANA_INVALID_DATA) {
        return liana__fail(error, status, "%.1800s; restore the old data, or begin another run", changed.message);
    }
    if (status != LIANA_OK && error) *error = changed;
    return status;
}
