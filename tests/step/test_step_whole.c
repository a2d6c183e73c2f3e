/* Steps of a program's own as programs of a device, one by one and several in one execution. */
#include "harness/pjrt_plugin.h"
#include "harness/tiny_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 16,
    COUNT = 80,
    MICROBATCH = 8,
    MOST_WEIGHTS = 16,
    STEPS = COUNT / BATCH,
    CLASSES = LIANA__TINY_CLASSES
};

static const double RATE = 0.1;

static void build_shard(liana_shard *shard, void *user)
{
    const liana__tiny_loop *own = user;
    liana_tensor image = liana__loop_image(shard), label = liana_shard_input(shard, "label"), output;
    liana_tensor variables[MOST_WEIGHTS];
    liana_model_call(own->model, &image, 1, &shard->mode, &output, NULL);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    liana_shard_gradients(shard, loss, variables, liana_model_variables(own->model, shard->graph, variables));
}

static void build_update(liana_update *update, void *user)
{
    const liana__tiny_loop *own = user;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = own->optimizer,
                                                     .rate = liana_update_scalar(update, "rate")});
}

static liana_model *dense_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    return model;
}

/* The inputs of the steps; the rate of one of them can be wrong. */
typedef struct given {
    const liana__tiny_loop *own;
    int64_t wrong; /* -1: none */
    int asked[STEPS];
} given;

static liana_status give_batch(void *user, int64_t step, liana_step_input *batch)
{
    given *what = user;
    *batch = liana__loop_batch(what->own, step * BATCH, BATCH, 0);
    memset(batch->scalars, 0, sizeof batch->scalars);
    what->asked[step]++;
    return LIANA_OK;
}

static liana_status give_rate(void *user, int64_t update, liana_setting scalars[LIANA_MAX_SETTINGS])
{
    scalars[0] = (liana_setting){"rate", update == ((const given *)user)->wrong ? NAN : RATE / (double)(1 + update)};
    return LIANA_OK;
}

static liana__tiny_loop open_loop(const char *device)
{
    liana__tiny_loop own = liana__tiny_loop_open(1, dense_model);
    own.optimizer = "{name: SGD, momentum: 0.9}";
    liana_variables_destroy(own.variables);
    liana_device_close(own.device);
    liana__tiny_done(own.context, liana_device_open(own.context, device, &own.device), __FILE__, __LINE__);
    liana__tiny_done(own.context, liana_variables_create(own.device, &own.variables), __FILE__, __LINE__);
    return own;
}

static liana_step *make_step(liana__tiny_loop *own, int64_t steps_per_execution, bool deterministic)
{
    return liana__loop_step(own, &(liana_step_options){.name = "tiny",
                                                       .shard = build_shard,
                                                       .update = build_update,
                                                       .user = own,
                                                       .components = liana__loop_components,
                                                       .num_components = 2,
                                                       .scalars = {"rate"},
                                                       .batch_size = BATCH,
                                                       .microbatch = MICROBATCH,
                                                       .steps_per_execution = steps_per_execution,
                                                       .deterministic = deterministic,
                                                       .seed = 5});
}

typedef struct trained {
    float weights[LIANA__LOOP_PIXELS * CLASSES + CLASSES];
    double losses[STEPS];
    size_t executed;
} trained;

static void train(const char *device, int64_t steps_per_execution, bool deterministic, bool is_plugin, trained *made)
{
    liana__tiny_loop own = open_loop(device);
    liana_step *step = make_step(&own, steps_per_execution, deterministic);
    given what = {.own = &own, .wrong = -1};
    liana_step_outcome outcomes[STEPS];
    liana_step_counts counts;
    liana_array weights;
    const size_t before = is_plugin ? liana__test_plugin_state()->executed : 0;
    liana_step_results sum;
    const liana_step_input many = {.give_batch = give_batch,
                                   .num_steps = STEPS,
                                   .give_scalars = give_rate,
                                   .user = &what,
                                   .outcomes = outcomes,
                                   .counts = &counts};
    done(liana_step_run(step, &many, &sum));
    assert_int_equal(sum.num_examples, COUNT);
    made->executed = is_plugin ? liana__test_plugin_state()->executed - before : 0;
    assert_int_equal(counts.num_done, STEPS);
    assert_int_equal(counts.used, STEPS);
    assert_int_equal(liana_step_info(step).position, COUNT);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(outcomes[i].results.num_examples, BATCH);
        assert_int_equal(what.asked[i], 1);
        made->losses[i] = liana_step_mean(&outcomes[i].results, "loss");
    }
    done(liana_model_from_variables(own.model, own.variables));
    size_t at = 0;
    for (size_t i = 0; liana_model_weight(own.model, i).name; i++) {
        done(liana_model_get_weights(own.model, liana_model_weight(own.model, i).name, &weights));
        const size_t count = (size_t)liana_shape_size(&weights.shape);
        memcpy(made->weights + at, weights.data, count * sizeof(float));
        at += count;
    }
    assert_int_equal(at, sizeof made->weights / sizeof(float));
    liana_step_destroy(step);
    liana__tiny_loop_close(&own);
}

