/* The error function and the two forms of gelu: values, gradients and StableHLO, which has no error function. */
#include "ops/elementwise/gelu.h"

#include <math.h>

static const double root_half = 0.70710678118654752440;  /* 1 / sqrt(2) */
static const double peak = 0.39894228040143267794;       /* 1 / sqrt(2 pi) */
static const double erf_slope = 1.12837916709551257390;  /* 2 / sqrt(pi) */
static const double tanh_scale = 1.59576912160573071176; /* 2 sqrt(2 / pi) */
static const double tanh_cubic = 0.044715;

/* ---- values ---- */

static double distribution(double x)
{
    return 0.5 * erfc(-x * root_half);
}

/* Where the distribution is 0, so is the result, of minus infinity too. */
double liana__gelu(double x)
{
    const double share = distribution(x);
    return share == 0 ? 0 : x * share;
}

double liana__gelu_gradient(double x, double dy)
{
    const double density = peak * exp(-x * x / 2);
    return dy * (distribution(x) + (density == 0 ? 0 : x * density));
}

static double tanh_share(double x)
{
    return 1 / (1 + exp(-tanh_scale * (x + tanh_cubic * x * x * x)));
}

double liana__gelu_tanh(double x)
{
    const double share = tanh_share(x);
    return share == 0 ? 0 : x * share;
}

double liana__gelu_tanh_gradient(double x, double dy)
{
    const double s = tanh_share(x), slope = tanh_scale * (1 + 3 * tanh_cubic * x * x);
    const double rest = s * (1 - s);
    return dy * (s + (rest == 0 ? 0 : x * rest * slope));
}

/* ---- graphs ---- */

static liana_tensor constant_like(liana_tensor x, double value)
{
    return liana_graph_scalar(x.graph, liana_tensor_dtype(x), value);
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, constant_like(x, factor));
}

/* slope x + offset */
static liana_tensor line(liana_tensor x, double slope, double offset)
{
    return liana_op_add(scaled(x, slope), constant_like(x, offset));
}

liana_tensor liana__erf_gradient(liana_tensor x, liana_tensor dy)
{
    liana_tensor power = liana_op_exp(liana_op_negate(liana_op_square(x)));
    return liana_op_multiply(dy, scaled(power, erf_slope));
}

/* With the density f: f(x) (2 - x^2). */
liana_tensor liana__gelu_bend(liana_tensor x)
{
    liana_tensor square = liana_op_square(x), power = liana_op_exp(scaled(square, -0.5));
    return liana_op_multiply(scaled(power, peak), line(square, -1, 2));
}

/* With s of v, and w = dv / dx: s (1 - s) (2 w + x ((1 - 2 s) w^2 + dw / dx)). */
liana_tensor liana__gelu_tanh_bend(liana_tensor x)
{
    liana_tensor square = liana_op_square(x);
    liana_tensor v = scaled(liana_op_multiply(x, line(square, tanh_cubic, 1)), tanh_scale);
    liana_tensor w = line(square, 3 * tanh_cubic * tanh_scale, tanh_scale), s = liana_op_logistic(v);
    liana_tensor rest = liana_op_multiply(s, line(s, -1, 1));
    liana_tensor curve = liana_op_multiply(line(s, -2, 1), liana_op_square(w));
    curve = liana_op_add(curve, scaled(x, 6 * tanh_cubic * tanh_scale));
    return liana_op_multiply(rest, liana_op_add(scaled(w, 2), liana_op_multiply(x, curve)));
}

/* ---- StableHLO ---- */

static liana__hlo times(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_binary(l, "multiply", a, b);
}

static liana__hlo by(liana__lowering *l, liana__hlo x, double factor)
{
    return liana__hlo_binary_with(l, "multiply", x, factor);
}

static liana__hlo plus(liana__lowering *l, liana__hlo x, double summand)
{
    return liana__hlo_binary_with(l, "add", x, summand);
}

/* Coefficients from the highest power on. */
static liana__hlo polynomial(liana__lowering *l, liana__hlo x, const double *coefficients, size_t count)
{
    liana__hlo y = liana__hlo_fill(l, x.dtype, x.shape, coefficients[0]);
    for (size_t i = 1; i < count; i++) y = plus(l, times(l, y, x), coefficients[i]);
    return y;
}

