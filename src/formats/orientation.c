/* The EXIF orientation of an image, through libexif, and turning pixels as it says. */
#include "formats/image_internal.h"

#include <libexif/exif-data.h>
#include <limits.h>
#include <string.h>

enum { EXIF_HEADER = 6 };

int liana__exif_orientation(const uint8_t *exif, size_t size)
{
    int orientation = 1;
    if (size < EXIF_HEADER || size > UINT_MAX || memcmp(exif, "Exif\0", EXIF_HEADER) != 0) return orientation;
    ExifData *data = exif_data_new();
    if (!data) return orientation;
    exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
    exif_data_load_data(data, exif, (unsigned)size);
    ExifEntry *entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
    if (entry && entry->format == EXIF_FORMAT_SHORT && entry->size >= 2) {
        orientation = exif_get_short(entry->data, exif_data_get_byte_order(data));
    }
    exif_data_unref(data);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

static bool flips_rows(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static bool flips_columns(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

void liana__image_turn(const uint8_t *src, int64_t height, int64_t width, int channels, int orientation, uint8_t *dst)
{
    bool transposed = liana__orientation_transposes(orientation);
    bool flip_rows = flips_rows(orientation), flip_columns = flips_columns(orientation);
    int64_t row_step = width * channels * (flip_rows ? -1 : 1), column_step = channels * (flip_columns ? -1 : 1);
    const uint8_t *first = src + ((flip_rows ? height - 1 : 0) * width + (flip_columns ? width - 1 : 0)) * channels;
    int64_t rows = transposed ? width : height, columns = transposed ? height : width;
    int64_t y_step = transposed ? column_step : row_step, x_step = transposed ? row_step : column_step;
    for (int64_t y = 0; y < rows; y++) {
        const uint8_t *pixel = first + y * y_step;
        for (int64_t x = 0; x < columns; x++, pixel += x_step, dst += channels) {
            for (int channel = 0; channel < channels; channel++) dst[channel] = pixel[channel];
        }
    }
}

liana__image_region liana__image_turn_region(const liana__image_region *region, int64_t height, int64_t width,
                                             int orientation)
{
    liana__image_region stored = *region;
    if (liana__orientation_transposes(orientation)) {
        stored = (liana__image_region){region->left, region->top, region->width, region->height};
    }
    if (flips_rows(orientation)) stored.top = height - stored.top - stored.height;
    if (flips_columns(orientation)) stored.left = width - stored.left - stored.width;
    return stored;
}

bool liana__image_probed(bool probe, liana__image *image, int64_t height, int64_t width, int channels, int orientation)
{
    if (!probe) return false;
    bool transposed = liana__orientation_transposes(orientation);
    image->height = transposed ? width : height;
    image->width = transposed ? height : width;
    image->channels = channels;
    return true;
}

static void convert(uint8_t *pixels, int64_t count, int from, int to)
{
    if (from == 3 && to == 1) {
        for (int64_t i = 0; i < count; i++) {
            pixels[i] = liana__luma(pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
        }
    }
}

liana_status liana__image_finish(liana__image *image, const liana__image_options *options, int64_t height,
                                 int64_t width, int channels, int orientation, liana__error *error)
{
    int wanted = options->channels ? options->channels : channels;
    bool transposed = liana__orientation_transposes(orientation);
    int64_t count = height * width;
    LIANA_TRY(
        liana__image_place(image, options, transposed ? width : height, transposed ? height : width, wanted, error));
    convert(image->spare, count, channels, wanted);
    int turned = channels < wanted ? channels : wanted;
    liana__image_turn(image->spare, height, width, turned, orientation, image->pixels);
    /* Grey to colour, from the end on, in place. */
    for (int64_t i = count - 1; turned < wanted && i >= 0; i--) {
        uint8_t grey = image->pixels[i];
        memset(image->pixels + 3 * i, grey, 3);
    }
    return LIANA_OK;
}
