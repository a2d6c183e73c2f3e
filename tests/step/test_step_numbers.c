/* Steps find numbers that are not finite: in scalars, sums and gradients before the update, and in its results. */
#include "harness/harness.h"

#include <liana/liana.h>

#include <math.h>
#include <string.h>

/* y = weight * x, and the square of the error as the loss. */
enum { BATCH = 4 };

typedef struct fixture {
    liana_context *context;
    liana_device *device;
    liana_variables *variables;
    liana_step *step;
} fixture;

static void build_shard(liana_shard *shard, void *user)
{
    const bool *hides_loss = user;
    liana_tensor x = liana_shard_input(shard, "x"), y = liana_shard_input(shard, "y");
    liana_tensor weight = liana_graph_variable(shard->graph, "weight", LIANA_F32, LIANA_SCALAR);
    liana_tensor difference = liana_op_subtract(liana_op_multiply(weight, x), y);
    liana_tensor square = liana_op_multiply(difference, difference);
    liana_tensor loss =
        *hides_loss ? liana_op_reduce_sum(square, LIANA_ALL_AXES, false) : liana_shard_sum(shard, "loss", square);
    liana_shard_gradients(shard, loss, &weight, 1);
}

static void build_update(liana_update *update, void *user)
{
    (void)user;
    liana_tensor change = liana_op_multiply(update->gradients[0], liana_update_scalar(update, "rate"));
    liana_graph_assign(update->variables[0], liana_op_subtract(update->variables[0], change));
}

static fixture set_up(bool *hides_loss, bool allows_non_finite, const char *strategy)
{
    static const liana_component components[] = {{.name = "x", .dtype = LIANA_F32}, {.name = "y", .dtype = LIANA_F32}};
    fixture own = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    assert_int_equal(liana_device_open(own.context, "cpu", &own.device), LIANA_OK);
    assert_int_equal(liana_variables_create(own.device, &own.variables), LIANA_OK);
    const liana_step_options options = {.name = "line",
                                        .shard = build_shard,
                                        .update = build_update,
                                        .user = hides_loss,
                                        .components = components,
                                        .num_components = 2,
                                        .scalars = {"rate"},
                                        .batch_size = BATCH,
                                        .microbatch = 2,
                                        .allows_non_finite = allows_non_finite,
                                        .variables = own.variables,
                                        .strategy = {.name = strategy, .replicas = strategy ? 2 : 0}};
    assert_int_equal(liana_step_create(own.context, &options, &own.step), LIANA_OK);
    assert_int_equal(liana_variables_write(own.variables, "weight", &(float){2}, sizeof(float)), LIANA_OK);
    return own;
}

static void tear_down(fixture *own)
{
    liana_step_destroy(own->step);
    liana_variables_destroy(own->variables);
    liana_device_close(own->device);
    liana_context_destroy(own->context);
}

static float weight_of(const fixture *own)
{
    float weight;
    assert_int_equal(liana_variables_read(own->variables, "weight", &weight, sizeof weight), LIANA_OK);
    return weight;
}

/* A batch whose third example is `third`. */
static liana_status run(const fixture *own, float third, double rate, liana_step_results *results)
{
    const float x[BATCH] = {1, 2, third, 4}, y[BATCH] = {3, 6, 9, 12};
    const liana_step_input batch = {.arrays = {{"x", LIANA_F32, liana_shape_of(BATCH), (void *)x},
                                               {"y", LIANA_F32, liana_shape_of(BATCH), (void *)y}},
                                    .scalars = {{"rate", rate}}};
    return liana_step_run(own->step, &batch, results);
}

static void assert_message(const fixture *own, const char *text)
{
    const char *message = liana_context_message(own->context);
    if (!strstr(message, text)) fail_msg("'%s' does not say '%s'", message, text);
}

static void refuse(const fixture *own, float third, double rate, const char *text)
{
    liana_step_results results;
    const uint64_t position = liana_step_info(own->step).position;
    const float before = weight_of(own);
    assert_int_equal(run(own, third, rate, &results), LIANA_OUT_OF_RANGE);
    assert_message(own, text);
    assert_message(own, "no variable has changed");
    assert_int_equal(results.num_examples, BATCH);
    assert_compare(weight_of(own), ==, before);
    assert_compare(liana_step_info(own->step).position, ==, position);
}

static void check_watched(const char *strategy)
{
    bool hides_loss = false;
    fixture own = set_up(&hides_loss, false, strategy);
    refuse(&own, INFINITY, 0.01, "line: the sum 'loss' is inf");
    assert_message(&own, "the first bad numbers are in the input 'x' (");
    assert_message(&own, "1 of 2 examples of the shard have them, the first is position 2");
    refuse(&own, NAN, 0.01, "line: the sum 'loss' is nan");
    refuse(&own, 3, NAN, "line: the scalar 'rate' is nan");
    /* A batch that was left out leaves nothing behind: the gradient of the mean is -2 * (1 + 4 + 9 + 16) / 4. */
    assert_int_equal(run(&own, 3, 0.01, NULL), LIANA_OK);
    assert_near(weight_of(&own), 2.15F, 1e-6F);
    /* A finite rate with which the update itself overflows. */
    assert_int_equal(run(&own, 3, 3e38, NULL), LIANA_OUT_OF_RANGE);
    assert_message(&own, "the update gives 'weight' 1 number that is not finite");
    assert_message(&own, "loaded again");
    tear_down(&own);
    /* Nobody sums the loss up, so only the gradient tells. */
    hides_loss = true;
    own = set_up(&hides_loss, false, strategy);
    refuse(&own, INFINITY, 0.01, "line: the sum for 'weight', of gradients or statistics, has 1 number");
    assert_message(&own, "the first bad numbers are in the input 'x'");
    /* Finite data whose square is not: the op is named, and where the program built it. */
    refuse(&own, 3e30F, 0.01, "line: the sum for 'weight', of gradients or statistics, has 1 number");
    assert_message(&own, "the first bad numbers are the result of the op multiply (");
    assert_message(&own, "test_step_numbers.c:");
    tear_down(&own);
}

static void bad_numbers_change_no_variable(void **state)
{
    (void)state;
    check_watched(NULL);
    check_watched("mirrored");
}

static void the_watch_can_be_turned_off(void **state)
{
    (void)state;
    bool hides_loss = false;
    liana_step_results results;
    fixture own = set_up(&hides_loss, true, NULL);
    assert_int_equal(run(&own, INFINITY, 0.01, &results), LIANA_OK);
    assert_true(isinf(results.sums[0]));
    assert_false(isfinite(weight_of(&own)));
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_numbers_change_no_variable),
        cmocka_unit_test(the_watch_can_be_turned_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
