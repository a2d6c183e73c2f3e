/* Images of any size, as the input of a predictor. */
#include "train/predictor/predictor.h"

#include <stdlib.h>

struct liana_image_decoder {
    liana__image_reader reader;
    liana__error error;
};

static liana_status check_takes_images(const liana_predictor *own, liana__error *error)
{
    if (!own->facts.takes_images) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model does not take pixels: its only input must be images [batch, height, width, 1 or "
                           "3], and the predictor must not be opened with prepared_images");
    }
    if (own->facts.preprocessing.scale != LIANA_SCALE_AUTO) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the model does not know the scale of its images: it was not fitted to any; say it with the "
                       "option scale");
}

/* ---- decoders ---- */

static liana_status create(const liana_predictor *own, const liana_image_decoder_options *options,
                           liana_image_decoder **out, liana__error *error)
{
    const int64_t max_pixels = options ? options->max_pixels : 0;
    const liana_shape shape = liana_shape_of(1, own->facts.height, own->facts.width, own->facts.channels);
    LIANA_TRY(check_takes_images(own, error));
    if (max_pixels < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "max_pixels is %lld, expected at least 1 (0: %lld)",
                           (long long)max_pixels, (long long)LIANA__IMAGE_MAX_PIXELS);
    }
    liana_image_decoder *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "a decoder");
    liana__image_reader_init(&made->reader, &shape, &own->facts.preprocessing);
    made->reader.options.max_pixels = max_pixels;
    *out = made;
    return LIANA_OK;
}

liana_status liana_image_decoder_create(liana_predictor *predictor, const liana_image_decoder_options *options,
                                        liana_image_decoder **decoder)
{
    LIANA__REQUIRE(predictor ? &predictor->context->error : NULL, decoder);
    *decoder = NULL;
    LIANA__REQUIRE(NULL, predictor);
    LIANA__CONTEXT_CALL(predictor->context, create(predictor, options, decoder, &predictor->context->error));
}

void liana_image_decoder_destroy(liana_image_decoder *decoder)
{
    if (!decoder) return;
    liana__image_reader_free(&decoder->reader);
    free(decoder);
}

liana_status liana_image_decode(liana_image_decoder *decoder, const void *bytes, size_t size, float *pixels)
{
    LIANA__REQUIRE(NULL, decoder);
    LIANA__REQUIRE(&decoder->error, bytes);
    LIANA__REQUIRE(&decoder->error, pixels);
    return liana__image_reader_decode(&decoder->reader, bytes, size, pixels, &decoder->error);
}

liana_status liana_image_resize(liana_image_decoder *decoder, const liana_pixels *image, float *pixels)
{
    LIANA__REQUIRE(NULL, decoder);
    LIANA__REQUIRE(&decoder->error, image);
    LIANA__REQUIRE(&decoder->error, pixels);
    return liana__image_reader_take(&decoder->reader, image, pixels, &decoder->error);
}

const char *liana_image_decoder_message(const liana_image_decoder *decoder)
{
    return decoder ? decoder->error.message : "";
}

/* ---- runs ---- */

/* Images of one kind: pixels, or files. */
typedef struct image_list {
    const liana_pixels *pixels;
    const liana_bytes *files;
    size_t count;
} image_list;

static liana_status take_image(liana_predictor *own, const image_list *images, size_t index, liana__error *error)
{
    const liana__predictor_input *input = &own->inputs[0];
    float *row = (float *)(void *)(input->rows + index * input->row_size);
    liana__image_reader *reader = &own->decoder->reader;
    liana_status status;
    if (images->pixels) {
        status = liana__image_reader_take(reader, &images->pixels[index], row, error);
    } else if (images->files[index].data) {
        status = liana__image_reader_decode(reader, images->files[index].data, images->files[index].size, row, error);
    } else {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "its bytes are NULL");
    }
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "image %zu", index);
}

static liana_status run(liana_predictor *own, const image_list *images, float *outputs, liana__error *error)
{
    const liana__predictor_input *input = &own->inputs[0];
    liana__batch batch = {0};
    LIANA_TRY(check_takes_images(own, error));
    const int64_t most = own->facts.batch_size;
    LIANA_TRY(liana__predictor_check_count(own, images->count > (size_t)most ? most + 1 : (int64_t)images->count,
                                           "images", error));
    for (size_t i = 0; i < images->count; i++) LIANA_TRY(take_image(own, images, i, error));
    liana__predictor_fill_up(input, (int64_t)images->count, own->computed[images->count]);
    liana__batch_add(&batch, input->component.text, input->dtype, &input->shape, input->rows);
    return liana__predictor_run_rows(own, &batch, (int64_t)images->count, outputs, error);
}

liana_status liana_predictor_run_images(liana_predictor *predictor, const liana_pixels *images, size_t num_images,
                                        float *outputs)
{
    LIANA__REQUIRE(NULL, predictor);
    liana__error *error = &predictor->context->error;
    LIANA__REQUIRE(error, images);
    LIANA__REQUIRE(error, outputs);
    const image_list list = {.pixels = images, .count = num_images};
    LIANA__CONTEXT_CALL(predictor->context, run(predictor, &list, outputs, error));
}

liana_status liana_predictor_run_encoded(liana_predictor *predictor, const liana_bytes *images, size_t num_images,
                                         float *outputs)
{
    LIANA__REQUIRE(NULL, predictor);
    liana__error *error = &predictor->context->error;
    LIANA__REQUIRE(error, images);
    LIANA__REQUIRE(error, outputs);
    const image_list list = {.files = images, .count = num_images};
    LIANA__CONTEXT_CALL(predictor->context, run(predictor, &list, outputs, error));
}
