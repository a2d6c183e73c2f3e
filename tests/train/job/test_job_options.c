/* The options of a job: for every door the defaults are the same, bounds hold, and different programs are told
 * apart. */
#include "harness/harness.h"

#include "train/config/config.h"
#include "train/job/job_options.h"

#include <stdlib.h>
#include <string.h>

/* ---- defaults ---- */

static void read_config(const char *train, liana__arena *arena, liana__config *config)
{
    char text[1024];
    snprintf(text, sizeof text, "model: {layers: [{Dense: {units: 2, activation: softmax}}]}\ndata: {train: x.csv}\n%s",
             train);
    liana__error error = {0};
    assert_ok(liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, text, strlen(text), "test.yaml", NULL, 0, arena, config,
                                  &error),
              &error);
}

static void assert_same_number(const char *name, double a, double b)
{
    if (a != b) print_error("%s:\n", name);
    assert_compare(a, ==, b);
}
#define SAME(a, b, member) assert_same_number(#member, (double)(a)->member, (double)(b)->member)

static void assert_same_options(const liana__job_options *a, const liana__job_options *b)
{
    SAME(a, b, epochs);
    SAME(a, b, steps);
    SAME(a, b, max_minutes);
    SAME(a, b, initial_epoch);
    SAME(a, b, steps_per_epoch);
    SAME(a, b, steps_per_execution);
    SAME(a, b, batch_size);
    SAME(a, b, validation_freq);
    SAME(a, b, validation_batch_size);
    SAME(a, b, validation_steps);
    SAME(a, b, prediction_batch_size);
    SAME(a, b, microbatch);
    SAME(a, b, remainder);
    SAME(a, b, on_bad_numbers);
    SAME(a, b, max_bad_numbers);
    SAME(a, b, bad_numbers_factor);
    SAME(a, b, threshold);
    SAME(a, b, seed);
    SAME(a, b, deterministic);
    SAME(a, b, precision);
    SAME(a, b, recompute);
    SAME(a, b, memory);
    SAME(a, b, checkpoint.every_epoch);
    SAME(a, b, checkpoint.every_steps);
    SAME(a, b, checkpoint.every_minutes);
    SAME(a, b, checkpoint.keep);
    SAME(a, b, checkpoint.keep_every_hours);
    SAME(a, b, checkpoint.best.mode);
    assert_string_equal(a->device, b->device);
}

static void take(const liana_fit_options *given, liana__arena *arena, liana__job_options *options)
{
    liana__error error = {0};
    assert_ok(liana__job_take(&liana__job_fit_door, given, NULL, arena, options, &error), &error);
    liana__job_find_epochs(options, given->epochs != 0);
}

static void test_doors_have_the_same_defaults(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__config config;
    liana__job_options options;
    read_config("", &arena, &config);
    take(&(liana_fit_options){0}, &arena, &options);
    assert_int_equal(options.epochs, 1);
    assert_int_equal(options.batch_size, 32);
    assert_int_equal(options.checkpoint.keep, 3);
    assert_same_options(&options, &config.job);
    liana__arena_free(&arena);
}

