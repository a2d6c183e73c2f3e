/* The classes of ImageNet, and predictions as names. */
#include "models/imagenet.h"

#include "base/context.h"

const char *const liana__imagenet_names[LIANA_IMAGENET_CLASSES] = {
#define LIANA__IMAGENET_CLASS(id, name) name,
#include "models/imagenet_classes.def"
#undef LIANA__IMAGENET_CLASS
};

const char *const liana__imagenet_ids[LIANA_IMAGENET_CLASSES] = {
#define LIANA__IMAGENET_CLASS(id, name) "n" #id,
#include "models/imagenet_classes.def"
#undef LIANA__IMAGENET_CLASS
};

liana_imagenet_class liana_imagenet_class_at(size_t index)
{
    if (index >= LIANA_IMAGENET_CLASSES) return (liana_imagenet_class){0};
    return (liana_imagenet_class){.index = index,
                                  .wordnet_id = liana__imagenet_ids[index],
                                  .name = liana__imagenet_names[index]};
}

bool liana__has_imagenet_classifier(const liana_model *model)
{
    liana__model_origin origin;
    const liana_shape output = liana__model_output_shape(model);
    const bool fits = liana__model_num_outputs(model) == 1 && output.rank == 2 &&
                      output.dims[1] == LIANA_IMAGENET_CLASSES && liana__model_find_origin(model, &origin);
    return fits && origin.include_top && origin.classes == LIANA_IMAGENET_CLASSES;
}

/* NaN is below everything. */
static bool is_larger(float a, float b)
{
    return a > b || (a == a && b != b);
}

size_t liana__find_largest(const float *values, size_t count, size_t most, size_t *largest)
{
    size_t found = 0;
    for (size_t i = 0; i < count && most; i++) {
        size_t place = found;
        while (place > 0 && is_larger(values[i], values[largest[place - 1]])) place--;
        if (place == most) continue;
        if (found < most) found++;
        for (size_t k = found - 1; k > place; k--) largest[k] = largest[k - 1];
        largest[place] = i;
    }
    return found;
}

static liana_status decode(const float *predictions, int64_t batch, int64_t classes, size_t top,
                           liana_imagenet_class *decoded, liana__error *error)
{
    size_t largest[LIANA_IMAGENET_CLASSES];
    if (classes != LIANA_IMAGENET_CLASSES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "found predictions of %lld classes, expected ImageNet's %d: [batch, %d], as a network with "
                           "its own classifier (include_top) gives them",
                           (long long)classes, LIANA_IMAGENET_CLASSES, LIANA_IMAGENET_CLASSES);
    }
    if (batch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found a batch of %lld examples", (long long)batch);
    }
    if (top < 1 || top > LIANA_IMAGENET_CLASSES) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "found %zu classes to give for each example, expected 1 to %d",
                           top, LIANA_IMAGENET_CLASSES);
    }
    for (int64_t i = 0; i < batch; i++, predictions += classes) {
        (void)liana__find_largest(predictions, LIANA_IMAGENET_CLASSES, top, largest);
        for (size_t k = 0; k < top; k++, decoded++) {
            *decoded = liana_imagenet_class_at(largest[k]);
            decoded->probability = predictions[largest[k]];
        }
    }
    return LIANA_OK;
}

liana_status liana_decode_predictions(liana_context *context, const float *predictions, int64_t batch, int64_t classes,
                                      size_t top, liana_imagenet_class *decoded)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, predictions);
    LIANA__REQUIRE(&context->error, decoded);
    LIANA__CONTEXT_CALL(context, decode(predictions, batch, classes, top, decoded, &context->error));
}
