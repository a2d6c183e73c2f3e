/* In-graph replication: one program, whose graph has a tower on each of several devices. After `make install`:
 *
 *     cc towers.c -o towers $(pkg-config --cflags --libs liana)
 *     ./towers cpu:1 cpu:2
 *     ./towers /job:worker/task:0/cpu:0 /job:worker/task:1/cpu:0 -- /job:ps/task:0/cpu:0 /job:ps/task:1/cpu:0
 *
 * Devices before `--` have towers, those after it variables; without any all is on this process's CPU. TF_CONFIG says
 * where the servers are (liana server). The numbers that are printed are the same bits for all of these. */
#include <liana/liana.h>

#include <stdio.h>
#include <string.h>

enum { TOWERS = 2, ROWS = 32, COLUMNS = 16, UNITS = 8, UPDATES = 200 };

/* Where things are: NULL is the program's own device. */
typedef struct places {
    const char *towers[TOWERS];
    const char *const *servers;
    size_t num_servers;
} places;

typedef struct weights {
    liana_tensor kernel, bias, last;
} weights;

/* Variables are shared out among the servers, one after the other. */
static weights make_weights(liana_graph *graph, const places *where)
{
    liana_place_variables(graph, LIANA_ROUND_ROBIN, where->servers, where->num_servers);
    weights made = {
        .kernel = liana_graph_variable(graph, "kernel", LIANA_F32, liana_shape_of(COLUMNS, UNITS)),
        .bias = liana_graph_variable(graph, "bias", LIANA_F32, liana_shape_of(UNITS)),
        .last = liana_graph_variable(graph, "last", LIANA_F32, liana_shape_of(UNITS, 1)),
    };
    liana_place_variables(graph, LIANA_ROUND_ROBIN, NULL, 0);
    liana_graph_initializer(made.kernel, "glorot_uniform");
    liana_graph_initializer(made.bias, "zeros");
    liana_graph_initializer(made.last, "glorot_uniform");
    return made;
}

/* The mean squared error of one tower's rows. */
static liana_tensor make_tower(liana_graph *graph, const places *where, const weights *shared, int tower)
{
    char name[2][8];
    snprintf(name[0], sizeof name[0], "x%d", tower);
    snprintf(name[1], sizeof name[1], "y%d", tower);
    liana_device_scope_begin(graph, where->towers[tower]);
    liana_tensor x = liana_graph_input(graph, name[0], LIANA_F32, liana_shape_of(ROWS, COLUMNS));
    liana_tensor y = liana_graph_input(graph, name[1], LIANA_F32, liana_shape_of(ROWS, 1));
    liana_tensor hidden = liana_op_tanh(liana_op_add(liana_op_matmul(x, shared->kernel, false, false), shared->bias));
    liana_tensor error = liana_op_subtract(liana_op_matmul(hidden, shared->last, false, false), y);
    liana_tensor loss = liana_op_reduce_mean(liana_op_square(error), LIANA_ALL_AXES, false);
    liana_device_scope_end(graph);
    return loss;
}

/* The gradients of a tower are computed on its device, the update of a variable on its server. */
static liana_status build(liana_graph *graph, const places *where)
{
    const weights shared = make_weights(graph, where);
    liana_tensor losses[TOWERS];
    for (int i = 0; i < TOWERS; i++) losses[i] = make_tower(graph, where, &shared, i);
    liana_tensor half = liana_graph_scalar(graph, LIANA_F32, 0.5);
    liana_tensor loss = liana_op_multiply(liana_op_add(losses[0], losses[1]), half);
    liana_graph_output(graph, "loss", loss);
    liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "{name: Adam, learning_rate: 0.02}"});
    return liana_graph_status(graph);
}

/* Rows that never repeat, and their targets. */
static void fill(int update, int tower, float *x, float *y)
{
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int i = 0; i < COLUMNS; i++) {
            const int number = (row * 31 + i * 17 + update * 13 + tower * 7) % 41;
            x[row * COLUMNS + i] = (float)number / 41 - 0.5f;
            sum += i % 3 == 0 ? x[row * COLUMNS + i] : 0;
        }
        y[row] = sum;
    }
}

static liana_status fit(liana_program *program)
{
    static float x[TOWERS][ROWS * COLUMNS], y[TOWERS][ROWS];
    const liana_shape wide = liana_shape_of(ROWS, COLUMNS), narrow = liana_shape_of(ROWS, 1);
    float loss = 0;
    LIANA_TRY(liana_variables_initialize(liana_program_variables(program), NULL));
    for (int i = 0; i < UPDATES; i++) {
        for (int tower = 0; tower < TOWERS; tower++) fill(i, tower, x[tower], y[tower]);
        LIANA_TRY(liana_run(program,
                            .feeds = LIANA_FEEDS({"x0", LIANA_F32, wide, x[0]}, {"x1", LIANA_F32, wide, x[1]},
                                                 {"y0", LIANA_F32, narrow, y[0]}, {"y1", LIANA_F32, narrow, y[1]}),
                            .fetches = LIANA_FETCHES({.name = "loss", .data = &loss, .size = sizeof loss}),
                            .assign = LIANA_NAMES("train")));
        if (i % 50 == 49) printf("update %d: loss %.9g\n", i + 1, (double)loss);
    }
    return LIANA_OK;
}

static places read_places(int argc, char **argv)
{
    places where = {0};
    int word = 1;
    for (; word < argc && strcmp(argv[word], "--") != 0; word++) {
        if (word <= TOWERS) where.towers[word - 1] = argv[word];
    }
    if (word + 1 < argc) {
        where.servers = (const char *const *)argv + word + 1;
        where.num_servers = (size_t)(argc - word - 1);
    }
    return where;
}

int main(int argc, char **argv)
{
    const places where = read_places(argc, argv);
    liana_context *context;
    liana_device *device = NULL;
    liana_graph *graph = NULL;
    liana_program *program = NULL;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_graph_create(context, &graph);
    if (status == LIANA_OK) status = build(graph, &where);
    if (status == LIANA_OK) status = liana_program_create(device, graph, NULL, &program);
    if (status == LIANA_OK) status = fit(program);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_program_destroy(program);
    liana_graph_destroy(graph);
    liana_device_close(device);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
