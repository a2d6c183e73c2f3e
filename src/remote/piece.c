/* Writes pieces of a remote file to disk, and checks the whole. */
#include "remote/piece.h"

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/scoped.h"
#include "remote/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

/* The head of ID.pieces; a record for each piece follows. Only this machine reads it. */
typedef struct pieces_header {
    char magic[8];
    uint64_t piece_size;
} pieces_header;
static const char MAGIC[8] = {'L', 'I', 'A', 'N', 'A', 'P', 'C', '1'};

typedef struct piece_record {
    uint32_t done; /* DONE, or 0 */
    uint32_t crc32c;
} piece_record;
enum { DONE = 0x444f4e45 };

static liana_status fail_part(const liana__partial_file *parts, const char *what, const char *path, liana__error *error)
{
    const char *hint = errno == ENOSPC ? "; free some space and run again" : "";
    return liana__fail(error, LIANA_IO_ERROR, "'%s': cannot %s '%s': %s%s", parts->object->name, what, path,
                       strerror(errno), hint);
}

static uint64_t piece_start(const liana__partial_file *parts, size_t piece)
{
    return (uint64_t)piece * parts->piece_size;
}

static uint64_t piece_bytes(const liana__partial_file *parts, size_t piece)
{
    uint64_t left = parts->object->size - piece_start(parts, piece);
    return left < parts->piece_size ? left : parts->piece_size;
}

/* ---- reading the existing pieces ---- */

typedef bool (*take_bytes)(void *user, const void *bytes, size_t size);

