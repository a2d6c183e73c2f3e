/* The common facts of processes of a cluster: a difference is named, by all of them alike. Processes are threads. */
#include "harness/cluster/hub.h"
#include "harness/command_run.h"

#include "base/context.h"
#include "base/file.h"
#include "formats/yaml.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/config/config.h"
#include "train/run/run_internal.h"
#include "train/training/training.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utime.h>

enum { MAX_PROCESSES = 7 };

typedef struct process {
    size_t rank;
    liana__hub *hub;
    const char *facts; /* as YAML */
    liana__isa isa;
    const char *config; /* a file */
    const char *override;
    void (*run)(struct process *self, liana_context *context, liana__cluster *cluster);
    bool same; /* this one's finding, or whether others must be equal */
    liana_status status;
    liana__error error;
    char notes[1024];
    bool doubted; /* the doubt was where it is to be */
} process;

static char doubts_folder[256];

static void keep_note(void *user, const char *note)
{
    process *self = user;
    size_t length = strlen(self->notes);
    snprintf(self->notes + length, sizeof self->notes - length, "%s\n", note);
}

static void *run_process(void *user)
{
    process *self = user;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    self->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (self->status != LIANA_OK) return NULL;
    liana__hub_join(self->hub, self->rank, &cluster);
    self->status = liana__cluster_join(context, &cluster);
    if (self->status == LIANA_OK) self->run(self, context, &cluster);
    liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

static void run_all(process *processes, size_t count)
{
    pthread_t threads[MAX_PROCESSES];
    liana__hub *hub = liana__hub_create(count, 0);
    assert_non_null(hub);
    for (size_t i = 0; i < count; i++) {
        processes[i].rank = i;
        processes[i].hub = hub;
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    assert_int_equal(liana__hub_num_kept(hub), 0);
    liana__hub_destroy(hub);
}

/* All fail with this status and these texts; a NULL text ends the list. */
static void assert_all_refused(const process *processes, size_t count, liana_status expected, const char *const *texts)
{
    for (size_t i = 0; i < count; i++) {
        if (processes[i].status != expected) print_error("process %zu: %s\n", i, processes[i].error.message);
        assert_int_equal(processes[i].status, expected);
        assert_string_equal(processes[i].error.message, processes[0].error.message);
        for (size_t k = 0; texts[k]; k++) {
            if (!strstr(processes[i].error.message, texts[k])) print_error("%s\n", processes[i].error.message);
            assert_says(processes[i].error.message, texts[k]);
        }
    }
}

/* ---- facts ---- */

static void compare_facts(process *self, liana_context *context, liana__cluster *cluster)
{
    (void)context;
    liana__facts facts = {0};
    liana__value *tree;
    self->status = liana__yaml_parse(self->facts, strlen(self->facts), "facts", &facts.arena, &tree, &self->error);
    if (self->status == LIANA_OK) {
        liana__facts_add_tree(&facts, "", tree);
        self->status = liana__facts_compare(&facts, cluster, &self->same, &self->error);
    }
    if (self->status == LIANA_OK) self->status = liana__facts_agree(&facts, cluster, &self->error);
    liana__facts_free(&facts);
}

static void check_facts(const char *const *facts, size_t count, const char *const *texts)
{
    process processes[MAX_PROCESSES];
    memset(processes, 0, sizeof processes);
    for (size_t i = 0; i < count; i++) {
        processes[i].facts = facts[i];
        processes[i].run = compare_facts;
    }
    run_all(processes, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(processes[i].same, texts == NULL);
    if (texts) assert_all_refused(processes, count, LIANA_INVALID_CONFIG, texts);
    for (size_t i = 0; !texts && i < count; i++) assert_ok(processes[i].status, &processes[i].error);
}

#define DIFFER(count, ...) check_facts((const char *const[]){__VA_ARGS__}, (count), texts)

static void test_the_first_difference_is_named(void **state)
{
    (void)state;
    const char *const *texts = NULL;
    DIFFER(1, "{a: 1}");
    DIFFER(3, "{a: 1, b: [1, 2]}", "{a: 1, b: [1, 2]}", "{a: 1, b: [1, 2]}");
    texts = (const char *const[]){"train.seed is 7 on the chief, and 8 on process 2", NULL};
    DIFFER(4, "{train: {seed: 7, epochs: 2}}", "{train: {seed: 7, epochs: 2}}", "{train: {seed: 8, epochs: 3}}",
           "{train: {seed: 9, epochs: 2}}");
    texts = (const char *const[]){"files[b].name is \"b\" on the chief, and not there on process 1", NULL};
    DIFFER(2, "{files: [{name: a}, {name: b}]}", "{files: [{name: a}, {name: c}]}");
    texts = (const char *const[]){"files[b].bytes is 3 on the chief, and 4 on process 1", NULL};
    DIFFER(2, "{files: [{name: a, bytes: 2}, {name: b, bytes: 3}]}",
           "{files: [{name: a, bytes: 2}, {name: b, bytes: 4}]}");
    texts = (const char *const[]){"list[1].size is 5 on the chief, and 6 on process 1", NULL};
    DIFFER(2, "{list: [{size: 4}, {size: 5}]}", "{list: [{size: 4}, {size: 6}]}");
    /* A key that one of them does not have at all. */
    texts = (const char *const[]){"b is 2 on the chief, and not there on process 1", NULL};
    DIFFER(2, "{a: 1, b: 2, c: 3}", "{a: 1, c: 3}");
    texts = (const char *const[]){"b is not there on the chief, and 2 on process 1", NULL};
    DIFFER(2, "{a: 1, c: 3}", "{a: 1, b: 2, c: 3}");
    texts = (const char *const[]){"process 1", NULL};
    DIFFER(2, "{a: 1, b: 2}", "{b: 2, a: 1}"); /* one configuration has one order */
}

/* ---- instruction sets ---- */

static void agree_on_isa(process *self, liana_context *context, liana__cluster *cluster)
{
    const liana__notes notes = {keep_note, self};
    context->isa = self->isa;
    self->status = liana__agree_on_isa(context, cluster, &notes, &self->error);
    self->isa = context->isa;
}

static void test_instruction_sets_fall_to_the_lowest(void **state)
{
    (void)state;
    static const liana__isa sets[] = {LIANA__ISA_AVX2, LIANA__ISA_BASELINE, LIANA__ISA_AVX2};
    process processes[3];
    memset(processes, 0, sizeof processes);
    for (size_t i = 0; i < 3; i++) {
        processes[i].isa = sets[i];
        processes[i].run = agree_on_isa;
    }
    run_all(processes, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(processes[i].status, &processes[i].error);
        assert_int_equal(processes[i].isa, LIANA__ISA_BASELINE);
        if (i == 1) assert_string_equal(processes[i].notes, "");
        if (i != 1) assert_says(processes[i].notes, "process 1 has the instruction set baseline");
    }
}

/* ---- runs ---- */

static liana_status open_config(process *self, liana_context *context, liana__arena *arena, liana__run *run)
{
    liana__config config;
    const char *overrides[2] = {"train.strategy=multi_worker", self->override};
    const liana__run_options wanted = {.training = true, .on_note = keep_note, .user = self};
    LIANA_TRY(liana__config_load(context, LIANA__PLUGINS_LOADED, self->config, overrides, self->override ? 2 : 1, arena,
                                 &config, &self->error));
    return liana__run_open(context, &config, &wanted, run, &self->error);
}

static void open_run(process *self, liana_context *context, liana__cluster *cluster)
{
    (void)cluster;
    liana__arena arena = {0};
    liana__run run;
    self->status = open_config(self, context, &arena, &run);
    if (self->status == LIANA_OK) liana__run_close(&run);
    liana__arena_free(&arena);
}

/* Whether a doubt is in the history and in checkpoints, once, and is added to those of a process that goes on. */
static bool has_doubts(liana__run *run, const char *folder, liana__arena *arena, liana__error *error)
{
    liana__variables none = {0};
    liana__training_state loaded = {.running = run->core.state.running, .not_reproducible = "another one"};
    const char *newest = NULL;
    char *text = NULL, expected[1100];
    size_t size;
    snprintf(expected, sizeof expected, "another one\n%s", run->core.state.not_reproducible);
    bool same = liana__checkpoint_newest(folder, arena, &newest, error) == LIANA_OK && newest &&
                liana__checkpoint_load(newest, &none, &loaded, error) == LIANA_OK &&
                strcmp(loaded.not_reproducible, expected) == 0 &&
                liana__checkpoint_load(newest, &none, &loaded, error) == LIANA_OK &&
                strcmp(loaded.not_reproducible, expected) == 0;
    run->folder = folder;
    const char *history = liana__path_join(arena, folder, "history.json");
    same = same && liana__run_write_history(run, error) == LIANA_OK &&
           liana__file_read(history, 1 << 20, &text, &size, error) == LIANA_OK &&
           strstr(text, "\"not_reproducible\": [") && strstr(text, "process 1 computes other bits");
    free(text);
    return same;
}

/* All read the variables; the chief alone writes. */
static liana_status keep_doubts(process *self, liana__run *run)
{
    liana__arena arena = {0};
    liana__checkpoint_image image = {0};
    const char *folder = liana__arena_format(&arena, "%s/doubts", doubts_folder);
    liana_status status = liana__checkpoint_image_take(&image, &run->core.variables, &run->core.state, &self->error);
    if (status == LIANA_OK && self->rank == 0) {
        status = liana__folder_make(folder, &self->error);
        if (status == LIANA_OK) status = liana__checkpoint_image_write(&image, folder, 0, &self->error);
        self->doubted = status == LIANA_OK && has_doubts(run, folder, &arena, &self->error);
    }
    liana__checkpoint_image_free(&image);
    liana__arena_free(&arena);
    return status;
}

/* A weight that only process 1 has otherwise stands for a processor that computes other bits. */
static void compute_otherwise(process *self, liana_context *context, liana__cluster *cluster)
{
    (void)cluster;
    liana__arena arena = {0};
    liana__run run;
    const liana__notes notes = {keep_note, self};
    self->status = open_config(self, context, &arena, &run);
    if (self->status == LIANA_OK) {
        liana__variable *weight = &run.core.variables.items[0];
        void *zeros = calloc(1, weight->buffer->size);
        if (self->rank == 1 && zeros) self->status = liana__variable_write(weight, zeros, &self->error);
        free(zeros);
        if (self->status == LIANA_OK) {
            self->status = liana__agree_on_arithmetic(&run.core, self->same, &notes, &self->error);
        }
        if (self->status == LIANA_OK) self->status = keep_doubts(self, &run);
        liana__run_close(&run);
    }
    liana__arena_free(&arena);
}

static void open_runs(process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) processes[i].run = open_run;
    run_all(processes, count);
}

static void test_settings_are_compared(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(60));
    process same[3] = {{.config = config}, {.config = config, .override = "data.threads=2"}, {.config = config}};
    open_runs(same, 3);
    for (size_t i = 0; i < 3; i++) assert_ok(same[i].status, &same[i].error);
    process other[3] = {{.config = config}, {.config = config}, {.config = config, .override = "train.batch_size=16"}};
    open_runs(other, 3);
    assert_all_refused(other, 3, LIANA_INVALID_CONFIG,
                       (const char *const[]){"train.batch_size is 32 on the chief, and 16 on process 2", NULL});
}

static void test_arithmetic_is_compared(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(60));
    snprintf(doubts_folder, sizeof doubts_folder, "%s", liana__test_path("."));
    for (int exact = 0; exact < 2; exact++) {
        process processes[3];
        memset(processes, 0, sizeof processes);
        for (size_t i = 0; i < 3; i++) {
            processes[i] = (process){.config = config, .run = compute_otherwise, .same = exact};
        }
        run_all(processes, 3);
        const char *const texts[] = {"process 1 computes other bits", "LIANA_MAX_ISA", "cluster.exact: false", NULL};
        if (exact) assert_all_refused(processes, 3, LIANA_UNAVAILABLE, texts);
        for (size_t i = 0; !exact && i < 3; i++) {
            assert_ok(processes[i].status, &processes[i].error);
            assert_says(processes[i].notes, "process 1 computes other bits");
            assert_says(processes[i].notes, "will not be reproducible");
        }
        if (!exact && !processes[0].doubted) print_error("%s\n", processes[0].error.message);
        if (!exact) assert_true(processes[0].doubted);
    }
}

