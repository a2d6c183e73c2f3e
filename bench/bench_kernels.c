/* How fast each kernel of a depthwise convolution is, alone on one core: all that apply to a node, and oneDNN's, take
 * turns on the same data, and the medians stand in one row, with the best one's share of the roofline.
 *
 *   bench_kernels [BATCH [DTYPE [PASS [TEXT]]]]
 *
 * DTYPE is f32 (or bf16), PASS forward, input, kernel or all; only shapes whose name contains TEXT. LIANA_MAX_ISA caps
 * the instruction set, oneDNN's too. */
#include "backends/roofline.h"
#include "base/denormals.h"
#include "base/memory.h"
#include "base/recorder.h"
#include "kernels/kernel_choice.h"
#include "kernels/onednn.h"
#include "ops/conv/conv2d.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 8, TURNS = 15, SHORTEST_NS = 500000 };

typedef struct problem {
    int64_t size; /* height and width */
    int64_t channels;
    int64_t window;
    int64_t stride;
} problem;

/* MobileNetV2 (0.35 and 1.0) and EfficientNetB0 at 192x192. */
static const problem problems[] = {
    {96, 16, 3, 1},  {96, 48, 3, 2},  {48, 48, 3, 1},  {24, 96, 3, 1},  {12, 192, 3, 1}, {6, 336, 3, 1},
    {96, 32, 3, 1},  {96, 96, 3, 2},  {48, 144, 3, 1}, {48, 144, 3, 2}, {24, 192, 3, 1}, {24, 192, 3, 2},
    {12, 384, 3, 1}, {12, 576, 3, 2}, {6, 960, 3, 1},  {48, 144, 5, 2}, {24, 240, 5, 1}, {24, 240, 3, 2},
    {12, 672, 5, 1}, {12, 672, 5, 2}, {6, 1152, 5, 1}, {96, 8, 3, 1},   {24, 40, 3, 1},  {24, 96, 7, 1},
};

static const char *const pass_names[] = {"forward", "input", "kernel"};
static const liana__op *const pass_ops[] = {&liana__op_depthwise_conv2d, &liana__op_depthwise_conv2d_input_gradient,
                                            &liana__op_depthwise_conv2d_kernel_gradient};

/* A node of one pass, from inputs without values. */
static const liana__node *build(liana_graph *graph, const problem *p, int64_t batch, liana_dtype dtype, int pass)
{
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(batch, p->size, p->size, p->channels));
    liana_tensor kernel =
        liana_graph_input(graph, "kernel", dtype, liana_shape_of(p->window, p->window, p->channels, 1));
    liana_tensor y = liana_op_depthwise_conv2d(x, kernel,
                                               (liana_conv_options){.strides = {p->stride, p->stride},
                                                                    .padding = LIANA_PADDING_SAME});
    if (pass == LIANA__CONV_FORWARD) return liana__tensor_node(y);
    const liana__node *forward = liana__tensor_node(y);
    if (!forward) return NULL;
    liana__conv_attributes attributes = *(const liana__conv_attributes *)forward->attributes;
    bool of_input = pass == LIANA__CONV_INPUT_GRADIENT;
    attributes.size[0] = attributes.size[1] = of_input ? p->size : p->window;
    liana_tensor dy = liana_graph_input(graph, "dy", dtype, forward->shape);
    liana_tensor a = of_input ? dy : x, b = of_input ? kernel : dy;
    return liana__tensor_node(liana__build2(LIANA_HERE, pass_ops[pass], a, b, &attributes));
}

/* One kernel with all that it needs to run. */
typedef struct contender {
    const char *name;
    liana_status (*run)(const liana__call *call);
    void (*release)(void *plan);
    liana__prepared prepared;
    liana__call call;
    int64_t rounds;
    double seconds[TURNS];
} contender;

static double time_rounds(const contender *c)
{
    uint64_t begin = liana__clock();
    for (int64_t i = 0; i < c->rounds; i++) {
        if (c->run(&c->call) != LIANA_OK) return -1;
    }
    return (double)(liana__clock() - begin) * 1e-9 / (double)c->rounds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int find_contenders(const liana__node *node, int pass, liana__isa isa, contender *found, liana__error *error)
{
    int count = 0;
    for (const liana__kernel *const *kernel = node->op->kernels; kernel[2] && count < MAX_KERNELS - 1; kernel++) {
        if (liana__kernel_declines(*kernel, node, isa)) continue;
        contender *c = &found[count++];
        *c = (contender){.name = (*kernel)->name, .run = (*kernel)->run, .release = (*kernel)->release};
        if ((*kernel)->prepare && (*kernel)->prepare(node, &c->prepared, error) != LIANA_OK) return -1;
    }
    const liana__geometry geometry = liana__conv_geometry(node);
    if (node->inputs[0]->dtype == LIANA_BF16 && isa < LIANA__ISA_AVX512_BF16) return count;
    contender *c = &found[count++];
    *c = (contender){.name = "onednn", .run = liana__onednn_run, .release = liana__onednn_release};
    liana_status status =
        liana__onednn_prepare_conv((liana__conv_pass)pass, node->inputs[0]->dtype, &geometry, &c->prepared, error);
    return status == LIANA_OK ? count : -1;
}

static void measure(contender *contenders, int count)
{
    for (int i = 0; i < count; i++) {
        contender *c = &contenders[i];
        for (c->rounds = 1; time_rounds(c) * (double)c->rounds * 1e9 < SHORTEST_NS; c->rounds *= 2) {
        }
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < count; i++) contenders[i].seconds[turn] = time_rounds(&contenders[i]);
    }
    for (int i = 0; i < count; i++) qsort(contenders[i].seconds, TURNS, sizeof(double), compare);
}

