/* Strategies by name and option: the same bits on any number of devices of this process; refusals; groups of
 * processors. */
#include "harness/tiny_fit.h"

#include "base/cpu.h"
#include "base/cpu_groups.h"
#include "distribute/strategies/strategies.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 4 };

/* ---- the same bits ---- */

typedef struct seen {
    int64_t replicas;
    char strategy[32];
    liana_epoch last;
    cpu_set_t bound; /* processors that some thread of this process alone may run on, after an update */
} seen;

static bool keep_epoch(void *user, const liana_epoch *epoch)
{
    ((seen *)user)->last = *epoch;
    return true;
}

static liana_status train_begin(void *user, liana_fit_context *context)
{
    seen *own = user;
    own->replicas = liana_fit_info(context).num_replicas_in_sync;
    snprintf(own->strategy, sizeof own->strategy, "%s", liana_fit_info(context).strategy);
    return LIANA_OK;
}

static liana_status step_end(void *user, liana_fit_context *context)
{
    (void)context;
    seen *own = user;
    cpu_set_t allowed;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (const struct dirent *entry; (entry = readdir(threads));) {
        const pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread <= 0 || sched_getaffinity(thread, sizeof allowed, &allowed) != 0) continue;
        if (CPU_COUNT(&allowed) == 1) CPU_OR(&own->bound, &own->bound, &allowed);
    }
    closedir(threads);
    return LIANA_OK;
}

/* Fits the tiny network, which has batch normalisation and dropout; the last batch of an epoch is partial. */
static liana_model *fit(const liana__tiny_fit *data, liana_strategy strategy, seen *result)
{
    liana_model *model = liana__tiny_model(data->context);
    const liana_callback look = {.size = sizeof look, .train_begin = train_begin, .step_end = step_end, .user = result};
    *result = (seen){0};
    liana_fit_options options = {.training = data->training,
                                 .validation = data->validation,
                                 .epochs = 2,
                                 .batch_size = BATCH,
                                 .microbatch = MICROBATCH,
                                 .strategy = strategy,
                                 .seed = 3,
                                 .callbacks = (const liana_callback *const[]){&look},
                                 .num_callbacks = 1,
                                 .on_epoch = keep_epoch,
                                 .user = result};
    liana__tiny_done(data->context, liana_fit(model, &options), __FILE__, __LINE__);
    return model;
}

static void assert_same_results(const seen *a, const seen *b)
{
    assert_memory_equal(&a->last.training.loss, &b->last.training.loss, sizeof(double));
    assert_memory_equal(&a->last.validation.loss, &b->last.validation.loss, sizeof(double));
    assert_memory_equal(&a->last.validation.metrics[0], &b->last.validation.metrics[0], sizeof(double));
}

static void test_replicas_give_the_bits_of_one_device(void **state)
{
    (void)state;
    static const liana_strategy tried[] = {
        {.name = "mirrored"},
        {.name = "mirrored", .replicas = 1},
        {.name = "mirrored", .replicas = 2},
        {.name = "mirrored", .replicas = 2, .threads = 2, .bind = LIANA_BIND_NODES},
        {.name = "mirrored", .replicas = 3, .bind = LIANA_BIND_NONE},
        {.name = "mirrored", .replicas = 7, .threads = 1},
        {.name = "mirrored", .replicas = 11, .threads = 1}, /* more than there are shards */
    };
    static const int64_t expected[] = {0, 1, 2, 2, 3, 7, 11};
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    seen one, several;
    liana_model *alone = fit(&own, (liana_strategy){0}, &one);
    assert_int_equal(one.replicas, 1);
    assert_string_equal(one.strategy, "one_device");
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        liana_model *model = fit(&own, tried[i], &several);
        assert_int_equal(several.replicas, expected[i] ? expected[i] : (int64_t)liana__cpu_num_nodes());
        assert_string_equal(several.strategy, "mirrored");
        assert_true(liana__same_weights(alone, model));
        assert_same_results(&one, &several);
        liana_model_destroy(model);
    }
    liana_model_destroy(alone);
    liana__tiny_fit_close(&own);
}

