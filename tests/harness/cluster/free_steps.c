/* A step under strategies whose workers need not be in step. */
#include "harness/cluster/free_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The work of a process, and its record. */
typedef struct loop {
    liana_context *context;
    const liana__cluster_program *program;
    liana__cluster_result *result;
    float x[LIANA__FREE_BATCH * LIANA__FREE_FEATURES], y[LIANA__FREE_BATCH]; /* of the batch that was asked for last */
    int asked_batch[LIANA__FREE_STEPS];                                      /* how often */
    int asked_scalars[LIANA__FREE_STEPS];
} loop;

liana__free_recipe liana__free_shared;

const liana__free_recipe liana__free_usual = {
    .num_steps = 20, .short_step = -1, .bad_batch = -1, .bad_scalars = -1, .bad_numbers = -1};

/* ---- data ---- */

int64_t liana__free_count(int step)
{
    return step == liana__free_shared.short_step ? 5 : LIANA__FREE_BATCH;
}

static float x_of(int step, int64_t row, int feature)
{
    return (float)((step * 5 + (int)row * 3 + feature * 7) % 11 - 4);
}

static float y_of(int step, int64_t row)
{
    return 2 * x_of(step, row, 0) - x_of(step, row, 1) + 0.5F;
}

static liana_status give_batch(void *user, int64_t step, liana_step_input *batch)
{
    loop *own = user;
    const int64_t count = liana__free_count((int)step);
    own->asked_batch[step]++;
    if (step == liana__free_shared.bad_batch) {
        liana_dataset *none;
        return liana_dataset_open(own->context, "there is no such file", NULL, &none);
    }
    for (int64_t row = 0; row < count; row++) {
        for (int k = 0; k < LIANA__FREE_FEATURES; k++) own->x[row * LIANA__FREE_FEATURES + k] = x_of((int)step, row, k);
        own->y[row] = y_of((int)step, row);
    }
    /* In each worker's share, so that it is among the first. */
    for (int i = 0; step == liana__free_shared.bad_numbers && i < LIANA__FREE_BATCH; i++)
        own->x[i * LIANA__FREE_FEATURES] = NAN;
    *batch = (liana_step_input){.arrays = {{"x", LIANA_F32, liana_shape_of(count, LIANA__FREE_FEATURES), own->x},
                                           {"y", LIANA_F32, liana_shape_of(count, 1), own->y}}};
    if (liana__free_shared.scalars_in_batch) batch->scalars[0] = (liana_setting){"rate", 1};
    return LIANA_OK;
}

static double rate_of(int64_t update)
{
    return liana__free_shared.learns ? 0.02 / (1 + (double)update) : 0.25;
}

static liana_status give_scalars(void *user, int64_t update, liana_setting *scalars)
{
    loop *own = user;
    own->asked_scalars[update]++;
    if (update == liana__free_shared.bad_scalars) return LIANA_NOT_FOUND;
    scalars[0] = (liana_setting){"rate", rate_of(update)};
    return LIANA_OK;
}

/* ---- the step ---- */

static liana_tensor weight_of(liana_graph *graph)
{
    return liana_graph_variable(graph, "weight", LIANA_F32, liana_shape_of(LIANA__FREE_FEATURES, 1));
}

static void build_shard(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y"), weight = weight_of(shard->graph);
    if (!liana__free_shared.learns) {
        liana_tensor each = liana_op_matmul(x, weight, false, false);
        liana_tensor loss = liana__free_shared.hides_loss ? liana_op_reduce_sum(each, LIANA_ALL_AXES, false)
                                                          : liana_shard_sum(shard, "loss", each);
        liana_shard_sum(shard, "targets", y);
        liana_shard_gradients(shard, loss, &weight, 1);
        return;
    }
    x = liana_op_dropout(x, shard->mode.positions, 0.25, shard->mode.seed, 1);
    liana_tensor error = liana_op_subtract(liana_op_matmul(x, weight, false, false), y);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_op_square(error)), &weight, 1);
}

static liana_tensor counter_of(liana_graph *graph, const char *name)
{
    return liana_graph_initializer(liana_graph_variable(graph, name, LIANA_F32, LIANA_SCALAR), "zeros");
}

