#define ZLIB_CONST /* zlib does not write to its input, and says so only with this */
#include "formats/gzip_index.h"

#include "base/memory.h"
#include "formats/gzip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    WINDOW = 32768,
    PIECE = 1 << 17,      /* inflated bytes that the sink gets at once */
    ANY_HEADER = 15 + 32, /* zlib's word for: the largest window, a header of gzip or zlib */
    NO_HEADER = -15,
    GZIP_TRAILER = 8, /* CRC-32 and size (RFC 1952) */
    MEMBER_START = -1,
    /* What zlib says in data_type with Z_BLOCK. */
    UNUSED_BITS = 7,
    LAST_BLOCK = 64,
    BLOCK_END = 128,
};

typedef struct place {
    uint64_t out;
    size_t in; /* the first whole byte that was not read */
    int bits;  /* of the byte before it that belong to what follows, or MEMBER_START */
    uint32_t window_size;
    uint8_t *window; /* in the arena */
} place;

struct liana__gzip_index {
    liana__arena arena;
    const char *name;
    const uint8_t *bytes;
    size_t size;
    uint64_t out_size;
    place *places;
    size_t count;
    size_t capacity;
};

/* A pass over the stream. */
typedef struct pass {
    liana__gzip_index *index;
    z_stream stream;
    uint64_t span;
    uint8_t *piece;
    liana__gzip_sink sink;
    void *context;
} pass;

static size_t position_of(const liana__gzip_index *index, const z_stream *stream)
{
    return (size_t)(stream->next_in - index->bytes);
}

/* zlib counts in 32 bits. */
static void offer_input(const liana__gzip_index *index, z_stream *stream)
{
    size_t left = index->size - position_of(index, stream);
    stream->avail_in = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
}

static liana_status fail_inflating(const liana__gzip_index *index, const z_stream *stream, uint64_t out, int code,
                                   liana__error *error)
{
    if (code == Z_MEM_ERROR) return liana__fail_memory(error, index->name);
    bool cut = code == Z_BUF_ERROR;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is %s: %s at byte %zu of %zu of the compressed data (%" PRIu64 " bytes inflated so far); "
                       "copy or download it again",
                       index->name, cut ? "cut off" : "damaged",
                       cut           ? "its data go on behind the end"
                       : stream->msg ? stream->msg
                                     : "it cannot be inflated",
                       position_of(index, stream), index->size, out);
}

static liana_status add_place(pass *work, int bits, liana__error *error)
{
    liana__gzip_index *index = work->index;
    place at = {.out = index->out_size, .in = position_of(index, &work->stream), .bits = bits};
    if (bits != MEMBER_START) {
        uint8_t window[WINDOW];
        uInt size = 0;
        int code = inflateGetDictionary(&work->stream, window, &size);
        if (code != Z_OK) return fail_inflating(index, &work->stream, index->out_size, code, error);
        at.window_size = size;
        at.window = size ? liana__arena_copy(&index->arena, window, size) : NULL;
        if (size && !at.window) return liana__fail_memory(error, index->name);
    }
    if (!liana__grow(&index->places, index->count, &index->capacity, sizeof *index->places)) {
        return liana__fail_memory(error, index->name);
    }
    index->places[index->count++] = at;
    return LIANA_OK;
}

/* Goes on to where zlib stops: the end of a deflate block, of the piece, or of the member. */
static liana_status inflate_piece(pass *work, int *code, liana__error *error)
{
    liana__gzip_index *index = work->index;
    work->stream.next_out = work->piece;
    work->stream.avail_out = PIECE;
    offer_input(index, &work->stream);
    *code = inflate(&work->stream, Z_BLOCK);
    if (*code != Z_OK && *code != Z_STREAM_END) {
        return fail_inflating(index, &work->stream, index->out_size, *code == Z_NEED_DICT ? Z_DATA_ERROR : *code,
                              error);
    }
    size_t given = (size_t)(work->stream.next_out - work->piece);
    if (given) LIANA_TRY(work->sink(work->context, work->piece, given, error));
    index->out_size += given;
    return LIANA_OK;
}

static liana_status pass_member(pass *work, liana__error *error)
{
    liana__gzip_index *index = work->index;
    int code = Z_OK;
    for (;;) {
        LIANA_TRY(inflate_piece(work, &code, error));
        if (code == Z_STREAM_END) return LIANA_OK;
        int state = work->stream.data_type;
        bool between_blocks = (state & BLOCK_END) && !(state & LAST_BLOCK);
        uint64_t last = index->places[index->count - 1].out;
        if (between_blocks && index->out_size - last >= work->span) {
            LIANA_TRY(add_place(work, state & UNUSED_BITS, error));
        }
    }
}

static bool only_zeros(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i]) return false;
    }
    return true;
}

