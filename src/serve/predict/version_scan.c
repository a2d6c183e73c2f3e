/* What lies in the folders of models. */
#include "serve/predict/version_scan.h"

#include "base/scoped.h"
#include "train/export/sha256.h"

#include <stdlib.h>
#include <string.h>

/* The files by which a change of a model is seen. Checkpoints of a run come all the time: they are no change. */
static const char *const watched_files[] = {"SHA256SUMS",         "model.json",  "weights.safetensors",
                                            "preprocessing.json", "config.yaml", NULL};
static const char sums_file[] = "SHA256SUMS";
enum { MOST_SUMS = 1 << 20 };

static uint64_t mix(uint64_t stamp, uint64_t value)
{
    stamp ^= value + UINT64_C(0x9e3779b97f4a7c15) + (stamp << 6) + (stamp >> 2);
    return stamp * UINT64_C(0xbf58476d1ce4e5b9);
}

static uint64_t mix_file(uint64_t stamp, const char *path)
{
    liana__file_version version;
    if (!liana__file_version_find(path, &version)) return stamp;
    stamp = mix(stamp, version.inode);
    stamp = mix(stamp, (uint64_t)version.size);
    return mix(stamp, (uint64_t)version.time) | 1;
}

uint64_t liana__version_stamp(const char *path)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    uint64_t stamp = 0;
    if (!liana__folder_exists(path)) return mix_file(0, path);
    for (size_t i = 0; watched_files[i]; i++) {
        const char *file = liana__path_join(&arena, path, watched_files[i]);
        if (file) stamp = mix_file(mix(stamp, i), file);
    }
    return stamp ? stamp : 1;
}

/* ---- versions ---- */

/* The number of a version's folder; -1: it is none. */
static int64_t read_number(const char *name)
{
    char *end;
    if (*name < '0' || *name > '9' || strlen(name) > 18) return -1;
    const long long number = strtoll(name, &end, 10);
    return *end ? -1 : number;
}

static bool has_file(const char *folder, const char *name)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path = liana__path_join(&arena, folder, name);
    return path && liana__file_exists(path);
}

bool liana__is_model_place(const char *path)
{
    if (!liana__folder_exists(path)) return liana__file_exists(path);
    return has_file(path, "model.json") || has_file(path, "config.yaml") || has_file(path, "checkpoint.json");
}

static int newer(const void *a, const void *b)
{
    const liana__version_found *x = a, *y = b;
    return x->number < y->number ? 1 : x->number > y->number ? -1 : strcmp(x->path, y->path);
}

static liana_status find_numbered(const char *folder, liana__arena *arena, liana__version_found **found, size_t *count,
                                  liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(folder, arena, &names, error));
    *found = liana__arena_allocate(arena, (names.count + 1) * sizeof **found);
    if (!*found) return liana__fail_memory(error, "a model");
    for (size_t i = 0; i < names.count; i++) {
        const int64_t number = read_number(names.items[i]);
        const char *path = number < 0 ? NULL : liana__path_join(arena, folder, names.items[i]);
        if (!path || !liana__folder_exists(path)) continue;
        (*found)[(*count)++] = (liana__version_found){number, path, 0};
    }
    qsort(*found, *count, sizeof **found, newer);
    /* "1" and "01" are one version. */
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (kept && (*found)[kept - 1].number == (*found)[i].number) continue;
        (*found)[kept++] = (*found)[i];
    }
    *count = kept;
    return LIANA_OK;
}

liana_status liana__versions_find(const char *folder, liana__arena *arena, liana__version_found **found, size_t *count,
                                  liana__error *error)
{
    *count = 0;
    if (liana__is_model_place(folder)) {
        *found = liana__arena_allocate(arena, sizeof **found);
        if (!*found) return liana__fail_memory(error, "a model");
        const int64_t number = read_number(liana__path_name(folder));
        **found = (liana__version_found){number > 0 ? number : 1, liana__arena_string(arena, folder), 0};
        *count = 1;
    } else {
        LIANA_TRY(find_numbered(folder, arena, found, count, error));
    }
    for (size_t i = 0; i < *count; i++) (*found)[i].stamp = liana__version_stamp((*found)[i].path);
    return LIANA_OK;
}

bool liana__has_versions(const char *folder)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error ignored;
    liana__version_found *found;
    size_t count = 0;
    return find_numbered(folder, &arena, &found, &count, &ignored) == LIANA_OK && count;
}

/* ---- whole or not ---- */

static liana_status check_sum(const char *file, const char *sum, liana__error *error)
{
    if (!liana__file_exists(file)) {
        return liana__fail(error, LIANA_UNAVAILABLE, "%s is missing, which %s lists", file, sums_file);
    }
    liana__sha256_digits found;
    LIANA_TRY(liana__sha256_file(file, &found, error));
    if (memcmp(found.text, sum, 64) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE, "%s is not as %s says: it was changed, or is still copied", file,
                       sums_file);
}

/* A line of SHA256SUMS: "HASH  NAME". */
static liana_status check_line(const char *path, char *line, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const size_t length = strspn(line, "0123456789abcdef");
    if (length != 64 || line[64] != ' ') {
        return liana__fail(error, LIANA_UNAVAILABLE, "%s/%s: found '%.40s', expected 'HASH  NAME'", path, sums_file,
                           line);
    }
    const char *name = line + 65 + (line[65] == ' ' || line[65] == '*');
    const char *file = liana__path_join(&arena, path, name);
    if (!file) return liana__fail_memory(error, "a model");
    return check_sum(file, line, error);
}

liana_status liana__version_check(const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    if (!liana__is_model_place(path)) {
        return liana__fail(error, LIANA_UNAVAILABLE, "%s holds no model yet: there is no model.json and no config.yaml",
                           path);
    }
    if (!liana__folder_exists(path) || !has_file(path, sums_file)) return LIANA_OK;
    const char *file = liana__path_join(&arena, path, sums_file);
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    if (!file) return liana__fail_memory(error, "a model");
    LIANA_TRY(liana__file_read(file, MOST_SUMS, &text, &size, error));
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        if (*line) LIANA_TRY(check_line(path, line, error));
    }
    return LIANA_OK;
}
