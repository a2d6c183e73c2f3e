/* The vectorised functions against libm in double, over all floats: every 211th bit pattern and the edges, with
 * denormal numbers kept and flushed; and how vectors are rounded to bf16. */
#include "harness/harness.h"

#include "base/context.h"
#include "base/denormals.h"
#include "ops/ops.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    const liana__op *op;
    double (*value)(double x);
    double limit; /* units in the last place, as the headers promise; `generic`: of the kernels of that name */
    double generic;
} functions[] = {
    {&liana__op_exp, exp, 0.87, 0.9},    {&liana__op_log, log, 0.81, 1.04},
    {&liana__op_tanh, tanh, 1.28, 1.28}, {&liana__op_logistic, logistic, 1.97, 1.97},
    {&liana__op_erf, erf, 2.5, 2.7},     {&liana__op_expm1, expm1, 1.6, 1.9},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof *functions };

/* |got - expected| in units of the last place of a float of that size; below 2^-126 all floats are equally far apart.
 */
static double ulp_error(float got, double expected)
{
    float rounded = (float)expected;
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got)) return got == rounded ? 0 : INFINITY;
    int exponent;
    frexp(expected, &exponent);
    if (exponent < FLT_MIN_EXP) exponent = FLT_MIN_EXP;
    return fabs(got - expected) / ldexp(1, exponent - FLT_MANT_DIG);
}

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(NULL, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

static float without_denormals(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

/* Runs the kernel as the cpu device does: `outputs` are its results where denormals are kept. */
static void check_flushed(const liana__kernel *kernel, const liana__node *y, const float *inputs, const float *outputs,
                          int64_t count)
{
    static float zeroed[8192], expected[8192], flushed[8192];
    for (int64_t i = 0; i < count; i++) zeroed[i] = without_denormals(inputs[i]);
    const void *src[] = {inputs}, *zeroed_src[] = {zeroed};
    assert_int_equal(kernel->run(&(liana__call){.node = y, .src = zeroed_src, .dst = expected}), LIANA_OK);
    liana__denormals before = liana__denormals_flush();
    liana_status status = kernel->run(&(liana__call){.node = y, .src = src, .dst = flushed});
    liana__denormals_restore(before);
    assert_int_equal(status, LIANA_OK);
    for (int64_t i = 0; i < count; i++) {
        expected[i] = without_denormals(expected[i]);
        if (flushed[i] == expected[i] || (isnan(flushed[i]) && isnan(expected[i]))) continue;
        fail_msg("%s, kernel %s, denormals flushed: of %a it gives %a, expected %a; kept it gives %a", y->op->name,
                 kernel->name, inputs[i], flushed[i], expected[i], outputs[i]);
    }
}

/* Runs each vector kernel of a function; `count` inputs at a time. */
static void check_block(size_t function, const float *inputs, float *outputs, int64_t count)
{
    liana__node x = {.dtype = LIANA_F32, .shape = liana_shape_of(count)}, *const inputs_of_y[] = {&x};
    const liana__op *op = functions[function].op;
    liana__node y = {.op = op, .num_inputs = 1, .inputs = inputs_of_y, .dtype = LIANA_F32, .shape = x.shape};
    for (const liana__kernel *const *kernel = op->kernels; kernel[1]; kernel++) {
        if ((*kernel)->isa > context->isa) continue;
        bool generic = strcmp((*kernel)->name, "generic") == 0;
        double limit = generic ? functions[function].generic : functions[function].limit;
        const void *src[] = {inputs};
        assert_int_equal((*kernel)->run(&(liana__call){.node = &y, .src = src, .dst = outputs}), LIANA_OK);
        for (int64_t i = 0; i < count; i++) {
            double error = ulp_error(outputs[i], functions[function].value(inputs[i]));
            if (error <= limit) continue;
            fail_msg("%s, kernel %s: %s(%a) is %a, %.2f units from %a", op->name, (*kernel)->name, op->name, inputs[i],
                     outputs[i], error, functions[function].value(inputs[i]));
        }
        if (liana__denormals_can_flush()) check_flushed(*kernel, &y, inputs, outputs, count);
    }
}

static void test_all_floats(void **state)
{
    (void)state;
    enum { BLOCK = 4099, STEP = 211 };
    static float inputs[BLOCK], outputs[BLOCK];
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += (uint64_t)BLOCK * STEP) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            uint32_t pattern = (uint32_t)(bits + (uint64_t)i * STEP);
            memcpy(&inputs[i], &pattern, sizeof pattern);
        }
        for (size_t f = 0; f < NUM_FUNCTIONS; f++) check_block(f, inputs, outputs, BLOCK);
    }
}

