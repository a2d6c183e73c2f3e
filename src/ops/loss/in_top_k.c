/* in_top_k: whether the right class is among the k most likely. */
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

#include <math.h>

typedef struct in_top_k_attributes {
    int64_t k;
} in_top_k_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(in_top_k_attributes, k, INT, .doc = "The number of classes that may be guessed."),
};
static const liana__fields attributes = {"in_top_k", sizeof(in_top_k_attributes), 1, fields};

static liana_status infer_in_top_k(liana__infer *infer)
{
    int64_t k = ((const in_top_k_attributes *)infer->attributes)->k;
    LIANA_TRY(liana__infer_rank(infer, 0, 2, "predictions [batch, classes]"));
    LIANA_TRY(liana__infer_rank(infer, 1, 1, "targets [batch]"));
    LIANA_TRY(liana__infer_float(infer, 0));
    const liana__node *predictions = infer->inputs[0], *targets = infer->inputs[1];
    LIANA_TRY(liana__infer_s32(infer, 1, "targets"));
    if (k < 1) return liana__infer_fail(infer, "k is %lld, expected at least 1", (long long)k);
    infer->dtype = LIANA_BOOL;
    infer->shape = targets->shape;
    if (targets->shape.dims[0] == predictions->shape.dims[0]) return LIANA_OK;
    return liana__infer_fail(infer, "there are %lld targets for %lld rows of predictions",
                             (long long)targets->shape.dims[0], (long long)predictions->shape.dims[0]);
}

/* Whether each row's greater predictions are fewer than k, all predictions finite, and the target a class. A target
 * that is no class chooses nothing, so all positive predictions would be greater: the row is false anyway. */
static liana_status lower_in_top_k(liana__lowering *l, const liana__node *node)
{
    const int64_t k = ((const in_top_k_attributes *)node->attributes)->k, last = 1;
    liana__hlo predictions = liana__hlo_input(l, node, 0), targets = liana__hlo_input(l, node, 1);
    liana_shape column = liana_shape_of(targets.shape.dims[0], 1);
    liana__hlo classes = liana__hlo_iota(l, LIANA_S32, predictions.shape, 1);
    liana__hlo is_target = liana__hlo_compare(l, "EQ", liana__hlo_reshape(l, targets, column), classes);
    liana__hlo lowest = liana__hlo_fill(l, predictions.dtype, LIANA_SCALAR, -INFINITY);
    liana__hlo chosen = liana__hlo_select(l, is_target, predictions, lowest);
    liana__hlo limit = liana__hlo_reduce_kept(l, LIANA__HLO_MAXIMUM, chosen, &last, 1);
    liana__hlo greater = liana__hlo_compare(l, "GT", predictions, limit);
    liana__hlo count = liana__hlo_reduce(l, LIANA__HLO_ADD, liana__hlo_convert(l, greater, LIANA_S32), &last, 1);
    liana__hlo few = liana__hlo_compare_with(l, "LT", count, (double)(k < INT32_MAX ? k : INT32_MAX));
    liana__hlo finite = liana__hlo_reduce(l, LIANA__HLO_MINIMUM, liana__hlo_is_finite(l, predictions), &last, 1);
    liana__hlo is_class = liana__hlo_reduce(l, LIANA__HLO_MAXIMUM, is_target, &last, 1);
    liana__hlo valid = liana__hlo_binary(l, "and", finite, is_class);
    return liana__hlo_give(l, node, liana__hlo_binary(l, "and", few, valid));
}

static bool is_in_top_k(const liana__call *call, int64_t example, int64_t classes, int64_t k)
{
    liana_dtype dtype = call->node->inputs[0]->dtype;
    int64_t target = ((const int32_t *)call->src[1])[example], first = example * classes, greater = 0;
    if (target < 0 || target >= classes) return false;
    double chosen = liana__load(call->src[0], dtype, first + target);
    for (int64_t i = 0; i < classes; i++) {
        double prediction = liana__load(call->src[0], dtype, first + i);
        if (!isfinite(prediction)) return false;
        greater += prediction > chosen;
    }
    return greater < k;
}

static liana_status run_reference(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    int64_t k = ((const in_top_k_attributes *)call->node->attributes)->k;
    for (int64_t example = 0; example < shape->dims[0]; example++) {
        ((uint8_t *)call->dst)[example] = is_in_top_k(call, example, shape->dims[1], k);
    }
    return LIANA_OK;
}

const liana__op liana__op_in_top_k = {
    .name = "in_top_k",
    .doc = "Whether the target of each row is among its k largest predictions.",
    .attributes = &attributes,
    .num_inputs = 2,
    .infer = infer_in_top_k,
    .gradient = liana__no_gradient,
    .cost = liana__cost_reduction,
    .parts = liana__parts_all_inputs,
    .lower = lower_in_top_k,
    .kernels = LIANA__KERNELS(LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_in_top_k_at(liana_location here, liana_tensor predictions, liana_tensor targets, int64_t k)
{
    return liana__build2(here, &liana__op_in_top_k, predictions, targets, &(in_top_k_attributes){k});
}