static liana_status pass_members(pass *work, liana__error *error)
{
    liana__gzip_index *index = work->index;
    bool gzip = liana__is_gzip(index->bytes, index->size);
    LIANA_TRY(add_place(work, MEMBER_START, error));
    for (;;) {
        LIANA_TRY(pass_member(work, error));
        size_t at = position_of(index, &work->stream);
        if (only_zeros(index->bytes + at, index->size - at)) return LIANA_OK; /* padding, as on tapes */
        if (!gzip || !liana__is_gzip(index->bytes + at, index->size - at)) {
            return liana__fail(
                error, LIANA_DATA_LOSS,
                "'%s' is damaged: its compressed data end at byte %zu of %zu and something else follows; "
                "copy or download it again",
                index->name, at, index->size);
        }
        inflateReset(&work->stream);
        if (index->out_size - index->places[index->count - 1].out >= work->span) {
            LIANA_TRY(add_place(work, MEMBER_START, error));
        }
    }
}

static liana_status build(pass *work, liana__error *error)
{
    work->piece = malloc(PIECE);
    if (!work->piece) return liana__fail_memory(error, work->index->name);
    work->stream.next_in = work->index->bytes;
    if (inflateInit2(&work->stream, ANY_HEADER) != Z_OK) return liana__fail_memory(error, work->index->name);
    liana_status status = pass_members(work, error);
    inflateEnd(&work->stream);
    return status;
}

liana_status liana__gzip_index_build(const char *name, const uint8_t *bytes, size_t size, uint64_t span,
                                     liana__gzip_sink sink, void *context, liana__gzip_index **out, liana__error *error)
{
    *out = NULL;
    liana__gzip_index *index = calloc(1, sizeof *index);
    if (!index) return liana__fail_memory(error, name);
    index->name = liana__arena_string(&index->arena, name);
    index->bytes = bytes;
    index->size = size;
    pass work = {.index = index, .span = span, .sink = sink, .context = context};
    liana_status status = index->name ? build(&work, error) : liana__fail_memory(error, name);
    free(work.piece);
    if (status != LIANA_OK) {
        liana__gzip_index_free(index);
        return status;
    }
    *out = index;
    return LIANA_OK;
}

void liana__gzip_index_free(liana__gzip_index *index)
{
    if (!index) return;
    liana__arena_free(&index->arena);
    free(index->places);
    free(index);
}

size_t liana__gzip_index_count(const liana__gzip_index *index)
{
    return index->count;
}

uint64_t liana__gzip_index_offset(const liana__gzip_index *index, size_t at)
{
    return index->places[at].out;
}

/* ---- reading ---- */

static const place *find_place(const liana__gzip_index *index, uint64_t offset)
{
    size_t low = 0, high = index->count - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (index->places[middle].out <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return &index->places[low];
}

static bool start_at(const liana__gzip_index *index, const place *at, z_stream *stream)
{
    bool member = at->bits == MEMBER_START;
    stream->next_in = index->bytes + at->in;
    if (inflateInit2(stream, member ? ANY_HEADER : NO_HEADER) != Z_OK) return false;
    if (member) return true;
    if (at->bits > 0) inflatePrime(stream, at->bits, index->bytes[at->in - 1] >> (8 - at->bits));
    return at->window_size == 0 || inflateSetDictionary(stream, at->window, at->window_size) == Z_OK;
}

/* After a member's last block: zlib reads a gzip trailer itself only where it read the header. */
static bool start_next_member(const liana__gzip_index *index, z_stream *stream, bool *has_header)
{
    size_t at = position_of(index, stream), trailer = *has_header ? 0 : GZIP_TRAILER;
    if (index->size - at <= trailer || !liana__is_gzip(index->bytes + at + trailer, index->size - at - trailer)) {
        return false;
    }
    stream->next_in += trailer;
    *has_header = true;
    return inflateReset2(stream, ANY_HEADER) == Z_OK;
}

static liana_status inflate_range(const liana__gzip_index *index, z_stream *stream, bool has_header, uint64_t skip,
                                  uint8_t *out, size_t size, liana__error *error)
{
    uint8_t dropped[WINDOW];
    uint64_t done = 0;
    while (done < skip + size) {
        uint64_t left = done < skip ? skip - done : skip + size - done,
                 most = done < skip ? sizeof dropped : UINT32_MAX;
        stream->next_out = done < skip ? dropped : out + (done - skip);
        stream->avail_out = (uInt)(left < most ? left : most);
        uInt room = stream->avail_out;
        offer_input(index, stream);
        int code = inflate(stream, Z_NO_FLUSH);
        done += room - stream->avail_out;
        if (code == Z_STREAM_END && done < skip + size && start_next_member(index, stream, &has_header)) continue;
        if (code == Z_STREAM_END && done == skip + size) break;
        if (code != Z_OK) return fail_inflating(index, stream, done, code == Z_STREAM_END ? Z_BUF_ERROR : code, error);
    }
    return LIANA_OK;
}

liana_status liana__gzip_index_read(const liana__gzip_index *index, uint64_t offset, uint8_t *out, size_t size,
                                    liana__error *error)
{
    const place *at = find_place(index, offset);
    z_stream stream = {0};
    if (offset > index->out_size || size > index->out_size - offset) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s' inflates to %" PRIu64 " bytes; there are no %zu from %" PRIu64, index->name,
                           index->out_size, size, offset);
    }
    liana_status status = start_at(index, at, &stream) ? inflate_range(index, &stream, at->bits == MEMBER_START,
                                                                       offset - at->out, out, size, error)
                                                       : liana__fail_memory(error, index->name);
    inflateEnd(&stream);
    return status;
}