/* Minimax fits of our own, as in kernels/vector_erf.h: of P(t) for all z >= 0, and of erf(x) / x in x^2 up to 1/2; for
 * f32 and for f64. */
static const double tail_f32[] = {0x1.5bd97ap-13, -0x1.7eaf24p-13, -0x1.71314ap-10, 0x1.10c17cp-10,
                                  0x1.1d16b6p-7,  -0x1.04337ap-7,  -0x1.bc22fcp-5,  0x1.4ff1bap-3,
                                  -0x1.5407dap-3, -0x1.7bf518p-4,  0x1.46e80ep+0};
static const double near_f32[] = {-0x1.6b843cp-11, 0x1.50a0a2p-8,  -0x1.b7cf7ap-6,
                                  0x1.ce2c6cp-4,   -0x1.812740p-2, 0x1.20dd76p+0};
static const double tail_f64[] = {0x1.4695872394785p-28,  0x1.401fee8ab6271p-32,  -0x1.83ea4cce0d69cp-25,
                                  -0x1.c667110b43b90p-26, 0x1.8240fe4dc822bp-23,  0x1.fcc75aeb16225p-23,
                                  -0x1.2942533f6cb98p-22, -0x1.fe078c523ac26p-21, -0x1.718ce1cdb3bacp-21,
                                  0x1.ac015e7f0957dp-20,  0x1.5e65bb5ffeaf3p-18,  0x1.eb6f0ff0bf394p-19,
                                  -0x1.c4b86f07482ddp-17, -0x1.31628a8ca88cbp-15, -0x1.955a30c1800b8p-20,
                                  0x1.3cbdf433c602bp-13,  0x1.b0c893a01d506p-13,  -0x1.dc68f78af0aeap-12,
                                  -0x1.7de521228604ep-10, 0x1.4d461b9d8d4a7p-10,  0x1.1dd2ec90ee6d2p-7,
                                  -0x1.074234018903ap-7,  -0x1.bc2b956199220p-5,  0x1.4ffa1e14e1294p-3,
                                  -0x1.5407bebf32440p-3,  -0x1.7bf5ec17005d9p-4,  0x1.46e80e2277953p+0};
static const double near_f64[] = {0x1.492556c562717p-34,  -0x1.4a7bc8ea2b335p-30, 0x1.fc0459cdeec32p-27,
                                  -0x1.5f6dbee22334fp-23, 0x1.b9e67f670d9fdp-20,  -0x1.f4d259ed8e2b0p-17,
                                  0x1.f9a326ed19d8cp-14,  -0x1.c02db40012930p-11, 0x1.565bcd0e69e79p-8,
                                  -0x1.b82ce31288b3ep-6,  0x1.ce2f21a042be2p-4,   -0x1.812746b0379e7p-2,
                                  0x1.20dd750429b6dp+0};
enum { TAIL_F32 = sizeof tail_f32 / sizeof(double), TAIL_F64 = sizeof tail_f64 / sizeof(double) };
enum { NEAR_F32 = sizeof near_f32 / sizeof(double), NEAR_F64 = sizeof near_f64 / sizeof(double) };

/* 1 - erf(z) for z >= 0, without its factor e^-z^2. z is limited to where that is 0; NaN stays. */
static liana__hlo lower_tail(liana__lowering *l, liana__hlo z)
{
    const bool is_wide = z.dtype == LIANA_F64;
    liana__hlo t = liana__hlo_binary(l, "divide", plus(l, z, -2), plus(l, z, 2));
    liana__hlo p = is_wide ? polynomial(l, t, tail_f64, TAIL_F64) : polynomial(l, t, tail_f32, TAIL_F32);
    return liana__hlo_binary(l, "divide", p, plus(l, by(l, z, 2), 1));
}

static liana__hlo lower_power(liana__lowering *l, liana__hlo z, double factor)
{
    return liana__hlo_unary(l, "exponential", by(l, times(l, z, z), factor));
}

