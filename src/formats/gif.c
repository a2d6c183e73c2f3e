/* GIF through giflib: the first picture, as in TensorFlow's decode_gif. */
#include "formats/image_calls.h"
#include "formats/image_internal.h"

#include <string.h>

typedef struct reader {
    const uint8_t *bytes;
    size_t size;
    size_t used;
} reader;

static int read_bytes(GifFileType *file, GifByteType *out, int count)
{
    reader *own = file->UserData;
    size_t left = own->size - own->used, given = (size_t)count < left ? (size_t)count : left;
    memcpy(out, own->bytes + own->used, given);
    own->used += given;
    return (int)given;
}

static liana_status fail(int code, liana__error *error)
{
    const char *why = GifErrorString(code);
    return liana__fail(error, LIANA_DATA_LOSS, "the GIF image is damaged or truncated: %s",
                       why ? why : "it ends before its first picture");
}

/* Goes to the first picture, past everything before it. */
static liana_status find_picture(GifFileType *file, liana__error *error)
{
    for (;;) {
        GifRecordType type;
        if (DGifGetRecordType(file, &type) != GIF_OK) return fail(file->Error, error);
        if (type == IMAGE_DESC_RECORD_TYPE) break;
        if (type != EXTENSION_RECORD_TYPE) return fail(0, error);
        int code;
        GifByteType *data;
        if (DGifGetExtension(file, &code, &data) != GIF_OK) return fail(file->Error, error);
        while (data) {
            if (DGifGetExtensionNext(file, &data) != GIF_OK) return fail(file->Error, error);
        }
    }
    return DGifGetImageDesc(file) == GIF_OK ? LIANA_OK : fail(file->Error, error);
}

/* The palette of the picture. NULL: it has none. */
static const ColorMapObject *palette_of(const GifFileType *file)
{
    return file->Image.ColorMap ? file->Image.ColorMap : file->SColorMap;
}

/* The picture's part of a row of the image. Pixels outside of the picture are black. */
static void place_row(const GifFileType *file, const GifPixelType *indices, int64_t y, int64_t height, int64_t width,
                      uint8_t *pixels)
{
    const ColorMapObject *palette = palette_of(file);
    if (y < 0 || y >= height) return;
    for (int64_t i = 0; i < file->Image.Width; i++) {
        int64_t x = file->Image.Left + i;
        if (x < 0 || x >= width || indices[i] >= palette->ColorCount) continue;
        const GifColorType *colour = &palette->Colors[indices[i]];
        uint8_t *pixel = pixels + 3 * (y * width + x);
        pixel[0] = colour->Red;
        pixel[1] = colour->Green;
        pixel[2] = colour->Blue;
    }
}

/* Rows of interlaced pictures come in four passes. */
static liana_status read_rows(GifFileType *file, GifPixelType *indices, int64_t height, int64_t width, uint8_t *pixels,
                              liana__error *error)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    const int passes = file->Image.Interlace ? 4 : 1;
    for (int pass = 0; pass < passes; pass++) {
        int from = passes > 1 ? first[pass] : 0, by = passes > 1 ? step[pass] : 1;
        for (int row = from; row < file->Image.Height; row += by) {
            if (DGifGetLine(file, indices, file->Image.Width) != GIF_OK) return fail(file->Error, error);
            place_row(file, indices, (int64_t)file->Image.Top + row, height, width, pixels);
        }
    }
    return LIANA_OK;
}

static liana_status read_picture(GifFileType *file, const liana__image_options *options, bool probe,
                                 liana__image *image, liana__error *error)
{
    const int64_t height = file->SHeight, width = file->SWidth;
    LIANA_TRY(liana__image_check_size("GIF", height, width, options, error));
    if (liana__image_probed(probe, image, height, width, 3, 1)) return LIANA_OK;
    LIANA_TRY(find_picture(file, error));
    LIANA_TRY(liana__image_check_size("GIF", file->Image.Height, file->Image.Width, options, error));
    if (!palette_of(file)) return liana__fail(error, LIANA_INVALID_DATA, "the GIF image has no palette");
    /* The image, and behind it a row of the picture. */
    size_t size = 3 * (size_t)height * (size_t)width;
    LIANA_TRY(liana__image_reserve_spare(image, size + (size_t)file->Image.Width, error));
    memset(image->spare, 0, size);
    LIANA_TRY(read_rows(file, image->spare + size, height, width, image->spare, error));
    return liana__image_finish(image, options, height, width, 3, 1, error);
}

liana_status liana__gif_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error)
{
    reader own = {bytes, size, 0};
    int code = 0;
    LIANA_TRY(liana__library_load(&liana__gif_library.library, error));
    GifFileType *file = DGifOpen(&own, read_bytes, &code);
    if (!file) return fail(code, error);
    liana_status status = read_picture(file, options, probe, image, error);
    DGifCloseFile(file, &code);
    return status;
}
