/* Describes the training data for a checkpoint. */
#include "train/checkpoint/data_state.h"

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "data/dataset/dataset_source.h"
#include "data/source/fingerprint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
