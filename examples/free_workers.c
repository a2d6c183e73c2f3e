/* A training loop of one's own whose workers need not be in step: each computes its own batches, and the parameter
 * servers apply gradients as they come. The same program runs under any strategy. After `make install`:
 *
 *     cc free_workers.c -o free_workers $(pkg-config --cflags --libs liana)
 *     ./free_workers
 *     liana launch -n 3 --servers 1 --program ./free_workers -- '{name: parameter_server, synchronous: false}'
 *
 * It fits y = 3 a - 2 b + 1 to numbers that a function makes. */
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, STEPS = 600, ROW = 3 };

static const liana_component components[] = {{"x", LIANA_F32, {1, {ROW}}}, {"y", LIANA_F32, {1, {1}}}};

/* A batch, until the next one is asked for. */
typedef struct loop {
    float x[BATCH * ROW], y[BATCH];
} loop;

/* Any batch by its number: which worker is asked for which is the strategy's affair. */
static liana_status give_batch(void *user, int64_t step, liana_step_input *batch)
{
    loop *own = user;
    for (int64_t i = 0; i < BATCH; i++) {
        const int64_t n = step * BATCH + i;
        float *x = own->x + i * ROW;
        x[0] = (float)(n * 7 % 100) / 50 - 1;
        x[1] = (float)(n * 13 % 99) / 49 - 1;
        x[2] = 1;
        own->y[i] = 3 * x[0] - 2 * x[1] + 1;
    }
    batch->arrays[0] = (liana_array){"x", LIANA_F32, liana_shape_of(BATCH, ROW), own->x};
    batch->arrays[1] = (liana_array){"y", LIANA_F32, liana_shape_of(BATCH, 1), own->y};
    return LIANA_OK;
}

/* A schedule counts updates of all workers. */
static liana_status give_rate(void *user, int64_t update, liana_setting *scalars)
{
    (void)user;
    scalars[0] = (liana_setting){"learning_rate", 0.2 * (1 - 0.9 * (double)update / STEPS)};
    return LIANA_OK;
}

static void build_shard(liana_shard *shard, void *user)
{
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, liana_shape_of(ROW, 1));
    (void)user;
    weight = liana_graph_initializer(weight, "zeros");
    liana_tensor error = liana_op_subtract(liana_op_matmul(x, weight, false, false), y);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_op_square(error)), NULL, 0);
}

#define CHECK(call) \
    if ((call) != LIANA_OK) return fprintf(stderr, "%s\n", context ? liana_context_message(context) : ""), 1

int main(int argc, char **argv)
{
    static liana_step_outcome outcomes[STEPS];
    liana_context *context;
    liana_step *step;
    liana_step_counts counts;
    loop own;
    float weight[ROW];
    CHECK(liana_context_create(NULL, &context));
    const liana_step_options options = {.shard = build_shard,
                                        .optimizer = "SGD",
                                        .components = components,
                                        .num_components = 2,
                                        .scalars = {"learning_rate"},
                                        .batch_size = BATCH,
                                        .microbatch = 8,
                                        .strategy = {.name = argc > 1 ? argv[1] : NULL}};
    CHECK(liana_step_create(context, &options, &step));
    liana_step_input input = {.give_batch = give_batch, .give_scalars = give_rate, .num_steps = STEPS, .user = &own};
    input.outcomes = outcomes;
    input.counts = &counts;
    CHECK(liana_step_run(step, &input, NULL));
    CHECK(liana_variables_read(liana_step_variables(step), "weight", weight, sizeof weight));
    printf("y = %.3f a + %.3f b + %.3f\n", (double)weight[0], (double)weight[1], (double)weight[2]);
    printf("loss %.4g at first\n", liana_step_mean(&outcomes[0].results, "loss"));
    if (counts.not_reproducible) {
        printf("%s: %d gradients were used, %d came too late, the stalest was %d updates old\n",
               counts.not_reproducible, (int)counts.used, (int)counts.dropped, (int)counts.largest_staleness);
    }
    liana_step_destroy(step);
    liana_context_destroy(context);
    return 0;
}
