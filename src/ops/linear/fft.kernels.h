/* fft.kernels.h - transforms of f32 for one instruction set: the self-sorting algorithm of Stockham (Cochran et al.
 * 1967, "What is the fast Fourier transform?") for any factors of the length. Several lines go side by side through it,
 * so that all its loops are over neighbours. */
#include "kernels/vector_kernels.h"
#include "ops/linear/fft.h"

#include <string.h>

static bool is_f32(const liana__node *node, const char **reason)
{
    *reason = "not f32";
    return node->dtype == LIANA_F32;
}

/* Real and imaginary parts, each [length, lines]. */
typedef struct numbers {
    float *restrict re, *restrict im;
} numbers;

/* One pass: `left` transforms of `factor` elements, whose neighbours are `side` numbers. */
typedef struct pass {
    const liana__fft_plan *plan;
    int64_t factor, left, side;
} pass;

/* Root number `index` of the pass's length: factor * left. */
static void root_of(const pass *own, int64_t index, float *re, float *im)
{
    const int64_t length = own->factor * own->left, place = index % length * (own->plan->length / length);
    *re = own->plan->roots[2 * place];
    *im = own->plan->roots[2 * place + 1];
}

static void pass_of_2(const pass *own, numbers from, numbers to)
{
    const int64_t side = own->side;
    for (int64_t p = 0; p < own->left; p++) {
        float re, im;
        root_of(own, p, &re, &im);
        const float *a = from.re + p * side, *b = from.im + p * side;
        const float *c = from.re + (p + own->left) * side, *d = from.im + (p + own->left) * side;
        float *sum_re = to.re + 2 * p * side, *sum_im = to.im + 2 * p * side;
        float *rest_re = sum_re + side, *rest_im = sum_im + side;
        for (int64_t q = 0; q < side; q++) {
            const float x = a[q] - c[q], y = b[q] - d[q];
            sum_re[q] = a[q] + c[q];
            sum_im[q] = b[q] + d[q];
            rest_re[q] = x * re - y * im;
            rest_im[q] = x * im + y * re;
        }
    }
}

/* The root of 4 is -i, or i if the transform is an inverse one: its imaginary part is `turn`. */
static void pass_of_4(const pass *own, numbers from, numbers to)
{
    const int64_t side = own->side;
    float none, turn;
    root_of(own, own->left, &none, &turn);
    for (int64_t p = 0; p < own->left; p++) {
        float re[4], im[4];
        const float *a[4], *b[4];
        float *x = to.re + 4 * p * side, *y = to.im + 4 * p * side;
        for (int k = 0; k < 4; k++) {
            root_of(own, p * k, &re[k], &im[k]);
            a[k] = from.re + (p + k * own->left) * side;
            b[k] = from.im + (p + k * own->left) * side;
        }
        for (int64_t q = 0; q < side; q++) {
            const float even_re = a[0][q] + a[2][q], even_im = b[0][q] + b[2][q];
            const float far_re = a[0][q] - a[2][q], far_im = b[0][q] - b[2][q];
            const float odd_re = a[1][q] + a[3][q], odd_im = b[1][q] + b[3][q];
            const float turned_re = -turn * (b[1][q] - b[3][q]), turned_im = turn * (a[1][q] - a[3][q]);
            const float u = far_re + turned_re, v = far_im + turned_im;
            const float s = even_re - odd_re, t = even_im - odd_im;
            const float w = far_re - turned_re, z = far_im - turned_im;
            x[q] = even_re + odd_re;
            y[q] = even_im + odd_im;
            x[side + q] = u * re[1] - v * im[1];
            y[side + q] = u * im[1] + v * re[1];
            x[2 * side + q] = s * re[2] - t * im[2];
            y[2 * side + q] = s * im[2] + t * re[2];
            x[3 * side + q] = w * re[3] - z * im[3];
            y[3 * side + q] = w * im[3] + z * re[3];
        }
    }
}

/* Any factor: each result by its sum. */
static void pass_of_any(const pass *own, numbers from, numbers to)
{
    const int64_t side = own->side, factor = own->factor;
    for (int64_t p = 0; p < own->left; p++) {
        for (int64_t k = 0; k < factor; k++) {
            float *x = to.re + (factor * p + k) * side, *y = to.im + (factor * p + k) * side;
            memset(x, 0, (size_t)side * sizeof *x);
            memset(y, 0, (size_t)side * sizeof *y);
            for (int64_t j = 0; j < factor; j++) {
                float re, im;
                root_of(own, p * k + j * k % factor * own->left, &re, &im);
                const float *a = from.re + (p + own->left * j) * side, *b = from.im + (p + own->left * j) * side;
                for (int64_t q = 0; q < side; q++) {
                    x[q] += a[q] * re - b[q] * im;
                    y[q] += a[q] * im + b[q] * re;
                }
            }
        }
    }
}

/* Returns where the result is: in `from` or in `to`. */
static numbers transform(const liana__fft_plan *plan, int64_t lines, numbers from, numbers to)
{
    pass own = {.plan = plan, .left = plan->length, .side = lines};
    for (int i = 0; i < plan->num_factors; i++) {
        own.factor = plan->factors[i];
        own.left /= own.factor;
        if (own.factor == 4) {
            pass_of_4(&own, from, to);
        } else if (own.factor == 2) {
            pass_of_2(&own, from, to);
        } else {
            pass_of_any(&own, from, to);
        }
        own.side *= own.factor;
        const numbers swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static liana_status run_fft(const liana__call *call)
{
    const liana__fft_plan *plan = call->plan;
    const int64_t length = plan->length, num_lines = liana_shape_size(&call->node->shape) / (2 * length);
    const int64_t tiles = call->num_tiles ? (int64_t)call->num_tiles : 1, tile = (int64_t)call->tile;
    const int64_t begin = num_lines * tile / tiles, end = num_lines * (tile + 1) / tiles;
    const size_t size = (size_t)length * LIANA__FFT_LINES;
    float *scratch = call->scratch;
    for (int64_t first = begin; first < end; first += LIANA__FFT_LINES) {
        const int64_t lines = end - first < LIANA__FFT_LINES ? end - first : LIANA__FFT_LINES;
        const float *x = (const float *)call->src[0] + 2 * first * length;
        float *to = (float *)call->dst + 2 * first * length;
        const numbers a = {scratch, scratch + size}, b = {scratch + 2 * size, scratch + 3 * size};
        for (int64_t line = 0; line < lines; line++) {
            for (int64_t k = 0; k < length; k++) {
                a.re[k * lines + line] = x[2 * (line * length + k)];
                a.im[k * lines + line] = x[2 * (line * length + k) + 1];
            }
        }
        const numbers made = transform(plan, lines, a, b);
        for (int64_t line = 0; line < lines; line++) {
            for (int64_t k = 0; k < length; k++) {
                to[2 * (line * length + k)] = made.re[k * lines + line];
                to[2 * (line * length + k) + 1] = made.im[k * lines + line];
            }
        }
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(fft, .applicable = is_f32, .prepare = liana__fft_prepare, .release = liana__fft_release,
                     .run = run_fft, .cut = liana__fft_cut);
