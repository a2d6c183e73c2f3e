/* cumsum and cumprod: sums and products of the elements so far along an axis. */
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct cumulative_attributes {
    int64_t axis; /* not negative after inference */
    bool reverse;
    bool exclusive;
} cumulative_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(cumulative_attributes, axis, INT, .doc = "The axis along which elements are joined."),
    LIANA__FIELD_ROW(cumulative_attributes, reverse, BOOL, .doc = "Whether it begins with the last element."),
    LIANA__FIELD_ROW(cumulative_attributes, exclusive, BOOL, .doc = "Whether an element's own value is left out."),
};
static const liana__fields attributes = {"cumulative", sizeof(cumulative_attributes), 3, fields};

static bool is_product(const liana__node *node)
{
    return node->op == &liana__op_cumprod;
}

static liana_status infer_cumulative(liana__infer *infer)
{
    cumulative_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    int axis;
    if (shape->rank == 0) return liana__infer_fail(infer, "a scalar has no axis");
    if (infer->inputs[0]->dtype == LIANA_BOOL) return liana__infer_fail(infer, "found bool, expected numbers");
    LIANA_TRY(liana__infer_axis(infer, options->axis, shape->rank, &axis));
    options->axis = axis;
    return liana__infer_like_input(infer);
}

static void cumsum_gradient(liana__gradient *g)
{
    const cumulative_attributes *options = g->node->attributes;
    g->input_gradients[0] = liana_op_cumsum(g->output_gradient, options->axis, !options->reverse, options->exclusive);
}

/* Each product that has an element changes by product / element: correct only if the element is not 0. */
static void cumprod_gradient(liana__gradient *g)
{
    const cumulative_attributes *options = g->node->attributes;
    liana_tensor terms = liana_op_multiply(g->output_gradient, g->output);
    terms = liana_op_cumsum(terms, options->axis, !options->reverse, options->exclusive);
    g->input_gradients[0] = liana_op_divide(terms, g->inputs[0]);
}

/* ---- kernels ---- */

/* A line: its first element, in the order of joining, and the distance to the next one. */
typedef struct line {
    int64_t first, step, length;
} line;

static line line_of(const liana__node *node, int64_t number)
{
    const cumulative_attributes *options = node->attributes;
    const int64_t inner = liana__inner_size(&node->shape, (int)options->axis);
    const int64_t length = node->shape.dims[options->axis];
    const int64_t begin = number / inner * length * inner + number % inner;
    return options->reverse ? (line){begin + (length - 1) * inner, -inner, length} : (line){begin, inner, length};
}

static int64_t count_lines(const liana__node *node)
{
    const cumulative_attributes *options = node->attributes;
    return liana_shape_size(&node->shape) / node->shape.dims[options->axis];
}

/* 64-bit integers wrap. */
static void join_wide(const liana__call *call, const line *at, bool exclusive)
{
    const uint64_t *x = call->src[0];
    uint64_t *to = call->dst, total = is_product(call->node);
    for (int64_t i = 0, place = at->first; i < at->length; i++, place += at->step) {
        const uint64_t before = total;
        total = is_product(call->node) ? total * x[place] : total + x[place];
        to[place] = exclusive ? before : total;
    }
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const cumulative_attributes *options = node->attributes;
    const bool is_wide = node->dtype == LIANA_S64 || node->dtype == LIANA_U64;
    for (int64_t number = 0; number < count_lines(node); number++) {
        const line at = line_of(node, number);
        double total = is_product(node);
        if (is_wide) join_wide(call, &at, options->exclusive);
        for (int64_t i = 0, place = at.first; i < at.length && !is_wide; i++, place += at.step) {
            const double x = liana__load(call->src[0], node->dtype, place), before = total;
            total = is_product(node) ? total * x : total + x;
            liana__store(call->dst, node->dtype, place, options->exclusive ? before : total);
        }
    }
    return LIANA_OK;
}

static bool is_f32(const liana__node *node, const char **reason)
{
    *reason = "not f32";
    return node->dtype == LIANA_F32;
}

