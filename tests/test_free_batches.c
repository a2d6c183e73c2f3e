/* liana_train_on_batch where workers are not in step. Asynchronous workers take turns, so nothing is stale: the bits of one
 * device. An update of the first gradients is the mean over their examples: a linear model from zeros with rate 0.5 has minus
 * half the mean gradient. */
#include "harness/cluster_fit.h"

#include "distribute/cluster/span.h"
#include "train/core/worker_share.h"

#include <math.h>
#include <string.h>

enum { ROWS = 24, SHARD = 2, FEATURES = 3, BATCHES = 5 };

static float x[ROWS * FEATURES], y[ROWS];

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS * FEATURES; i++) x[i] = (float)((i * 37) % 101 - 50) / 32;
    for (int i = 0; i < ROWS; i++) y[i] = (float)((i * 13) % 17 - 5) / 8;
    return 0;
}

/* ---- training ---- */

/* `program->steps` batches. The loss is that of the last one. */
static liana_status train(liana_context *context, const liana__cluster_program *program, liana__cluster_result *result)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x},
                                  {"y", LIANA_F32, liana_shape_of(ROWS, 1), y}};
    liana_model *model = NULL;
    const bool one = program->steps == 1;
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_input(model, .shape = LIANA_INTS(FEATURES), .name = "x");
    if (!one) {
        liana_dense(model, .units = 5, .activation = "tanh");
        liana_batch_normalization(model, .momentum = 0.9);
        liana_dropout(model, .rate = 0.25);
    }
    liana_dense(model, .units = 1, .use_bias = false, .kernel_initializer = one ? "zeros" : "glorot_uniform");
    const liana_fit_options options = {.microbatch = SHARD,
                                       .loss = "mean_squared_error",
                                       .optimizer = program->optimizer,
                                       .strategy = program->strategy,
                                       .seed = 4};
    liana_status status = LIANA_OK;
    for (int64_t i = 0; status == LIANA_OK && i < program->steps; i++) {
        liana_results results;
        status = liana_train_on_batch(model, &options, arrays, 2, &results);
        result->loss = results.loss;
    }
    const liana__cluster *cluster = liana__cluster_of(context);
    if (cluster) result->counters = cluster->counters;
    if (status == LIANA_OK) status = liana__tiny_keep_weights(model, &result->weights, &result->size);
    liana_model_destroy(model);
    return status;
}

static liana__cluster_program program_of(const char *strategy, int64_t steps, const char *optimizer)
{
    return (
        liana__cluster_program){.run = train, .strategy = {.name = strategy}, .steps = steps, .optimizer = optimizer};
}

static void test_asynchronous_workers_take_turns(void **state)
{
    (void)state;
    static const size_t counts[][2] = {{1, 1}, {2, 1}, {3, 2}};
    liana__cluster_result expected[1], results[5];
    const liana__cluster_program alone = program_of("one_device", BATCHES, "Adam");
    liana__run_cluster(&alone, 1, 0, expected);
    for (size_t k = 0; k < 3; k++) {
        const size_t workers = counts[k][0], all = workers + counts[k][1];
        const liana__cluster_program program =
            program_of("{name: parameter_server, synchronous: false}", BATCHES, "Adam");
        liana__run_cluster(&program, workers, counts[k][1], results);
        for (size_t i = 0; i < all; i++) {
            assert_int_equal(results[i].size, expected[0].size);
            assert_memory_equal(results[i].weights, expected[0].weights, expected[0].size);
            assert_true(results[i].loss == expected[0].loss);
            const size_t own = i < workers ? (BATCHES - i + workers - 1) / workers : 0;
            assert_int_equal(results[i].counters.leaves_computed, own * ROWS / SHARD);
        }
        liana__free_results(results, all);
    }
    liana__free_results(expected, 1);
}

/* ---- the first gradients ---- */

/* What a hub has seen: as in test_free_workers.c. */
typedef struct course {
    int gradients; /* that the first two workers have sent */
    bool last_begins;
} course;

static uint32_t request_kind(const liana__hub_message *message)
{
    liana__span_request request;
    if (message->key.kind != LIANA__MESSAGE_REQUEST) return 0;
    memcpy(&request, message->data, sizeof request);
    return request.kind;
}

static void note_message(void *user, const liana__hub_message *message)
{
    course *own = user;
    own->last_begins |= message->from == 2 && request_kind(message) == LIANA__SPAN_FETCH;
    own->gradients += message->from < 2 && message->to == 3 && request_kind(message) == LIANA__SPAN_GRADIENTS;
}

