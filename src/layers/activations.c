/* The activations. */
#include "layers/activations.h"

#include "ir/graph.h"
#include "ir/part_result.h"
#include "layers/rules/call_text.h"

static liana_tensor scalar_like(liana_location here, liana_tensor x, double value)
{
    return liana_graph_scalar_at(here, x.graph, liana_tensor_dtype(x), value);
}

/* clip(slope x + 0.5, 0, 1). */
static liana_tensor build_clipped_line(liana_location here, liana_tensor x, double slope)
{
    liana_tensor line = liana_op_multiply_at(here, x, scalar_like(here, x, slope));
    return liana_op_clip_at(here, liana_op_add_at(here, line, scalar_like(here, x, 0.5)), 0, 1);
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

/* The function of a type, which is `value` of x. */
#define APPLY(name, value)                                              \
    static liana_tensor apply_##name(const liana_activation_call *call) \
    {                                                                   \
        const liana_location here = call->here;                         \
        const liana_tensor x = call->x;                                 \
        (void)here;                                                     \
        return value;                                                   \
    }
APPLY(linear, x)
APPLY(relu, liana_op_relu_at(here, x))
APPLY(relu6, liana_op_relu6_at(here, x))
APPLY(logistic, liana_op_logistic_at(here, x))
APPLY(hard_sigmoid, build_clipped_line(here, x, 1.0 / 6)) /* Keras 3's: relu6(x + 3) / 6 */
APPLY(hard_sigmoid_keras2, build_clipped_line(here, x, 0.2))
APPLY(tanh, liana_op_tanh_at(here, x))
APPLY(softmax, liana_op_softmax_at(here, x))
APPLY(swish, liana_op_swish_at(here, x))
APPLY(elu, build_scaled_elu(here, x, 1))
APPLY(selu, build_selu(here, x))
APPLY(softplus, build_softplus(here, x))
APPLY(softsign, build_softsign(here, x))
APPLY(exp, liana_op_exp_at(here, x))
#undef APPLY

#define ACTIVATION(name, doc, function, logits)                                               \
    &((const liana_activation_type){LIANA_PART(ACTIVATION, liana_activation_type, name, doc), \
                                    .logits_kind = LIANA_LOGITS_##logits, .apply = function}) \
         .part

static const liana_part *const list[] = {
    ACTIVATION("linear", "x", apply_linear, NONE),
    ACTIVATION("relu", "max(x, 0)", apply_relu, NONE),
    ACTIVATION("relu6", "min(max(x, 0), 6)", apply_relu6, NONE),
    ACTIVATION("sigmoid", "1 / (1 + e^-x)", apply_logistic, SIGMOID),
    ACTIVATION("hard_sigmoid", "min(max(x / 6 + 0.5, 0), 1), as in Keras 3", apply_hard_sigmoid, NONE),
    ACTIVATION(LIANA__HARD_SIGMOID_KERAS2, "min(max(0.2 x + 0.5, 0), 1), the hard_sigmoid of Keras 1 and 2",
               apply_hard_sigmoid_keras2, NONE),
    ACTIVATION("tanh", "the hyperbolic tangent", apply_tanh, NONE),
    ACTIVATION("softmax", "e^x / sum(e^x) over the last axis", apply_softmax, SOFTMAX),
    ACTIVATION("swish", "x sigmoid(x)", apply_swish, NONE),
    ACTIVATION("silu", "x sigmoid(x)", apply_swish, NONE),
    ACTIVATION("elu", "x above 0, else e^x - 1", apply_elu, NONE),
    ACTIVATION("selu", "1.0507 x above 0, else 1.7581 (e^x - 1)", apply_selu, NONE),
    ACTIVATION("softplus", "log(1 + e^x)", apply_softplus, NONE),
    ACTIVATION("softsign", "x / (1 + |x|)", apply_softsign, NONE),
    ACTIVATION("exponential", "e^x", apply_exp, NONE),
    NULL,
};
#undef ACTIVATION

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_activation_type *type = (const liana_activation_type *)part;
    LIANA_TRY(liana__part_needs(context, part, type->apply != NULL, "apply"));
    if ((unsigned)type->logits_kind > LIANA_LOGITS_SIGMOID) {
        return liana__part_refuse(context, part, "its logits are of the unknown kind %d", (int)type->logits_kind);
    }
    return liana__call_text_accept(context, part);
}

const liana__kind liana__activation_kind = {.kind = LIANA_PART_ACTIVATION,
                                            .size = sizeof(liana_activation_type),
                                            .builtin = list,
                                            .accept = accept};

liana_status liana__activation_read(const liana_context *context, const char *text, liana__arena *arena,
                                    liana__activation *activation, liana__error *error)
{
    const liana_part *part;
    if (!text || !*text) text = list[0]->name;
    LIANA_TRY(liana__call_text_read(text, &liana__activation_kind, context, arena, &part, &activation->options, error));
    activation->type = (const liana_activation_type *)part;
    return LIANA_OK;
}

liana_tensor liana__activate(liana_layer_call *call, const char *text, liana_tensor x)
{
    liana_graph *graph = x.graph;
    liana__activation activation;
    liana__error error = {0};
    if (!graph || graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    liana_status status = liana__activation_read(graph->context, text, &graph->arena, &activation, &error);
    if (status != LIANA_OK) return liana__graph_fail(graph, call->here, status, "activation: %s", error.message);
    const liana_activation_type *type = activation.type;
    const liana_activation_call given = {.here = call->here, .options = activation.options, .x = x};
    const liana_shape shape = liana_tensor_shape(x);
    if (type->logits_kind != LIANA_LOGITS_NONE) {
        call->logits = x;
        call->logits_kind = type->logits_kind;
    }
    return liana__part_result(&type->part, "apply", type->apply(&given), graph, liana_tensor_dtype(x), &shape);
}
