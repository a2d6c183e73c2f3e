/* dropout: zeroes elements at random, as a pure function of the run's seed and each example's position. */
#include "ops/random/dropout.h"

#include "ops/random/philox.h"

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__dropout_attributes, rate, FLOAT, .doc = "The share of elements that become 0."),
    LIANA__FIELD_ROW(liana__dropout_attributes, seed, INT, .doc = "The run's seed."),
    LIANA__FIELD_ROW(liana__dropout_attributes, salt, INT, .doc = "Distinguishes the dropout layers of a run."),
};
static const liana__fields attributes = {"dropout", sizeof(liana__dropout_attributes), sizeof fields / sizeof *fields,
                                         fields};

static liana_status infer_dropout(liana__infer *infer)
{
    const liana__dropout_attributes *options = infer->attributes;
    const liana__node *x = infer->inputs[0], *positions = infer->inputs[1];
    LIANA_TRY(liana__infer_float(infer, 0));
    LIANA_TRY(liana__infer_rank(infer, 1, 1, "positions [batch]"));
    LIANA_TRY(liana__infer_like_input(infer));
    if (positions->dtype != LIANA_U64) {
        return liana__infer_fail(infer, "the positions are %s, expected u64", liana_dtype_name(positions->dtype));
    }
    if (!(options->rate >= 0 && options->rate < 1)) {
        return liana__infer_fail(infer, "the rate is %g, expected 0 <= rate < 1", options->rate);
    }
    if (x->shape.rank > 0 && x->shape.dims[0] == positions->shape.dims[0]) return LIANA_OK;
    return liana__infer_fail(infer, "the input is %s, expected a first axis of %lld, one for each position",
                             liana__shape_print(&x->shape).text, (long long)positions->shape.dims[0]);
}

/* The same elements are kept, with the same scale. */
static void dropout_gradient(liana__gradient *g)
{
    g->input_gradients[0] =
        liana__build2(LIANA_HERE, &liana__op_dropout, g->output_gradient, g->inputs[1], g->node->attributes);
}

static liana_status lower_dropout(liana__lowering *l, const liana__node *node)
{
    const liana__dropout_attributes *options = node->attributes;
    const int64_t elements = liana_shape_size(&node->shape) / node->shape.dims[0];
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo words = liana__hlo_random_words(l, liana__dropout_key(options), liana__hlo_input(l, node, 1), elements);
    liana__hlo numbers = liana__hlo_upper_bits(l, words);
    liana__hlo is_kept = liana__hlo_compare_with(l, "GE", numbers, liana__dropout_threshold(options->rate));
    liana__hlo scaled = liana__hlo_binary_with(l, "multiply", x, liana__dropout_scale(options->rate, node->dtype));
    liana__hlo zero = liana__hlo_fill(l, x.dtype, LIANA_SCALAR, 0);
    liana__hlo y = liana__hlo_select(l, liana__hlo_reshape(l, is_kept, node->shape), scaled, zero);
    return liana__hlo_give(l, node, liana__hlo_convert(l, y, node->dtype));
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__dropout_attributes *options = node->attributes;
    const uint64_t *positions = call->src[1];
    liana__philox_key key = liana__dropout_key(options);
    double scale = liana__dropout_scale(options->rate, node->dtype);
    int64_t length = liana_shape_size(&node->shape) / node->shape.dims[0];
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        const uint32_t word = liana__random_word(key, positions[i / length], (uint64_t)(i % length));
        bool kept = liana__uniform_float(word) >= options->rate;
        liana__store(call->dst, node->dtype, i, kept ? liana__load(call->src[0], node->dtype, i) * scale : 0);
    }
    return LIANA_OK;
}

const liana__op liana__op_dropout = {
    .name = "dropout",
    .doc = "x / (1 - rate) with probability 1 - rate, else 0.",
    .attributes = &attributes,
    .num_inputs = 2,
    .infer = infer_dropout,
    .gradient = dropout_gradient,
    .precision = LIANA__FOLLOWS,
    .placement = LIANA__PLACE_IN_PLACE,
    .cost = liana__cost_element_wise,
    .parts = liana__parts_all_inputs,
    .lower = lower_dropout,
    .kernels = LIANA__KERNELS(LIANA__VECTOR_KERNELS(dropout), LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_dropout_at(liana_location here, liana_tensor x, liana_tensor positions, double rate,
                                 uint64_t seed, uint32_t salt)
{
    liana__dropout_attributes options = {.rate = rate, .seed = (int64_t)seed, .salt = salt};
    return liana__build2(here, &liana__op_dropout, x, positions, &options);
}
