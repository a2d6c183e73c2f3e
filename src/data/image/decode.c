/* Decodes and resizes the image of a record. */
#include "data/image/decode.h"

/* Raw pixels with the wanted channels: grey is repeated, colour weighted as everywhere else. */
static liana_status convert_channels(const liana_source_record *record, int channels, liana__image *image,
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

static liana__resize_shape resize_from(const liana__decode_options *options, int64_t height, int64_t width)
{
    return (liana__resize_shape){.height = height,
                                 .width = width,
                                 .to_height = options->height,
                                 .to_width = options->width,
                                 .channels = options->channels,
                                 .antialias = options->antialias};
}

/* The part of the encoded image that a part of the resized image needs. */
typedef struct region_search {
    liana__decoder *decoder;
    const liana__decode_options *options;
    const liana__image_region *region;
    liana__error *error;
    liana_status status;
} region_search;

static void choose_region(void *user, int64_t height, int64_t width, liana__image_region *region)
{
    region_search *own = user;
    liana__resize_shape *shape = &own->decoder->shape;
    *shape = resize_from(own->options, height, width);
    own->status = liana__resize_find_region(&own->decoder->resizer, shape, own->region, region, own->error);
}

static liana_status decode_bytes(liana__decoder *decoder, const liana__decode_options *options,
                                 const liana_source_record *record, const liana__image_region *region, void *dst,
                                 liana__error *error)
{
    region_search search = {.decoder = decoder, .options = options, .region = region, .error = error};
    liana__image_options image = {.channels = options->channels,
                                  .max_pixels = options->max_pixels,
                                  .least_height = options->fast ? options->height : 0,
                                  .least_width = options->fast ? options->width : 0};
    if (region) {
        image.choose_region = choose_region;
        image.user = &search;
    } else if (!options->fractions) {
        image.target = (liana__image_target){dst, options->height, options->width};
    }
    decoder->shape = (liana__resize_shape){0};
    LIANA_TRY(liana__image_decode(record->bytes, record->size, &image, &decoder->image, error));
    LIANA_TRY(search.status);
    decoder->from = decoder->image;
    /* Not known yet where all of the image was decoded. */
    if (!decoder->shape.height) decoder->shape = resize_from(options, decoder->from.height, decoder->from.width);
    return LIANA_OK;
}

liana_status liana__decode_pixels(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana_source_record *record, const liana__image_region *region, void *dst,
                                  liana__error *error)
{
    decoder->fractions = options->fractions;
    if (record->bytes) return decode_bytes(decoder, options, record, region, dst, error);
    if (!record->pixels) return liana__fail(error, LIANA_INVALID_DATA, "it has no image");
    decoder->shape = resize_from(options, record->height, record->width);
    if (record->channels != options->channels) {
        LIANA_TRY(convert_channels(record, options->channels, &decoder->image, error));
        decoder->from = decoder->image;
        return LIANA_OK;
    }
    /* Nobody writes there: the pixels are the record's. */
    decoder->from = (liana__image){.pixels = (uint8_t *)(uintptr_t)record->pixels,
                                   .height = record->height,
                                   .width = record->width,
                                   .channels = record->channels};
    return LIANA_OK;
}

liana_status liana__decode_resize(liana__decoder *decoder, const liana__image_region *region, void *dst,
                                  liana__error *error)
{
    if (decoder->from.pixels == dst) return LIANA_OK;
    if (decoder->fractions) {
        return liana__resize_float(&decoder->resizer, &decoder->shape, decoder->from.pixels, dst, error);
    }
    if (region) return liana__resize_region_u8(&decoder->resizer, &decoder->shape, region, &decoder->from, dst, error);
    return liana__resize_u8(&decoder->resizer, &decoder->shape, decoder->from.pixels, dst, error);
}

liana_status liana__decode_record(liana__decoder *decoder, const liana__decode_options *options,
                                  const liana_source_record *record, const liana__image_region *region, void *dst,
                                  liana__error *error)
{
    if (region && region->height == options->height && region->width == options->width) region = NULL;
    LIANA_TRY(liana__decode_pixels(decoder, options, record, region, dst, error));
    return liana__decode_resize(decoder, region, dst, error);
}

static liana_status probe_record(const liana_source_record *record, liana__probe *probe, liana__error *error)
{
    liana__image image = {.height = record->height, .width = record->width, .channels = record->channels};
    if (record->bytes) LIANA_TRY(liana__image_probe(record->bytes, record->size, NULL, &image, error));
    *probe = (liana__probe){image.height, image.width, image.channels, record->bytes != NULL};
    return LIANA_OK;
}

liana_status liana__decode_probe(const liana__source *source, liana__probe *probe, liana__error *error)
{
    liana_source_record record;
    if (source->lacks_images) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no images, which are needed here",
                           liana__source_address(source, 0).file);
    }
    void *scratch = liana__source_scratch_create(source);
    if (!scratch) return liana__fail_memory(error, "reading an image");
    liana_status status = LIANA_OK;
    for (uint64_t index = 0; index < source->num_records; index++) {
        status = liana__source_read(source, index, scratch, &record, error);
        if (status == LIANA_OK) {
            status = probe_record(&record, probe, error);
            if (status != LIANA_OK) liana__source_fail_within(source, index, &record, error);
        }
        if (!source->skip_damage || !liana__source_is_bad_record(status)) break;
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

size_t liana__decoder_bytes(const liana__decoder *decoder)
{
    const liana__image *image = &decoder->image;
    const liana__resizer *resizer = &decoder->resizer;
    return image->capacity + image->spare_capacity + resizer->rows.capacity + resizer->columns.capacity +
           resizer->row_capacity * sizeof *resizer->row +
           (resizer->cut_rows.capacity + resizer->cut_columns.capacity) * sizeof *resizer->rows.first;
}

void liana__decoder_free(liana__decoder *decoder)
{
    liana__image_free(&decoder->image);
    liana__resizer_free(&decoder->resizer);
}
