/* random_uniform and random_normal: numbers that are a pure function of a seed and each example's position. */
#include "ops/random/noise.h"

#include "ops/index.h"

#include <math.h>

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__noise_attributes, dtype, ENUM, .names = liana__dtype_names, .doc = "The result's dtype."),
    LIANA__FIELD_ROW(liana__noise_attributes, shape, INTS, .doc = "The shape of one example."),
    LIANA__FIELD_ROW(liana__noise_attributes, shift, FLOAT, .doc = "The least number, or the mean."),
    LIANA__FIELD_ROW(liana__noise_attributes, scale, FLOAT, .doc = "The range's width, or the standard deviation."),
    LIANA__FIELD_ROW(liana__noise_attributes, seed, INT, .doc = "The run's seed."),
    LIANA__FIELD_ROW(liana__noise_attributes, salt, INT, .doc = "Distinguishes the draws of a run."),
};
static const liana__fields attributes = {"noise", sizeof(liana__noise_attributes), sizeof fields / sizeof *fields,
                                         fields};

static liana_status infer_noise(liana__infer *infer)
{
    const liana__noise_attributes *options = infer->attributes;
    const liana__node *positions = infer->inputs[0];
    LIANA_TRY(liana__infer_rank(infer, 0, 1, "positions [batch]"));
    if (positions->dtype != LIANA_U64) {
        return liana__infer_fail(infer, "the positions are %s, expected u64", liana_dtype_name(positions->dtype));
    }
    if ((unsigned)options->dtype >= LIANA_NUM_DTYPES || !liana__dtype_computes((liana_dtype)options->dtype)) {
        return liana__infer_fail(infer, "the numbers are of a dtype other than f32, bf16 and f64");
    }
    if (options->shape.count < 0 || options->shape.count >= LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "an example has %lld axes, expected at most %d",
                                 (long long)options->shape.count, LIANA_MAX_RANK - 1);
    }
    infer->dtype = (liana_dtype)options->dtype;
    infer->shape = positions->shape;
    for (int64_t i = 0; i < options->shape.count; i++) {
        if (options->shape.values[i] < 1) return liana__infer_fail(infer, "axis %lld is empty", (long long)i + 1);
        infer->shape.dims[infer->shape.rank++] = options->shape.values[i];
    }
    if (isfinite(options->shift) && isfinite(options->scale) && options->scale >= 0) return LIANA_OK;
    return liana__infer_fail(infer,
                             "the numbers begin at %g, or have this mean, and have a width or deviation of %g; "
                             "expected finite numbers, and a width of at least 0",
                             options->shift, options->scale);
}

/* ---- StableHLO ---- */

static liana__hlo lower_polynomial(liana__lowering *l, const double *coefficients, liana__hlo w)
{
    liana__hlo p = liana__hlo_fill(l, w.dtype, w.shape, coefficients[0]);
    for (int i = 1; i < LIANA__ERFINV_TERMS; i++) {
        p = liana__hlo_binary_with(l, "add", liana__hlo_binary(l, "multiply", p, w), coefficients[i]);
    }
    return p;
}

static liana__hlo lower_normal(liana__lowering *l, liana__hlo bits)
{
    static const double centre[] = LIANA__ERFINV_CENTRE, tail[] = LIANA__ERFINV_TAIL;
    liana__hlo one = liana__hlo_fill(l, bits.dtype, bits.shape, 1);
    liana__hlo x = liana__hlo_binary_with(l, "multiply", bits, 0x1p-23);
    x = liana__hlo_binary_with(l, "add", x, 0x1p-24 - 1);
    liana__hlo product =
        liana__hlo_binary(l, "multiply", liana__hlo_binary(l, "subtract", one, x), liana__hlo_binary(l, "add", one, x));
    liana__hlo w = liana__hlo_unary(l, "negate", liana__hlo_unary(l, "log", product));
    liana__hlo p = lower_polynomial(l, centre, liana__hlo_binary_with(l, "add", w, -2.5));
    liana__hlo q = lower_polynomial(l, tail, liana__hlo_binary_with(l, "add", liana__hlo_unary(l, "sqrt", w), -3));
    liana__hlo erfinv = liana__hlo_select(l, liana__hlo_compare_with(l, "LT", w, 5), p, q);
    return liana__hlo_binary_with(l, "multiply", liana__hlo_binary(l, "multiply", x, erfinv), sqrt(2));
}

static liana_status lower_noise(liana__lowering *l, const liana__node *node)
{
    const liana__noise_attributes *options = node->attributes;
    const int64_t elements = liana_shape_size(&node->shape) / node->shape.dims[0];
    liana__hlo words = liana__hlo_random_words(l, liana__noise_key(options), liana__hlo_input(l, node, 0), elements);
    const liana_dtype wide = node->dtype == LIANA_F64 ? LIANA_F64 : LIANA_F32;
    liana__hlo x = liana__hlo_convert(l, liana__hlo_upper_bits(l, words), wide);
    x = node->op == &liana__op_random_normal ? lower_normal(l, x) : liana__hlo_binary_with(l, "multiply", x, 0x1p-24);
    x = liana__hlo_binary_with(l, "add", liana__hlo_binary_with(l, "multiply", x, options->scale), options->shift);
    return liana__hlo_give(l, node, liana__hlo_convert(l, liana__hlo_reshape(l, x, node->shape), node->dtype));
}

