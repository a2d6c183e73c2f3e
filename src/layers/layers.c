/* The list of layers, and checks that several of them make. */
#include "base/format.h"
#include "base/parts.h"
#include "ir/shape.h"
#include "layers/activations.h"
#include "layers/initializers.h"
#include "layers/layer.h"

#include <stdio.h>
#include <string.h>

const liana__layer_type *const liana__layer_types[] = {
#define LIANA__LAYER(stem, name) &liana__layer_##name,
#include "layers/layers.def"
#undef LIANA__LAYER
    NULL,
};

enum { NUM_LAYER_TYPES = sizeof liana__layer_types / sizeof *liana__layer_types - 1 };

typedef struct common_options {
    const char *name;
    bool trainable, training;
} common_options;

static const liana__field common_fields[] = {
    {.name = "name",
     .kind = LIANA__FIELD_STRING,
     .offset = offsetof(common_options, name),
     .doc = "the layer's name in weight files and messages; default as in Keras, such as conv2d_1"},
    {.name = "trainable",
     .kind = LIANA__FIELD_BOOL,
     .offset = offsetof(common_options, trainable),
     .default_text = "true",
     .doc = "whether training changes the layer's weights"},
    {.name = "training",
     .kind = LIANA__FIELD_BOOL,
     .offset = offsetof(common_options, training),
     .default_text = "true",
     .doc = "false: the layer computes as in inference also in training (Keras's call with training=False)"},
};
const liana__fields liana__layer_common = {"layer", sizeof(common_options), 3, common_fields};

const char *const liana__padding_names[] = {"valid", "same", NULL};
_Static_assert(LIANA_PADDING_VALID == 0 && LIANA_PADDING_SAME == 1, "liana__padding_names follows liana_padding");

const liana__layer_type *liana__layer_find(const liana_context *context, const char *class_name, const char **nearest)
{
    const liana__named list = LIANA__NAMED_POINTERS(liana__layer_type, liana__layer_types, NUM_LAYER_TYPES);
    return liana__part_find(context, LIANA__PART_LAYER, list, class_name, nearest);
}

/* Or of all masks; an invalid one if an input has none (Keras 3's rule for layers that join inputs). */
static liana_tensor join_masks(const liana__layer_call *call)
{
    liana_tensor mask = call->masks[0];
    for (size_t i = 1; i < call->num_inputs && mask.id; i++) {
        mask = call->masks[i].id ? liana_op_logical_or_at(call->here, mask, call->masks[i]) : call->masks[i];
    }
    return mask;
}

liana_tensor liana__layer_invoke(const liana__layer_type *type, liana__layer_call *call)
{
    static const liana_tensor no_masks[LIANA_MAX_LAYER_INPUTS];
    liana_tensor converted[LIANA_MAX_LAYER_INPUTS];
    const liana_tensor *given = call->inputs;
    for (size_t i = 0; i < call->num_inputs && !type->takes_integers; i++) {
        bool is_float = liana__dtype_is_float(liana_tensor_dtype(given[i]));
        converted[i] = is_float ? given[i] : liana_op_cast_at(call->here, given[i], call->dtype);
        call->inputs = converted;
    }
    if (!call->masks) call->masks = no_masks;
    liana_tensor result = type->call(call);
    call->inputs = given;
    if (type->masking == LIANA__MASK_KEPT) call->mask = join_masks(call);
    if (type->masking == LIANA__MASK_DROPPED) call->mask = (liana_tensor){0};
    return result;
}

liana_status liana__option_fail(liana__layer_check *check, const char *option, const char *format, ...)
{
    char message[512], where[256];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    snprintf(where, sizeof where, "%s.%s", check->where, option);
    const liana__value *value = liana__value_get(check->map, option);
    const liana__place *place = value ? &value->place : check->map ? &check->map->place : NULL;
    return liana__fail_at(check->error, place, where, "%s", message);
}

liana_status liana__check_activation(liana__layer_check *check, const char *option, const char *name)
{
    if (liana__activation_find(name, NULL)) return LIANA_OK;
    if (liana__own_activation_is_named(check->context, name)) {
        liana__error reason = {0};
        liana_status status = liana__own_activation_check(check->context, name, &reason);
        return status == LIANA_OK ? LIANA_OK : liana__option_fail(check, option, "%s", reason.message);
    }
    const char *nearest = liana__activation_nearest(check->context, name);
    if (nearest) {
        return liana__option_fail(check, option, "found '%.60s', which is not an activation; did you mean '%s'?", name,
                                  nearest);
    }
    liana__text known = {0};
    for (const liana__activation *item = liana__activations; item->name; item++) {
        liana__text_add(&known, "%s%s", item == liana__activations ? "" : ", ", item->name);
    }
    liana__option_fail(check, option, "found '%.60s', expected an activation: %s", name, known.data ? known.data : "");
    liana__text_free(&known);
    return LIANA_INVALID_CONFIG;
}

liana_status liana__check_initializer(liana__layer_check *check, const char *option, const char *text)
{
    liana__initializer initializer;
    liana__error reason;
    if (!text) return liana__option_fail(check, option, "an initialiser is needed, such as zeros");
    if (liana__initializer_parse(check->context, text, &initializer, &reason) == LIANA_OK) return LIANA_OK;
    return liana__option_fail(check, option, "%s", reason.message);
}

liana_status liana__build_fail(liana__layer_build *build, size_t input, const char *expected)
{
    if (build->status != LIANA_OK) return build->status;
    liana_shape shape = build->inputs[input];
    liana__text text = {0};
    liana__text_add(&text, "[batch");
    for (int i = 1; i < shape.rank; i++) liana__text_add(&text, ", %lld", (long long)shape.dims[i]);
    build->status = liana__fail(build->error, LIANA_INVALID_ARGUMENT, "found an input of shape %s], expected %s",
                                text.data ? text.data : "[", expected);
    liana__text_free(&text);
    return build->status;
}

liana_status liana__build_images(liana__layer_build *build)
{
    if (build->inputs[0].rank == 4) return LIANA_OK;
    return liana__build_fail(build, 0, "images: [batch, height, width, channels]");
}
