/* A training loop under a strategy that is chosen by name: the numbers it prints are the same under any. After
 * `make install`:
 *
 *     cc replicas.c -o replicas $(pkg-config --cflags --libs liana)
 *     ./replicas
 *     ./replicas mirrored 3
 *     liana launch -n 4 --program ./replicas -- multi_worker
 *     liana launch -n 4 --servers 1 --program ./replicas -- parameter_server
 *
 * It fits y = 3 a - 2 b + 1 to numbers that a function makes; each process makes those of its own replicas only. */
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 500, BATCH = 64, MICROBATCH = 4, EPOCHS = 30 };

static const liana_component components[] = {{"x", LIANA_F32, {1, {3}}}, {"y", LIANA_F32, {1, {1}}}};

static liana_status make_example(void *user, const liana_example_address *address, const liana_element *number,
                                 liana_element *example)
{
    int64_t n = *(const int64_t *)liana_element_array(number, "value").data;
    float *x = liana_element_output(example, "x"), *y = liana_element_output(example, "y");
    (void)user, (void)address;
    x[0] = (float)(n * 7 % 100) / 50 - 1;
    x[1] = (float)(n * 13 % 99) / 49 - 1;
    x[2] = 1;
    y[0] = 3 * x[0] - 2 * x[1] + 1;
    return LIANA_OK;
}

static liana_tensor squares_of(liana_graph *graph, liana_tensor x, liana_tensor y, liana_tensor *weight)
{
    *weight = liana_graph_initializer(liana_graph_variable(graph, "weight", LIANA_F32, liana_shape_of(3, 1)), "zeros");
    return liana_op_square(liana_op_subtract(liana_op_matmul(x, *weight, false, false), y));
}

static void build_shard(liana_shard *shard, void *user)
{
    liana_tensor weight;
    liana_tensor squares =
        squares_of(shard->graph, liana_shard_input(shard, "x"), liana_shard_input(shard, "y"), &weight);
    (void)user;
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", squares), &weight, 1);
}

/* The graph that each replica computes for each of its shards. */
static void build_measure(liana_graph *graph, void *user)
{
    liana_tensor weight;
    (void)user;
    liana_graph_output(graph, "squares",
                       squares_of(graph, liana_graph_tensor(graph, "x"), liana_graph_tensor(graph, "y"), &weight));
}

#define CHECK(call) \
    if ((call) != LIANA_OK) return fprintf(stderr, "%s\n", context ? liana_context_message(context) : ""), 1

int main(int argc, char **argv)
{
    liana_context *context;
    liana_replicas *replicas;
    liana_step *step;
    liana_replica_program *measure;
    liana_replica_iterator *iterator;
    liana_per_replica *batch, *values;
    liana_array mean;
    float weight[3];
    liana_strategy strategy = {.name = argc > 1 ? argv[1] : NULL, .replicas = argc > 2 ? atoi(argv[2]) : 0};
    CHECK(liana_context_create(NULL, &context));
    CHECK(liana_replicas_open(context, &(liana_replicas_options){.strategy = strategy}, &replicas));
    const liana_step_options options = {.shard = build_shard,
                                        .optimizer = "{name: Adam, learning_rate: 0.05}",
                                        .components = components,
                                        .num_components = 2,
                                        .batch_size = BATCH,
                                        .microbatch = MICROBATCH,
                                        .replicas = replicas};
    CHECK(liana_step_create(context, &options, &step));
    liana_variables *variables = liana_step_variables(step);
    CHECK(liana_variables_initialize(variables, NULL));
    CHECK(liana_replica_program_create(replicas, &(liana_replica_program_options){.build = build_measure}, &measure));
    liana_dataset *examples = liana_dataset_range(context, 0, COUNT, 1);
    examples = liana_dataset_map(examples, &(liana_map_options){.function = make_example,
                                                                .components = components,
                                                                .num_components = 2});
    examples = liana_dataset_shuffle(examples, NULL);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        liana_distribute_options batches = {.batch_size = BATCH,
                                            .microbatch = MICROBATCH,
                                            .iterator = {.epoch = epoch}};
        CHECK(liana_replicas_distribute(replicas, examples, &batches, &iterator));
        while (liana_replica_iterator_next(iterator, &batch) == LIANA_OK) {
            CHECK(liana_step_run(step, &(liana_step_input){.values = batch}, NULL));
            liana_per_replica_destroy(batch);
        }
        CHECK(liana_context_status(context));
        liana_replica_iterator_destroy(iterator);
    }
    liana_distribute_options all = {.batch_size = COUNT, .microbatch = 32};
    CHECK(liana_replicas_distribute(replicas, examples, &all, &iterator));
    CHECK(liana_replica_iterator_next(iterator, &batch));
    CHECK(liana_replica_program_run(measure, &batch, 1, &values));
    CHECK(liana_per_replica_reduce(values, "squares", LIANA_REDUCE_ROW_MEAN, &mean));
    CHECK(liana_variables_read(variables, "weight", weight, sizeof weight));
    printf("y = %.9g a + %.9g b + %.9g, mean square %.9g\n", (double)weight[0], (double)weight[1], (double)weight[2],
           (double)*(const float *)mean.data);
    fprintf(stderr, "%d of %d shards were measured here\n", (int)liana_per_replica_info(values).num_local,
            (int)liana_per_replica_info(values).num_shards);
    liana_per_replica_destroy(values);
    liana_per_replica_destroy(batch);
    liana_replica_iterator_destroy(iterator);
    liana_replica_program_destroy(measure);
    liana_step_destroy(step);
    liana_dataset_close(examples);
    liana_replicas_close(replicas);
    liana_context_destroy(context);
    return 0;
}