/* The same options in both languages. */
static void test_doors_say_the_same(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__config config;
    liana__job_options options;
    read_config(
        "train: {epochs: 5, steps: 70, max_minutes: 2.5, initial_epoch: 2, steps_per_epoch: 9, steps_per_execution: "
        "3,\n"
        "  batch_size: 24, validation_freq: 2, validation_batch_size: 12, validation_steps: 4, microbatch: 6,\n"
        "  on_bad_numbers: restore, max_bad_numbers: 4, bad_numbers_factor: 0.25, seed: 11, deterministic: true,\n"
        "  device: reference, precision: mixed_bfloat16, recompute: auto, memory: 700}\n"
        "checkpoint: {every_steps: 13, keep: 0, keep_every_hours: 1.5, best: val_loss}\n",
        &arena, &config);
    take(&(liana_fit_options){.epochs = 5,
                              .steps = 70,
                              .max_minutes = 2.5,
                              .initial_epoch = 2,
                              .steps_per_epoch = 9,
                              .steps_per_execution = 3,
                              .batch_size = 24,
                              .validation_freq = 2,
                              .validation_batch_size = 12,
                              .validation_steps = 4,
                              .microbatch = 6,
                              .on_bad_numbers = LIANA_ON_BAD_NUMBERS_RESTORE,
                              .max_bad_numbers = 4,
                              .bad_numbers_factor = 0.25,
                              .seed = 11,
                              .deterministic = true,
                              .device = "reference",
                              .precision = LIANA_MIXED_BFLOAT16,
                              .recompute = LIANA_RECOMPUTE_AUTO,
                              .memory = 700,
                              .checkpoint_steps = 13,
                              .keep_checkpoints = -1,
                              .keep_every_hours = 1.5,
                              .best_checkpoint = "val_loss"},
         &arena, &options);
    assert_same_options(&options, &config.job);
    assert_string_equal(options.checkpoint.best.monitor, config.job.checkpoint.best.monitor);
    liana__arena_free(&arena);
}

static void test_an_estimator_saves_by_seconds(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__job_options options;
    liana__error error = {0};
    const liana__job_door door = {LIANA__DOOR_ESTIMATOR, "mine: config.", "training", NULL, NULL};
    const liana_run_config config = {.save_checkpoints_secs = 90, .eval_batch_size = 7, .keep_checkpoint_max = -1};
    assert_ok(liana__job_take(&door, &config, NULL, &arena, &options, &error), &error);
    assert_compare(options.checkpoint.every_minutes, ==, 1.5);
    assert_int_equal(options.validation_batch_size, 7);
    assert_int_equal(options.checkpoint.keep, 0);
    liana__arena_free(&arena);
}

/* ---- bounds ---- */

