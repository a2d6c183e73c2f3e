/* piece.h - a file that is being fetched: its part on disk, and the pieces that have arrived. */
#ifndef LIANA_REMOTE_PIECE_H
#define LIANA_REMOTE_PIECE_H

#include "remote/remote_internal.h"

/* CACHE/files/ID.part with the bytes, each at its place; and, where there are several pieces, ID.pieces with a checksum
 * of each that is there. Checksums are believed when the bytes give them: nothing needs to be synced before the end,
 * and a fetch that was cut off by anything goes on where it was. */
typedef struct liana__partial_file {
    const liana__remote_object *object;
    const char *path; /* of the part */
    const char *pieces_path;
    const char *final_path;
    int part;
    int pieces; /* a descriptor; -1: there is only one piece */
    uint64_t piece_size;
    size_t count;
    size_t num_done;
    size_t next; /* all pieces before it are done or being fetched */
    bool *done;
    uint64_t bytes_done;
} liana__partial_file;

/* Opens or makes the files, and finds the existing pieces. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__partial_file_open(liana__partial_file *parts, const liana__remote_cache *cache,
                                      const liana__remote_cache_id *id, const liana__remote_object *object,
                                      uint64_t piece_size, liana__arena *arena, liana__error *error) LIANA_MUST_USE;
/* Closes the files; they stay. */
void liana__partial_file_close(liana__partial_file *parts);

/* The next piece that nobody fetches yet; false if there is none. */
bool liana__partial_file_take(liana__partial_file *parts, size_t *piece, uint64_t *offset, uint64_t *size);
/* The piece is written, and this is the CRC-32C of its bytes. */
liana_status liana__partial_file_finish_piece(liana__partial_file *parts, size_t piece, uint32_t crc32c,
                                              liana__error *error) LIANA_MUST_USE;

/* Once all pieces are there: compares the checksums that the server gave (MD5 only if `md5_counts`), syncs, renames.
 * Errors: DATA_LOSS (and the part is removed), IO_ERROR. */
liana_status liana__partial_file_commit(liana__partial_file *parts, bool md5_counts, liana__error *error)
    LIANA_MUST_USE;

#endif
