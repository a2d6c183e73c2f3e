/* clip: values limited to a range. */
#include "kernels/applicable.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct clip_attributes {
    double low;
    double high;
} clip_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(clip_attributes, low, FLOAT, .doc = "The smallest value."),
    LIANA__FIELD_ROW(clip_attributes, high, FLOAT, .doc = "The largest value."),
};
static const liana__fields attributes = {"clip", sizeof(clip_attributes), 2, fields};

static liana_status infer_clip(liana__infer *infer)
{
    const clip_attributes *options = infer->attributes;
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_like_input(infer));
    if (options->low <= options->high) return LIANA_OK;
    return liana__infer_fail(infer, "low is %g and high is %g, expected low <= high", options->low, options->high);
}

static void clip_gradient(liana__gradient *g)
{
    const clip_attributes *options = g->node->attributes;
    liana_graph *graph = g->output.graph;
    liana_tensor x = g->inputs[0], low = liana_graph_scalar(graph, g->node->dtype, options->low);
    liana_tensor high = liana_graph_scalar(graph, g->node->dtype, options->high);
    liana_tensor inside = liana_op_logical_and(liana_op_greater_equal(x, low), liana_op_less_equal(x, high));
    g->input_gradients[0] = liana_op_select(inside, g->output_gradient, liana_graph_scalar(graph, g->node->dtype, 0));
}

static liana_status lower_clip(liana__lowering *l, const liana__node *node)
{
    const clip_attributes *options = node->attributes;
    return liana__hlo_give(l, node, liana__hlo_clamp(l, liana__hlo_input(l, node, 0), options->low, options->high));
}

/* NaN stays NaN: both comparisons are false. */
static inline float clip(float x, float low, float high)
{
    float raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static liana_status run_loop(const liana__call *call)
{
    const clip_attributes *options = call->node->attributes;
    const void *src = call->src[0];
    void *dst = call->dst;
    float low = (float)options->low, high = (float)options->high;
    int64_t count = liana_shape_size(&call->node->shape);
    if (call->node->dtype == LIANA_F32) {
        for (int64_t i = 0; i < count; i++) ((float *)dst)[i] = clip(((const float *)src)[i], low, high);
    } else {
        for (int64_t i = 0; i < count; i++) {
            float x = liana__bf16_to_float(((const uint16_t *)src)[i]);
            ((uint16_t *)dst)[i] = liana__float_to_bf16(clip(x, low, high));
        }
    }
    return LIANA_OK;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const clip_attributes *options = node->attributes;
    int64_t count = liana_shape_size(&node->shape);
    for (int64_t i = 0; i < count; i++) {
        double x = liana__load(call->src[0], node->dtype, i);
        liana__store(call->dst, node->dtype, i,
                     x < options->low    ? options->low
                     : x > options->high ? options->high
                                         : x);
    }
    return LIANA_OK;
}

static const liana__kernel loop = {.name = "loop", .applicable = liana__applicable_f32_bf16, .run = run_loop};

const liana__op liana__op_clip = {
    .name = "clip",
    .doc = "min(max(x, low), high)",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_clip,
    .gradient = clip_gradient,
    .precision = LIANA__FOLLOWS,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = liana__cost_element_wise,
    .parts = liana__parts_element_wise,
    .lower = lower_clip,
    .kernels = LIANA__KERNELS(&loop, LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_clip_at(liana_location here, liana_tensor x, double low, double high)
{
    return liana__build1(here, &liana__op_clip, x, &(clip_attributes){low, high});
}