static bool holds_last(void *user, const liana__hub_message *message)
{
    const course *own = user;
    if (request_kind(message) != LIANA__SPAN_OFFER) return false;
    return message->from == 2 ? own->gradients < 2 : !own->last_begins;
}

static void test_late_gradients_are_dropped(void **state)
{
    (void)state;
    course seen = {0};
    liana__cluster_result results[5];
    liana__leaf_range ranges[3];
    liana__cluster_program program =
        program_of("{name: parameter_server, replicas_to_aggregate: 2}", 1, "{name: SGD, learning_rate: 0.5}");
    program.control = (liana__hub_control){note_message, holds_last, &seen};
    liana__run_cluster(&program, 3, 2, results);
    assert_int_equal(liana__share_shards(ROWS / SHARD, 3, ranges, NULL), LIANA_OK);
    const size_t used = ranges[1].end * SHARD;
    assert_true(used < ROWS && used > 0);
    double loss = 0;
    for (size_t i = 0; i < used; i++) loss += (double)y[i] * (double)y[i] / (double)used;
    for (size_t feature = 0; feature < FEATURES; feature++) {
        double sum = 0;
        for (size_t i = 0; i < used; i++) sum += 2 * (double)x[i * FEATURES + feature] * (double)y[i];
        for (size_t i = 0; i < 5; i++) {
            const double got = (double)((const float *)(void *)results[i].weights)[feature];
            assert_true(fabs(got - 0.5 * sum / (double)used) < 1e-6);
            assert_true(fabs(results[i].loss - loss) < 1e-5 * loss);
        }
    }
    liana__free_results(results, 5);
}

/* ---- deaths and failures ---- */

typedef struct death {
    liana__hub *hub;
    int last, seen;
} death;

static void cut_off(void *user, const liana__hub_message *message)
{
    death *own = user;
    if (message->from == 1 && ++own->seen == own->last) liana__hub_cut(own->hub, 1);
}

/* Wherever the second worker dies, another one computes its batch: the bits of one device. */
static void test_another_worker_takes_over(void **state)
{
    (void)state;
    int died = 0;
    liana__cluster_result expected[1], results[4];
    const liana__cluster_program alone = program_of("one_device", BATCHES, "Adam");
    liana__run_cluster(&alone, 1, 0, expected);
    for (int last = 1; last < 120; last += 4) {
        death dead = {.last = last};
        liana__cluster_program program = program_of("{name: parameter_server, synchronous: false}", BATCHES, "Adam");
        program.may_fail = program.dies = true;
        program.hub = &dead.hub;
        program.control = (liana__hub_control){.sent = cut_off, .user = &dead};
        liana__run_cluster(&program, 3, 1, results);
        died += results[1].status != LIANA_OK;
        for (size_t i = 0; i < 4; i++) {
            if (i == 1) continue;
            if (results[i].status != LIANA_OK) print_error("message %d, rank %zu: %s\n", last, i, results[i].message);
            assert_int_equal(results[i].status, LIANA_OK);
            assert_memory_equal(results[i].weights, expected[0].weights, expected[0].size);
        }
        liana__free_results(results, 4);
    }
    assert_true(died > 5);
    liana__free_results(expected, 1);
}

static void test_bad_numbers_are_an_error_of_all(void **state)
{
    (void)state;
    static const char *const ways[] = {"{name: parameter_server, synchronous: false}",
                                       "{name: parameter_server, replicas_to_aggregate: 2}"};
    const float before = y[0];
    for (int i = 0; i < ROWS; i++) y[i] = NAN;
    for (size_t k = 0; k < 2; k++) {
        liana__cluster_result results[5];
        liana__cluster_program program = program_of(ways[k], 1, "SGD");
        program.may_fail = true;
        liana__run_cluster(&program, 3, 2, results);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(results[i].status, LIANA_OUT_OF_RANGE);
            assert_true(strstr(results[i].message, "not finite") || strstr(results[i].message, "loss is"));
        }
        liana__free_results(results, 5);
    }
    assert_int_equal(set_up(NULL), 0);
    assert_true(y[0] == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asynchronous_workers_take_turns),
        cmocka_unit_test(test_late_gradients_are_dropped),
        cmocka_unit_test(test_another_worker_takes_over),
        cmocka_unit_test(test_bad_numbers_are_an_error_of_all),
    };
    liana__test_folder();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
