/* The table of activations. */
#include "layers/activations.h"

#include "base/parts.h"

#include <string.h>

static liana_tensor scalar_like(liana_location here, liana_tensor x, double value)
{
    return liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), value);
}

static liana_tensor build_linear(liana_location here, liana_tensor x)
{
    (void)here;
    return x;
}

/* clip(slope x + 0.5, 0, 1). */
static liana_tensor build_clipped_line(liana_location here, liana_tensor x, double slope)
{
    liana_tensor line = liana_op_multiply_at(here, x, scalar_like(here, x, slope));
    return liana_op_clip_at(here, liana_op_add_at(here, line, scalar_like(here, x, 0.5)), 0, 1);
}

/* Keras 3's: relu6(x + 3) / 6. */
static liana_tensor build_hard_sigmoid(liana_location here, liana_tensor x)
{
    return build_clipped_line(here, x, 1.0 / 6);
}

static liana_tensor build_hard_sigmoid_keras2(liana_location here, liana_tensor x)
{
    return build_clipped_line(here, x, 0.2);
}

/* alpha (e^x - 1) below 0, x from 0 on (TensorFlow's slope at 0). The exponent is limited to 0, so that the branch that
 * is not taken cannot overflow. */
static liana_tensor build_scaled_elu(liana_location here, liana_tensor x, double alpha)
{
    liana_tensor zero = scalar_like(here, x, 0), is_above = liana_op_greater_equal_at(here, x, zero);
    liana_tensor below = liana_op_exp_at(here, liana_op_select_at(here, is_above, zero, x));
    below = liana_op_subtract_at(here, below, scalar_like(here, x, 1));
    if (alpha != 1) below = liana_op_multiply_at(here, below, scalar_like(here, x, alpha));
    return liana_op_select_at(here, is_above, x, below);
}

static liana_tensor build_elu(liana_location here, liana_tensor x)
{
    return build_scaled_elu(here, x, 1);
}

/* Klambauer et al. 2017: scale * elu(x, alpha). */
static liana_tensor build_selu(liana_location here, liana_tensor x)
{
    const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return liana_op_multiply_at(here, build_scaled_elu(here, x, alpha), scalar_like(here, x, scale));
}

/* log(1 + e^x) as max(x, 0) + log1p(e^-|x|), which cannot overflow. The gradient of this maximum at 0 is 1/2, that of
 * relu would be 0. */
static liana_tensor build_softplus(liana_location here, liana_tensor x)
{
    liana_tensor tail = liana_op_exp_at(here, liana_op_negate_at(here, liana_op_abs_at(here, x)));
    liana_tensor positive = liana_op_maximum_at(here, x, scalar_like(here, x, 0));
    return liana_op_add_at(here, positive, liana_op_log1p_at(here, tail));
}

static liana_tensor build_softsign(liana_location here, liana_tensor x)
{
    liana_tensor below = liana_op_add_at(here, liana_op_abs_at(here, x), scalar_like(here, x, 1));
    return liana_op_divide_at(here, x, below);
}

const liana__activation liana__activations[] = {
    {"linear", "x", build_linear, LIANA__LOGITS_NONE},
    {"relu", "max(x, 0)", liana_op_relu_at, LIANA__LOGITS_NONE},
    {"relu6", "min(max(x, 0), 6)", liana_op_relu6_at, LIANA__LOGITS_NONE},
    {"sigmoid", "1 / (1 + e^-x)", liana_op_logistic_at, LIANA__LOGITS_SIGMOID},
    {"hard_sigmoid", "min(max(x / 6 + 0.5, 0), 1), as in Keras 3", build_hard_sigmoid, LIANA__LOGITS_NONE},
    {LIANA__HARD_SIGMOID_KERAS2, "min(max(0.2 x + 0.5, 0), 1), the hard_sigmoid of Keras 1 and 2",
     build_hard_sigmoid_keras2, LIANA__LOGITS_NONE},
    {"tanh", "the hyperbolic tangent", liana_op_tanh_at, LIANA__LOGITS_NONE},
    {"softmax", "e^x / sum(e^x) over the last axis", liana_op_softmax_at, LIANA__LOGITS_SOFTMAX},
    {"swish", "x sigmoid(x)", liana_op_swish_at, LIANA__LOGITS_NONE},
    {"silu", "x sigmoid(x)", liana_op_swish_at, LIANA__LOGITS_NONE},
    {"elu", "x above 0, else e^x - 1", build_elu, LIANA__LOGITS_NONE},
    {"selu", "1.0507 x above 0, else 1.7581 (e^x - 1)", build_selu, LIANA__LOGITS_NONE},
    {"softplus", "log(1 + e^x)", build_softplus, LIANA__LOGITS_NONE},
    {"softsign", "x / (1 + |x|)", build_softsign, LIANA__LOGITS_NONE},
    {"exponential", "e^x", liana_op_exp_at, LIANA__LOGITS_NONE},
    {NULL, NULL, NULL, LIANA__LOGITS_NONE},
};

enum { NUM_ACTIVATIONS = sizeof liana__activations / sizeof *liana__activations - 1 };

static const liana__named list = LIANA__NAMED(liana__activation, liana__activations, NUM_ACTIVATIONS);

const char *liana__activation_nearest(const liana_context *context, const char *name)
{
    const char *nearest = NULL;
    (void)liana__part_find(context, LIANA__PART_ACTIVATION, list, name, &nearest);
    return nearest;
}

const liana__activation *liana__activation_find(const char *name, const char **nearest)
{
    if (!name || !*name) return &liana__activations[0];
    size_t index = liana__named_find(list, name, nearest);
    return index < list.count ? &liana__activations[index] : NULL;
}

liana_tensor liana__activate(liana__layer_call *call, const char *name, liana_tensor x)
{
    const liana__activation *activation = liana__activation_find(name, NULL);
    if (!activation) return liana__own_activate(call->here, name, x);
    if (activation->logits_kind != LIANA__LOGITS_NONE) {
        call->logits = x;
        call->logits_kind = activation->logits_kind;
    }
    return activation->build(call->here, x);
}
