#include "data/image_files.h"

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
    files->num_unlabelled += file->label < 0;
    return LIANA_OK;
}

liana_status liana__image_files_read(const liana__image_files *files, uint64_t index, void *scratch,
                                     liana__record *record, liana__error *error)
{
    const liana__image_file *file = &files->items[index];
    liana__file_buffer *buffer = scratch;
    record->id = file->id;
    record->id_size = strlen(file->id);
    record->has_label = file->label >= 0;
    record->label = file->label;
    LIANA_TRY(liana__file_read_into(file->path, MAX_FILE_SIZE, buffer, error));
    record->bytes = (const uint8_t *)buffer->bytes;
    record->size = buffer->size;
    return LIANA_OK;
}

void liana__image_files_scratch_free(void *scratch)
{
    free(((liana__file_buffer *)scratch)->bytes);
}

void liana__image_files_free(liana__image_files *files)
{
    liana__arena_free(&files->arena);
    free(files->items);
}

int64_t liana__find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return (int64_t)i;
    }
    return -1;
}
