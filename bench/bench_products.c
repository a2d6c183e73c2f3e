/* The speed of liana's own matrix products against oneDNN's: every kernel that can compute a node, in alternation on
 * the same data, on one core.
 *
 *   bench_products [--bf16] [--peak GFLOPS] [--layer N] SET BATCH [forward|input|kernel]...
 *   N: the only layer of the set that is wanted, from 1
 *   SET: mobilenet035, mobilenet, resnet, densenet (their convolutions of single pixels), mlp (dense layers), strided
 *   (single pixels, ResNet's of stride 2), 3x3
 *
 * A line for each layer and pass: GFLOP/s of each kernel by its name, the median of the repetitions, and its share of
 * the peak; an asterisk marks the one that the executor would choose. LIANA_MAX_ISA caps all of them. */
#include "base/clock.h"
#include "base/context.h"
#include "base/denormals.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/kernel_choice.h"
#include "ops/conv/conv2d.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer {
    int64_t size, channels, filters; /* images of size x size pixels */
} layer;

static const layer mobilenet035[] = {{96, 16, 8},
                                     {96, 8, 48},
                                     {48, 48, 8},
                                     {48, 8, 48},
                                     {24, 48, 16},
                                     {24, 16, 96},
                                     {24, 96, 16},
                                     {12, 96, 24},
                                     {12, 24, 144},
                                     {12, 144, 24},
                                     {12, 144, 32},
                                     {12, 32, 192},
                                     {12, 192, 32},
                                     {6, 192, 56},
                                     {6, 56, 336},
                                     {6, 336, 56},
                                     {6, 336, 112},
                                     {6, 112, 1280},
                                     {0}};
static const layer mobilenet[] = {{96, 32, 16},  {96, 16, 96},  {48, 96, 24},  {48, 24, 144},  {48, 144, 24},
                                  {24, 144, 32}, {24, 32, 192}, {24, 192, 32}, {12, 192, 64},  {12, 64, 384},
                                  {12, 384, 64}, {12, 384, 96}, {12, 96, 576}, {12, 576, 96},  {6, 576, 160},
                                  {6, 160, 960}, {6, 960, 160}, {6, 960, 320}, {6, 320, 1280}, {0}};
static const layer resnet[] = {{48, 64, 64},
                               {48, 64, 256},
                               {48, 256, 64},
                               {24, 256, 128},
                               {24, 128, 512},
                               {24, 512, 128},
                               {12, 512, 256},
                               {12, 256, 1024},
                               {12, 1024, 256},
                               {6, 1024, 512},
                               {6, 512, 2048},
                               {6, 2048, 512},
                               {0}};
static const layer densenet[] = {{48, 64, 128},   {48, 160, 128}, {48, 256, 128}, {24, 128, 128},
                                 {24, 288, 128},  {24, 512, 256}, {12, 256, 128}, {12, 608, 128},
                                 {12, 1024, 512}, {6, 512, 128},  {6, 992, 128},  {0}};
static const layer dense3x3[] = {{48, 64, 64},  {24, 128, 128}, {12, 256, 256},
                                 {6, 512, 512}, {48, 128, 32},  {24, 128, 32},
                                 {12, 128, 32}, {6, 128, 32},   {0}};
static const layer strided[] = {{48, 256, 128}, {48, 256, 512}, {24, 512, 256}, {24, 512, 1024}, {12, 1024, 512}, {0}};
static const layer mlp[] = {{1, 784, 512}, {1, 512, 10}, {0}};

typedef struct layer_set {
    const char *name;
    const layer *layers;
    int64_t window, stride;
} layer_set;

static const layer_set sets[] = {{"mobilenet035", mobilenet035, 1, 1},
                                 {"mobilenet", mobilenet, 1, 1},
                                 {"resnet", resnet, 1, 1},
                                 {"densenet", densenet, 1, 1},
                                 {"mlp", mlp, 1, 1},
                                 {"strided", strided, 1, 2},
                                 {"3x3", dense3x3, 3, 1}};

