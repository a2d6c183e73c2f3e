/* Depthwise convolutions of floats in portable C, whose inner loops run over the channels of one pixel. */
#include "ops/conv/depthwise_conv2d.h"
#include "kernels/applicable.h"
#include "kernels/widened.h"

static size_t scratch_size_of(const liana__node *node)
{
    if (node->op != &liana__op_depthwise_conv2d_kernel_gradient) return 0;
    return (size_t)liana_shape_size(&node->shape) * sizeof(double);
}

static liana_status prepare(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    (void)error;
    prepared->scratch_size = scratch_size_of(node);
    return LIANA_OK;
}

/* One cell of the window of one output: its elements of x, y and kernel. */
typedef void visit_function(void *user, const liana__geometry *g, int64_t x, int64_t y, int64_t kernel);

/* Visits every pair of an output pixel and a cell of its window that is inside the image, images and rows in order. */
static void visit_taps(const liana__geometry *g, visit_function *visit, void *user)
{
    int64_t taps = g->window[0] * g->window[1];
    for (int64_t i = 0; i < g->batch * g->output[0] * g->output[1]; i++) {
        int64_t column = i % g->output[1], row = i / g->output[1] % g->output[0];
        int64_t n = i / g->output[1] / g->output[0];
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t in_row = liana__window_source(g, 0, row, tap / g->window[1]);
            int64_t in_column = liana__window_source(g, 1, column, tap % g->window[1]);
            if (in_row < 0 || in_column < 0) continue;
            int64_t pixel = (n * g->input[0] + in_row) * g->input[1] + in_column;
            visit(user, g, pixel * g->channels, i * g->filters, tap * g->filters);
        }
    }
}

typedef struct tensors {
    const float *a, *b;
    float *result;
    double *sums;
} tensors;

static void add_output(void *user, const liana__geometry *g, int64_t x, int64_t y, int64_t kernel)
{
    const tensors *t = user;
    const float *in = t->a + x, *weights = t->b + kernel;
    float *out = t->result + y;
    int64_t multiplier = g->filters / g->channels, f = 0;
    for (int64_t c = 0; c < g->channels; c++) {
        for (int64_t m = 0; m < multiplier; m++, f++) out[f] += in[c] * weights[f];
    }
}

static void add_input_gradient(void *user, const liana__geometry *g, int64_t x, int64_t y, int64_t kernel)
{
    const tensors *t = user;
    const float *dy = t->a + y, *weights = t->b + kernel;
    float *dx = t->result + x;
    int64_t multiplier = g->filters / g->channels, f = 0;
    for (int64_t c = 0; c < g->channels; c++) {
        for (int64_t m = 0; m < multiplier; m++, f++) dx[c] += dy[f] * weights[f];
    }
}

static void add_kernel_gradient(void *user, const liana__geometry *g, int64_t x, int64_t y, int64_t kernel)
{
    const tensors *t = user;
    const float *in = t->a + x, *dy = t->b + y;
    double *sums = t->sums + kernel;
    int64_t multiplier = g->filters / g->channels, f = 0;
    for (int64_t c = 0; c < g->channels; c++) {
        for (int64_t m = 0; m < multiplier; m++, f++) sums[f] += in[c] * dy[f];
    }
}

static liana_status run(const liana__call *call)
{
    const liana__geometry g = liana__conv_geometry(call->node);
    tensors t = {call->src[0], call->src[1], call->dst, call->scratch};
    int64_t size = liana_shape_size(&call->node->shape);
    for (int64_t i = 0; i < size; i++) t.result[i] = 0;
    switch (liana__conv_pass_of(call->node)) {
    case LIANA__CONV_FORWARD: visit_taps(&g, add_output, &t); break;
    case LIANA__CONV_INPUT_GRADIENT: visit_taps(&g, add_input_gradient, &t); break;
    case LIANA__CONV_KERNEL_GRADIENT:
        for (int64_t i = 0; i < size; i++) t.sums[i] = 0;
        visit_taps(&g, add_kernel_gradient, &t);
        for (int64_t i = 0; i < size; i++) t.result[i] = (float)t.sums[i];
        break;
    }
    return LIANA_OK;
}

const liana__kernel liana__depthwise_conv2d_plain = {
    .name = "plain",
    .applicable = liana__applicable_f32,
    .prepare = prepare,
    .run = run,
};

static liana_status prepare_widened(const liana__node *node, liana__prepared *prepared, liana__error *error)
{
    const liana__prepared plain = {.scratch_size = scratch_size_of(node)};
    return liana__widened_prepare(node, &(liana__kernel){.run = run}, &plain, prepared, error);
}

const liana__kernel liana__depthwise_conv2d_plain_widened = {
    .name = "plain_widened",
    .applicable = liana__applicable_bf16,
    .prepare = prepare_widened,
    .pack = liana__widened_pack,
    .release = liana__widened_release,
    .run = liana__widened_run,
};
