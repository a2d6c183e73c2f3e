/* liana_prepare_image: an image in memory as the input of a model. */
#include "base/scoped.h"
#include "data/image/decode.h"
#include "ir/shape.h"
#include "layers/model.h"
#include "models/preprocessing.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16 };

static liana_status check_input(const liana_model *model, const liana_shape *input, liana__error *error)
{
    const int64_t channels = input->rank == 4 ? input->dims[3] : 0;
    if (channels != 1 && channels != 3) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model's first input is %s, which is no image; expected [batch, height, width, 1 or 3]",
                           liana__shape_print(input).text);
    }
    if (model->preprocessing.scale != LIANA_SCALE_AUTO) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the model does not know the scale of its images: it was not fitted to any; say it with "
                       "liana_model_set_preprocessing");
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

/* Pixels of the input's size and channels, 0 to 255, as the model was trained: with their fractions, or rounded. */
static liana_status resize(const liana_model *model, const liana_shape *shape, const liana_source_record *record,
                           float *input, liana__error *error)
{
    const bool rounds = model->preprocessing.round;
    const liana__decode_options options = {.height = shape->dims[1],
                                           .width = shape->dims[2],
                                           .channels = (int)shape->dims[3],
                                           .antialias = model->preprocessing.antialias,
                                           .fractions = !rounds};
    const size_t count = (size_t)(shape->dims[1] * shape->dims[2] * shape->dims[3]);
    LIANA__SCOPED_MEMORY uint8_t *bytes = rounds ? malloc(count) : NULL;
    if (rounds && !bytes) return liana__fail_memory(error, "an image");
    LIANA__SCOPED(liana__decoder) decoder = {0};
    LIANA_TRY(liana__decode_record(&decoder, &options, record, NULL, rounds ? (void *)bytes : input, error));
    for (size_t i = 0; rounds && i < count; i++) input[i] = (float)bytes[i];
    return LIANA_OK;
}

static liana_status prepare(const liana_model *model, const liana_pixels *image, float *input, liana__error *error)
{
    const liana_shape shape = liana__model_input_shape(model);
    LIANA_TRY(check_input(model, &shape, error));
    LIANA_TRY(check_image(image, error));
    const int channels = image->channels == 4 ? 3 : image->channels;
    uint8_t *packed = malloc((size_t)(image->height * image->width * channels));
    if (!packed) return liana__fail_memory(error, "an image");
    pack(image, channels, packed);
    const liana_source_record record = {.pixels = packed,
                                        .height = image->height,
                                        .width = image->width,
                                        .channels = channels};
    liana_status status = resize(model, &shape, &record, input, error);
    free(packed);
    LIANA_TRY(status);
    return liana__preprocess_pixels(model->preprocessing.scale, shape.dims[3], (size_t)(shape.dims[1] * shape.dims[2]),
                                    input, error);
}

liana_status liana_prepare_image(const liana_model *model, const liana_pixels *image, float *input)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, image);
    LIANA__REQUIRE(&model->context->error, input);
    LIANA__CONTEXT_CALL(model->context, prepare(model, image, input, &model->context->error));
}
