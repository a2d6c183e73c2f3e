/* The activations. */
#include "layers/activations.h"

#include "base/scoped.h"
#include "ir/graph.h"
#include "ir/part_result.h"
#include "layers/activation_functions.h"
#include "layers/rules/call_text.h"

#include <math.h>
#include <string.h>

/* ---- arguments ---- */

typedef struct relu_options {
    double negative_slope, max_value, threshold;
} relu_options;
typedef struct number_options {
    double number; /* the one argument of a function */
} number_options;
typedef struct gelu_options {
    bool approximate;
} gelu_options;
typedef struct threshold_options {
    double threshold, default_value;
} threshold_options;
typedef struct axis_options {
    int64_t axis;
} axis_options;
typedef struct axes_options {
    liana_ints axis;
} axes_options;

/* A number: its name, default and meaning. */
#define NUMBER_ROW(argument, default_, least, doc_)                                               \
    {                                                                                             \
        .name = argument, .kind = LIANA_OPTION_FLOAT, .offset = offsetof(number_options, number), \
        .default_text = default_, .minimum = least, .maximum = INFINITY, .doc = doc_              \
    }

static const liana_option relu_rows[] = {
    LIANA_OPTION_ROW(relu_options, negative_slope, FLOAT, .default_text = "0.0", .doc = "slope below the threshold"),
    LIANA_OPTION_ROW(relu_options, max_value, FLOAT, .default_text = "null", .minimum = 0, .maximum = INFINITY,
                     .doc = "largest result; default: no limit"),
    LIANA_OPTION_ROW(relu_options, threshold, FLOAT, .default_text = "0.0",
                     .doc = "inputs up to it become 0, or follow negative_slope"),
};
static const liana_option leaky_relu_rows[] = {NUMBER_ROW("negative_slope", "0.2", -INFINITY, "slope below 0")};
static const liana_option alpha_rows[] = {NUMBER_ROW("alpha", "1.0", -INFINITY, "minus the limit far below 0")};
static const liana_option shrink_rows[] = {
    NUMBER_ROW("threshold", "0.5", -INFINITY, "inputs of at most this size become 0")};
static const liana_option squareplus_rows[] = {NUMBER_ROW("b", "4.0", 0, "how smooth it is around 0")};
static const liana_option gelu_rows[] = {
    LIANA_OPTION_ROW(gelu_options, approximate, BOOL, .default_text = "false", .doc = "whether by tanh, without erf"),
};
static const liana_option threshold_rows[] = {
    LIANA_OPTION_ROW(threshold_options, threshold, FLOAT, .required = true, .doc = "inputs above it stay"),
    LIANA_OPTION_ROW(threshold_options, default_value, FLOAT, .required = true, .doc = "the result of the others"),
};
static const liana_option axis_rows[] = {
    LIANA_OPTION_ROW(axis_options, axis, INT, .default_text = "-1", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK, .doc = "negative ones count from the end"),
};
static const liana_option axes_rows[] = {
    LIANA_OPTION_ROW(axes_options, axis, INTS, .default_text = "[-1]", .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK, .doc = "one or several; negative ones count from the end"),
};

/* ---- functions ---- */

/* The function of a type, which is `value` of x. */
#define APPLY(name, value)                                              \
    static liana_tensor apply_##name(const liana_activation_call *call) \
    {                                                                   \
        const liana_location here = call->here;                         \
        const liana_tensor x = call->x;                                 \
        (void)here;                                                     \
        return value;                                                   \
    }
#define NUMBER (((const number_options *)call->options)->number)
APPLY(linear, x)
APPLY(relu6, liana_op_relu6_at(here, x))
APPLY(logistic, liana_op_logistic_at(here, x))
APPLY(hard_sigmoid, liana__hard_sigmoid_of(here, x)) /* Keras 3's: relu6(x + 3) / 6 */
APPLY(hard_sigmoid_keras2, liana__hard_sigmoid_keras2_of(here, x))
APPLY(tanh, liana_op_tanh_at(here, x))
APPLY(softmax, liana__softmax_of(here, x, &((const axes_options *)call->options)->axis))
APPLY(log_softmax, liana__along_axis(here, x, ((const axis_options *)call->options)->axis, liana_op_log_softmax_at))
APPLY(sparsemax, liana__along_axis(here, x, ((const axis_options *)call->options)->axis, liana__sparsemax_of))
APPLY(sparsemax_projection,
      liana__along_axis(here, x, ((const axis_options *)call->options)->axis, liana__sparsemax_projection_of))
