/* Inflates gzip and zlib streams through zlib. */
#define ZLIB_CONST /* makes zlib declare its input as const */
#include "formats/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool liana__is_gzip(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* RFC 1950: method 8, a window of at most 32 KiB, a check that makes the header a multiple of 31, no dictionary. */
bool liana__is_zlib(const uint8_t *bytes, size_t size)
{
    return size >= 2 && (bytes[0] & 15) == 8 && bytes[0] >> 4 <= 7 && (bytes[0] * 256 + bytes[1]) % 31 == 0 &&
           !(bytes[1] & 32);
}

typedef struct inflation {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    size_t limit;
    uint8_t *out;
    size_t out_size;
    size_t capacity;
    z_stream stream;
} inflation;

/* A first guess of the inflated size. gzip stores it at the end (modulo 2^32). It is only used if deflate could have
 * reached it; so four bytes of a damaged file do not allocate gigabytes. */
static size_t guess_size(const inflation *work)
{
    const uint8_t *bytes = work->bytes;
    size_t size = work->size, guess = size < SIZE_MAX / 4 ? size * 4 : size;
    if (liana__is_gzip(bytes, size) && size >= 18) {
        const uint8_t *end = bytes + size - 4;
        size_t said = end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 | (size_t)end[3] << 24;
        if (said >= size / 2 && said / 1032 <= size) guess = said;
    }
    if (guess < 256) guess = 256;
    return guess < work->limit ? guess : work->limit;
}

static liana_status fail_limit(const inflation *work, liana__error *error)
{
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s' (%zu bytes) inflates to more than %zu bytes, the limit: uncompress the file beforehand "
                       "(gunzip), so that it need not be held in memory",
                       work->name, work->size, work->limit);
}

/* Makes room for at least one more byte. */
static liana_status make_room(inflation *work, liana__error *error)
{
    if (work->out_size < work->capacity) return LIANA_OK;
    if (work->capacity > work->limit) return fail_limit(work, error);
    /* One byte above the limit, to see whether there is more than the limit. */
    size_t most = work->limit < SIZE_MAX ? work->limit + 1 : SIZE_MAX;
    size_t capacity = work->capacity == 0          ? guess_size(work) + 1
                      : work->capacity <= most / 2 ? work->capacity * 2
                                                   : most;
    uint8_t *out = realloc(work->out, capacity);
    if (!out) return liana__fail_memory(error, work->name);
    work->out = out;
    work->capacity = capacity;
    return LIANA_OK;
}

static size_t position_in_file(const inflation *work)
{
    return (size_t)(work->stream.next_in - work->bytes);
}

static liana_status fail_damaged(const inflation *work, int code, liana__error *error)
{
    if (code == Z_MEM_ERROR) return liana__fail_memory(error, work->name);
    if (code == Z_BUF_ERROR) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' is cut off: its compressed data go on after its %zu bytes (%zu bytes inflated so "
                           "far); copy or download it again",
                           work->name, work->size, work->out_size);
    }
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is damaged: %s near byte %zu of %zu of the compressed data (%zu bytes inflated so far); "
                       "copy or download it again",
                       work->name, work->stream.msg ? work->stream.msg : "it cannot be inflated",
                       position_in_file(work), work->size, work->out_size);
}

/* Inflates up to the end of one gzip member or zlib stream. */
static liana_status inflate_member(inflation *work, liana__error *error)
{
    for (;;) {
        LIANA_TRY(make_room(work, error));
        size_t left = work->size - position_in_file(work), room = work->capacity - work->out_size;
        /* zlib counts in 32 bits. */
        work->stream.avail_in = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
        work->stream.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
        work->stream.next_out = work->out + work->out_size;
        int code = inflate(&work->stream, Z_NO_FLUSH);
        work->out_size = (size_t)(work->stream.next_out - work->out);
        if (work->out_size > work->limit) return fail_limit(work, error);
        if (code == Z_STREAM_END) return LIANA_OK;
        if (code != Z_OK) return fail_damaged(work, code == Z_NEED_DICT ? Z_DATA_ERROR : code, error);
    }
}

static bool only_zeros_left(const inflation *work)
{
    for (size_t i = position_in_file(work); i < work->size; i++) {
        if (work->bytes[i] != 0) return false;
    }
    return true;
}

static liana_status inflate_members(inflation *work, liana__error *error)
{
    bool gzip = liana__is_gzip(work->bytes, work->size);
    for (;;) {
        LIANA_TRY(inflate_member(work, error));
        size_t position = position_in_file(work);
        if (position == work->size || only_zeros_left(work)) return LIANA_OK;
        if (!gzip || !liana__is_gzip(work->bytes + position, work->size - position)) {
            return liana__fail(error, LIANA_DATA_LOSS,
                               "'%s' is damaged: its compressed data end at byte %zu of %zu and something else "
                               "follows; copy or download it again",
                               work->name, position, work->size);
        }
        if (inflateReset(&work->stream) != Z_OK) return fail_damaged(work, Z_DATA_ERROR, error);
    }
}

liana_status liana__inflate(const char *name, const uint8_t *bytes, size_t size, size_t limit, uint8_t **inflated,
                            size_t *inflated_size, liana__error *error)
{
    *inflated = NULL;
    *inflated_size = 0;
    inflation work = {.name = name,
                      .bytes = bytes,
                      .size = size,
                      .limit = limit ? limit : LIANA__DEFAULT_INFLATED_LIMIT};
    work.stream.next_in = bytes;
    /* 15: the largest window; 32: gzip or zlib, by looking. */
    if (inflateInit2(&work.stream, 15 + 32) != Z_OK) return liana__fail_memory(error, name);
    liana_status status = inflate_members(&work, error);
    inflateEnd(&work.stream);
    if (status != LIANA_OK) {
        free(work.out);
        return status;
    }
    *inflated = work.out;
    *inflated_size = work.out_size;
    return LIANA_OK;
}

/* ---- pieces of memory ---- */

size_t liana__deflated_bound(size_t size)
{
    return compressBound(size);
}

size_t liana__deflate(const void *bytes, size_t size, void *deflated)
{
    uLongf written = compressBound(size);
    return compress(deflated, &written, bytes, size) == Z_OK ? written : 0;
}

bool liana__inflate_piece(const void *bytes, size_t size, void *inflated, size_t inflated_size)
{
    uLongf written = inflated_size;
    return uncompress(inflated, &written, bytes, size) == Z_OK && written == inflated_size;
}