static void test_one_replica_on_each_core(void **state)
{
    (void)state;
    int cores = liana__cpu_count();
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    seen one, several;
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    liana_model *alone = fit(&own, (liana_strategy){0}, &one);
    const int replicas = cores < 4 ? cores : 4;
    /* Of two threads of a device one lives as long as the device. */
    liana_strategy strategy = {.name = "mirrored", .replicas = replicas, .threads = 2, .bind = LIANA_BIND_CORES};
    liana_model *model = fit(&own, strategy, &several);
    assert_true(liana__same_weights(alone, model));
    /* Each replica has threads on its own cores, and the caller may use all again. */
    if (cores > 1 && cores <= 4) {
        assert_int_equal(CPU_COUNT(&one.bound), 0);
        assert_true(CPU_EQUAL(&several.bound, &before));
    }
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    liana_model_destroy(model);
    liana_model_destroy(alone);
    liana__tiny_fit_close(&own);
}

/* A run that goes on under another strategy ends in the same bits. */
static void test_a_resume_may_change_the_strategy(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    const char *config = liana__test_path("config.yaml"), *whole = liana__test_path("whole");
    const char *parts = liana__test_path("parts");
    static const char two[] = "train.strategy={name: mirrored, replicas: 2}";
    assert_code(liana__test_command("train", config, "--out", whole, "train.epochs=2"), 0);
    assert_code(liana__test_command("train", config, "--out", parts, "train.epochs=1", two), 0);
    assert_code(liana__test_command("train", config, "--out", parts, "--resume", "train.epochs=2"), 0);
    char a[512], b[512];
    snprintf(a, sizeof a, "%s/variables.safetensors", liana__test_newest_checkpoint("whole"));
    snprintf(b, sizeof b, "%s/variables.safetensors", liana__test_newest_checkpoint("parts"));
    assert_same_file(a, b);
}

/* ---- refusals ---- */

static void test_what_is_refused(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    liana_model *model = liana__tiny_model(own.context);
    const struct {
        liana_strategy strategy;
        liana_status status;
        const char *text;
    } cases[] = {
        {{.name = "mirrord"}, LIANA_INVALID_CONFIG, "did you mean 'mirrored'"},
        {{.name = "MirroredStrategy"}, LIANA_INVALID_CONFIG, "liana calls it 'mirrored'"},
        {{.name = "{name: tf.distribute.experimental.ParameterServerStrategy, replicas: 2}"},
         LIANA_INVALID_CONFIG,
         "liana calls it 'parameter_server'"},
        {{.name = "multi_worker_mirrored_strategy"}, LIANA_INVALID_CONFIG, "liana calls it 'multi_worker'"},
        {{.name = "tf.distribute."}, LIANA_INVALID_CONFIG, "liana list strategies"},
        {{.replicas = 2}, LIANA_INVALID_CONFIG, "replicas"},
        {{.name = "tpu", .replicas = 2}, LIANA_INVALID_CONFIG, "replicas"},
        {{.name = "mirrored", .replicas = -1}, LIANA_INVALID_CONFIG, "replicas"},
        {{.name = "mirrored", .replicas = 100000}, LIANA_INVALID_CONFIG, "replicas"},
        {{.name = "mirrored", .wire = LIANA_WIRE_BFLOAT16}, LIANA_INVALID_CONFIG, "wire"},
        {{.name = "multi_worker", .asynchronous = true}, LIANA_INVALID_CONFIG, "synchronous"},
        {{.name = "multi_worker", .wire = (liana_wire)7}, LIANA_INVALID_ARGUMENT, "liana_wire"},
        {{.name = "parameter_server", .max_staleness = -2}, LIANA_INVALID_CONFIG, "max_staleness"},
        {{.name = "multi_worker", .devices = {"gpu:0"}}, LIANA_INVALID_CONFIG, "devices"},
        {{.name = "mirrored", .threads = -2}, LIANA_INVALID_CONFIG, "threads"},
        {{.name = "mirrored", .bind = (liana_thread_binding)9}, LIANA_INVALID_ARGUMENT, "liana_thread_binding"},
        {{.name = "mirrored", .replicas = 1000, .threads = 1, .bind = LIANA_BIND_CORES}, LIANA_INVALID_CONFIG, "1000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_fit_options options = {.training = own.training, .strategy = cases[i].strategy};
        refused(liana_fit(model, &options), cases[i].status, cases[i].text);
    }
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* Fields of a program's struct have the meaning of a mapping's keys. */
static void test_fields_are_options(void **state)
{
    (void)state;
    static const struct {
        liana_strategy fields;
        const char *mapping;
    } cases[] = {
        {{.name = "multi_worker", .wire = LIANA_WIRE_BFLOAT16, .replicas = 2},
         "{name: multi_worker, wire: bfloat16, replicas: 2}"},
        {{.name = "parameter_server", .asynchronous = true, .max_staleness = 7, .pause_steps = 9},
         "{name: parameter_server, synchronous: false, max_staleness: 7, pause_steps: 9}"},
        {{.name = "parameter_server", .asynchronous = true, .max_staleness = LIANA_NO_STALENESS},
         "{name: parameter_server, synchronous: false, max_staleness: 0}"},
        {{.name = "parameter_server", .replicas_to_aggregate = 3},
         "{name: parameter_server, replicas_to_aggregate: 3}"},
        {{.name = "{name: multi_worker, wire: float32}", .wire = LIANA_WIRE_BFLOAT16},
         "{name: multi_worker, wire: bfloat16}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__error error = {0};
        liana__strategy_choice fields, mapping;
        assert_ok(liana__strategy_of(&cases[i].fields, &arena, &fields, &error), &error);
        assert_ok(liana__strategy_of(&(liana_strategy){.name = cases[i].mapping}, &arena, &mapping, &error), &error);
        assert_ptr_equal(fields.strategy, mapping.strategy);
        assert_memory_equal(fields.options, mapping.options, fields.strategy->options->size);
        liana__arena_free(&arena);
    }
}

/* The answer to each of the others' names is a strategy that liana has. */
static void test_names_of_others(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
#define LIANA__OTHER_NAME(kind, theirs, ours) {theirs, ours, #kind},
#include "base/other_names.def"
#undef LIANA__OTHER_NAME
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i][2], "STRATEGY") != 0) continue;
        liana__arena arena = {0};
        liana__error error = {0};
        liana__strategy_choice choice;
        char said[128], ours[128];
        snprintf(said, sizeof said, "liana calls it '%s'", rows[i][1]);
        assert_fails(liana__strategy_of(&(liana_strategy){.name = rows[i][0]}, &arena, &choice, &error),
                     LIANA_INVALID_CONFIG, &error, rows[i][0], said);
        snprintf(ours, sizeof ours, "%s", rows[i][1]);
        char *number = strstr(ours, ": N}");
        if (number) number[2] = '2';
        error = (liana__error){0};
        assert_ok(liana__strategy_of(&(liana_strategy){.name = ours}, &arena, &choice, &error), &error);
        liana__arena_free(&arena);
    }
}

