/* The policies of a training for bad numbers: it skips the update or restores the last good state, and ends in the bits
 * of a training that never saw the fault; also where it is resumed on the way. */
#include "harness/command_run.h"
#include "harness/sum_problem.h"

#include "base/file.h"
#include "train/callbacks/callback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = LIANA__SUM_EXAMPLES, WIDTH = LIANA__SUM_WIDTH, BATCH = LIANA__SUM_BATCH, STEPS = EXAMPLES / BATCH };

static const char ADAM[] = "{name: Adam, learning_rate: 0.01}", SGD[] = "{name: SGD, learning_rate: 0.01}",
                  HALF_SGD[] = "{name: SGD, learning_rate: 0.005}";

/* ---- weights to compare ---- */

typedef struct weights {
    float values[64];
    size_t count;
} weights;

static weights weights_of(const liana__sum_problem *own)
{
    weights all = {.count = 0};
    const char *name;
    for (size_t i = 0; (name = liana_model_weight(own->model, i).name); i++) {
        liana_array found;
        assert_int_equal(liana_model_get_weights(own->model, name, &found), LIANA_OK);
        const size_t count = (size_t)liana_shape_size(&found.shape);
        assert_compare(all.count + count, <=, sizeof all.values / sizeof *all.values);
        memcpy(all.values + all.count, found.data, count * sizeof(float));
        all.count += count;
    }
    return all;
}

static void check_same(const weights *a, const weights *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->values, b->values, a->count * sizeof *a->values);
}

static void check_fit(liana__sum_problem *own)
{
    liana_status status = liana__sum_problem_fit(own);
    if (status != LIANA_OK) fail_msg("%s: %s", liana_status_name(status), liana_context_message(own->context));
}

/* The result of a training without the batches [from, to). */
static weights train_without(int from, int to, const char *optimizer, void (*prepare)(liana__sum_problem *own))
{
    liana__sum_problem own;
    liana__sum_problem_begin(&own, NULL);
    if (prepare) prepare(&own);
    const size_t kept = (size_t)(EXAMPLES - to * BATCH);
    memmove(own.x[from * BATCH], own.x[to * BATCH], kept * sizeof *own.x);
    memmove(own.y[from * BATCH], own.y[to * BATCH], kept * sizeof *own.y);
    own.options.optimizer = optimizer;
    own.options.steps = STEPS - (to - from);
    check_fit(&own);
    const weights all = weights_of(&own);
    liana__sum_problem_end(&own);
    return all;
}

/* ---- faults ---- */

/* In the third batch. */
static void spoil_data(liana__sum_problem *own)
{
    own->x[2 * BATCH + 5][1] = NAN;
}

static void add_callback(liana__sum_problem *own, const liana_callback *callback)
{
    own->callback = *callback;
    own->callback.size = sizeof own->callback;
    own->callbacks[0] = &own->callback;
    own->options.callbacks = own->callbacks;
    own->options.num_callbacks = 1;
}

/* With targets like these, a rate of 1e38 overflows in the update, and not before. */
static const char MOMENTUM[] = "{name: SGD, momentum: 0.9, learning_rate: 1.0e-5}";

static void scale_targets(liana__sum_problem *own)
{
    for (int i = 0; i < EXAMPLES; i++) own->y[i][0] = 1000 * (own->y[i][0] + 5);
}

/* The rate of one step is so large that its update overflows. */
static liana_status jump(void *user, liana_fit_context *context)
{
    const int64_t *at = user;
    return liana_fit_set_rate_factor(context, liana_fit_info(context).step == *at ? 1e43 : 1);
}

/* A weight goes bad between two steps. */
static liana_status spoil_weight(void *user, liana_fit_context *context)
{
    (void)user;
    liana__error error = {0};
    if (liana_fit_info(context).step != 2) return LIANA_OK;
    liana__variable *variable = liana__variables_find(&context->training->variables, "second/bias");
    const float value = NAN;
    assert_ok(liana__fit_write_variable(context, variable, &value, &error), &error);
    return LIANA_OK;
}

/* ---- messages ---- */

typedef struct notes {
    char text[65536];
    int count;
} notes;

static void note(void *user, const char *sentence)
{
    notes *own = user;
    const size_t length = strlen(own->text);
    if (!strstr(sentence, "at epoch")) return;
    own->count++;
    snprintf(own->text + length, sizeof own->text - length, "%s\n", sentence);
}

static notes told;

static void begin(liana__sum_problem *own, liana_on_bad_numbers policy, const char *optimizer)
{
    liana__sum_problem_begin(own, NULL);
    memset(&told, 0, sizeof told);
    own->options.on_bad_numbers = policy;
    own->options.optimizer = optimizer;
    own->options.on_note = note;
    own->options.user = &told;
}

static void check_told(const char *part)
{
    if (!strstr(told.text, part)) fail_msg("no '%s' in: %s", part, told.text);
}

/* ---- skipping ---- */

