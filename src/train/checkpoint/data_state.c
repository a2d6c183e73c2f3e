/* Describes the training data for a checkpoint. */
#include "train/checkpoint/data_state.h"

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/value_read.h"
#include "data/dataset/dataset_source.h"
#include "data/source/fingerprint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_FILES = 10000, /* that hold records, each with an entry of its own */
    MAX_OTHERS = 4096, /* entries of other files */
    READ_SIZE = 1 << 16,
    /* The contents of this many bytes are read as a whole: no more than a second or so, once. */
    MAX_WHOLE = 256 << 20,
};

/* Files as they are found. */
typedef struct finder {
    liana__arena *arena;
    const liana__source *source; /* of the files that are being found */
    liana__data_file *files;
    size_t num_files;
    size_t file_capacity;
    liana__data_file *others;
    size_t num_others;
    size_t other_capacity;
    const char *file; /* the last one */
    bool failed;
} finder;

/* Reads a file's state from the file system, or from its server. */
static void look_at(const liana__source *source, const char *path, liana__data_file *file)
{
    struct stat info;
    const char *name = liana__remote_name(path);
    file->bytes = file->time = -1;
    if (stat(path, &info) == 0) {
        file->bytes = (int64_t)info.st_size;
        file->time = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    }
    if (!liana__path_is_remote(name)) return;
    liana__remote_version version = liana__remote_version_of(source->remote, name);
    liana__fingerprint hash = {0};
    liana__fingerprint_add_text(&hash, version.text);
    file->time = (int64_t)(hash.words[0] >> 1);
}

static liana__data_file *add_file(finder *own, liana__data_file **list, size_t *count, size_t *capacity,
                                  const char *path, const char *name)
{
    const char **paths = liana__arena_allocate(own->arena, sizeof *paths);
    if (!paths || !liana__grow(list, *count, capacity, sizeof **list)) {
        own->failed = true;
        return NULL;
    }
    *paths = path;
    liana__data_file *file = &(*list)[(*count)++];
    *file = (liana__data_file){.name = name, .paths = paths, .count = 1, .contents = -1};
    look_at(own->source, path, file);
    return file;
}

static void add_other(void *user, const char *path, const char *name, bool whole)
{
    finder *own = user;
    if (own->failed) return;
    liana__data_file *file = add_file(own, &own->others, &own->num_others, &own->other_capacity, path, name);
    if (file) file->whole = whole;
}

static void add_source(void *user, const liana__source *source)
{
    finder *own = user;
    own->file = NULL;
    own->source = source;
    liana__source_visit_files(source, add_other, own);
    for (uint64_t i = 0; i < source->num_records && !own->failed; i++) {
        liana_record_address address = liana__source_local_address(source, i);
        if (address.record < 0) break; /* the files are the examples, and were visited */
        bool same = own->file && (own->file == address.file || strcmp(own->file, address.file) == 0);
        if (!same) {
            const char *name = liana__path_name(liana__remote_name(address.file));
            liana__data_file *file =
                add_file(own, &own->files, &own->num_files, &own->file_capacity, address.file, name);
            if (file) file->whole = source->kind->named_only;
        }
        own->file = address.file;
        if (!own->failed) own->files[own->num_files - 1].records++;
    }
}

/* ---- neighbours as one ---- */

static void add_to(liana__fingerprint *hash, const liana__data_file *file, bool times)
{
    if (times) {
        liana__fingerprint_add(hash, &file->time, sizeof file->time);
    } else {
        liana__fingerprint_add_text(hash, file->name);
        liana__fingerprint_add(hash, &file->bytes, sizeof file->bytes);
    }
}

