/* liana_prepare_image: an image in memory as the input of a model. */
#include "base/scoped.h"
#include "ir/shape.h"
#include "layers/model.h"
#include "models/preprocessing.h"
#include "train/model/image_reader.h"

#include <liana/train.h>

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

static liana_status prepare(const liana_model *model, const liana_pixels *image, float *input, liana__error *error)
{
    const liana_shape shape = liana__model_input_shape(model);
    LIANA__SCOPED(liana__image_reader) reader = {0};
    LIANA_TRY(check_input(model, &shape, error));
    liana__image_reader_init(&reader, &shape, &model->preprocessing);
    LIANA_TRY(liana__image_reader_take(&reader, image, input, error));
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