liana__hlo liana__lower_erf(liana__lowering *l, liana__hlo narrow)
{
    liana__hlo x = liana__hlo_widen(l, narrow), square = times(l, x, x);
    liana__hlo p =
        x.dtype == LIANA_F64 ? polynomial(l, square, near_f64, NEAR_F64) : polynomial(l, square, near_f32, NEAR_F32);
    liana__hlo z = liana__hlo_clamp(l, liana__hlo_unary(l, "abs", x), 0, 40);
    liana__hlo rest = times(l, lower_power(l, z, -1), lower_tail(l, z));
    liana__hlo far = times(l, liana__hlo_unary(l, "sign", x), plus(l, by(l, rest, -1), 1));
    liana__hlo is_near = liana__hlo_compare_with(l, "LT", square, 0.5);
    return liana__hlo_convert(l, liana__hlo_select(l, is_near, times(l, p, x), far), narrow.dtype);
}

/* The normal distribution and its density. */
typedef struct normal {
    liana__hlo distribution, density;
} normal;

static normal lower_normal(liana__lowering *l, liana__hlo x)
{
    liana__hlo z = liana__hlo_clamp(l, liana__hlo_unary(l, "abs", x), 0, 40);
    liana__hlo power = lower_power(l, z, -0.5);
    liana__hlo tail = times(l, by(l, power, 0.5), lower_tail(l, by(l, z, root_half)));
    liana__hlo is_above = liana__hlo_compare_with(l, "GT", x, 0);
    return (normal){.distribution = liana__hlo_select(l, is_above, plus(l, by(l, tail, -1), 1), tail),
                    .density = by(l, power, peak)};
}

/* a b, or 0 where a is 0, whatever b is. */
static liana__hlo times_or_zero(liana__lowering *l, liana__hlo a, liana__hlo b)
{
    return liana__hlo_select(l, liana__hlo_compare_with(l, "EQ", a, 0), a, times(l, a, b));
}

liana__hlo liana__lower_gelu(liana__lowering *l, liana__hlo narrow)
{
    liana__hlo x = liana__hlo_widen(l, narrow);
    return liana__hlo_convert(l, times_or_zero(l, lower_normal(l, x).distribution, x), narrow.dtype);
}

liana__hlo liana__lower_gelu_gradient(liana__lowering *l, liana__hlo narrow_x, liana__hlo narrow_dy)
{
    liana__hlo x = liana__hlo_widen(l, narrow_x), dy = liana__hlo_widen(l, narrow_dy);
    normal at = lower_normal(l, x);
    liana__hlo slope = liana__hlo_binary(l, "add", at.distribution, times_or_zero(l, at.density, x));
    return liana__hlo_convert(l, times(l, dy, slope), narrow_x.dtype);
}

/* s = 1 / (1 + e^-v) */
static liana__hlo lower_share(liana__lowering *l, liana__hlo x)
{
    liana__hlo bent = plus(l, by(l, times(l, x, x), tanh_scale * tanh_cubic), tanh_scale);
    return liana__hlo_unary(l, "logistic", times(l, x, bent));
}

liana__hlo liana__lower_gelu_tanh(liana__lowering *l, liana__hlo narrow)
{
    liana__hlo x = liana__hlo_widen(l, narrow);
    return liana__hlo_convert(l, times_or_zero(l, lower_share(l, x), x), narrow.dtype);
}

liana__hlo liana__lower_gelu_tanh_gradient(liana__lowering *l, liana__hlo narrow_x, liana__hlo narrow_dy)
{
    liana__hlo x = liana__hlo_widen(l, narrow_x), dy = liana__hlo_widen(l, narrow_dy);
    liana__hlo s = lower_share(l, x), rest = times(l, s, plus(l, by(l, s, -1), 1));
    liana__hlo w = plus(l, by(l, times(l, x, x), 3 * tanh_scale * tanh_cubic), tanh_scale);
    liana__hlo slope = liana__hlo_binary(l, "add", s, times_or_zero(l, rest, times(l, x, w)));
    return liana__hlo_convert(l, times(l, dy, slope), narrow_x.dtype);
}