/* The optimizer does not count a skipped update: Adam's steps are those of a training that never saw the batch. */
static void test_skipped_sums(void **state)
{
    (void)state;
    liana__sum_problem own;
    begin(&own, LIANA_ON_BAD_NUMBERS_SKIP, ADAM);
    spoil_data(&own);
    check_fit(&own);
    const weights skipped = weights_of(&own), expected = train_without(2, 3, ADAM, NULL);
    check_same(&skipped, &expected);
    assert_int_equal(told.count, 1);
    check_told("epoch 1, step 3");
    check_told("position 21");
    check_told("the update is skipped");
    liana__sum_problem_end(&own);
}

/* The weights before the update come from the snapshot and the steps since. */
static void test_skipped_update(void **state)
{
    (void)state;
    liana__sum_problem own;
    int64_t step = 2;
    begin(&own, LIANA_ON_BAD_NUMBERS_SKIP, MOMENTUM);
    scale_targets(&own);
    add_callback(&own, &(liana_callback){.user = &step, .step_begin = jump});
    check_fit(&own);
    const weights skipped = weights_of(&own), expected = train_without(2, 3, MOMENTUM, scale_targets);
    check_same(&skipped, &expected);
    assert_int_equal(told.count, 1);
    check_told("the update gives '");
    check_told("of layer '");
    liana__sum_problem_end(&own);
}

/* An update behind the second snapshot of an epoch, with skipped ones between: the replay skips them too. */
static void test_skipped_late(void **state)
{
    (void)state;
    enum { LATE = 134 };
    weights both[2];
    for (int bad = 0; bad < 2; bad++) {
        liana__sum_problem own;
        int64_t step = LATE - 2;
        begin(&own, LIANA_ON_BAD_NUMBERS_SKIP, MOMENTUM);
        scale_targets(&own);
        own.options.steps_per_epoch = 140;
        own.options.steps = bad ? LATE - 1 : LATE - 2;
        spoil_data(&own);
        own.options.max_bad_numbers = 1;
        if (bad) add_callback(&own, &(liana_callback){.user = &step, .step_begin = jump});
        check_fit(&own);
        assert_int_equal(told.count, 33 + bad);
        both[bad] = weights_of(&own);
        liana__sum_problem_end(&own);
    }
    check_same(&both[0], &both[1]);
}

/* ---- restoring ---- */

/* Back to the first weights, and on with half the rate. */
static void test_restored(void **state)
{
    (void)state;
    for (int spoils = 0; spoils < 2; spoils++) {
        liana__sum_problem own;
        begin(&own, LIANA_ON_BAD_NUMBERS_RESTORE, SGD);
        own.options.bad_numbers_factor = spoils ? 0.5 : 0;
        if (spoils == 0) spoil_data(&own);
        if (spoils == 1) add_callback(&own, &(liana_callback){.step_begin = spoil_weight});
        check_fit(&own);
        const weights restored = weights_of(&own), expected = train_without(0, 3, HALF_SGD, NULL);
        check_same(&restored, &expected);
        assert_int_equal(told.count, 1);
        check_told("the last good state is restored, with a smaller learning rate");
        liana__sum_problem_end(&own);
    }
}

/* ---- limits and options ---- */

static void test_limits(void **state)
{
    (void)state;
    static const char *const parts[] = {"as many updates in a row as are allowed were skipped",
                                        "restored as often as is allowed"};
    for (int restores = 0; restores < 2; restores++) {
        liana__sum_problem own;
        begin(&own, restores ? LIANA_ON_BAD_NUMBERS_RESTORE : LIANA_ON_BAD_NUMBERS_SKIP, SGD);
        own.options.max_bad_numbers = 2;
        for (int i = BATCH; i < EXAMPLES; i++) own.x[i][0] = NAN;
        assert_int_equal(liana__sum_problem_fit(&own), LIANA_OUT_OF_RANGE);
        const char *message = liana_context_message(own.context);
        if (!strstr(message, parts[restores]) || !strstr(message, "epoch 1, step 4")) fail_msg("%s", message);
        assert_int_equal(told.count, 2);
        liana__sum_problem_end(&own);
    }
}

static void refuse(liana__sum_problem *own, const char *part)
{
    assert_int_equal(liana__sum_problem_fit(own), LIANA_INVALID_ARGUMENT);
    const char *message = liana_context_message(own->context);
    if (!strstr(message, part)) fail_msg("%s", message);
}

static void test_options_that_make_no_sense(void **state)
{
    (void)state;
    liana__sum_problem own;
    begin(&own, (liana_on_bad_numbers)7, SGD);
    refuse(&own, "on_bad_numbers is 7");
    own.options.on_bad_numbers = LIANA_ON_BAD_NUMBERS_RESTORE;
    own.options.bad_numbers_factor = 1;
    refuse(&own, "bad_numbers_factor is 1");
    own.options.bad_numbers_factor = 0;
    own.options.max_bad_numbers = -1;
    refuse(&own, "max_bad_numbers is -1");
    liana__sum_problem_end(&own);
}