/* Totals are kept in f64: so the last of a long line is as good as the first. */
static liana_status run_f32(const liana__call *call)
{
    const liana__node *node = call->node;
    const bool exclusive = ((const cumulative_attributes *)node->attributes)->exclusive;
    const float *x = call->src[0];
    float *to = call->dst;
    const int64_t lines = count_lines(node);
    for (int64_t number = 0; number < lines; number++) {
        const line at = line_of(node, number);
        double total = is_product(node);
        for (int64_t i = 0, place = at.first; i < at.length; i++, place += at.step) {
            const double before = total;
            total = is_product(node) ? total * (double)x[place] : total + (double)x[place];
            to[place] = (float)(exclusive ? before : total);
        }
    }
    return LIANA_OK;
}

/* ---- StableHLO ---- */

/* All elements `distance` places on along the axis; `neutral` comes in. */
static liana__hlo shift(liana__lowering *l, liana__hlo x, const cumulative_attributes *options, int64_t distance,
                        double neutral)
{
    int64_t low[LIANA_MAX_RANK] = {0}, high[LIANA_MAX_RANK] = {0}, interior[LIANA_MAX_RANK] = {0};
    low[options->axis] = options->reverse ? -distance : distance;
    high[options->axis] = -low[options->axis];
    return liana__hlo_pad(l, x, neutral, low, high, interior);
}

/* Joins each element with those 1, 2, 4, ... places before (Hillis and Steele 1986). */
static liana_status lower_cumulative(liana__lowering *l, const liana__node *node)
{
    const cumulative_attributes *options = node->attributes;
    const bool narrow = !liana__dtype_is_float(node->dtype) && liana_dtype_size(node->dtype) < 4;
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    if (narrow) x = liana__hlo_widen_integer(l, x, liana__dtype_is_signed(node->dtype));
    const double neutral = is_product(node);
    if (options->exclusive) x = shift(l, x, options, 1, neutral);
    for (int64_t distance = 1; distance < node->shape.dims[options->axis]; distance *= 2) {
        x = liana__hlo_binary(l, is_product(node) ? "multiply" : "add", x, shift(l, x, options, distance, neutral));
    }
    if (narrow) x = liana__hlo_narrow_integer(l, x, node->dtype);
    return liana__hlo_give(l, node, liana__hlo_convert(l, x, node->dtype));
}

static liana__parts parts_of(const liana__node *node)
{
    bool rows_stay = ((const cumulative_attributes *)node->attributes)->axis > 0;
    return rows_stay ? liana__parts_all_inputs(node) : (liana__parts){0};
}

static const liana__kernel plain = {.name = "plain", .applicable = is_f32, .run = run_f32};

#define CUMULATIVE(op_name, does, gradient_function)                                                      \
    const liana__op liana__op_##op_name = {                                                               \
        .name = #op_name,                                                                                 \
        .doc = does,                                                                                      \
        .attributes = &attributes,                                                                        \
        .num_inputs = 1,                                                                                  \
        .infer = infer_cumulative,                                                                        \
        .gradient = gradient_function,                                                                    \
        .cost = liana__cost_element_wise,                                                                 \
        .parts = parts_of,                                                                                \
        .lower = lower_cumulative,                                                                        \
        .kernels = LIANA__KERNELS(&plain, LIANA__REFERENCE(run_reference)),                               \
    };                                                                                                    \
    liana_tensor liana_op_##op_name##_at(liana_location here, liana_tensor x, int64_t axis, bool reverse, \
                                         bool exclusive)                                                  \
    {                                                                                                     \
        const cumulative_attributes options = {axis, reverse, exclusive};                                 \
        return liana__build1(here, &liana__op_##op_name, x, &options);                                    \
    }
CUMULATIVE(cumsum, "The sum of the elements so far along an axis.", cumsum_gradient)
CUMULATIVE(cumprod, "The product of the elements so far along an axis.", cumprod_gradient)
