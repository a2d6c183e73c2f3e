/* image_reader.h - images of any size, in memory or encoded, as pixels of a model's input. */
#ifndef LIANA_TRAIN_IMAGE_READER_H
#define LIANA_TRAIN_IMAGE_READER_H

#include "data/image/decode.h"

#include <liana/preprocessing.h>

/* It keeps its memory from image to image. Zero-initialise; free with liana__image_reader_free. */
typedef struct liana__image_reader {
    liana__decode_options options; /* height, width, channels and max_pixels, which the owner sets */
    bool round;                    /* resized pixels are whole numbers */
    liana__decoder decoder;
    uint8_t *packed; /* pixels without gaps and alpha */
    size_t packed_size;
    uint8_t *rounded; /* pixels of the input's size */
    size_t rounded_size;
} liana__image_reader;

/* For an input [batch, height, width, channels], and images that are resized as `preprocessing` says. */
void liana__image_reader_init(liana__image_reader *reader, const liana_shape *input,
                              const liana_preprocessing *preprocessing);

/* Writes height x width x channels pixels, 0 to 255. Errors: INVALID_ARGUMENT (no image), OUT_OF_MEMORY. */
liana_status liana__image_reader_take(liana__image_reader *reader, const liana_pixels *image, float *pixels,
                                      liana__error *error) LIANA_MUST_USE;
/* The same of an image file in memory. Errors: those of liana__image_decode. */
liana_status liana__image_reader_decode(liana__image_reader *reader, const void *bytes, size_t size, float *pixels,
                                        liana__error *error) LIANA_MUST_USE;

void liana__image_reader_free(liana__image_reader *reader);

#endif
