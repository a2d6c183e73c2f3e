/* dropout: zeroes elements at random, as a pure function of the run's seed and each example's position. */
#include "ops/random/dropout.h"

#include "stablehlo/lowering.h"

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

/* ---- StableHLO: Philox (base/random.h) on tensors of 32-bit words, one for each block of four elements ---- */

static liana__hlo high_word(liana__lowering *l, liana__hlo wide)
{
    liana__hlo distance = liana__hlo_fill(l, LIANA_U64, wide.shape, 32);
    return liana__hlo_convert(l, liana__hlo_binary(l, "shift_right_logical", wide, distance), LIANA_U32);
}

/* Of u64, the lower half. */
static liana__hlo low_word(liana__lowering *l, liana__hlo wide)
{
    return liana__hlo_convert(l, wide, LIANA_U32);
}

static liana__hlo xor_key(liana__lowering *l, liana__hlo a, liana__hlo b, uint32_t key)
{
    return liana__hlo_binary_with(l, "xor", liana__hlo_binary(l, "xor", a, b), key);
}

static void lower_philox(liana__lowering *l, liana__philox_key key, liana__hlo c[4])
{
    for (int round = 0; round < 10; round++) {
        liana__hlo wide0 = liana__hlo_convert(l, c[0], LIANA_U64), wide2 = liana__hlo_convert(l, c[2], LIANA_U64);
        liana__hlo product0 = liana__hlo_binary_with(l, "multiply", wide0, 0xD2511F53u);
        liana__hlo product1 = liana__hlo_binary_with(l, "multiply", wide2, 0xCD9E8D57u);
        c[0] = xor_key(l, high_word(l, product1), c[1], key.words[0]);
        c[2] = xor_key(l, high_word(l, product0), c[3], key.words[1]);
        c[1] = low_word(l, product1);
        c[3] = low_word(l, product0);
        key.words[0] += 0x9E3779B9u;
        key.words[1] += 0xBB67AE85u;
    }
}

/* The words of all elements: u32 [examples, elements of an example]. */
static liana__hlo lower_words(liana__lowering *l, const liana__dropout_attributes *options, liana__hlo positions,
                              int64_t elements)
{
    const int64_t examples = positions.shape.dims[0], blocks = (elements + 3) / 4;
    static const int64_t first_axis = 0, start[] = {0, 0}, ones[] = {1, 1};
    liana_shape shape = liana_shape_of(examples, blocks), column = liana_shape_of(examples, blocks, 1);
    liana__hlo block = liana__hlo_iota(l, LIANA_U64, shape, 1);
    liana__hlo position = liana__hlo_broadcast_axes(l, positions, shape, &first_axis);
    liana__hlo words[] = {low_word(l, block), high_word(l, block), low_word(l, position), high_word(l, position)};
    lower_philox(l, liana__dropout_key(options), words);
    for (int i = 0; i < 4; i++) words[i] = liana__hlo_reshape(l, words[i], column);
    liana__hlo all =
        liana__hlo_reshape(l, liana__hlo_concatenate(l, words, 4, 2), liana_shape_of(examples, 4 * blocks));
    return liana__hlo_slice(l, all, start, (int64_t[]){examples, elements}, ones);
}

static liana_status lower_dropout(liana__lowering *l, const liana__node *node)
{
    const liana__dropout_attributes *options = node->attributes;
    const int64_t elements = liana_shape_size(&node->shape) / node->shape.dims[0];
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0));
    liana__hlo words = lower_words(l, options, liana__hlo_input(l, node, 1), elements);
    liana__hlo eight = liana__hlo_fill(l, LIANA_U32, words.shape, 8);
    liana__hlo numbers = liana__hlo_binary(l, "shift_right_logical", words, eight);
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
        uint64_t position = positions[i / length], element = (uint64_t)(i % length), block = element / 4;
        uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)position,
                               (uint32_t)(position >> 32)};
        uint32_t words[4];
        liana__philox(key, counter, words);
        bool kept = liana__uniform_float(words[element % 4]) >= options->rate;
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