static const char *const passes[] = {"forward", "input", "kernel"};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const layer_set *set, const layer *l, int64_t batch,
                          int pass)
{
    liana_tensor x = liana_graph_input(graph, "x", dtype, liana_shape_of(batch, l->size, l->size, l->channels));
    liana_shape sizes = liana_shape_of(set->window, set->window, l->channels, l->filters);
    liana_tensor kernel = liana_graph_input(graph, "kernel", dtype, sizes);
    liana_conv_options options = {.strides = {set->stride, set->stride}, .padding = LIANA_PADDING_SAME};
    liana_tensor y = liana_op_conv2d(x, kernel, options);
    const liana__node *node = liana__tensor_node(y);
    if (!node || pass == 0) return y;
    liana_tensor dy = liana_graph_input(graph, "dy", dtype, node->shape);
    liana__conv_attributes attributes = *(const liana__conv_attributes *)node->attributes;
    attributes.size[0] = attributes.size[1] = pass == 1 ? l->size : set->window;
    if (pass == 1) return liana__build2(LIANA_HERE, &liana__op_conv2d_input_gradient, dy, kernel, &attributes);
    return liana__build2(LIANA_HERE, &liana__op_conv2d_kernel_gradient, x, dy, &attributes);
}

static void *draw(liana_dtype dtype, const liana_shape *shape)
{
    void *data = liana__allocate_aligned(liana__byte_size(dtype, shape));
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    int64_t size = liana_shape_size(shape);
    for (int64_t i = 0; data && i < size; i += 4) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        for (int64_t k = i; k < i + 4 && k < size; k++) {
            liana__store(data, dtype, k, (double)words[k - i] * 0x1p-31 - 1);
        }
    }
    return data;
}

enum { MAX_KERNELS = 8, REPETITIONS = 9 };
static const double least_seconds = 0.002; /* of a repetition */

typedef struct contest {
    const liana__node *node;
    int count;
    const liana__kernel *kernels[MAX_KERNELS];
    liana__call calls[MAX_KERNELS];
    double seconds[MAX_KERNELS][REPETITIONS];
} contest;

static bool enter_kernels(contest *c, liana_context *context, void **src, void *dst)
{
    for (const liana__kernel *const *k = c->node->op->kernels; k[1] && c->count < MAX_KERNELS; k++) {
        const char *reason;
        if ((*k)->isa > context->isa || ((*k)->applicable && !(*k)->applicable(c->node, &reason))) continue;
        liana__prepared prepared = {0};
        if ((*k)->prepare && (*k)->prepare(c->node, &prepared, &context->error) != LIANA_OK) return false;
        void *scratch = liana__allocate_aligned(prepared.scratch_size);
        if (!scratch) return false;
        c->calls[c->count] = (liana__call){
            .node = c->node, .src = (const void *const *)src, .dst = dst, .scratch = scratch, .plan = prepared.plan};
        c->kernels[c->count++] = *k;
    }
    return true;
}

static void measure(contest *c)
{
    int64_t runs[MAX_KERNELS];
    for (int k = 0; k < c->count; k++) {
        (void)c->kernels[k]->run(&c->calls[k]);
        double begin = liana__clock_seconds();
        (void)c->kernels[k]->run(&c->calls[k]);
        runs[k] = 1 + (int64_t)(least_seconds / (liana__clock_seconds() - begin));
    }
    for (int i = 0; i < REPETITIONS; i++) {
        for (int k = 0; k < c->count; k++) {
            double begin = liana__clock_seconds();
            for (int64_t run = 0; run < runs[k]; run++) (void)c->kernels[k]->run(&c->calls[k]);
            c->seconds[k][i] = (liana__clock_seconds() - begin) / (double)runs[k];
        }
    }
}