static bool join(const liana__data_file *files, size_t count, liana__arena *arena, liana__data_file *joined)
{
    liana__fingerprint names = {0}, times = {0};
    *joined = files[0];
    if (count == 1) return true;
    const char **paths = liana__arena_allocate(arena, count * sizeof *paths);
    if (!paths) return false;
    joined->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        add_to(&names, &files[i], false);
        add_to(&times, &files[i], true);
        joined->bytes += files[i].bytes > 0 ? files[i].bytes : 0;
        joined->whole = joined->whole && files[i].whole;
        paths[i] = files[i].paths[0];
    }
    joined->paths = paths;
    joined->count = (int64_t)count;
    joined->last = files[count - 1].name;
    joined->names = (int64_t)(names.words[0] >> 1);
    joined->time = (int64_t)(times.words[0] >> 1);
    return true;
}

static bool join_all(const liana__data_file *files, size_t count, liana__arena *arena, liana__data_list *list)
{
    size_t size = (count + MAX_OTHERS - 1) / MAX_OTHERS;
    list->items = liana__arena_allocate(arena, (count + 1) * sizeof *list->items);
    if (!list->items) return false;
    for (size_t first = 0; first < count; first += size) {
        size_t some = count - first < size ? count - first : size;
        if (!join(files + first, some, arena, &list->items[list->count++])) return false;
    }
    return true;
}

static int64_t bytes_of(const liana__data_list *list)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < list->count; i++) bytes += list->items[i].bytes > 0 ? list->items[i].bytes : 0;
    return bytes;
}

static bool fill_state(finder *own, liana__data_state *state)
{
    bool single = own->num_files <= MAX_FILES;
    if (!single) {
        for (size_t i = 0; i < own->num_files; i++) {
            if (!liana__grow(&own->others, own->num_others, &own->other_capacity, sizeof *own->others)) return false;
            own->others[own->num_others++] = own->files[i];
        }
    } else if (own->num_files) {
        state->files.items = liana__arena_copy(own->arena, own->files, own->num_files * sizeof *own->files);
        state->files.count = own->num_files;
        if (!state->files.items) return false;
    }
    if (!join_all(own->others, own->num_others, own->arena, &state->others)) return false;
    state->num_others = (int64_t)own->num_others;
    state->samples = bytes_of(&state->files) + bytes_of(&state->others) > MAX_WHOLE;
    return true;
}

liana_status liana__data_state_find(const liana__source *source, liana__arena *arena, liana__data_state *state,
                                    liana__error *error)
{
    *state = (liana__data_state){.num_records = (int64_t)source->num_records};
    finder own = {.arena = arena};
    liana__dataset_view_sources(source, add_source, &own);
    bool enough = !own.failed && fill_state(&own, state);
    free(own.files);
    free(own.others);
    return enough ? LIANA_OK : liana__fail_memory(error, "the state of the data");
}

/* ---- contents ---- */

/* Goes on with the checksum over [from, to) of an open file. */
static bool add_range(int descriptor, int64_t from, int64_t to, uint32_t *crc)
{
    uint8_t buffer[READ_SIZE];
    for (int64_t at = from; at < to;) {
        size_t size = to - at < READ_SIZE ? (size_t)(to - at) : READ_SIZE;
        if (!liana__file_read_at(descriptor, (size_t)at, buffer, size)) return false;
        *crc = liana__crc32c_extend(*crc, buffer, size);
        at += (int64_t)size;
    }
    return true;
}

/* All of a file, or its beginning and its end. */
static bool add_contents(const char *path, bool whole, uint32_t *crc)
{
    struct stat info;
    int descriptor = liana__open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (descriptor < 0) return false;
    bool done = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
    int64_t size = done ? (int64_t)info.st_size : 0, head = whole || size <= 2 * READ_SIZE ? size : READ_SIZE;
    if (done) done = add_range(descriptor, 0, head, crc);
    if (done && head < size) done = add_range(descriptor, size - READ_SIZE, size, crc);
    close(descriptor);
    return done;
}