static void copy(const char *from, const char *to)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(from), 1 << 24, &data, &size, &error), &error);
    assert_ok(liana__file_replace(liana__test_path(to), data, size, &error), &error);
    free(data);
}

/* Two machines, with folders of their own under the same names. */
static void make_machines(char configs[2][300])
{
    liana__error error = {0};
    static const char *const names[] = {"config.yaml",       "train-images",      "train-labels",
                                        "validation-images", "validation-labels", "test-images"};
    liana__test_tiny_run(60);
    for (int i = 0; i < 2; i++) {
        char name[100];
        snprintf(name, sizeof name, "machine%d", i);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            snprintf(name, sizeof name, "machine%d/%s", i, names[k]);
            copy(names[k], name);
            const struct utimbuf times = {1000000000 + i, 1000000000 + i};
            assert_int_equal(utime(liana__test_path(name), &times), 0);
        }
        snprintf(name, sizeof name, "machine%d/config.yaml", i);
        snprintf(configs[i], 300, "%s", liana__test_path(name));
    }
}

static void test_data_are_compared_by_their_contents(void **state)
{
    (void)state;
    liana__test_folder();
    char configs[2][300];
    make_machines(configs);
    /* Where the data are is a setting: here of files that are named alike. */
    process copies[2] = {{.config = configs[0]}, {.config = configs[1]}};
    open_runs(copies, 2);
    for (size_t i = 0; i < 2; i++) assert_ok(copies[i].status, &copies[i].error);
    /* One byte of a picture. */
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("machine1/validation-images"), 1 << 24, &data, &size, &error), &error);
    data[size / 2] ^= 1;
    assert_ok(liana__file_replace(liana__test_path("machine1/validation-images"), data, size, &error), &error);
    free(data);
    process changed[2] = {{.config = configs[0]}, {.config = configs[1]}};
    open_runs(changed, 2);
    assert_all_refused(changed, 2, LIANA_INVALID_CONFIG,
                       (const char *const[]){"data.validation.files[validation-images].contents is ", "process 1",
                                             NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_difference_is_named),
        cmocka_unit_test(test_instruction_sets_fall_to_the_lowest),
        cmocka_unit_test(test_settings_are_compared),
        cmocka_unit_test(test_arithmetic_is_compared),
        cmocka_unit_test(test_data_are_compared_by_their_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
