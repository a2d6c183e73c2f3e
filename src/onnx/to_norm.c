/* Normalisation. */
#include "onnx/op_table.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/layer_norm.h"

/* With channels last there is no op: (x - mean) * (gamma / sqrt(variance + epsilon)) + beta. */
static const char *by_steps(liana__onnx_scope *scope, const liana__node *node, const char *x, const char *const *names,
                            double epsilon)
{
    const char *gamma = names[0], *beta = names[1], *mean = names[2], *variance = names[3];
    const char *added = liana__onnx_number(scope, LIANA_F32, epsilon);
    const char *root = liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(variance, added), NULL);
    root = liana__onnx_say(scope, node, "Sqrt", LIANA__ONNX_OF(root), NULL);
    const char *factor = liana__onnx_say(scope, node, "Div", LIANA__ONNX_OF(gamma, root), NULL);
    x = liana__onnx_say(scope, node, "Sub", LIANA__ONNX_OF(x, mean), NULL);
    x = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(x, factor), NULL);
    return liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(x, beta), NULL);
}

/* The same with all but x known: one factor and one term for each channel. */
static const char *by_numbers(liana__onnx_scope *scope, const liana__node *node, const char *x, double epsilon)
{
    const float *data[4];
    const int64_t channels = node->shape.dims[node->shape.rank - 1];
    const liana_shape shape = liana_shape_of(channels);
    float *factor = liana__onnx_allocate(scope->file, 2 * (size_t)channels * sizeof *factor), *term = factor + channels;
    if (!factor) return "";
    for (int i = 0; i < 4; i++) data[i] = liana__onnx_data(scope, node->inputs[i + 1]);
    for (int64_t i = 0; i < channels; i++) {
        const double scale = (double)data[0][i] / sqrt((double)data[3][i] + epsilon);
        factor[i] = (float)scale;
        term[i] = (float)((double)data[1][i] - (double)data[2][i] * scale);
    }
    const char *scale = liana__onnx_constant(scope, "scale", LIANA_F32, &shape, factor);
    const char *offset = liana__onnx_constant(scope, "offset", LIANA_F32, &shape, term);
    x = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(x, scale), NULL);
    return liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(x, offset), NULL);
}

void liana__onnx_to_batch_norm(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__batch_norm_attributes *own = node->attributes;
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const char *x = liana__onnx_name(scope, node->inputs[0], layout), *names[4];
    bool is_known = true;
    (void)type;
    for (int i = 0; i < 4; i++) is_known = is_known && liana__onnx_data(scope, node->inputs[i + 1]);
    if (layout == LIANA__ONNX_NATURAL && node->shape.rank != 2 && is_known) {
        x = by_numbers(scope, node, x, own->epsilon);
    } else {
        for (int i = 0; i < 4; i++) names[i] = liana__onnx_input(scope, node, (size_t)i + 1);
        x = layout == LIANA__ONNX_NATURAL && node->shape.rank != 2
                ? by_steps(scope, node, x, names, own->epsilon)
                : liana__onnx_say(scope, node, "BatchNormalization",
                                  LIANA__ONNX_OF(x, names[0], names[1], names[2], names[3]),
                                  LIANA__ONNX_WITH(LIANA__ONNX_FLOAT("epsilon", own->epsilon)));
    }
    liana__onnx_give(scope, node, x, layout);
}

/* x / sqrt(mean(x^2) + epsilon) * gamma + beta; "": no beta. */
static const char *by_mean_square(liana__onnx_scope *scope, const liana__node *node, const char *x, const char *gamma,
                                  const char *beta)
{
    static const int64_t last = -1;
    const char *added = liana__onnx_number(scope, node->dtype, liana__layer_norm_attributes_of(node)->epsilon);
    const char *mean = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(x, x), NULL);
    mean = liana__onnx_say(scope, node, "ReduceMean", LIANA__ONNX_OF(mean),
                           LIANA__ONNX_WITH(LIANA__ONNX_INTS("axes", &last, 1), LIANA__ONNX_INT("keepdims", 1)));
    mean = liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(mean, added), NULL);
    mean = liana__onnx_say(scope, node, "Sqrt", LIANA__ONNX_OF(mean), NULL);
    x = liana__onnx_say(scope, node, "Div", LIANA__ONNX_OF(x, mean), NULL);
    x = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(x, gamma), NULL);
    return *beta ? liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(x, beta), NULL) : x;
}

void liana__onnx_to_layer_norm(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__layer_norm_attributes *own = liana__layer_norm_attributes_of(node);
    const char *x = liana__onnx_input(scope, node, 0);
    const char *gamma = liana__onnx_input(scope, node, 1);
    const char *beta = node->num_inputs > 2 ? liana__onnx_input(scope, node, 2) : "";
    (void)type;
    x = own->about_zero ? by_mean_square(scope, node, x, gamma, beta)
                        : liana__onnx_say(scope, node, "LayerNormalization", LIANA__ONNX_OF(x, gamma, beta),
                                          LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", -1),
                                                           LIANA__ONNX_FLOAT("epsilon", own->epsilon)));
    liana__onnx_give(scope, node, x, LIANA__ONNX_NATURAL);
}