void liana__data_file_read_contents(liana__data_file *file, bool samples)
{
    uint32_t crc = 0;
    bool whole = file->whole || !samples;
    /* Of several files a sample is the first one. */
    int64_t count = whole ? file->count : 1;
    file->contents = -1;
    for (int64_t i = 0; i < count; i++) {
        if (!add_contents(file->paths[i], whole, &crc)) return;
    }
    file->contents = crc;
}

void liana__data_state_read_contents(liana__data_state *state)
{
    const liana__data_list *lists[] = {&state->files, &state->others};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            liana__data_file *file = &lists[k]->items[i];
            if (file->contents < 0) liana__data_file_read_contents(file, state->samples);
        }
    }
}

/* ---- as a value ---- */

static void set_number(liana__arena *arena, liana__value *row, const char *key, int64_t number)
{
    liana__value_set(arena, row, key, liana__value_int(arena, number));
}

static liana__value *file_value(const liana__data_file *file, liana__arena *arena)
{
    liana__value *row = liana__value_map(arena);
    liana__value_set(arena, row, "name", liana__value_string(arena, file->name));
    if (file->last) {
        liana__value_set(arena, row, "last", liana__value_string(arena, file->last));
        set_number(arena, row, "files", file->count);
        set_number(arena, row, "names", file->names);
    }
    set_number(arena, row, "bytes", file->bytes);
    if (file->records) set_number(arena, row, "records", file->records);
    set_number(arena, row, "time", file->time);
    set_number(arena, row, "contents", file->contents);
    return row;
}

static void set_list(liana__arena *arena, liana__value *map, const char *key, const liana__data_list *files)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < files->count; i++) liana__value_add(arena, list, file_value(&files->items[i], arena));
    liana__value_set(arena, map, key, list);
}

liana__value *liana__data_state_value(const liana__data_state *state, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    set_number(arena, map, "records", state->num_records);
    liana__value_set(arena, map, "contents", liana__value_string(arena, state->samples ? "samples" : "whole"));
    set_list(arena, map, "files", &state->files);
    set_number(arena, map, "num_others", state->num_others);
    set_list(arena, map, "others", &state->others);
    return map;
}

/* ---- compared with the state that a checkpoint records ---- */

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
                 show_time(liana__value_int_of(before, "time", -1)).text);
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
    int64_t time = liana__value_int_of(before, "time", -1),
            contents = same_way ? liana__value_int_of(before, "contents", -1) : -1;
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
    int64_t bytes = liana__value_int_of(before, "bytes", -1), records = liana__value_int_of(before, "records", -1);
    const char *name = liana__value_text_of(before, "name", "");
    char what[400];
    bool same_size = bytes == now->bytes || bytes < 0 || now->bytes < 0;
    bool same_records = records == now->records || (records < 0 && !now->records);
    if (strcmp(name, now->name) != 0) {
        snprintf(what, sizeof what, "'%.120s' is in the place of '%.120s'", now->name, name);
        return fail_changed(what, error);
    }
    if (now->last && (liana__value_int_of(before, "names", -1) != now->names || !same_size)) {
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
                 liana__value_text_of(recorded->items[now->count], "name", ""), count, now->count);
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
    int64_t before = liana__value_int_of(recorded, "num_others", -1);
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
    bool same_way = strcmp(liana__value_text_of(recorded, "contents", ""), now->samples ? "samples" : "whole") == 0;
    doubts doubt = {0};
    LIANA_TRY(check_list(liana__value_list_of(recorded, "files"), &now->files, now, same_way, &doubt, error));
    LIANA_TRY(check_number(recorded, now, error));
    LIANA_TRY(check_list(liana__value_list_of(recorded, "others"), &now->others, now, same_way, &doubt, error));
    now->note[0] = 0;
    if (doubt.count) {
        snprintf(now->note, sizeof now->note,
                 "%lld files of the training data, first '%.120s', have other times than when the checkpoint was "
                 "written; names, sizes and the compared parts of their contents are the same",
                 (long long)doubt.count, doubt.first);
    }
    int64_t records = liana__value_int_of(recorded, "records", -1);
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
