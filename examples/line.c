/* A line fitted to numbers, without a model: a graph, its gradient, an optimizer, variables. After `make install`:
 *
 *     cc line.c -o line $(pkg-config --cflags --libs liana)
 *     ./line [UPDATES]
 *
 * The program writes line.safetensors. */
#include <liana/liana.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 64 };

/* The line and how far it is from the numbers. */
static liana_status build(liana_graph *graph)
{
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(COUNT));
    liana_tensor y = liana_graph_input(graph, "y", LIANA_F32, liana_shape_of(COUNT));
    liana_tensor slope = liana_graph_variable(graph, "slope", LIANA_F32, LIANA_SCALAR);
    liana_tensor offset = liana_graph_variable(graph, "offset", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(slope, "random_normal");
    liana_graph_initializer(offset, "zeros");
    liana_tensor line = liana_tensor_set_name(liana_op_add(liana_op_multiply(slope, x), offset), "line");
    liana_tensor error = liana_op_square(liana_op_subtract(line, y));
    liana_tensor loss = liana_op_reduce_mean(error, LIANA_ALL_AXES, false);
    liana_graph_output(graph, "loss", loss);
    liana_minimize(loss, NULL, 0,
                   &(liana_optimizer_options){.optimizer = "{name: SGD, momentum: 0.9, learning_rate: 0.1}"});
    return liana_graph_status(graph);
}

static liana_status fit(liana_program *program, int updates)
{
    float x[COUNT], y[COUNT], loss = 0, slope = 0, offset = 0;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i / COUNT;
        y[i] = 3 * x[i] - 1 + (i % 4 == 0 || i % 4 == 3 ? 0.05f : -0.05f);
    }
    liana_variables *variables = liana_program_variables(program);
    LIANA_TRY(liana_variables_initialize(variables, &(liana_initialize_options){.seed = 1}));
    for (int i = 0; i < updates; i++) {
        LIANA_TRY(liana_run(program,
                            .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(COUNT), x},
                                                 {"y", LIANA_F32, liana_shape_of(COUNT), y}),
                            .fetches = LIANA_FETCHES({.name = "loss", .data = &loss, .size = sizeof loss}),
                            .assign = LIANA_NAMES("train")));
        if (i % 100 == 0) printf("update %d: loss %.5f\n", i, (double)loss);
    }
    LIANA_TRY(liana_variables_read(variables, "slope", &slope, sizeof slope));
    LIANA_TRY(liana_variables_read(variables, "offset", &offset, sizeof offset));
    printf("y = %.2f x %+.2f\n", (double)slope, (double)offset);
    return liana_variables_save(variables, "line.safetensors");
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana_device *device = NULL;
    liana_graph *graph = NULL;
    liana_program *program = NULL;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_graph_create(context, &graph);
    if (status == LIANA_OK) status = build(graph);
    if (status == LIANA_OK) status = liana_program_create(device, graph, NULL, &program);
    if (status == LIANA_OK) status = fit(program, argc > 1 ? atoi(argv[1]) : 500);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_program_destroy(program);
    liana_graph_destroy(graph);
    liana_device_close(device);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
