/* record_files.h - TFRecord files that are opened together, with one number for each record. */
#ifndef LIANA_DATA_RECORD_FILES_H
#define LIANA_DATA_RECORD_FILES_H

#include "base/memory.h"
#include "formats/tfrecord.h"

/* Zero-initialise; free with liana__record_files_free. */
typedef struct liana__record_files {
    liana__arena arena;
    size_t count;
    liana__tfrecord **items;
    uint64_t *starts;          /* [count + 1] the number of each file's first record */
    liana__block_cache *cache; /* of the compressed files, which are read in blocks; NULL: none is compressed */
    /* If one is: the first record of each block of all files, as in a source (data/source/source.h). */
    size_t num_blocks;
    uint64_t *block_starts;
} liana__record_files;

/* Makes room for `most` files. Errors: OUT_OF_MEMORY. */
liana_status liana__record_files_begin(liana__record_files *files, size_t most, liana__error *error) LIANA_MUST_USE;
/* Opens the next file. `keep_start`: of a damaged file its whole records are used. Errors: those of
 * liana__tfrecord_open; the file is then left out. */
liana_status liana__record_files_add(liana__record_files *files, const char *path, bool keep_start, liana__error *error)
    LIANA_MUST_USE;
/* Lists the blocks of all files, after the last one. Files that are not compressed then have blocks too, since an order
 * that jumps would inflate a block for each record. Errors: OUT_OF_MEMORY. */
liana_status liana__record_files_list_blocks(liana__record_files *files, liana__error *error) LIANA_MUST_USE;
void liana__record_files_free(liana__record_files *files);

/* The file of record *number, which becomes the number in the file. */
const liana__tfrecord *liana__record_files_find(const liana__record_files *files, uint64_t *number);
/* Bytes of memory of the indexes, and of the blocks that are kept. */
size_t liana__record_files_memory(const liana__record_files *files);

#endif
