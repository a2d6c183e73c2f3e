/* BMP: 1 to 32 bits a pixel, with or without a palette, not compressed. */
#include "formats/image_internal.h"

#include "base/little_endian.h"

#include <inttypes.h>
#include <string.h>

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40, MASKS_OFFSET = FILE_HEADER + INFO_HEADER };
enum { RGB = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3, ALPHA_BITFIELDS = 6, MAX_COLOURS = 256 };

typedef struct bitmap {
    const uint8_t *bytes;
    size_t size;
    int64_t height;
    int64_t width;
    bool top_down;
    int bits;
    uint32_t compression;
    size_t pixels; /* where they begin */
    size_t row;    /* bytes of a row */
    uint8_t colours[MAX_COLOURS][3];
    size_t num_colours;
    uint32_t masks[3]; /* of red, green and blue */
    int channels;
} bitmap;

static uint32_t load_u16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static liana_status fail_short(const bitmap *own, liana__error *error)
{
    return liana__fail(error, LIANA_DATA_LOSS, "the BMP image is truncated: it ends after %zu bytes", own->size);
}

static liana_status fail_kind(liana__error *error, const char *what, long long found)
{
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "the BMP image has %s %lld, which cannot be read; save it as PNG, or as a BMP without compression", what,
        found);
}

static liana_status read_header(bitmap *own, size_t *header, size_t *num_colours, liana__error *error)
{
    const uint8_t *bytes = own->bytes;
    if (own->size < FILE_HEADER + CORE_HEADER) return fail_short(own, error);
    own->pixels = liana__load_u32(bytes + 10);
    *header = liana__load_u32(bytes + FILE_HEADER);
    if (*header == CORE_HEADER) {
        own->width = load_u16(bytes + 18);
        own->height = load_u16(bytes + 20);
        own->bits = load_u16(bytes + 24);
    } else {
        if (own->size < FILE_HEADER + INFO_HEADER) return fail_short(own, error);
        int32_t height = (int32_t)liana__load_u32(bytes + 22);
        own->width = (int32_t)liana__load_u32(bytes + 18);
        own->top_down = height < 0;
        own->height = height < 0 ? -(int64_t)height : height;
        own->bits = load_u16(bytes + 28);
        own->compression = liana__load_u32(bytes + 30);
        *num_colours = liana__load_u32(bytes + 46);
    }
    return LIANA_OK;
}

/* The masks of pixels of 16 and 32 bits. */
static liana_status read_masks(bitmap *own, liana__error *error)
{
    static const uint32_t masks16[] = {0x7c00, 0x03e0, 0x001f}, masks32[] = {0xff0000, 0x00ff00, 0x0000ff};
    memcpy(own->masks, own->bits == 16 ? masks16 : masks32, sizeof own->masks);
    if (own->compression == RGB) return LIANA_OK;
    if (own->size < MASKS_OFFSET + sizeof own->masks) return fail_short(own, error);
    for (int i = 0; i < 3; i++) own->masks[i] = liana__load_u32(own->bytes + MASKS_OFFSET + 4 * i);
    return LIANA_OK;
}

/* A palette of greys makes a grey image. */
static liana_status read_palette(bitmap *own, size_t header, size_t num_colours, liana__error *error)
{
    size_t most = (size_t)1 << own->bits, entry = header == CORE_HEADER ? 3 : 4, at = FILE_HEADER + header;
    if (num_colours == 0 || num_colours > most) num_colours = most;
    if (own->size < at || own->size - at < num_colours * entry) return fail_short(own, error);
    own->num_colours = num_colours;
    own->channels = 1;
    for (size_t i = 0; i < num_colours; i++) {
        const uint8_t *blue = own->bytes + at + i * entry;
        for (int c = 0; c < 3; c++) own->colours[i][c] = blue[2 - c];
        if (blue[0] != blue[1] || blue[1] != blue[2]) own->channels = 3;
    }
    return LIANA_OK;
}

static liana_status open_bitmap(bitmap *own, const liana__image_options *options, liana__error *error)
{
    size_t header = 0, num_colours = 0;
    LIANA_TRY(read_header(own, &header, &num_colours, error));
    bool has_palette = own->bits == 1 || own->bits == 4 || own->bits == 8;
    bool has_masks = own->bits == 16 || own->bits == 32;
    if (!has_palette && !has_masks && own->bits != 24) return fail_kind(error, "pixels of as many bits as", own->bits);
    bool masked = own->compression == BITFIELDS || own->compression == ALPHA_BITFIELDS;
    if (own->compression != RGB && !(masked && has_masks)) return fail_kind(error, "the compression", own->compression);
    LIANA_TRY(liana__image_check_size("BMP", own->height, own->width, options, error));
    own->channels = 3;
    if (has_palette) LIANA_TRY(read_palette(own, header, num_colours, error));
    if (has_masks) LIANA_TRY(read_masks(own, error));
    own->row = ((size_t)own->width * (size_t)own->bits + 31) / 32 * 4;
    return LIANA_OK;
}

/* A value of a mask, from 0 to 255. */
static uint8_t masked_value(uint32_t pixel, uint32_t mask)
{
    if (!mask) return 0;
    int shift = __builtin_ctz(mask);
    uint64_t most = mask >> shift, value = (pixel & mask) >> shift;
    return (uint8_t)(value * 255 / most);
}

static void read_pixel(const bitmap *own, const uint8_t *row, int64_t x, uint8_t *out)
{
    size_t index = 0, bits = (size_t)own->bits;
    if (own->bits <= 8) {
        size_t per_byte = 8 / bits, at = (size_t)x / per_byte, place = per_byte - 1 - (size_t)x % per_byte;
        index = row[at] >> (place * bits) & (((size_t)1 << bits) - 1);
        /* Beyond the palette is black, as in other readers. */
        static const uint8_t black[3];
        memcpy(out, index < own->num_colours ? own->colours[index] : black, (size_t)own->channels);
    } else if (own->bits == 24) {
        for (int c = 0; c < 3; c++) out[c] = row[3 * x + 2 - c];
    } else {
        uint32_t pixel = own->bits == 16 ? load_u16(row + 2 * x) : liana__load_u32(row + 4 * x);
        for (int c = 0; c < 3; c++) out[c] = masked_value(pixel, own->masks[c]);
    }
}

liana_status liana__bmp_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error)
{
    bitmap own = {.bytes = bytes, .size = size};
    LIANA_TRY(open_bitmap(&own, options, error));
    if (liana__image_probed(probe, image, own.height, own.width, own.channels, 1)) return LIANA_OK;
    if (size < own.pixels || (size - own.pixels) / own.row < (size_t)own.height) return fail_short(&own, error);
    size_t needed = (size_t)own.height * (size_t)own.width * (size_t)own.channels;
    LIANA_TRY(liana__image_reserve_spare(image, needed, error));
    uint8_t *out = image->spare;
    for (int64_t y = 0; y < own.height; y++) {
        const uint8_t *row = bytes + own.pixels + (size_t)(own.top_down ? y : own.height - 1 - y) * own.row;
        for (int64_t x = 0; x < own.width; x++, out += own.channels) read_pixel(&own, row, x, out);
    }
    return liana__image_finish(image, options, own.height, own.width, own.channels, 1, error);
}
