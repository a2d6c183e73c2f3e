/* TIFF through libtiff: the first image of the file. */
#include "formats/image_calls.h"
#include "formats/image_internal.h"

#include <stdio.h>
#include <string.h>

/* The largest block that libtiff may allocate for itself. */
enum { MOST_MEMORY = 256 << 20, MESSAGE = 200 };

typedef struct reader {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    char message[MESSAGE]; /* libtiff's first one */
} reader;

static tmsize_t read_bytes(thandle_t handle, void *out, tmsize_t count)
{
    reader *own = handle;
    size_t left = own->size - own->at, given = (size_t)count < left ? (size_t)count : left;
    memcpy(out, own->bytes + own->at, given);
    own->at += given;
    return (tmsize_t)given;
}

static tmsize_t write_nothing(thandle_t handle, void *bytes, tmsize_t count)
{
    (void)handle;
    (void)bytes;
    (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    reader *own = handle;
    toff_t from = whence == SEEK_CUR ? own->at : whence == SEEK_END ? own->size : 0, to = from + offset;
    own->at = to < own->size ? (size_t)to : own->size;
    return own->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t get_size(thandle_t handle)
{
    return ((reader *)handle)->size;
}

/* The messages of libtiff, which it would print. */
static LIANA__PRINTF(4, 0) int on_error(TIFF *file, void *user, const char *module, const char *format, va_list values)
{
    reader *own = user;
    (void)file;
    (void)module;
    if (!*own->message) vsnprintf(own->message, sizeof own->message, format, values);
    return 1;
}

static int on_warning(TIFF *file, void *user, const char *module, const char *format, va_list values)
{
    (void)file;
    (void)user;
    (void)module;
    (void)format;
    (void)values;
    return 1;
}

static liana_status fail(const reader *own, liana__error *error)
{
    return liana__fail(error, LIANA_DATA_LOSS, "the TIFF image is damaged, or of a kind that cannot be read: %s",
                       *own->message ? own->message : "no reason is given");
}

/* RGBA as 32-bit numbers, red in the lowest byte, becomes RGB or grey in place. */
static void pack(uint8_t *memory, size_t count, int channels)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel;
        memcpy(&pixel, memory + 4 * i, sizeof pixel);
        memory[(size_t)channels * i] = (uint8_t)TIFFGetR(pixel);
        if (channels == 1) continue;
        memory[3 * i + 1] = (uint8_t)TIFFGetG(pixel);
        memory[3 * i + 2] = (uint8_t)TIFFGetB(pixel);
    }
}

static liana_status read_pixels(reader *own, TIFF *file, liana__image *image, int64_t height, int64_t width,
                                liana__error *error)
{
    char message[1024] = "";
    TIFFRGBAImage raster;
    const size_t count = (size_t)height * (size_t)width;
    LIANA_TRY(liana__image_reserve_spare(image, 4 * count, error));
    memset(image->spare, 0, 4 * count);
    if (!TIFFRGBAImageBegin(&raster, file, 1, message)) {
        snprintf(own->message, sizeof own->message, "%.199s", message);
        return fail(own, error);
    }
    /* As it is stored: liana turns it itself. */
    raster.req_orientation = raster.orientation;
    int read = TIFFRGBAImageGet(&raster, (uint32_t *)(void *)image->spare, (uint32_t)width, (uint32_t)height);
    TIFFRGBAImageEnd(&raster);
    return read && !*own->message ? LIANA_OK : fail(own, error);
}

static liana_status read_image(reader *own, TIFF *file, const liana__image_options *options, bool probe,
                               liana__image *image, liana__error *error)
{
    uint32_t height = 0, width = 0;
    uint16_t photometric = PHOTOMETRIC_RGB, stored = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(file, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(file, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetFieldDefaulted(file, TIFFTAG_PHOTOMETRIC, &photometric);
    TIFFGetFieldDefaulted(file, TIFFTAG_ORIENTATION, &stored);
    LIANA_TRY(liana__image_check_size("TIFF", height, width, options, error));
    const int channels = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE ? 1 : 3;
    const int orientation = options->ignore_orientation || stored < 1 || stored > 8 ? 1 : stored;
    if (liana__image_probed(probe, image, height, width, channels, orientation)) return LIANA_OK;
    LIANA_TRY(read_pixels(own, file, image, height, width, error));
    pack(image->spare, (size_t)height * width, channels);
    return liana__image_finish(image, options, height, width, channels, orientation, error);
}

liana_status liana__tiff_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error)
{
    reader own = {.bytes = bytes, .size = size};
    LIANA_TRY(liana__library_load(&liana__tiff_library.library, error));
    TIFFOpenOptions *settings = TIFFOpenOptionsAlloc();
    if (!settings) return liana__fail_memory(error, "a TIFF reader");
    TIFFOpenOptionsSetMaxSingleMemAlloc(settings, MOST_MEMORY);
    TIFFOpenOptionsSetErrorHandlerExtR(settings, on_error, &own);
    TIFFOpenOptionsSetWarningHandlerExtR(settings, on_warning, NULL);
    TIFF *file = TIFFClientOpenExt("image", "rm", &own, read_bytes, write_nothing, seek, close_nothing, get_size, NULL,
                                   NULL, settings);
    TIFFOpenOptionsFree(settings);
    if (!file) return fail(&own, error);
    liana_status status = read_image(&own, file, options, probe, image, error);
    TIFFClose(file);
    return status;
}