APPLY(glu, liana__glu_of(here, x, ((const axis_options *)call->options)->axis))
APPLY(swish, liana_op_swish_at(here, x))
APPLY(hard_silu, liana__hard_silu_of(here, x))
APPLY(hard_tanh, liana__hard_tanh_of(here, x))
APPLY(mish, liana__mish_of(here, x))
APPLY(leaky_relu, liana__relu_of(here, x, NUMBER, NAN, 0))
APPLY(elu, liana__elu_of(here, x, NUMBER, 1))
APPLY(celu, liana__elu_of(here, x, NUMBER, NUMBER))
APPLY(selu, liana__selu_of(here, x))
APPLY(softplus, liana__softplus_of(here, x))
APPLY(squareplus, liana__squareplus_of(here, x, NUMBER))
APPLY(softsign, liana__softsign_of(here, x))
APPLY(soft_shrink, liana__soft_shrink_of(here, x, NUMBER))
APPLY(hard_shrink, liana__hard_shrink_of(here, x, NUMBER))
APPLY(tanh_shrink, liana__tanh_shrink_of(here, x))
APPLY(log_sigmoid, liana__log_sigmoid_of(here, x))
APPLY(sparse_plus, liana__sparse_plus_of(here, x))
APPLY(sparse_sigmoid, liana__sparse_sigmoid_of(here, x))
APPLY(exp, liana_op_exp_at(here, x))
#undef NUMBER
#undef APPLY

static liana_tensor apply_relu(const liana_activation_call *call)
{
    const relu_options *chosen = call->options;
    return liana__relu_of(call->here, call->x, chosen->negative_slope, chosen->max_value, chosen->threshold);
}

static liana_tensor apply_gelu(const liana_activation_call *call)
{
    const bool approximate = ((const gelu_options *)call->options)->approximate;
    return approximate ? liana_op_gelu_tanh_at(call->here, call->x) : liana_op_gelu_at(call->here, call->x);
}

static liana_tensor apply_threshold(const liana_activation_call *call)
{
    const threshold_options *chosen = call->options;
    return liana__threshold_of(call->here, call->x, chosen->threshold, chosen->default_value);
}

/* A celu is divided by its alpha. */
static liana_status check_celu(liana_check *check)
{
    if (((const number_options *)check->options)->number != 0) return LIANA_OK;
    return liana_option_refuse(check, "alpha", "found 0, expected another number");
}

static liana_status check_axes(liana_check *check)
{
    const liana_ints *axes = &((const axes_options *)check->options)->axis;
    if (axes->count > 0 && axes->count < LIANA_MAX_RANK) return LIANA_OK;
    return liana_option_refuse(check, "axis", "found %lld axes, expected 1 to %d", (long long)axes->count,
                               LIANA_MAX_RANK - 1);
}

#define ACTIVATION(name, doc, function, ...)                                                                     \
    &((const liana_activation_type){LIANA_PART(ACTIVATION, liana_activation_type, name, doc), .apply = function, \
                                    __VA_ARGS__})                                                                \
         .part
#define TAKES(type, rows) .part.options = {NULL, sizeof(type), sizeof(rows) / sizeof *(rows), (rows)}
#define ALSO(...) .part.aliases = {__VA_ARGS__}

