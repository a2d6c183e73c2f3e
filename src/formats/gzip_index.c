/* Notes places in a compressed file from which reading can begin, and begins there. */
#define ZLIB_CONST /* makes zlib declare its input as const */
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
    /* The bits of zlib's data_type with Z_BLOCK. */
    UNUSED_BITS = 7,
    LAST_BLOCK = 64,
    BLOCK_END = 128,
};

typedef struct place {
    uint64_t out;
    size_t in; /* the first whole byte that was not read */
    int bits;  /* unused bits of the byte before it, or MEMBER_START */
    uint32_t window_size;
    uint8_t *window; /* in the arena */
} place;

struct liana__gzip_index {
    liana__arena arena;
    liana__file_view file; /* each reader makes a copy of it */
    uint64_t out_size;
    place *places;
    size_t count;
    size_t capacity;
};

/* The compressed bytes on their way to zlib. */
typedef struct input {
    liana__file_view view;
    size_t next; /* beginning of the input that zlib has not got yet */
    z_stream stream;
} input;

/* A pass over the stream. */
typedef struct pass {
    liana__gzip_index *index;
    input in;
    uint64_t span;
    uint8_t *piece;
    liana__gzip_sink sink;
    void *context;
} pass;

static size_t position_of(const input *in)
{
    return in->next - in->stream.avail_in;
}

/* Goes on from another place. */
static void go_to(input *in, size_t position)
{
    in->next = position;
    in->stream.avail_in = 0;
}

/* Gives zlib bytes if it has none and there are any; it counts in 32 bits. */
static liana_status offer_input(input *in, liana__error *error)
{
    if (in->stream.avail_in > 0 || in->next == in->view.size) return LIANA_OK;
    size_t size;
    LIANA_TRY(liana__file_view_next(&in->view, in->next, &in->stream.next_in, &size, error));
    in->stream.avail_in = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
    in->next += in->stream.avail_in;
    return LIANA_OK;
}

/* Whether a member of a gzip file begins there. zlib's remaining input is lost. */
static liana_status look_for_member(input *in, size_t position, bool *found, liana__error *error)
{
    const uint8_t *bytes;
    size_t left = position < in->view.size ? in->view.size - position : 0, size = left < 2 ? left : 2;
    *found = false;
    go_to(in, position);
    if (size < 2) return LIANA_OK;
    LIANA_TRY(liana__file_view_get(&in->view, position, size, &bytes, error));
    *found = liana__is_gzip(bytes, size);
    return LIANA_OK;
}

static liana_status fail_inflating(const input *in, uint64_t out, int code, liana__error *error)
{
    if (code == Z_MEM_ERROR) return liana__fail_memory(error, in->view.name);
    bool cut = code == Z_BUF_ERROR;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is %s: %s at byte %zu of %zu of the compressed data (%" PRIu64 " bytes inflated so far); "
                       "copy or download it again",
                       in->view.name, cut ? "cut off" : "damaged",
                       cut              ? "its data continue after the end"
                       : in->stream.msg ? in->stream.msg
                                        : "it cannot be inflated",
                       position_of(in), in->view.size, out);
}

static liana_status add_place(pass *work, int bits, liana__error *error)
{
    liana__gzip_index *index = work->index;
    place at = {.out = index->out_size, .in = position_of(&work->in), .bits = bits};
    if (bits != MEMBER_START) {
        uint8_t window[WINDOW];
        uInt size = 0;
        int code = inflateGetDictionary(&work->in.stream, window, &size);
        if (code != Z_OK) return fail_inflating(&work->in, index->out_size, code, error);
        at.window_size = size;
        at.window = size ? liana__arena_copy(&index->arena, window, size) : NULL;
        if (size && !at.window) return liana__fail_memory(error, index->file.name);
    }
    if (!liana__grow(&index->places, index->count, &index->capacity, sizeof *index->places)) {
        return liana__fail_memory(error, index->file.name);
    }
    index->places[index->count++] = at;
    return LIANA_OK;
}

/* Goes on to where zlib stops: the end of a deflate block, of the piece, or of the member. */
static liana_status inflate_piece(pass *work, int *code, liana__error *error)
{
    liana__gzip_index *index = work->index;
    z_stream *stream = &work->in.stream;
    stream->next_out = work->piece;
    stream->avail_out = PIECE;
    LIANA_TRY(offer_input(&work->in, error));
    *code = inflate(stream, Z_BLOCK);
    if (*code != Z_OK && *code != Z_STREAM_END) {
        return fail_inflating(&work->in, index->out_size, *code == Z_NEED_DICT ? Z_DATA_ERROR : *code, error);
    }
    size_t given = (size_t)(stream->next_out - work->piece);
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
        int state = work->in.stream.data_type;
        bool between_blocks = (state & BLOCK_END) && !(state & LAST_BLOCK);
        uint64_t last = index->places[index->count - 1].out;
        if (between_blocks && index->out_size - last >= work->span) {
            LIANA_TRY(add_place(work, state & UNUSED_BITS, error));
        }
    }
}

/* Whether only padding follows, as on tapes. zlib's remaining input is lost. */
static liana_status find_zeros(input *in, size_t position, bool *only, liana__error *error)
{
    *only = true;
    go_to(in, position);
    for (size_t at = position, size; *only && at < in->view.size; at += size) {
        const uint8_t *bytes;
        LIANA_TRY(liana__file_view_next(&in->view, at, &bytes, &size, error));
        for (size_t i = 0; *only && i < size; i++) *only = bytes[i] == 0;
    }
    return LIANA_OK;
}