static void report(contest *c, liana_context *context, const layer *l, int64_t batch, int pass, double peak)
{
    const liana__kernel *chosen = liana__choose_kernel(context, c->node, context->isa);
    double flops = liana__node_cost(c->node).flops;
    printf("%3lldx%-3lld %5lld -> %-5lld batch %-3lld %-8s", (long long)l->size, (long long)l->size,
           (long long)l->channels, (long long)l->filters, (long long)batch, passes[pass]);
    for (int k = 0; k < c->count; k++) {
        qsort(c->seconds[k], REPETITIONS, sizeof(double), compare_doubles);
        double speed = 1e-9 * flops / c->seconds[k][REPETITIONS / 2];
        printf("  %s%s %6.1f", c->kernels[k] == chosen ? "*" : " ", c->kernels[k]->name, speed);
        if (peak > 0) printf(" (%2.0f%%)", 100 * speed / peak);
    }
    printf("\n");
    fflush(stdout);
}

static bool run_layer(liana_context *context, liana_dtype dtype, const layer_set *set, const layer *l, int64_t batch,
                      int pass, double peak)
{
    liana_graph *graph;
    if (liana_graph_create(context, &graph) != LIANA_OK) return false;
    liana_tensor y = build(graph, dtype, set, l, batch, pass);
    contest c = {.node = liana__tensor_node(y)};
    if (!c.node) return false;
    void *src[2] = {draw(dtype, liana__input_shape(c.node, 0)), draw(dtype, liana__input_shape(c.node, 1))};
    void *dst = liana__allocate_aligned(liana__byte_size(c.node->dtype, &c.node->shape));
    bool good = src[0] && src[1] && dst && enter_kernels(&c, context, src, dst);
    if (good) measure(&c);
    if (good) report(&c, context, l, batch, pass, peak);
    for (int k = 0; k < c.count; k++) {
        free(c.calls[k].scratch);
        if (c.kernels[k]->release) c.kernels[k]->release((void *)c.calls[k].plan);
    }
    free(src[0]);
    free(src[1]);
    free(dst);
    liana_graph_destroy(graph);
    return good;
}

int main(int argc, char **argv)
{
    liana_dtype dtype = LIANA_F32;
    double peak = 0;
    int at = 1, only = 0;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--bf16") == 0) dtype = LIANA_BF16;
        if (strcmp(argv[at], "--peak") == 0 && at + 1 < argc) peak = atof(argv[++at]);
        if (strcmp(argv[at], "--layer") == 0 && at + 1 < argc) only = atoi(argv[++at]);
    }
    const layer_set *set = NULL;
    for (size_t i = 0; at < argc && i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(sets[i].name, argv[at]) == 0) set = &sets[i];
    }
    int64_t batch = at + 1 < argc ? atoll(argv[at + 1]) : 0;
    liana_context *context;
    if (!set || batch < 1 || liana_context_create(NULL, &context) != LIANA_OK) {
        fprintf(stderr,
                "usage: bench_products [--bf16] [--peak GFLOPS] [--layer N] SET BATCH [forward|input|kernel]...\n"
                "SET: mobilenet035, mobilenet, resnet, densenet, mlp, strided or 3x3\n");
        return 2;
    }
    liana__denormals_flush(); /* as the cpu device, which is not asked here */
    bool good = true;
    for (int pass = 0; pass < 3; pass++) {
        bool wanted = at + 2 >= argc;
        for (int i = at + 2; i < argc; i++) wanted |= strcmp(argv[i], passes[pass]) == 0;
        for (const layer *l = set->layers; wanted && good && l->size; l++) {
            if (only && l - set->layers + 1 != only) continue;
            good = run_layer(context, dtype, set, l, batch, pass, peak);
        }
    }
    if (!good) fprintf(stderr, "bench_products: %s\n", liana_context_message(context));
    liana_context_destroy(context);
    return good ? 0 : 1;
}
