#include "train/data_state.h"

#include "data/dataset_source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 10000 };

/* Files as they are found. */
typedef struct finder {
    liana__arena *arena;
    liana__data_state *state;
    size_t capacity;
    const char *file; /* the last one */
    bool single;      /* examples that are files */
    bool failed;
} finder;

static int64_t size_of(const char *file)
{
    struct stat info;
    return !liana__path_is_remote(file) && stat(file, &info) == 0 ? (int64_t)info.st_size : -1;
}

static bool add_file(finder *own, const char *file)
{
    liana__data_state *state = own->state;
    if (state->num_files == own->capacity) {
        size_t capacity = 2 * own->capacity + 8;
        liana__data_file *bigger = liana__arena_allocate(own->arena, capacity * sizeof *bigger);
        if (!bigger) return false;
        if (state->num_files) memcpy(bigger, state->files, state->num_files * sizeof *bigger);
        state->files = bigger;
        own->capacity = capacity;
    }
    const char *name = liana__arena_string(own->arena, liana__path_name(file));
    state->files[state->num_files++] = (liana__data_file){name, size_of(file), 0};
    return name;
}

static void add_source(void *user, const liana__source *source)
{
    finder *own = user;
    own->file = NULL;
    for (uint64_t i = 0; i < source->num_records && !own->single && !own->failed; i++) {
        liana__record_address address = liana__source_address(source, i);
        own->single = address.record < 0 || own->state->num_files > MAX_FILES;
        if (own->single) break;
        bool same = own->file && (own->file == address.file || strcmp(own->file, address.file) == 0);
        if (!same) own->failed = !add_file(own, address.file);
        own->file = address.file;
        if (!own->failed) own->state->files[own->state->num_files - 1].records++;
    }
}

liana_status liana__data_state_find(const liana__source *source, liana__arena *arena, liana__data_state *state,
                                    liana__error *error)
{
    *state = (liana__data_state){.num_records = (int64_t)source->num_records};
    finder own = {.arena = arena, .state = state};
    liana__dataset_view_sources(source, add_source, &own);
    if (own.single) state->num_files = 0;
    return own.failed ? liana__fail_memory(error, "the state of the data") : LIANA_OK;
}

liana__value *liana__data_state_value(const liana__data_state *state, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *list = liana__value_list(arena);
    liana__value_set(arena, map, "records", liana__value_int(arena, state->num_records));
    for (size_t i = 0; i < state->num_files; i++) {
        const liana__data_file *file = &state->files[i];
        liana__value *row = liana__value_map(arena);
        liana__value_set(arena, row, "name", liana__value_string(arena, file->name));
        liana__value_set(arena, row, "bytes", liana__value_int(arena, file->bytes));
        liana__value_set(arena, row, "records", liana__value_int(arena, file->records));
        liana__value_add(arena, list, row);
    }
    liana__value_set(arena, map, "files", list);
    return map;
}

/* ---- comparing ---- */

static int64_t number_at(const liana__value *map, const char *key)
{
    const liana__value *value = map && map->kind == LIANA__VALUE_MAP ? liana__value_get(map, key) : NULL;
    return value && value->kind == LIANA__VALUE_INT ? value->integer : -1;
}

static const char *name_at(const liana__value *map)
{
    const liana__value *value = map && map->kind == LIANA__VALUE_MAP ? liana__value_get(map, "name") : NULL;
    return value && value->kind == LIANA__VALUE_STRING ? value->string : "";
}

static liana_status fail_changed(const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the training data are not those that it was trained on: %s; put the former data back, or begin "
                       "another run",
                       what);
}

static liana_status check_file(const liana__value *before, const liana__data_file *now, liana__error *error)
{
    int64_t bytes = number_at(before, "bytes"), records = number_at(before, "records");
    const char *name = name_at(before);
    char what[400];
    bool same_size = bytes == now->bytes || bytes < 0 || now->bytes < 0;
    if (strcmp(name, now->name) == 0 && records == now->records && same_size) return LIANA_OK;
    if (strcmp(name, now->name) != 0) {
        snprintf(what, sizeof what, "'%.120s' is where '%.120s' was", now->name, name);
    } else {
        snprintf(what, sizeof what, "'%.120s' had %lld records in %lld bytes, and has %lld in %lld now", name,
                 (long long)records, (long long)bytes, (long long)now->records, (long long)now->bytes);
    }
    return fail_changed(what, error);
}

liana_status liana__data_state_check(const liana__value *recorded, const liana__data_state *now, liana__error *error)
{
    if (!recorded || recorded->kind != LIANA__VALUE_MAP) return LIANA_OK;
    const liana__value *files = liana__value_get(recorded, "files");
    size_t count = files && files->kind == LIANA__VALUE_LIST ? files->count : 0;
    char what[400];
    for (size_t i = 0; i < count && i < now->num_files; i++) {
        LIANA_TRY(check_file(files->items[i], &now->files[i], error));
    }
    if (count < now->num_files && count) {
        snprintf(what, sizeof what, "'%.120s' is new: %zu files were there, and now there are %zu",
                 now->files[count].name, count, now->num_files);
        return fail_changed(what, error);
    }
    if (count > now->num_files && now->num_files) {
        snprintf(what, sizeof what, "'%.120s' is missing: %zu files were there, and now there are %zu",
                 name_at(files->items[now->num_files]), count, now->num_files);
        return fail_changed(what, error);
    }
    int64_t records = number_at(recorded, "records");
    if (records < 0 || records == now->num_records) return LIANA_OK;
    snprintf(what, sizeof what, "they had %lld examples, and have %lld now", (long long)records,
             (long long)now->num_records);
    return fail_changed(what, error);
}