/* ---- groups of processors ---- */

static void test_groups_share_the_processors(void **state)
{
    (void)state;
    cpu_set_t allowed, groups[8], all;
    liana__error error = {0};
    bool bound;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    size_t cores = (size_t)CPU_COUNT(&allowed), count = cores < 8 ? cores : 8;
    assert_ok(liana__cpu_groups(LIANA__BIND_CORES, count, groups, &bound, &error), &error);
    assert_true(bound);
    CPU_ZERO(&all);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t own = (size_t)CPU_COUNT(&groups[i]);
        assert_compare(own, >=, cores / count);
        assert_compare(own, <=, (cores + count - 1) / count);
        total += own;
        CPU_OR(&all, &all, &groups[i]);
    }
    assert_true(CPU_EQUAL(&all, &allowed));
    assert_int_equal(total, cores);
    assert_ok(liana__cpu_groups(LIANA__BIND_NONE, 4, groups, &bound, &error), &error);
    assert_false(bound);
    assert_ok(liana__cpu_groups(LIANA__BIND_NODES, 4, groups, &bound, &error), &error);
    assert_true(bound);
    for (int i = 0; i < 4; i++) assert_compare(CPU_COUNT(&groups[i]), >, 0, i);
    assert_fails(liana__cpu_groups(LIANA__BIND_CORES, cores + 1, groups, &bound, &error), LIANA_INVALID_CONFIG, &error,
                 "replicas", "cores");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_give_the_bits_of_one_device),
        cmocka_unit_test(test_one_replica_on_each_core),
        cmocka_unit_test(test_a_resume_may_change_the_strategy),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_groups_share_the_processors),
        cmocka_unit_test(test_names_of_others),
        cmocka_unit_test(test_fields_are_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