static bool read_span(const liana__partial_file *parts, uint64_t offset, uint64_t size, uint8_t *buffer,
                      take_bytes take, void *user)
{
    while (size) {
        size_t most = size < BUFFER_SIZE ? (size_t)size : BUFFER_SIZE;
        ssize_t got = pread(parts->part, buffer, most, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || !take(user, buffer, (size_t)got)) return false;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return true;
}

static bool add_to_crc(void *user, const void *bytes, size_t size)
{
    uint32_t *crc = user;
    *crc = liana__crc32c_extend(*crc, bytes, size);
    return true;
}

static bool add_to_digest(void *user, const void *bytes, size_t size)
{
    return EVP_DigestUpdate(user, bytes, size) == 1;
}

static void find_done(liana__partial_file *parts, uint8_t *buffer)
{
    pieces_header header;
    if (pread(parts->pieces, &header, sizeof header, 0) != (ssize_t)sizeof header) return;
    if (memcmp(header.magic, MAGIC, sizeof MAGIC) != 0 || header.piece_size != parts->piece_size) return;
    for (size_t i = 0; i < parts->count; i++) {
        piece_record record;
        off_t at = (off_t)(sizeof header + i * sizeof record);
        uint32_t crc = 0;
        if (pread(parts->pieces, &record, sizeof record, at) != (ssize_t)sizeof record || record.done != DONE) continue;
        if (!read_span(parts, piece_start(parts, i), piece_bytes(parts, i), buffer, add_to_crc, &crc)) continue;
        if (crc != record.crc32c) continue;
        parts->done[i] = true;
        parts->num_done++;
        parts->bytes_done += piece_bytes(parts, i);
    }
}

static liana_status open_pieces(liana__partial_file *parts, liana__error *error)
{
    LIANA__SCOPED_MEMORY uint8_t *buffer = malloc(BUFFER_SIZE);
    if (!buffer) return liana__fail_memory(error, parts->object->name);
    parts->pieces = liana__open(parts->pieces_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (parts->pieces < 0) return fail_part(parts, "write", parts->pieces_path, error);
    find_done(parts, buffer);
    pieces_header header = {.piece_size = parts->piece_size};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    bool fresh = parts->num_done == 0;
    if (fresh && (ftruncate(parts->pieces, 0) != 0 ||
                  pwrite(parts->pieces, &header, sizeof header, 0) != (ssize_t)sizeof header)) {
        return fail_part(parts, "write", parts->pieces_path, error);
    }
    return LIANA_OK;
}

liana_status liana__partial_file_open(liana__partial_file *parts, const liana__remote_cache *cache,
                                      const liana__remote_cache_id *id, const liana__remote_object *object,
                                      uint64_t piece_size, liana__arena *arena, liana__error *error)
{
    *parts = (liana__partial_file){.object = object, .part = -1, .pieces = -1, .piece_size = piece_size};
    parts->final_path = liana__remote_cache_path(cache, id, "", arena);
    parts->path = liana__remote_cache_path(cache, id, ".part", arena);
    parts->pieces_path = liana__remote_cache_path(cache, id, ".pieces", arena);
    if (object->whole || object->size < piece_size) parts->piece_size = object->size ? object->size : 1;
    parts->count = (size_t)(object->size / parts->piece_size + (object->size % parts->piece_size != 0));
    parts->done = liana__arena_allocate(arena, parts->count + 1);
    if (arena->failed) return liana__fail_memory(error, object->name);
    parts->part = liana__open(parts->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (parts->part < 0 || ftruncate(parts->part, (off_t)object->size) != 0) {
        return fail_part(parts, "write", parts->path, error);
    }
    return parts->count > 1 ? open_pieces(parts, error) : LIANA_OK;
}

void liana__partial_file_close(liana__partial_file *parts)
{
    if (parts->part >= 0) close(parts->part);
    if (parts->pieces >= 0) close(parts->pieces);
    parts->part = parts->pieces = -1;
}

bool liana__partial_file_take(liana__partial_file *parts, size_t *piece, uint64_t *offset, uint64_t *size)
{
    while (parts->next < parts->count && parts->done[parts->next]) parts->next++;
    if (parts->next == parts->count) return false;
    *piece = parts->next++;
    *offset = piece_start(parts, *piece);
    *size = piece_bytes(parts, *piece);
    return true;
}

liana_status liana__partial_file_finish_piece(liana__partial_file *parts, size_t piece, uint32_t crc32c,
                                              liana__error *error)
{
    parts->done[piece] = true;
    parts->num_done++;
    parts->bytes_done += piece_bytes(parts, piece);
    if (parts->pieces < 0) return LIANA_OK;
    piece_record record = {DONE, crc32c};
    off_t at = (off_t)(sizeof(pieces_header) + piece * sizeof record);
    if (pwrite(parts->pieces, &record, sizeof record, at) == (ssize_t)sizeof record) return LIANA_OK;
    return fail_part(parts, "write", parts->pieces_path, error);
}

/* ---- the end ---- */

static liana_status fail_checksum(const liana__partial_file *parts, const char *what, liana__error *error)
{
    unlink(parts->path);
    unlink(parts->pieces_path);
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': its %s differs from the server's, so bytes were damaged on the way or on the server; the "
                       "copy is removed, run again",
                       parts->object->name, what);
}

static liana_status check_crc(const liana__partial_file *parts, uint8_t *buffer, liana__error *error)
{
    uint32_t crc = 0;
    errno = 0;
    if (!read_span(parts, 0, parts->object->size, buffer, add_to_crc, &crc)) {
        return fail_part(parts, "read", parts->path, error);
    }
    return crc == parts->object->crc32c ? LIANA_OK : fail_checksum(parts, "CRC-32C", error);
}

static liana_status check_md5(const liana__partial_file *parts, uint8_t *buffer, liana__error *error)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t digest[EVP_MAX_MD_SIZE];
    /* A machine may forbid MD5 (FIPS); then lengths are all that is compared. */
    if (!context || EVP_DigestInit_ex(context, EVP_md5(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        return LIANA_OK;
    }
    errno = 0;
    bool read = read_span(parts, 0, parts->object->size, buffer, add_to_digest, context);
    unsigned size = sizeof digest;
    bool same = EVP_DigestFinal_ex(context, digest, &size) == 1 && memcmp(digest, parts->object->md5, 16) == 0;
    EVP_MD_CTX_free(context);
    if (!read) return fail_part(parts, "read", parts->path, error);
    return same ? LIANA_OK : fail_checksum(parts, "MD5", error);
}

liana_status liana__partial_file_commit(liana__partial_file *parts, bool md5_counts, liana__error *error)
{
    const liana__remote_object *object = parts->object;
    LIANA__SCOPED_MEMORY uint8_t *buffer = malloc(BUFFER_SIZE);
    if (!buffer) return liana__fail_memory(error, object->name);
    if (object->has_crc32c) {
        LIANA_TRY(check_crc(parts, buffer, error));
    } else if (object->has_md5 && md5_counts) {
        LIANA_TRY(check_md5(parts, buffer, error));
    }
    if (fsync(parts->part) != 0) return fail_part(parts, "sync", parts->path, error);
    if (rename(parts->path, parts->final_path) != 0) return fail_part(parts, "rename", parts->path, error);
    if (parts->pieces >= 0) unlink(parts->pieces_path);
    return LIANA_OK;
}
