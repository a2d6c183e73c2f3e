/* Opens TFRecord files and numbers their records. */
#include "data/source/record_files.h"

#include "base/search.h"
#include "data/source/source.h"

enum {
    /* Inflated blocks that are kept: two windows of a shuffled order, the one that is read and the next. */
    CACHE_LIMIT = 2 * LIANA__BLOCK_WINDOW * LIANA__TFRECORD_BLOCK,
};

liana_status liana__record_files_begin(liana__record_files *files, size_t most, liana__error *error)
{
    files->items = liana__arena_allocate(&files->arena, most * sizeof *files->items);
    files->starts = liana__arena_allocate(&files->arena, (most + 1) * sizeof *files->starts);
    return files->arena.failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

liana_status liana__record_files_add(liana__record_files *files, const char *path, bool keep_start, liana__error *error)
{
    bool compressed;
    LIANA_TRY(liana__tfrecord_probe(path, &compressed, error));
    if (compressed && !files->cache) files->cache = liana__block_cache_create(CACHE_LIMIT);
    if (compressed && !files->cache) return liana__fail_memory(error, path);
    const liana__tfrecord_options options = {.keep_start = keep_start, .cache = compressed ? files->cache : NULL};
    LIANA_TRY(liana__tfrecord_open(path, &options, &files->items[files->count], error));
    files->starts[files->count + 1] = files->starts[files->count] + liana__tfrecord_count(files->items[files->count]);
    files->count++;
    return LIANA_OK;
}

static size_t blocks_of(const liana__tfrecord *file)
{
    size_t num_blocks = liana__tfrecord_num_blocks(file);
    return num_blocks ? num_blocks : (liana__tfrecord_count(file) + LIANA__PLAIN_BLOCK - 1) / LIANA__PLAIN_BLOCK;
}

liana_status liana__record_files_list_blocks(liana__record_files *files, liana__error *error)
{
    size_t count = 0;
    if (!files->cache) return LIANA_OK;
    for (size_t i = 0; i < files->count; i++) count += blocks_of(files->items[i]);
    files->block_starts = liana__arena_allocate(&files->arena, (count + 1) * sizeof *files->block_starts);
    if (!files->block_starts) return liana__fail_memory(error, "a list of blocks");
    for (size_t i = 0; i < files->count; i++) {
        const liana__tfrecord *file = files->items[i];
        const bool in_blocks = liana__tfrecord_num_blocks(file) > 0;
        for (size_t k = 0; k < blocks_of(file); k++) {
            uint64_t first = in_blocks ? liana__tfrecord_first(file, k) : (uint64_t)k * LIANA__PLAIN_BLOCK;
            files->block_starts[files->num_blocks++] = files->starts[i] + first;
        }
    }
    return LIANA_OK;
}

void liana__record_files_free(liana__record_files *files)
{
    for (size_t i = 0; i < files->count; i++) liana__tfrecord_close(files->items[i]);
    liana__block_cache_destroy(files->cache);
    liana__arena_free(&files->arena);
}

/* The last file that starts at or before the number (files without records start where the next one does). */
const liana__tfrecord *liana__record_files_find(const liana__record_files *files, uint64_t *number)
{
    size_t file = liana__part_of(files->starts, files->count, *number);
    *number -= files->starts[file];
    return files->items[file];
}

size_t liana__record_files_memory(const liana__record_files *files)
{
    size_t bytes = files->arena.used + (files->cache ? CACHE_LIMIT : 0);
    for (size_t i = 0; i < files->count; i++) bytes += liana__tfrecord_memory(files->items[i]);
    return bytes;
}
