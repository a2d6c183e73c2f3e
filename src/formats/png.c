/* PNG through libpng. */
#include "formats/image_internal.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct reader {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t size;
    size_t used;
    liana__image *image;
    const liana__image_options *options;
    bool probe;
    liana__error *error;
    liana_status status;
    jmp_buf jump;
} reader;

/* libpng's way out: never returns to the library. The first failure's own message stays. */
static void on_error(png_structp png, png_const_charp message)
{
    reader *state = png_get_error_ptr(png);
    if (state->status == LIANA_OK) {
        state->status = liana__fail(state->error, LIANA_DATA_LOSS, "the PNG image is damaged: %s", message);
    }
    longjmp(state->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep out, size_t size)
{
    reader *state = png_get_io_ptr(png);
    if (size > state->size - state->used) {
        state->status = liana__fail(state->error, LIANA_DATA_LOSS,
                                    "the PNG image is truncated: it ends after %zu bytes", state->size);
        png_error(png, "truncated");
    }
    memcpy(out, state->bytes + state->used, size);
    state->used += size;
}

static void fail(reader *state, liana_status status)
{
    state->status = status;
    if (status != LIANA_OK) longjmp(state->jump, 1);
}

static uint32_t read_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The orientation in the chunk eXIf, which may stand before or behind the pixels: so chunks are walked, without reading
 * pixels. 1 where there is none, or it is damaged. */
static int read_orientation(const uint8_t *bytes, size_t size)
{
    enum { SIGNATURE = 8, CHUNK_HEADER = 8, CHUNK_END = 4, EXIF_HEADER = 6, MAX_EXIF = 1 << 16 };
    uint8_t exif[EXIF_HEADER + MAX_EXIF] = "Exif\0";
    size_t at = SIGNATURE;
    while (size - at >= CHUNK_HEADER + CHUNK_END) {
        size_t length = read_u32(bytes + at);
        const uint8_t *chunk = bytes + at + 4; /* its type, then its data; the checksum is over both */
        if (length > size - at - CHUNK_HEADER - CHUNK_END) return 1;
        if (memcmp(chunk, "eXIf", 4) == 0) {
            if (length > MAX_EXIF || crc32(0, chunk, (uInt)length + 4) != read_u32(chunk + 4 + length)) return 1;
            memcpy(exif + EXIF_HEADER, chunk + 4, length);
            return liana__exif_orientation(exif, EXIF_HEADER + length);
        }
        at += CHUNK_HEADER + length + CHUNK_END;
    }
    return 1;
}

static void read_image(reader *state)
{
    png_structp png = state->png;
    png_set_read_fn(png, state, read_bytes);
    png_read_info(png, state->info);
    int64_t height = png_get_image_height(png, state->info), width = png_get_image_width(png, state->info);
    int type = png_get_color_type(png, state->info);
    bool colour = type & PNG_COLOR_MASK_COLOR; /* a palette counts as colour */
    int wanted = state->options->channels ? state->options->channels : colour ? 3 : 1;
    fail(state, liana__image_check_size("PNG", height, width, state->options, state->error));
    int orientation = state->options->ignore_orientation ? 1 : read_orientation(state->bytes, state->size);
    if (liana__image_probed(state->probe, state->image, height, width, colour ? 3 : 1, orientation)) return;
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    if (!colour && wanted == 3) png_set_gray_to_rgb(png);
    /* Two rows of up to four channels of 16 bits, and zlib's window and tables. */
    size_t working = 2 * 8 * (size_t)width + (64 << 10);
    fail(state, liana__memory_share_ask(state->image->share, working, "a PNG image", state->error));
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, state->info);

    liana__image *image = state->image;
    int decoded = colour ? 3 : wanted;
    size_t row = (size_t)width * (size_t)decoded;
    if (png_get_rowbytes(png, state->info) != row) png_error(png, "unexpected row size");
    uint8_t *pixels;
    bool direct = decoded == wanted && orientation == 1;
    if (direct) {
        fail(state, liana__image_place(image, state->options, height, width, wanted, state->error));
        pixels = image->pixels;
    } else {
        fail(state, liana__image_reserve_spare(image, row * (size_t)height, state->error));
        pixels = image->spare;
    }
    for (int pass = 0; pass < passes; pass++) {
        for (int64_t y = 0; y < height; y++) png_read_row(png, pixels + (size_t)y * row, NULL);
    }
    png_read_end(png, NULL);
    if (direct) return;
    fail(state, liana__image_finish(image, state->options, height, width, decoded, orientation, state->error));
}

static void read_guarded(reader *state)
{
    if (setjmp(state->jump) == 0) read_image(state);
}

liana_status liana__png_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error)
{
    reader state = {.bytes = bytes, .size = size, .image = image, .options = options, .probe = probe, .error = error};
    state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    state.info = state.png ? png_create_info_struct(state.png) : NULL;
    if (!state.info) {
        png_destroy_read_struct(&state.png, NULL, NULL);
        return liana__fail_memory(error, "a PNG reader");
    }
    read_guarded(&state);
    png_destroy_read_struct(&state.png, &state.info, NULL);
    return state.status;
}

typedef struct writer {
    png_structp png;
    png_infop info;
    liana__text *out;
    liana__error *error;
    liana_status status;
    jmp_buf jump;
} writer;

static void on_write_error(png_structp png, png_const_charp message)
{
    writer *state = png_get_error_ptr(png);
    state->status = liana__fail(state->error, LIANA_OUT_OF_MEMORY, "cannot write a PNG: %s", message);
    longjmp(state->jump, 1);
}

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    writer *state = png_get_io_ptr(png);
    liana__text_add_bytes(state->out, (const char *)bytes, size);
    if (state->out->failed) png_error(png, "out of memory");
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void write_image(writer *state, const uint8_t *pixels, int64_t height, int64_t width, int channels)
{
    png_set_write_fn(state->png, state, write_bytes, flush_nothing);
    png_set_IHDR(state->png, state->info, (png_uint_32)width, (png_uint_32)height, 8,
                 channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(state->png, state->info);
    for (int64_t y = 0; y < height; y++) png_write_row(state->png, pixels + y * width * channels);
    png_write_end(state->png, NULL);
}

static void write_guarded(writer *state, const uint8_t *pixels, int64_t height, int64_t width, int channels)
{
    if (setjmp(state->jump) == 0) write_image(state, pixels, height, width, channels);
}

liana_status liana__png_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, liana__text *out,
                               liana__error *error)
{
    LIANA_TRY(liana__image_check_encode("PNG", height, width, channels, PNG_USER_WIDTH_MAX, error));
    writer state = {.out = out, .error = error};
    state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_write_error, on_warning);
    state.info = state.png ? png_create_info_struct(state.png) : NULL;
    if (!state.info) {
        png_destroy_write_struct(&state.png, NULL);
        return liana__fail_memory(error, "a PNG writer");
    }
    write_guarded(&state, pixels, height, width, channels);
    png_destroy_write_struct(&state.png, &state.info);
    return state.status;
}