/* ---- the plain loop ---- */

static double normal_number(double x)
{
    static const double centre[] = LIANA__ERFINV_CENTRE, tail[] = LIANA__ERFINV_TAIL;
    const double w = -log((1 - x) * (1 + x)), at = w < 5 ? w - 2.5 : sqrt(w) - 3;
    const double *coefficients = w < 5 ? centre : tail;
    double p = coefficients[0];
    for (int i = 1; i < LIANA__ERFINV_TERMS; i++) p = p * at + coefficients[i];
    return sqrt(2) * p * x;
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana__noise_attributes *options = node->attributes;
    const uint64_t *positions = call->src[0];
    const liana__philox_key key = liana__noise_key(options);
    const bool is_normal = node->op == &liana__op_random_normal;
    const int64_t size = liana_shape_size(&node->shape), length = size / node->shape.dims[0];
    for (int64_t i = 0; i < size; i++) {
        const uint32_t word = liana__random_word(key, positions[i / length], (uint64_t)(i % length));
        const double u = liana__uniform_float(word), z = is_normal ? normal_number(2 * u - 1 + 0x1p-24) : u;
        liana__store(call->dst, node->dtype, i, z * options->scale + options->shift);
    }
    return LIANA_OK;
}

static const liana__kernel *const kernels[] = {LIANA__VECTOR_KERNELS(noise), LIANA__REFERENCE(run_reference)};

#define NOISE_OP(op_name, doc_)             \
    const liana__op liana__op_##op_name = { \
        .name = #op_name,                   \
        .doc = (doc_),                      \
        .attributes = &attributes,          \
        .num_inputs = 1,                    \
        .infer = infer_noise,               \
        .gradient = liana__no_gradient,     \
        .cost = liana__cost_element_wise,   \
        .parts = liana__parts_all_inputs,   \
        .lower = lower_noise,               \
        .kernels = kernels,                 \
    }
NOISE_OP(random_uniform, "Numbers between two limits, each equally likely.");
NOISE_OP(random_normal, "Normally distributed numbers.");

static liana_tensor build(liana_location here, const liana__op *op, liana_tensor positions, liana_shape example,
                          liana__noise_attributes options)
{
    options.shape = liana__ints_of(example.dims, example.rank);
    return liana__build1(here, op, positions, &options);
}

liana_tensor liana_op_random_uniform_at(liana_location here, liana_tensor positions, liana_dtype dtype,
                                        liana_shape example, double low, double high, uint64_t seed, uint32_t salt)
{
    const liana__noise_attributes options = {
        .dtype = (int)dtype, .shift = low, .scale = high - low, .seed = (int64_t)seed, .salt = salt};
    return build(here, &liana__op_random_uniform, positions, example, options);
}

liana_tensor liana_op_random_normal_at(liana_location here, liana_tensor positions, liana_dtype dtype,
                                       liana_shape example, double mean, double deviation, uint64_t seed, uint32_t salt)
{
    const liana__noise_attributes options = {
        .dtype = (int)dtype, .shift = mean, .scale = deviation, .seed = (int64_t)seed, .salt = salt};
    return build(here, &liana__op_random_normal, positions, example, options);
}

/* The greatest of log p + g, where g = -log(-log u) has the Gumbel distribution, is class i with probability p[i]
 * (Gumbel 1954; Maddison, Tarlow and Minka 2014). u = 0 and u = 1 would give infinities. */
liana_tensor liana_op_random_categorical_at(liana_location here, liana_tensor logits, liana_tensor positions,
                                            int64_t samples, uint64_t seed, uint32_t salt)
{
    const liana_shape shape = liana_tensor_shape(logits);
    if (!logits.graph) return logits;
    if (shape.rank != 2 || samples < 1) {
        liana__graph_fail(logits.graph, here, LIANA_INVALID_ARGUMENT,
                          "random_categorical: found logits of shape %s and %lld samples, expected [batch, classes] "
                          "and at least one sample",
                          liana__shape_print(&shape).text, (long long)samples);
        return (liana_tensor){logits.graph, 0};
    }
    const liana_dtype dtype = liana_tensor_dtype(logits);
    const liana_shape example = liana_shape_of(samples, shape.dims[1]);
    liana_tensor u = liana_op_random_uniform_at(here, positions, dtype == LIANA_F64 ? LIANA_F64 : LIANA_F32, example, 0,
                                                1, seed, salt);
    u = liana_op_clip_at(here, u, 0x1p-25, 1 - 0x1p-24);
    u = liana_op_log_at(here, liana_op_negate_at(here, liana_op_log_at(here, u)));
    logits = liana_op_cast_at(here, liana_op_reshape_at(here, logits, liana_shape_of(shape.dims[0], 1, shape.dims[1])),
                              liana_tensor_dtype(u));
    return liana_op_argmax_at(here, liana_op_subtract_at(here, logits, u), 2);
}