/* An update of one's own, which cannot be cut: it counts, too. */
static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_graph *graph = update->graph;
    liana_tensor rate = liana_update_scalar(update, "rate");
    liana_tensor number = counter_of(graph, "number");
    liana_tensor seen = counter_of(graph, "seen");
    liana_graph_assign(number, liana_op_add(number, liana_graph_scalar(graph, LIANA_F32, 1)));
    liana_graph_assign(seen, liana_op_add(seen, update->count));
    if (liana__free_shared.learns) {
        liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                              &(liana_optimizer_options){.optimizer = liana__free_shared.optimizer, .rate = rate});
        return;
    }
    liana_tensor change = liana_op_multiply(update->gradients[0], rate);
    liana_graph_assign(update->variables[0], liana_op_subtract(update->variables[0], change));
}

static void note(void *user, const char *text)
{
    liana__cluster_result *result = ((loop *)user)->result;
    const size_t length = strlen(result->notes);
    snprintf(result->notes + length, sizeof result->notes - length, "%s\n", text);
}

static liana_status run_loop(liana_step *step, loop *own, size_t rank)
{
    liana_status status = LIANA_OK;
    if (!liana__free_shared.one_by_one) {
        const liana_step_input many = {.give_batch = give_batch,
                                       .num_steps = liana__free_shared.num_steps,
                                       .give_scalars = give_scalars,
                                       .user = own,
                                       .outcomes = liana__free_shared.outcomes[rank],
                                       .counts = &liana__free_shared.counts[rank]};
        status = liana_step_run(step, &many, NULL);
        const char *name = liana__free_shared.outcomes[rank][0].results.names[0];
        snprintf(liana__free_shared.first_sum[rank], sizeof liana__free_shared.first_sum[rank], "%s", name ? name : "");
        const char *reason = liana__free_shared.counts[rank].not_reproducible;
        snprintf(liana__free_shared.reason[rank], sizeof liana__free_shared.reason[rank], "%s", reason ? reason : "");
    }
    for (int i = 0; liana__free_shared.one_by_one && status == LIANA_OK && i < liana__free_shared.num_steps; i++) {
        liana_step_input batch;
        status = give_batch(own, i, &batch);
        batch.scalars[0] = (liana_setting){"rate", rate_of(i)};
        if (status == LIANA_OK) status = liana_step_run(step, &batch, &liana__free_shared.outcomes[rank][i].results);
    }
    liana__free_shared.position[rank] = liana_step_info(step).position;
    return status;
}

/* All variables, in their order: the optimizer's too. */
static liana_status keep_variables(const liana_variables *variables, liana__cluster_result *result)
{
    const size_t count = liana_variables_count(variables);
    result->weights = calloc(count * LIANA__FREE_FEATURES, sizeof(double));
    assert_non_null(result->weights);
    for (size_t i = 0; i < count; i++) {
        liana_variable_info info;
        assert_true(liana_variables_info(variables, i, &info));
        const size_t size = (size_t)liana_shape_size(&info.shape) * liana_dtype_size(info.dtype);
        LIANA_TRY(liana_variables_read(variables, info.name, result->weights + result->size, size));
        result->size += size;
    }
    return LIANA_OK;
}

static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {LIANA__FREE_FEATURES}}},
                                             {.name = "y", .dtype = LIANA_F32, .shape = {1, {1}}}};

static liana_step_options usual_step(loop *own)
{
    return (liana_step_options){.shard = build_shard,
                                .update = build_update,
                                .user = own,
                                .components = components,
                                .num_components = 2,
                                .scalars = {"rate"},
                                .batch_size = LIANA__FREE_BATCH,
                                .microbatch = LIANA__FREE_SHARD,
                                .seed = 9};
}

static liana_status run(liana_context *context, const liana__cluster_program *program, liana__cluster_result *result)
{
    loop own = {.context = context, .program = program, .result = result};
    const liana__cluster *cluster = liana__cluster_of(context);
    const size_t rank = cluster ? cluster->place.rank : 0;
    const float zeros[LIANA__FREE_FEATURES] = {0};
    liana_step *step = NULL;
    liana_step_options options = usual_step(&own);
    options.on_note = note;
    options.strategy = program->strategy;
    options.device = liana__free_shared.device;
    liana_status status = liana_step_create(context, &options, &step);
    liana_variables *variables = liana_step_variables(step);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", zeros, sizeof zeros);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    if (status == LIANA_OK) status = run_loop(step, &own, rank);
    memcpy(liana__free_shared.asked_batch[rank], own.asked_batch, sizeof own.asked_batch);
    memcpy(liana__free_shared.asked_scalars[rank], own.asked_scalars, sizeof own.asked_scalars);
    if (cluster) result->counters = cluster->counters;
    if (status == LIANA_OK) status = keep_variables(variables, result);
    liana_step_destroy(step);
    return status;
}