static const liana_part *const list[] = {
    ACTIVATION("linear", "x", apply_linear, ),
    ACTIVATION("relu", "max(x, 0); with arguments also a slope, a largest value and a threshold", apply_relu,
               TAKES(relu_options, relu_rows), ALSO("ReLU")),
    ACTIVATION("relu6", "min(max(x, 0), 6)", apply_relu6, ),
    ACTIVATION("leaky_relu", "x above 0, else negative_slope x", apply_leaky_relu,
               TAKES(number_options, leaky_relu_rows), ALSO("LeakyReLU", "leakyrelu")),
    ACTIVATION("sigmoid", "1 / (1 + e^-x)", apply_logistic, .logits_kind = LIANA_LOGITS_SIGMOID),
    ACTIVATION("hard_sigmoid", "min(max(x / 6 + 0.5, 0), 1), as in Keras 3", apply_hard_sigmoid, ),
    ACTIVATION(LIANA__HARD_SIGMOID_KERAS2, "min(max(0.2 x + 0.5, 0), 1), the hard_sigmoid of Keras 1 and 2",
               apply_hard_sigmoid_keras2, ),
    ACTIVATION("sparse_sigmoid", "min(max(0.5 x + 0.5, 0), 1)", apply_sparse_sigmoid, ),
    ACTIVATION("log_sigmoid", "log(1 / (1 + e^-x))", apply_log_sigmoid, ),
    ACTIVATION("tanh", "the hyperbolic tangent", apply_tanh, ),
    ACTIVATION("hard_tanh", "min(max(x, -1), 1)", apply_hard_tanh, ),
    ACTIVATION("tanh_shrink", "x - tanh(x)", apply_tanh_shrink, ),
    ACTIVATION("softmax", "e^x / sum(e^x) over the last axis, or others", apply_softmax, TAKES(axes_options, axes_rows),
               ALSO("Softmax"), .part.check = check_axes, .logits_kind = LIANA_LOGITS_SOFTMAX),
    ACTIVATION("log_softmax", "log(softmax(x))", apply_log_softmax, TAKES(axis_options, axis_rows)),
    ACTIVATION("sparsemax", "max(x - t, 0) with the t of Keras 3; sparsemax_projection has that of the paper",
               apply_sparsemax, TAKES(axis_options, axis_rows)),
    ACTIVATION(LIANA__SPARSEMAX_PROJECTION,
               "the point nearest to x among those whose elements are at least 0 and add up to 1",
               apply_sparsemax_projection, TAKES(axis_options, axis_rows)),
    ACTIVATION("swish", "x sigmoid(x)", apply_swish, ),
    ACTIVATION("silu", "x sigmoid(x)", apply_swish, ),
    ACTIVATION("hard_silu", "x hard_sigmoid(x)", apply_hard_silu, ALSO("hard_swish")),
    ACTIVATION("gelu", "x (1 + erf(x / sqrt(2))) / 2, or with tanh in place of erf", apply_gelu,
               TAKES(gelu_options, gelu_rows)),
    ACTIVATION("glu", "the first half times the sigmoid of the second; halves an axis", apply_glu,
               TAKES(axis_options, axis_rows), .changes_shape = true),
    ACTIVATION("mish", "x tanh(softplus(x))", apply_mish, ),
    ACTIVATION("elu", "x above 0, else alpha (e^x - 1)", apply_elu, TAKES(number_options, alpha_rows), ALSO("ELU")),
    ACTIVATION("celu", "x above 0, else alpha (e^(x / alpha) - 1)", apply_celu, TAKES(number_options, alpha_rows),
               .part.check = check_celu),
    ACTIVATION("selu", "1.0507 x above 0, else 1.7581 (e^x - 1)", apply_selu, ),
    ACTIVATION("softplus", "log(1 + e^x)", apply_softplus, ),
    ACTIVATION("squareplus", "(x + sqrt(x^2 + b)) / 2", apply_squareplus, TAKES(number_options, squareplus_rows)),
    ACTIVATION("sparse_plus", "0 up to -1, (x + 1)^2 / 4 up to 1, then x", apply_sparse_plus, ),
    ACTIVATION("softsign", "x / (1 + |x|)", apply_softsign, ),
    ACTIVATION("soft_shrink", "x moved towards 0 by the threshold", apply_soft_shrink,
               TAKES(number_options, shrink_rows)),
    ACTIVATION("hard_shrink", "x, or 0 if |x| is at most the threshold", apply_hard_shrink,
               TAKES(number_options, shrink_rows)),
    ACTIVATION("threshold", "x above the threshold, else default_value", apply_threshold,
               TAKES(threshold_options, threshold_rows)),
    ACTIVATION("exponential", "e^x", apply_exp, ),
    NULL,
};
#undef ACTIVATION
#undef TAKES
#undef ALSO

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

/* Losses start from the logits of a softmax over the last axis alone. */
static bool gives_probabilities(const liana__activation *activation, int rank)
{
    if (activation->type->logits_kind != LIANA_LOGITS_SOFTMAX || !activation->options) return true;
    const liana_ints *axes = &((const axes_options *)activation->options)->axis;
    const bool is_own = activation->type->apply == apply_softmax;
    return !is_own || (axes->count == 1 && (axes->values[0] == -1 || axes->values[0] == rank - 1));
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
    if (type->logits_kind != LIANA_LOGITS_NONE && gives_probabilities(&activation, shape.rank)) {
        call->logits = x;
        call->logits_kind = type->logits_kind;
    }
    return liana__part_result(&type->part, "apply", type->apply(&given), graph, liana_tensor_dtype(x),
                              type->changes_shape ? NULL : &shape);
}

bool liana__activation_is_plain(const liana__activation *activation)
{
    const liana_options *table = &activation->type->part.options;
    if (!activation->options) return true;
    LIANA__SCOPED(liana__arena) arena = {0};
    void *defaults = liana__arena_allocate(&arena, table->size);
    if (!defaults || liana__fields_default(table, &arena, defaults, NULL) != LIANA_OK) return false;
    const liana__value *own = liana__fields_write(table, &arena, activation->options);
    const liana__value *plain = liana__fields_write(table, &arena, defaults);
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].required || !liana__value_equal(own->items[i], plain->items[i])) return false;
    }
    return true;
}
