/* The cost of a call without its arithmetic: a compiled graph of ten small ops, the same in public with a feed and a
 * fetch, small ops whose values are asked for at once, and an evaluation of one example.
 *
 *     bench_program [RUNS]    default 200000
 *
 * Prints microseconds: the median over ten parts of the runs. All are upper bounds, as kernels and the example's
 * decoding are included. */
#include "base/context.h"
#include "base/recorder.h"
#include "exec/program.h"

#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 10, SIZE = 16, SIDE = 8 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, PARTS, sizeof *values, compare);
    return (values[PARTS / 2 - 1] + values[PARTS / 2]) / 2;
}

/* x -> ten ops on vectors of 16 numbers. */
static liana_graph *ten_ops(liana_context *context)
{
    liana_graph *graph;
    if (liana_graph_create(context, &graph) != LIANA_OK) return NULL;
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(SIZE)), y = x;
    for (int i = 0; i < 5; i++) y = liana_op_multiply(liana_op_add(y, x), x);
    liana_graph_output(graph, "y", y);
    return graph;
}

static liana_status time_program(liana_context *context, long runs, double *microseconds, liana__error *error)
{
    liana__device *device;
    liana__program *program = NULL;
    float x[SIZE] = {0.5f};
    LIANA_TRY(liana__device_open(context, "cpu", &device, error));
    liana_status status = liana__program_create(device, ten_ops(context), "ten ops", NULL, &program, error);
    if (status == LIANA_OK) status = liana__program_feed(program, 0, LIANA_F32, &(liana_shape){1, {SIZE}}, x, error);
    double parts[PARTS];
    for (int part = 0; part < PARTS && status == LIANA_OK; part++) {
        uint64_t begin = liana__clock();
        for (long i = 0; i < runs / PARTS && status == LIANA_OK; i++) status = liana__program_run(program, error);
        parts[part] = 1e-3 * (double)(liana__clock() - begin) / (double)(runs / PARTS);
    }
    *microseconds = median(parts);
    liana__program_destroy(program);
    liana__device_close(device);
    return status;
}

/* The same as its users run it: the input is copied in, the result out. */
static liana_status time_public(liana_context *context, long runs, double *microseconds)
{
    liana_device *device;
    liana_program *program = NULL;
    liana_graph *graph = ten_ops(context);
    float x[SIZE] = {0.5f}, y[SIZE];
    if (!graph) return LIANA_OUT_OF_MEMORY;
    LIANA_TRY(liana_device_open(context, "cpu", &device));
    liana_status status = liana_program_create(device, graph, NULL, &program);
    double parts[PARTS];
    for (int part = 0; part < PARTS && status == LIANA_OK; part++) {
        uint64_t begin = liana__clock();
        for (long i = 0; i < runs / PARTS && status == LIANA_OK; i++) {
            status = liana_run(program, .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(SIZE), x}),
                               .fetches = LIANA_FETCHES({.name = "y", .data = y, .size = sizeof y}));
        }
        parts[part] = 1e-3 * (double)(liana__clock() - begin) / (double)(runs / PARTS);
    }
    *microseconds = median(parts);
    liana_program_destroy(program);
    liana_device_close(device);
    liana_graph_destroy(graph);
    return status;
}

typedef liana_tensor make_op(liana_tensor x, liana_tensor y);

static liana_tensor make_sum(liana_tensor x, liana_tensor y)
{
    return liana_op_add(x, y);
}

static liana_tensor make_product(liana_tensor x, liana_tensor y)
{
    return liana_op_matmul(x, y, false, false);
}

static liana_tensor make_mean(liana_tensor x, liana_tensor y)
{
    (void)y;
    return liana_op_reduce_mean(x, LIANA_AXES(0), false);
}

/* A new op and its value, on tensors [16, 16]. */
static liana_status time_eager(liana_context *context, make_op *make, long runs, double *microseconds)
{
    float numbers[SIZE * SIZE], result[SIZE * SIZE];
    double parts[PARTS];
    liana_status status = LIANA_OK;
    for (int i = 0; i < SIZE * SIZE; i++) numbers[i] = (float)i / SIZE;
    for (int part = 0; part < PARTS && status == LIANA_OK; part++) {
        liana_graph *graph;
        LIANA_TRY(liana_graph_create(context, &graph));
        liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(SIZE, SIZE), numbers);
        uint64_t begin = liana__clock();
        for (long i = 0; i < runs / PARTS && status == LIANA_OK; i++) {
            liana_tensor made = make(x, x);
            liana_shape shape = liana_tensor_shape(made);
            status = liana_value(made, result, (size_t)liana_shape_size(&shape) * sizeof *result);
        }
        parts[part] = 1e-3 * (double)(liana__clock() - begin) / (double)(runs / PARTS);
        liana_graph_destroy(graph);
    }
    *microseconds = median(parts);
    return status;
}

static liana_model *small_model(liana_context *context)
{
    liana_model *model;
    if (liana_model_create(context, "small", &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_flatten(model);
    liana_dense(model, .units = 2, .activation = "softmax");
    return model;
}

static liana_status draw(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    (void)user;
    (void)address;
    uint8_t *image = liana_element_output(output, "image");
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = (uint8_t)i;
    *(int64_t *)liana_element_output(output, "label") = *(const int64_t *)liana_element_array(input, "value").data % 2;
    return LIANA_OK;
}

static liana_status time_evaluation(liana_context *context, double *microseconds)
{
    static const liana_component components[] = {{.name = "image", .dtype = LIANA_U8, .shape = {3, {SIDE, SIDE, 1}}},
                                                 {.name = "label", .dtype = LIANA_S64}};
    liana_dataset *data = liana_dataset_map(
        liana_dataset_range(context, 0, 1, 1),
        &(liana_map_options){.name = "draw", .function = draw, .components = components, .num_components = 2});
    liana_model *model = small_model(context);
    liana_results results;
    double parts[PARTS];
    liana_status status = model ? liana_evaluate(model, data, NULL, &results) : LIANA_OUT_OF_MEMORY;
    for (int part = 0; part < PARTS && status == LIANA_OK; part++) {
        uint64_t begin = liana__clock();
        status = liana_evaluate(model, data, NULL, &results);
        parts[part] = 1e-3 * (double)(liana__clock() - begin);
    }
    *microseconds = median(parts);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

int main(int count, char **words)
{
    long runs = count > 1 ? atol(words[1]) : 200000;
    liana_context *context;
    double program = 0, in_public = 0, eager[3] = {0}, evaluation = 0;
    make_op *const ops[3] = {make_sum, make_product, make_mean};
    const char *const names[3] = {"sum", "matrix product", "mean"};
    if (runs < PARTS || liana_context_create(NULL, &context) != LIANA_OK) return 2;
    liana_status status = time_program(context, runs, &program, &context->error);
    if (status == LIANA_OK) status = time_public(context, runs, &in_public);
    for (int i = 0; i < 3 && status == LIANA_OK; i++) status = time_eager(context, ops[i], runs, &eager[i]);
    if (status == LIANA_OK) status = time_evaluation(context, &evaluation);
    if (status == LIANA_OK) {
        printf("a graph of ten small ops: %.2f us\n", program);
        printf("the same, fed and fetched: %.2f us\n", in_public);
        for (int i = 0; i < 3; i++) printf("the value of a new %s of 16 x 16: %.2f us\n", names[i], eager[i]);
        printf("an evaluation of one example: %.0f us\n", evaluation);
    } else {
        fprintf(stderr, "bench_program: %s\n", liana_context_message(context));
    }
    liana_context_destroy(context);
    return status != LIANA_OK;
}