liana__cluster_program liana__free_program(const char *strategy)
{
    return (liana__cluster_program){.run = run, .strategy = {.name = strategy}};
}

/* ---- the expected results ---- */

/* Each step's mean gradient is that of its inputs. */
void liana__free_assert_weights(const liana__cluster_result *result, size_t begin, size_t end)
{
    const float *values = (const float *)(void *)result->weights;
    double seen = 0;
    for (int k = 0; k < LIANA__FREE_FEATURES; k++) {
        double sum = 0;
        for (int step = 0; step < liana__free_shared.num_steps; step++) {
            double mean = 0, count = 0;
            for (int64_t row = (int64_t)begin; row < liana__free_count(step) && row < (int64_t)end; row++) {
                mean += (double)x_of(step, row, k);
                count++;
            }
            sum += 0.25 * mean / count;
            if (k == 0) seen += count;
        }
        assert_near(values[k], -sum, 1e-4, k);
    }
    assert_compare((double)values[LIANA__FREE_FEATURES], ==, liana__free_shared.num_steps); /* number */
    assert_compare((double)values[LIANA__FREE_FEATURES + 1], ==, seen);
}

void liana__free_assert_same(const liana__cluster_result *results, size_t count, size_t without)
{
    const size_t first = without == 0;
    for (size_t i = 0; i < count; i++) {
        if (i == without) continue;
        assert_int_equal(results[i].size, results[first].size);
        assert_memory_equal(results[i].weights, results[first].weights, results[first].size);
        assert_int_equal(liana__free_shared.position[i], liana__free_shared.position[first]);
        for (int k = 0; k < liana__free_shared.num_steps; k++) {
            const liana_step_outcome *a = &liana__free_shared.outcomes[i][k],
                                     *b = &liana__free_shared.outcomes[first][k];
            assert_compare(a->used, ==, b->used);
            assert_compare(a->dropped, ==, b->dropped);
            assert_compare(a->staleness, ==, b->staleness);
            assert_int_equal(a->results.num_examples, b->results.num_examples);
            assert_memory_equal(a->results.sums, b->results.sums, sizeof a->results.sums);
        }
    }
}

double liana__free_targets(int step, int64_t count)
{
    double sum = 0;
    for (int64_t row = 0; row < count; row++) sum += (double)y_of(step, row);
    return sum;
}

void liana__free_run(const char *strategy, size_t workers, size_t servers, int64_t replicas, bool one_by_one,
                     liana__cluster_result *results)
{
    liana__cluster_program program = liana__free_program(strategy);
    program.strategy.replicas = replicas;
    liana__free_shared.one_by_one = one_by_one;
    liana__run_cluster(&program, workers, servers, results);
}

liana_status liana__free_run_replicas(liana_context *context, const liana__cluster_program *program,
                                      liana__cluster_result *result)
{
    loop own = {.context = context, .program = program, .result = result};
    const float zeros[LIANA__FREE_FEATURES] = {0};
    liana_replicas *replicas = NULL;
    liana_step *step = NULL;
    liana_per_replica *values = NULL;
    liana_step_input batch;
    liana_status status =
        liana_replicas_open(context, &(liana_replicas_options){.strategy = program->strategy}, &replicas);
    liana_variables *variables = liana_replicas_variables(replicas);
    liana_step_options options = usual_step(&own);
    options.replicas = replicas;
    if (status == LIANA_OK) status = give_batch(&own, 0, &batch);
    if (status == LIANA_OK) status = liana_per_replica_split(replicas, batch.arrays, 2, LIANA__FREE_SHARD, &values);
    if (status == LIANA_OK) status = liana_step_create(context, &options, &step);
    if (status == LIANA_OK) status = liana_variables_write(variables, "weight", zeros, sizeof zeros);
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL);
    batch = (liana_step_input){.values = values, .scalars = {{"rate", 0.25}}};
    if (status == LIANA_OK) status = liana_step_run(step, &batch, NULL);
    if (status == LIANA_OK) status = keep_variables(variables, result);
    liana_per_replica_destroy(values);
    liana_step_destroy(step);
    liana_replicas_close(replicas);
    return status;
}
