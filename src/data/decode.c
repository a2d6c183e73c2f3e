#include "data/decode.h"

/* Raw pixels with the wanted channels: grey is repeated, colour weighted as everywhere else. */
static liana_status convert_channels(const liana__record *record, int channels, liana__image *image,
                                     liana__error *error)
{
    LIANA_TRY(liana__image_reserve(image, record->height, record->width, channels, error));
    int64_t count = record->height * record->width;
    const uint8_t *src = record->pixels;
    uint8_t *dst = image->pixels;
    if (channels == 3) {
        for (int64_t i = 0; i < count; i++) dst[3 * i] = dst[3 * i + 1] = dst[3 * i + 2] = src[i];
    } else {
        for (int64_t i = 0; i < count; i++) dst[i] = liana__luma(src[3 * i], src[3 * i + 1], src[3 * i + 2]);
    }
    return LIANA_OK;
}

liana_status liana__decode_record(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana__record *record, uint8_t *dst, liana__error *error)
{
    const uint8_t *pixels = record->pixels;
    liana__resize_shape shape = {.height = record->height,
                                 .width = record->width,
                                 .to_height = options->height,
                                 .to_width = options->width,
                                 .channels = options->channels,
                                 .antialias = options->antialias};
    if (record->bytes) {
        liana__image_options image = {.channels = options->channels,
                                      .max_pixels = options->max_pixels,
                                      .target = {dst, options->height, options->width},
                                      .least_height = options->fast ? options->height : 0,
                                      .least_width = options->fast ? options->width : 0};
        LIANA_TRY(liana__image_decode(record->bytes, record->size, &image, &decoder->image, error));
        pixels = decoder->image.pixels;
        if (pixels == dst) return LIANA_OK;
        shape.height = decoder->image.height;
        shape.width = decoder->image.width;
    } else if (record->channels != options->channels) {
        LIANA_TRY(convert_channels(record, options->channels, &decoder->image, error));
        pixels = decoder->image.pixels;
    }
    return liana__resize_u8(&decoder->resizer, &shape, pixels, dst, error);
}

static liana_status probe_record(const liana__record *record, int64_t *height, int64_t *width, int *channels,
                                 liana__error *error)
{
    liana__image image = {.height = record->height, .width = record->width, .channels = record->channels};
    if (record->bytes) LIANA_TRY(liana__image_probe(record->bytes, record->size, NULL, &image, error));
    *height = image.height;
    *width = image.width;
    *channels = image.channels;
    return LIANA_OK;
}

liana_status liana__decode_probe(const liana__source *source, int64_t *height, int64_t *width, int *channels,
                                 liana__error *error)
{
    liana__record record;
    void *scratch = liana__source_scratch_create(source);
    if (!scratch) return liana__fail_memory(error, "reading an image");
    liana_status status = LIANA_OK;
    for (uint64_t index = 0; index < source->num_records; index++) {
        status = liana__source_read(source, index, scratch, &record, error);
        if (status == LIANA_OK) {
            status = probe_record(&record, height, width, channels, error);
            if (status != LIANA_OK) liana__source_fail_within(source, index, &record, error);
        }
        if (!source->skip_damage || !liana__source_is_bad_record(status)) break;
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

void liana__decoder_free(liana__decoder *decoder)
{
    liana__image_free(&decoder->image);
    liana__resizer_free(&decoder->resizer);
}