static void test_bounds_are_those_of_the_table(void **state)
{
    (void)state;
    static const struct {
        liana_fit_options options;
        const char *text;
    } cases[] = {
        {{.epochs = -1}, "epochs is -1, expected 0 to 1000000"},
        {{.steps_per_execution = 10001}, "steps_per_execution is 10001, expected 0 to 10000"},
        {{.batch_size = -32}, "batch_size is -32, expected 0 to 1048576"},
        {{.max_minutes = -0.5}, "max_minutes is -0.5, expected 0 to 10000000"},
        {{.bad_numbers_factor = 1}, "bad_numbers_factor is 1, expected 0 (the default), or 1e-30 to 0.999999"},
        {{.on_bad_numbers = (liana_on_bad_numbers)3}, "on_bad_numbers is 3, expected fail, skip or restore"},
        {{.recompute = (liana_recompute)-1}, "recompute is -1, expected none or auto"},
        {{.checkpoint_steps = -4}, "checkpoint_steps is -4, expected 0 to 1000000000000"},
        {{.num_class_weights = -1}, "num_class_weights is -1"},
        {{.data_memory = -2}, "data_memory is -2, expected 0 to 16777216 MiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__job_options options;
        liana__error error = {0};
        const liana_status status =
            liana__job_take(&liana__job_fit_door, &cases[i].options, NULL, &arena, &options, &error);
        assert_int_equal(status, LIANA_INVALID_ARGUMENT);
        assert_says(error.message, cases[i].text);
        liana__arena_free(&arena);
    }
    /* All bits of a seed are used. */
    liana__arena arena = {0};
    liana__job_options options;
    take(&(liana_fit_options){.seed = UINT64_MAX}, &arena, &options);
    assert_compare((uint64_t)options.seed, ==, UINT64_MAX);
    liana__arena_free(&arena);
}

/* ---- compiled options ---- */

static void describe(const liana_fit_options *given, liana__text *text)
{
    liana__arena arena = {0};
    liana__job_options options;
    take(given, &arena, &options);
    liana__job_describe(&options, text);
    assert_false(text->failed);
    liana__arena_free(&arena);
}

static bool compiles_alike(const liana_fit_options *a, const liana_fit_options *b)
{
    liana__text first = {0}, second = {0};
    describe(a, &first);
    describe(b, &second);
    const bool same = first.length == second.length && memcmp(first.data, second.data, first.length) == 0;
    liana__text_free(&first);
    liana__text_free(&second);
    return same;
}

static void test_what_is_compiled_anew(void **state)
{
    (void)state;
    static const double weights[] = {1, 2};
    const liana_fit_options anew[] = {{.device = "reference"},
                                      {.optimizer = "SGD"},
                                      {.optimizer = "{name: Adam, learning_rate: 0.1}"},
                                      {.batch_size = 16},
                                      {.validation_batch_size = 16},
                                      {.microbatch = 8},
                                      {.steps_per_execution = 2},
                                      {.seed = 1},
                                      {.precision = LIANA_MIXED_BFLOAT16},
                                      {.recompute = LIANA_RECOMPUTE_AUTO},
                                      {.memory = 5},
                                      {.deterministic = true},
                                      {.loss = "mse"},
                                      {.metrics = {"accuracy"}},
                                      {.strategy = {.name = "mirrored"}},
                                      {.class_weights = weights, .num_class_weights = 2}};
    const liana_fit_options alike[] = {{.epochs = 3},
                                       {.steps = 9},
                                       {.max_minutes = 2},
                                       {.validation_freq = 2},
                                       {.checkpoint_steps = 5},
                                       {.on_bad_numbers = LIANA_ON_BAD_NUMBERS_SKIP},
                                       {.named_callbacks = "[CSVLogger]"},
                                       {.batch_size = 32},
                                       {.optimizer = "Adam"}};
    for (size_t i = 0; i < sizeof anew / sizeof *anew; i++) {
        if (compiles_alike(&anew[i], &(liana_fit_options){0})) print_error("case %zu\n", i);
        assert_false(compiles_alike(&anew[i], &(liana_fit_options){0}));
        assert_true(compiles_alike(&anew[i], &anew[i]));
    }
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        if (!compiles_alike(&alike[i], &(liana_fit_options){0})) print_error("case %zu\n", i);
        assert_true(compiles_alike(&alike[i], &(liana_fit_options){0}));
    }
}

/* ---- the keys ---- */

/* All keys of `train` and `checkpoint`, `stages` and `summaries`, each once; how long a run is may change when it goes
 * on, and its seed may not. */
static void test_the_keys(void **state)
{
    (void)state;
    size_t expected = liana__job_train_fields.count + liana__job_checkpoint_fields.count + 2;
    assert_int_equal(liana__job_num_keys(), expected);
    static const struct {
        const char *name;
        liana__resume_rule resume;
        bool own;
    } known[] = {{"train.epochs", LIANA__RESUME_FREE, false},     {"train.seed", LIANA__RESUME_SAME, false},
                 {"train.optimizer", LIANA__RESUME_SAFE, false},  {"train.threads", LIANA__RESUME_FREE, true},
                 {"checkpoint.keep", LIANA__RESUME_FREE, false},  {"stages", LIANA__RESUME_SAME, false},
                 {"train.batch_size", LIANA__RESUME_SAME, false}, {"train.loss", LIANA__RESUME_SAME, false}};
    size_t found = 0;
    for (size_t i = 0; i < expected; i++) {
        const liana__job_key key = liana__job_key_at(i);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(liana__job_key_at(k).name, key.name);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (strcmp(known[k].name, key.name) != 0) continue;
            assert_int_equal(key.resume, known[k].resume);
            assert_int_equal(key.own, known[k].own);
            found++;
        }
    }
    assert_int_equal(found, sizeof known / sizeof *known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doors_have_the_same_defaults),  cmocka_unit_test(test_doors_say_the_same),
        cmocka_unit_test(test_an_estimator_saves_by_seconds), cmocka_unit_test(test_bounds_are_those_of_the_table),
        cmocka_unit_test(test_what_is_compiled_anew),         cmocka_unit_test(test_the_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