/* One execution for each update, or for each group; the same bits in groups, and those of the CPU up to rounding. */
static void test_groups(void **state)
{
    (void)state;
    static trained cpu, one, two, many, parts;
    liana__test_begin_on_plugin();
    char device[4096];
    snprintf(device, sizeof device, "%s", liana__test_plugin_device(""));
    train("cpu", 1, false, false, &cpu);
    train(device, 1, false, true, &one);
    train(device, 2, false, true, &two);
    train(device, 50, false, true, &many);
    train(device, 1, true, true, &parts);
    assert_int_equal(one.executed, STEPS);
    assert_int_equal(two.executed, (STEPS + 1) / 2);
    assert_int_equal(many.executed, 1);
    assert_compare(parts.executed, >, 2 * STEPS); /* two shards, and the programs that add and update */
    assert_memory_equal(two.weights, one.weights, sizeof one.weights);
    assert_memory_equal(many.weights, one.weights, sizeof one.weights);
    for (int i = 0; i < STEPS; i++) {
        assert_compare(two.losses[i], ==, one.losses[i], i);
        assert_near(one.losses[i], cpu.losses[i], 1e-5, i);
    }
    for (size_t i = 0; i < sizeof cpu.weights / sizeof(float); i++)
        assert_near(one.weights[i], cpu.weights[i], 1e-5, i);
    liana__test_plugin_is_clean();
}

/* A number that is not finite ends the group before its update, and is named. Earlier updates stay. */
static void test_bad_numbers(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    for (int64_t wrong = 0; wrong < STEPS; wrong += 2) {
        liana__tiny_loop own = open_loop(liana__test_plugin_device(""));
        liana_step *step = make_step(&own, 4, false);
        given what = {.own = &own, .wrong = wrong};
        liana_step_outcome outcomes[STEPS];
        liana_step_counts counts;
        const liana_step_input many = {.give_batch = give_batch,
                                       .num_steps = STEPS,
                                       .give_scalars = give_rate,
                                       .user = &what,
                                       .outcomes = outcomes,
                                       .counts = &counts};
        assert_int_equal(liana_step_run(step, &many, NULL), LIANA_OUT_OF_RANGE);
        assert_says(liana_context_message(own.context), "tiny: the scalar 'rate' is nan; no variable has changed");
        assert_int_equal(counts.num_done, wrong);
        assert_int_equal(liana_step_info(step).position, wrong * BATCH);
        assert_int_equal(what.asked[wrong], 2);
        liana_step_destroy(step);
        liana__tiny_loop_close(&own);
    }
    liana__test_plugin_is_clean();
}

static void test_refused_options(void **state)
{
    (void)state;
    static const int64_t refused[] = {-1, 10001};
    for (size_t i = 0; i < 2; i++) {
        liana__tiny_loop own = open_loop("cpu");
        liana_step *step;
        const liana_step_options options = {.shard = build_shard,
                                            .update = build_update,
                                            .user = &own,
                                            .components = liana__loop_components,
                                            .num_components = 2,
                                            .scalars = {"rate"},
                                            .steps_per_execution = refused[i]};
        assert_int_equal(liana_step_create(own.context, &options, &step), LIANA_INVALID_ARGUMENT);
        assert_says(liana_context_message(own.context), "steps_per_execution");
        liana__tiny_loop_close(&own);
    }
}

/* On the CPU groups are loops. */
static void test_groups_on_the_cpu(void **state)
{
    (void)state;
    static trained one, many;
    train("cpu", 1, false, false, &one);
    train("cpu", 3, false, false, &many);
    assert_memory_equal(many.weights, one.weights, sizeof one.weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_refused_options),
        cmocka_unit_test(test_groups_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