static void test_edges(void **state)
{
    (void)state;
    static const float edges[] = {0.0f,       -0.0f,          INFINITY,      -INFINITY,      NAN,
                                  FLT_MAX,    -FLT_MAX,       FLT_MIN,       -FLT_MIN,       0x1p-149f,
                                  -0x1p-149f, 0x1.62e42ep6f,  0x1.62e43p6f,  88.8f,          -87.3f,
                                  -87.4f,     -103.9f,        -104.0f,       -104.1f,        89.0f,
                                  1.0f,       0x1.fffffep-1f, 0x1.000002p0f, 0x1.6a09e6p-1f, 0x1.6a09e8p-1f,
                                  0.65f,      -0.65f,         9.1f};
    enum { NUM_EDGES = sizeof edges / sizeof *edges };
    float outputs[NUM_EDGES];
    for (size_t f = 0; f < NUM_FUNCTIONS; f++) check_block(f, edges, outputs, NUM_EDGES);
}

/* Floats to bf16 and back, as single floats are. The instruction of AVX512_BF16 takes denormal floats for zeros. */
static void check_bf16(const float *inputs, int64_t count)
{
    static uint16_t narrow[8192];
    static float wide[8192];
    liana__node f32 = {.dtype = LIANA_F32, .shape = liana_shape_of(count)}, *const f32_input[] = {&f32};
    liana__node bf16 = {.dtype = LIANA_BF16, .shape = f32.shape, .inputs = f32_input}, *const bf16_input[] = {&bf16};
    liana__node back = {.dtype = LIANA_F32, .shape = f32.shape, .inputs = bf16_input};
    for (const liana__kernel *const *kernel = liana__op_cast.kernels; kernel[1]; kernel++) {
        if ((*kernel)->isa > context->isa) continue;
        bool flushes = (*kernel)->isa == LIANA__ISA_AVX512_BF16_STORAGE;
        const void *src[] = {inputs}, *narrow_src[] = {narrow};
        assert_int_equal((*kernel)->run(&(liana__call){.node = &bf16, .src = src, .dst = narrow}), LIANA_OK);
        assert_int_equal((*kernel)->run(&(liana__call){.node = &back, .src = narrow_src, .dst = wide}), LIANA_OK);
        for (int64_t i = 0; i < count; i++) {
            bool flushed = flushes && fpclassify(inputs[i]) == FP_SUBNORMAL;
            uint16_t expected = liana__float_to_bf16(flushed ? copysignf(0, inputs[i]) : inputs[i]), back_again;
            memcpy(&back_again, (char *)&wide[i] + 2, sizeof back_again); /* the upper half of a little-endian float */
            if (narrow[i] == expected && back_again == expected) continue;
            fail_msg("kernel %s: %a is %04x and then %a, expected %04x", (*kernel)->name, inputs[i], narrow[i], wide[i],
                     expected);
        }
    }
}

static void test_bf16(void **state)
{
    (void)state;
    enum { BLOCK = 4099, STEP = 211 };
    static float inputs[BLOCK];
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += (uint64_t)BLOCK * STEP) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            uint32_t pattern = (uint32_t)(bits + (uint64_t)i * STEP);
            memcpy(&inputs[i], &pattern, sizeof pattern);
        }
        check_bf16(inputs, BLOCK);
    }
    /* Halves between two neighbours, a bit less and a bit more, from the smallest to NaN. */
    int64_t count = 0;
    for (uint32_t upper = 0; upper < 0x10000; upper += 97) {
        for (uint32_t lower = 0x7fff; lower <= 0x8001; lower++, count++) {
            uint32_t pattern = upper << 16 | lower;
            memcpy(&inputs[count], &pattern, sizeof pattern);
        }
        if (count <= BLOCK - 3) continue;
        check_bf16(inputs, count);
        count = 0;
    }
    check_bf16(inputs, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_all_floats),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
