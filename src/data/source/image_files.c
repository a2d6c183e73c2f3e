/* Reads records that are files of their own. */
#include "data/source/image_files.h"

#include <stdlib.h>
#include <string.h>

/* Larger files are no single images; reading one by mistake would fill the memory. */
enum { MAX_FILE_SIZE = 1 << 30 };

liana_status liana__image_files_add(liana__image_files *files, const liana__image_file *file, liana__error *error)
{
    if (!liana__grow(&files->items, files->count, &files->capacity, sizeof *files->items)) {
        return liana__fail_memory(error, "a list of images");
    }
    files->items[files->count++] = *file;
    files->num_unlabelled += file->label < 0 && !file->reason;
    return LIANA_OK;
}

bool liana__image_files_labelled(const liana__image_files *files, bool skip_damage)
{
    if (!skip_damage || files->num_unlabelled == 0) return files->num_unlabelled == 0;
    for (size_t i = 0; i < files->count; i++) {
        if (files->items[i].label >= 0) return true;
    }
    return false;
}

/* ---- ids ---- */

static int compare_ids(const void *a, const void *b)
{
    const liana__image_file *x = *(liana__image_file *const *)a, *y = *(liana__image_file *const *)b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x > y) - (x < y);
}

/* The id and one folder more of the path that it is the end of; false where there is no more. */
static bool lengthen(liana__image_file *file)
{
    const char *path = liana__remote_name(file->path);
    size_t length = strlen(path), size = strlen(file->id);
    if (file->names_itself || size >= length) return false;
    bool is_end = strcmp(path + length - size, file->id) == 0;
    const char *start = is_end ? path + length - size : path;
    if (start > path && start[-1] == '/') start--;
    while (start > path && start[-1] != '/') start--;
    file->id = start;
    return true;
}

/* Lengthens the ids of [first, last), which are the same, unless it is one file all the time. */
static bool lengthen_group(liana__image_file *const *sorted, size_t first, size_t last)
{
    bool different = false, changed = false;
    for (size_t i = first + 1; i < last && !different; i++) {
        different = strcmp(sorted[i]->path, sorted[first]->path) != 0;
    }
    for (size_t i = first; i < last && different; i++) changed |= lengthen(sorted[i]);
    return changed;
}

liana_status liana__image_files_distinguish(liana__image_files *files, liana__error *error)
{
    liana__image_file **sorted = calloc(files->count + 1, sizeof *sorted);
    if (!sorted) return liana__fail_memory(error, "the ids of the images");
    for (size_t i = 0; i < files->count; i++) sorted[i] = &files->items[i];
    for (bool changed = true; changed;) {
        changed = false;
        qsort(sorted, files->count, sizeof *sorted, compare_ids);
        for (size_t first = 0, last; first < files->count; first = last) {
            last = first + 1;
            while (last < files->count && strcmp(sorted[last]->id, sorted[first]->id) == 0) last++;
            if (last > first + 1 && lengthen_group(sorted, first, last)) changed = true;
        }
    }
    free(sorted);
    return LIANA_OK;
}

/* ---- files on servers ---- */

static liana_status fetch(liana__image_files *files, liana__remote_file_of_many *wanted, size_t count,
                          const liana__source_options *options, size_t *failed, liana__error *error)
{
    size_t next = 0, num_missing = 0;
    LIANA_TRY(liana__remote_files(options->remote, wanted, count, &files->arena, error));
    for (size_t i = 0; i < files->count; i++) {
        liana__image_file *file = &files->items[i];
        if (!liana__path_is_remote(file->path)) continue;
        const liana__remote_file_of_many *got = &wanted[next++];
        file->path = got->path;
        if (got->status == LIANA_OK) continue;
        /* A name that cannot be is the list's fault, and the record's. */
        if (!file->reason) file->status = got->status == LIANA_INVALID_ARGUMENT ? LIANA_INVALID_DATA : got->status;
        if (!file->reason) file->reason = got->reason;
        if (num_missing++ == 0) *failed = i;
    }
    /* If all files are missing, the list or the server is at fault, and not the files. */
    if (!num_missing || (options->skip_damage && num_missing < count)) return LIANA_OK;
    const liana__image_file *first = &files->items[*failed];
    return liana__fail(error, first->status, "%s", first->reason);
}

liana_status liana__image_files_fetch(liana__image_files *files, const liana__source_options *options, size_t *failed,
                                      liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) count += liana__path_is_remote(files->items[i].path);
    *failed = SIZE_MAX;
    if (!count) return LIANA_OK;
    liana__remote_file_of_many *wanted = calloc(count, sizeof *wanted);
    if (!wanted) return liana__fail_memory(error, "a list of remote files");
    for (size_t i = 0, next = 0; i < files->count; i++) {
        if (liana__path_is_remote(files->items[i].path)) wanted[next++].name = files->items[i].path;
    }
    liana_status status = fetch(files, wanted, count, options, failed, error);
    free(wanted);
    return status;
}

size_t liana__image_files_memory(const liana__image_files *files)
{
    return files->arena.used + files->capacity * sizeof *files->items;
}

liana_status liana__image_files_note_versions(liana__image_files *files, liana__error *error)
{
    files->versions = liana__arena_allocate(&files->arena, (files->count + 1) * sizeof *files->versions);
    if (!files->versions) return liana__fail_memory(error, "the versions of the images");
    for (size_t i = 0; i < files->count; i++) {
        const char *path = files->items[i].path;
        const bool is_local = path && liana__remote_name(path) == path;
        if (!is_local || !liana__file_version_find(path, &files->versions[i])) files->versions[i].size = -1;
    }
    return LIANA_OK;
}

liana_status liana__image_files_read(const liana__image_files *files, uint64_t index, void *scratch,
                                     liana_source_record *record, liana__error *error)
{
    const liana__image_file *file = &files->items[index];
    liana__file_buffer *buffer = scratch;
    record->id = file->id;
    record->id_size = file->id ? strlen(file->id) : 0;
    record->has_label = file->label >= 0;
    record->label = file->label;
    if (file->reason) return liana__fail(error, file->status, "%s", file->reason);
    if (!file->path) return LIANA_OK;
    const liana__file_version *before = files->versions ? &files->versions[index] : NULL;
    if (before && before->size < 0) before = NULL;
    LIANA_TRY(liana__file_read_again(file->path, before, MAX_FILE_SIZE, buffer, error));
    record->bytes = (const uint8_t *)buffer->bytes;
    record->size = buffer->size;
    return LIANA_OK;
}

void liana__image_files_expect(const liana__image_files *files, uint64_t index)
{
    const liana__image_file *file = &files->items[index];
    if (!file->reason) liana__file_expect(file->path);
}

void liana__image_files_visit(const liana__image_files *files, uint64_t count,
                              void (*visit)(void *user, const char *path, const char *name, bool labels), void *user)
{
    for (uint64_t i = 0; i < count; i++) {
        const liana__image_file *file = &files->items[i];
        if (!file->path || file->reason) continue;
        const char *name = file->names_itself ? liana__path_name(liana__remote_name(file->path)) : file->id;
        visit(user, file->path, name, false);
    }
}

void liana__image_files_free(liana__image_files *files)
{
    liana__arena_free(&files->arena);
    free(files->items);
}