/* Both as patterns of bits: 0.5 to 1. */
static void *make_data(const liana__node *node, int seed)
{
    int64_t size = liana_shape_size(&node->shape);
    uint16_t *data = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    int halves = node->dtype == LIANA_F32 ? 2 : 1;
    for (int64_t i = 0; data && i < size * halves; i++) data[i] = (uint16_t)(0x3f00 + ((i * 37 + seed) & 0x7f));
    return data;
}

static double run_problem(liana_context *context, const liana__roofline *roofline, const problem *p, int64_t batch,
                          liana_dtype dtype, int pass)
{
    liana_graph *graph = NULL;
    if (liana_graph_create(context, &graph) != LIANA_OK) return -1;
    const liana__node *node = build(graph, p, batch, dtype, pass);
    if (!node) return -1;
    contender contenders[MAX_KERNELS];
    int count = find_contenders(node, pass, context->isa, contenders, &context->error);
    void *src[2] = {make_data(node->inputs[0], 1), make_data(node->inputs[1], 2)}, *dst = make_data(node, 3);
    for (int i = 0; i < count; i++) {
        contender *c = &contenders[i];
        void *scratch = liana__allocate_aligned(c->prepared.scratch_size + 1);
        c->call = (liana__call){
            .node = node, .src = (const void *const *)src, .dst = dst, .scratch = scratch, .plan = c->prepared.plan};
    }
    measure(contenders, count);
    liana__cost cost = liana__node_cost(node);
    double compute = liana__roofline_compute_seconds(roofline, cost.flops, false);
    double memory = liana__roofline_memory_seconds(roofline, cost.bytes), least = compute > memory ? compute : memory;
    printf("%3lldx%-4lld %d/%d %-8s", (long long)p->size, (long long)p->channels, (int)p->window, (int)p->stride,
           pass_names[pass]);
    for (int i = 0; i < count; i++) {
        contender *c = &contenders[i];
        printf(" | %-8s %8.1f us %5.1f GF/s %3.0f%%", c->name, c->seconds[TURNS / 2] * 1e6,
               cost.flops / c->seconds[TURNS / 2] * 1e-9, 100 * least / c->seconds[TURNS / 2]);
        free(c->call.scratch);
        if (c->release) c->release(c->prepared.plan);
    }
    printf(" | roofline %8.1f us (%s)\n", least * 1e6, compute > memory ? "compute" : "memory");
    free(src[0]);
    free(src[1]);
    free(dst);
    liana_graph_destroy(graph);
    return 0;
}

int main(int argc, char **argv)
{
    int64_t batch = argc > 1 ? atoll(argv[1]) : 1;
    liana_dtype dtype = argc > 2 && strcmp(argv[2], "bf16") == 0 ? LIANA_BF16 : LIANA_F32;
    const char *passes = argc > 3 ? argv[3] : "all", *text = argc > 4 ? argv[4] : "";
    liana_context *context = NULL;
    liana__roofline roofline;
    if (liana_context_create(NULL, &context) != LIANA_OK) return 1;
    if (liana__roofline_measure(context, &roofline, &context->error) != LIANA_OK) return 1;
    liana__denormals_flush(); /* as the cpu device, which is not asked here */
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        char name[64];
        const problem *p = &problems[i];
        snprintf(name, sizeof name, "%lldx%lld %d/%d", (long long)p->size, (long long)p->channels, (int)p->window,
                 (int)p->stride);
        if (!strstr(name, text)) continue;
        for (int pass = 0; pass < 3; pass++) {
            if (strcmp(passes, "all") != 0 && strcmp(passes, pass_names[pass]) != 0) continue;
            if (run_problem(context, &roofline, p, batch, dtype, pass) < 0) {
                fprintf(stderr, "bench_kernels: %s\n", liana_context_message(context));
                return 1;
            }
        }
    }
    liana_context_destroy(context);
    return 0;
}
