/* piece.h - a file that is being fetched: its part on disk, and the pieces that have arrived. */
#ifndef LIANA_REMOTE_PIECE_H
#define LIANA_REMOTE_PIECE_H

#include "remote/scheme.h"

/* CACHE/files/ID.part has the bytes, each at its place. If there are several pieces, ID.pieces has a checksum of each
 * that has arrived. A piece counts if its bytes give its checksum. So nothing needs to be synced before the end, and a
 * fetch that was interrupted in any way continues where it was. */
typedef struct liana__parts {
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
} liana__parts;

/* Opens or makes the files, and finds the pieces that are there. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__parts_open(liana__parts *parts, const liana__cache *cache, const liana__cache_id *id,
                               const liana__remote_object *object, uint64_t piece_size, liana__arena *arena,
                               liana__error *error) LIANA_MUST_USE;
/* Closes the files, and keeps them. */
void liana__parts_close(liana__parts *parts);

/* The next piece that nobody fetches; false if there is none. */
bool liana__parts_take(liana__parts *parts, size_t *piece, uint64_t *offset, uint64_t *size);
/* Records that a piece is written, with the CRC-32C of its bytes. */
liana_status liana__parts_finish_piece(liana__parts *parts, size_t piece, uint32_t crc32c, liana__error *error)
    LIANA_MUST_USE;

/* When all pieces are there: compares the server's checksums (MD5 only if `md5_counts`), syncs, renames. Errors:
 * DATA_LOSS (the part is then removed), IO_ERROR. */
liana_status liana__parts_commit(liana__parts *parts, bool md5_counts, liana__error *error) LIANA_MUST_USE;

#endif