static liana_status pass_members(pass *work, liana__error *error)
{
    liana__gzip_index *index = work->index;
    bool gzip, zeros, follows;
    LIANA_TRY(look_for_member(&work->in, 0, &gzip, error));
    LIANA_TRY(add_place(work, MEMBER_START, error));
    for (;;) {
        LIANA_TRY(pass_member(work, error));
        size_t at = position_of(&work->in);
        LIANA_TRY(find_zeros(&work->in, at, &zeros, error));
        if (zeros) return LIANA_OK;
        LIANA_TRY(look_for_member(&work->in, at, &follows, error));
        if (!gzip || !follows) {
            return liana__fail(
                error, LIANA_DATA_LOSS,
                "'%s' is damaged: its compressed data end at byte %zu of %zu and something else follows; "
                "copy or download it again",
                index->file.name, at, index->file.size);
        }
        inflateReset(&work->in.stream);
        if (index->out_size - index->places[index->count - 1].out >= work->span) {
            LIANA_TRY(add_place(work, MEMBER_START, error));
        }
    }
}

static liana_status build(pass *work, liana__error *error)
{
    work->piece = malloc(PIECE);
    if (!work->piece) return liana__fail_memory(error, work->index->file.name);
    if (inflateInit2(&work->in.stream, ANY_HEADER) != Z_OK) return liana__fail_memory(error, work->index->file.name);
    liana_status status = pass_members(work, error);
    inflateEnd(&work->in.stream);
    /* If the file was cut, the missing part read as zeros, and may have looked like padding or damage. */
    liana_status cut = liana__file_view_check(&work->in.view, error);
    return cut == LIANA_OK ? status : cut;
}

liana_status liana__gzip_index_build(const liana__file_view *file, uint64_t span, liana__gzip_sink sink, void *context,
                                     liana__gzip_index **out, liana__error *error)
{
    *out = NULL;
    liana__gzip_index *index = calloc(1, sizeof *index);
    if (!index) return liana__fail_memory(error, file->name);
    index->file = *file;
    index->file.name = liana__arena_string(&index->arena, file->name);
    pass work = {.index = index, .in = {.view = index->file}, .span = span, .sink = sink, .context = context};
    liana_status status = index->file.name ? build(&work, error) : liana__fail_memory(error, file->name);
    liana__file_view_free(&work.in.view);
    free(work.piece);
    if (status == LIANA_OK) *out = index;
    if (status != LIANA_OK) liana__gzip_index_free(index);
    return status;
}

void liana__gzip_index_free(liana__gzip_index *index)
{
    if (!index) return;
    liana__arena_free(&index->arena);
    free(index->places);
    free(index);
}

size_t liana__gzip_index_memory(const liana__gzip_index *index)
{
    return index->arena.used + index->capacity * sizeof *index->places;
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

static liana_status start_at(input *in, const place *at, liana__error *error)
{
    bool member = at->bits == MEMBER_START;
    z_stream *stream = &in->stream;
    if (inflateInit2(stream, member ? ANY_HEADER : NO_HEADER) != Z_OK) return liana__fail_memory(error, in->view.name);
    go_to(in, at->in);
    if (member) return LIANA_OK;
    if (at->bits > 0) {
        const uint8_t *before;
        LIANA_TRY(liana__file_view_get(&in->view, at->in - 1, 1, &before, error));
        inflatePrime(stream, at->bits, *before >> (8 - at->bits));
    }
    if (at->window_size == 0 || inflateSetDictionary(stream, at->window, at->window_size) == Z_OK) return LIANA_OK;
    return liana__fail_memory(error, in->view.name);
}

/* After a member's last block: zlib reads a gzip trailer itself only where it read the header. */
static liana_status start_next_member(input *in, bool *has_header, bool *found, liana__error *error)
{
    LIANA_TRY(look_for_member(in, position_of(in) + (*has_header ? 0 : GZIP_TRAILER), found, error));
    *has_header = true;
    if (*found && inflateReset2(&in->stream, ANY_HEADER) != Z_OK) return liana__fail_memory(error, in->view.name);
    return LIANA_OK;
}

static liana_status inflate_range(input *in, bool has_header, uint64_t skip, uint8_t *out, size_t size,
                                  liana__error *error)
{
    uint8_t dropped[WINDOW];
    uint64_t done = 0;
    z_stream *stream = &in->stream;
    while (done < skip + size) {
        uint64_t left = done < skip ? skip - done : skip + size - done,
                 most = done < skip ? sizeof dropped : UINT32_MAX;
        stream->next_out = done < skip ? dropped : out + (done - skip);
        stream->avail_out = (uInt)(left < most ? left : most);
        uInt room = stream->avail_out;
        LIANA_TRY(offer_input(in, error));
        int code = inflate(stream, Z_NO_FLUSH);
        done += room - stream->avail_out;
        if (code == Z_STREAM_END && done == skip + size) break;
        if (code == Z_STREAM_END) {
            bool found;
            LIANA_TRY(start_next_member(in, &has_header, &found, error));
            if (found) continue;
            code = Z_BUF_ERROR;
        }
        if (code != Z_OK) return fail_inflating(in, done, code, error);
    }
    return LIANA_OK;
}

liana_status liana__gzip_index_read(const liana__gzip_index *index, uint64_t offset, uint8_t *out, size_t size,
                                    liana__error *error)
{
    const place *at = find_place(index, offset);
    input in = {.view = index->file};
    if (offset > index->out_size || size > index->out_size - offset) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s' inflates to %" PRIu64 " bytes; there are no %zu from %" PRIu64, index->file.name,
                           index->out_size, size, offset);
    }
    liana_status status = start_at(&in, at, error);
    if (status == LIANA_OK) {
        status = inflate_range(&in, at->bits == MEMBER_START, offset - at->out, out, size, error);
    }
    inflateEnd(&in.stream);
    liana__file_view_free(&in.view);
    return status;
}
