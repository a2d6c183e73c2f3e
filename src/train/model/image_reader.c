/* Images of any size as pixels of a model's input. */
#include "train/model/image_reader.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16 };

void liana__image_reader_init(liana__image_reader *reader, const liana_shape *input,
                              const liana_preprocessing *preprocessing)
{
    reader->round = preprocessing->round;
    reader->options = (liana__decode_options){.height = input->dims[1],
                                              .width = input->dims[2],
                                              .channels = (int)input->dims[3],
                                              .antialias = preprocessing->antialias,
                                              .fast = preprocessing->fast_decode,
                                              .fractions = !preprocessing->round};
}

static liana_status grow(uint8_t **memory, size_t *capacity, size_t size, liana__error *error)
{
    if (*memory && *capacity >= size) return LIANA_OK;
    uint8_t *larger = realloc(*memory, size);
    if (!larger) return liana__fail_memory(error, "an image");
    *memory = larger;
    *capacity = size;
    return LIANA_OK;
}

static liana_status check_image(const liana_pixels *image, liana__error *error)
{
    const bool known = image->channels == 1 || image->channels == 3 || image->channels == 4;
    const bool has_size =
        image->height >= 1 && image->height <= MOST_SIDE && image->width >= 1 && image->width <= MOST_SIDE;
    if (!image->data || !known || !has_size) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "found an image of %lld x %lld with %d channels%s, expected 1 to %d rows and columns, and 1, 3 "
            "or 4 channels",
            (long long)image->height, (long long)image->width, image->channels, image->data ? "" : " at NULL",
            (int)MOST_SIDE);
    }
    if (image->row_bytes == 0 || image->row_bytes >= image->width * image->channels) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %lld row_bytes, expected at least %lld: a row has so many",
                       (long long)image->row_bytes, (long long)(image->width * image->channels));
}

/* Without gaps and alpha. */
static void pack(const liana_pixels *image, int channels, uint8_t *to)
{
    const int64_t row_bytes = image->row_bytes ? image->row_bytes : image->width * image->channels;
    for (int64_t y = 0; y < image->height; y++) {
        const unsigned char *row = image->data + y * row_bytes;
        for (int64_t x = 0; x < image->width; x++, to += channels) {
            memcpy(to, row + x * image->channels, (size_t)channels);
        }
    }
}

static liana_status read_record(liana__image_reader *reader, const liana_source_record *record, float *pixels,
                                liana__error *error)
{
    const liana__decode_options *options = &reader->options;
    const size_t count = (size_t)(options->height * options->width * options->channels);
    if (!reader->round) return liana__decode_record(&reader->decoder, options, record, NULL, pixels, error);
    LIANA_TRY(grow(&reader->rounded, &reader->rounded_size, count, error));
    LIANA_TRY(liana__decode_record(&reader->decoder, options, record, NULL, reader->rounded, error));
    for (size_t i = 0; i < count; i++) pixels[i] = (float)reader->rounded[i];
    return LIANA_OK;
}

liana_status liana__image_reader_take(liana__image_reader *reader, const liana_pixels *image, float *pixels,
                                      liana__error *error)
{
    LIANA_TRY(check_image(image, error));
    const int channels = image->channels == 4 ? 3 : image->channels;
    const bool has_gaps = image->row_bytes && image->row_bytes != image->width * image->channels;
    liana_source_record record = {.pixels = image->data,
                                  .height = image->height,
                                  .width = image->width,
                                  .channels = channels};
    if (has_gaps || image->channels == 4) {
        const size_t size = (size_t)(image->height * image->width * channels);
        LIANA_TRY(grow(&reader->packed, &reader->packed_size, size, error));
        pack(image, channels, reader->packed);
        record.pixels = reader->packed;
    }
    return read_record(reader, &record, pixels, error);
}

liana_status liana__image_reader_decode(liana__image_reader *reader, const void *bytes, size_t size, float *pixels,
                                        liana__error *error)
{
    const liana_source_record record = {.bytes = bytes, .size = size};
    return read_record(reader, &record, pixels, error);
}

void liana__image_reader_free(liana__image_reader *reader)
{
    liana__decoder_free(&reader->decoder);
    free(reader->packed);
    free(reader->rounded);
}