/* A batch of its own: the weights stay as they were. */
static void test_train_on_batch(void **state)
{
    (void)state;
    liana__sum_problem own;
    liana__sum_problem_begin(&own, NULL);
    spoil_data(&own);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(BATCH, WIDTH), own.x[2 * BATCH]},
                                  {"y", LIANA_F32, liana_shape_of(BATCH, 1), own.y[2 * BATCH]}};
    const weights before = weights_of(&own);
    assert_int_equal(liana_train_on_batch(own.model, &(liana_fit_options){.loss = "mse"}, arrays, 2, NULL),
                     LIANA_OUT_OF_RANGE);
    const char *message = liana_context_message(own.context);
    if (!strstr(message, "the loss is nan") || !strstr(message, "in the input 'inputs/")) fail_msg("%s", message);
    const weights after = weights_of(&own);
    check_same(&before, &after);
    liana__sum_problem_end(&own);
}

/* ---- resuming ---- */

/* Steps 3 and 7 are bad, one in each epoch. Ends after `steps`, and goes on to all 8. */
static weights train_in_parts(liana_on_bad_numbers policy, int64_t steps, const char *folder)
{
    weights all = {.count = 0};
    for (int64_t done = 0, next = steps; done < 2 * STEPS; done = next, next = 2 * STEPS) {
        liana__sum_problem own;
        begin(&own, policy, ADAM);
        spoil_data(&own);
        own.options.epochs = 2;
        own.options.steps = next;
        own.options.checkpoints = folder;
        own.options.resume = done > 0;
        check_fit(&own);
        all = weights_of(&own);
        liana__sum_problem_end(&own);
    }
    return all;
}

static void test_resumed(void **state)
{
    (void)state;
    for (int policy = LIANA_ON_BAD_NUMBERS_SKIP; policy <= LIANA_ON_BAD_NUMBERS_RESTORE; policy++) {
        char whole_folder[256];
        liana__test_folder();
        snprintf(whole_folder, sizeof whole_folder, "%s", liana__test_path("whole"));
        const weights whole = train_in_parts((liana_on_bad_numbers)policy, 2 * STEPS, whole_folder);
        for (int64_t steps = 2; steps < 2 * STEPS; steps++) {
            char folder[256], first[512], second[512];
            snprintf(folder, sizeof folder, "%s-%d", liana__test_path("part"), (int)steps);
            const weights parts = train_in_parts((liana_on_bad_numbers)policy, steps, folder);
            check_same(&whole, &parts);
            snprintf(first, sizeof first, "%s/step-0000000008/variables.safetensors", whole_folder);
            snprintf(second, sizeof second, "%s/step-0000000008/variables.safetensors", folder);
            assert_same_file(first, second);
        }
    }
}

/* ---- a run ---- */

static void check_history(const char *policy, const char *key)
{
    char path[256], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/history.json", liana__test_path(policy));
    assert_ok(liana__file_read(path, 1 << 20, &data, &size, NULL), NULL);
    const char *first = strstr(data, key);
    if (!first || !strstr(first + 1, key)) fail_msg("not twice %s in %s", key, data);
    free(data);
}

/* One row of a table overflows in each epoch. */
static void test_runs_count_what_was_done(void **state)
{
    (void)state;
    static const char config[] = "data:\n"
                                 "  train: {paths: table.csv, kind: table}\n"
                                 "  targets: y\n"
                                 "  columns: {x: [a, b], y: y}\n"
                                 "model:\n"
                                 "  layers: [InputLayer: {shape: [2]}, Dense: {units: 1, name: only}]\n"
                                 "train: {epochs: 2, batch_size: 4, microbatch: 2, loss: mse}\n";
    static const char table[] = "a,b,y\n1,2,3\n2,2,4\n0,1,1\n1,1,2\n3,3,6\n2,3.0e38,5\n1,0,1\n0,0,0\n";
    liana__test_folder();
    liana__test_write("table.csv", table, sizeof table - 1);
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", config, sizeof config - 1));
    assert_code(liana__test_command("train", path, "--out", liana__test_path("skip"), "train.on_bad_numbers=skip"), 0);
    assert_code(liana__test_command("train", path, "--out", liana__test_path("restore"),
                                    "train.on_bad_numbers=restore"),
                0);
    check_history("skip", "\"skipped_updates\": 1");
    check_history("restore", "\"restores\": 1");
    assert_refused(liana__test_command("train", path, "--out", liana__test_path("never"),
                                       "train.on_bad_numbers=ignore"),
                   2, "train.on_bad_numbers", "fail, skip", "restore");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skipped_sums),
        cmocka_unit_test(test_skipped_update),
        cmocka_unit_test(test_skipped_late),
        cmocka_unit_test(test_restored),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_options_that_make_no_sense),
        cmocka_unit_test(test_train_on_batch),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_runs_count_what_was_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
