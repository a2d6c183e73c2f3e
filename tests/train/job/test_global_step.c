/* The global step: the updates of a training from its beginning on, over stages, fits and resumes. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 100, STEPS = 4, MOST_EPOCHS = 8 };

/* ---- liana_fit ---- */

typedef struct steps {
    int64_t values[MOST_EPOCHS];
    size_t count;
} steps;

static bool keep_step(void *user, const liana_epoch *epoch)
{
    steps *own = user;
    assert_compare(own->count, <, MOST_EPOCHS);
    own->values[own->count++] = epoch->global_step;
    return true;
}

/* A fit of the same model goes on where the last one ended, unless something else is compiled for it. */
static void test_epochs_of_stages_and_fits_count_on(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    steps seen = {.count = 0};
    liana_fit_options options = {.training = own.training,
                                 .stages = "[{epochs: 1, trainable_from: dense}, {epochs: 2}]",
                                 .on_epoch = keep_step,
                                 .user = &seen};
    done(liana_fit(model, &options));
    options.stages = NULL;
    options.steps = 6; /* an epoch and a half */
    done(liana_fit(model, &options));
    done(liana_fit(model, &options));
    static const int64_t expected[] = {4, 8, 12, 4, 6, 10, 12};
    assert_int_equal(seen.count, 7);
    for (size_t i = 0; i < seen.count; i++) assert_int_equal(seen.values[i], expected[i]);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- runs that an older liana began ---- */

static void write_all(const char *path, const char *data, size_t size)
{
    liana__error error = {0};
    assert_ok(liana__file_replace(path, data, size, &error), &error);
}

/* The table without its last column. */
static char *without_last_cells(const char *table, char separator)
{
    char *made = strdup(table), *to = made;
    assert_non_null(made);
    for (const char *line = table; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *cell = end;
        while (*cell != separator) cell--;
        memcpy(to, line, (size_t)(cell - line));
        to += cell - line;
        *to++ = '\n';
    }
    *to = 0;
    return made;
}

/* The newest checkpoint becomes one from before there were global steps. */
static void make_older(const char *run, char separator)
{
    liana__arena arena = {0};
    liana__value *root;
    char path[600];
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint(run));
    assert_ok(liana__json_read(path, &arena, &root, NULL), NULL);
    const liana__value *history = liana__value_get(root, "history");
    assert_non_null(history);
    assert_compare(history->count, >, 0);
    for (size_t i = 0; i < history->count; i++) {
        assert_non_null(liana__value_get(history->items[i], "global_step"));
        liana__value_remove(history->items[i], "global_step");
    }
    liana__value *states = (liana__value *)(uintptr_t)liana__value_get(root, "callbacks");
    const liana__value *text = liana__value_get(states, "CSVLogger/text");
    assert_non_null(text);
    char *older = without_last_cells(text->string, separator);
    liana__value_set(&arena, states, "CSVLogger/text", liana__value_string(&arena, older));
    free(older);
    uint32_t checksum;
    liana__value_remove(root, "crc32c");
    assert_true(liana__checkpoint_checksum(root, &checksum));
    liana__value_set(&arena, root, "crc32c", liana__value_int(&arena, checksum));
    liana__text written = {0};
    liana__value_write_json(root, 2, &written);
    write_all(path, written.data, written.length);
    liana__text_free(&written);
    liana__arena_free(&arena);
}

/* All rows, each with the cells of the header. */
static void assert_table(const char *path, char separator, size_t rows, bool has_global_step)
{
    char *text;
    size_t size, found = 0, expected = 0;
    assert_ok(liana__file_read(liana__test_path(path), 1 << 20, &text, &size, NULL), NULL);
    for (char *line = text; *line; found++) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = 0;
        size_t cells = 1;
        for (const char *at = line; *at; at++) cells += *at == separator;
        if (!found) expected = cells;
        assert_int_equal(cells, expected);
        if (found) assert_int_equal(strtoll(line, NULL, 10), (long long)found);
        const char *last = strrchr(line, separator) + 1;
        if (!found) assert_string_equal(last, has_global_step ? "global_step" : "learning_rate");
        if (found && has_global_step) assert_int_equal(strtoll(last, NULL, 10), (long long)found * STEPS);
        line = end + 1;
    }
    assert_int_equal(found, rows + 1);
    free(text);
}

/* `older` epochs were trained before there were global steps. */
static void assert_history(const char *path, size_t epochs, size_t older)
{
    liana__arena arena = {0};
    liana__value *root;
    assert_ok(liana__json_read(liana__test_path(path), &arena, &root, NULL), NULL);
    const liana__value *list = liana__value_get(root, "epochs");
    assert_int_equal(list->count, epochs);
    for (size_t i = 0; i < epochs; i++) {
        const liana__value *step = liana__value_get(list->items[i], "global_step");
        if (i < older) assert_null(step);
        if (i >= older) assert_int_equal(step->integer, (int64_t)(i + 1) * STEPS);
    }
    liana__arena_free(&arena);
}

static void test_an_older_run_goes_on(void **state)
{
    (void)state;
    static const struct {
        const char *callbacks;
        char separator;
    } cases[] = {{"train.callbacks=[CSVLogger]", ','},
                 {"train.callbacks=[CSVLogger: {separator: ';'}, EarlyStopping: {patience: 9}]", ';'},
                 {"train.callbacks=[CSVLogger: {separator: '|'}]", '|'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__test_folder();
        char config[300];
        snprintf(config, sizeof config, "%s", liana__test_tiny_run(NUM_TRAINING));
        const char *run = liana__test_path("run"), *callbacks = cases[i].callbacks;
        assert_code(liana__test_command("train", config, "--out", run, callbacks, "train.epochs=2"), 0);
        assert_table("run/epochs.csv", cases[i].separator, 2, true);
        assert_history("run/history.json", 2, 0);
        run = liana__test_path("run");
        assert_code(liana__test_command("train", config, "--out", run, callbacks, "train.epochs=3", "--resume"), 0);
        assert_table("run/epochs.csv", cases[i].separator, 3, true);
        make_older("run", cases[i].separator);
        run = liana__test_path("run");
        assert_code(liana__test_command("train", config, "--out", run, callbacks, "train.epochs=5", "--resume"), 0);
        assert_table("run/epochs.csv", cases[i].separator, 5, false);
        assert_history("run/history.json", 5, 3);
    }
}

/* ---- --log-every ---- */

/* The global steps of the lines, ended by 0. */
static void assert_logged(const char *printed, const int64_t *expected)
{
    size_t count = 0;
    const char *at = printed;
    while ((at = strstr(at, "\"event\": \"log\""))) {
        const char *step = strstr(at, "\"global_step\": ");
        assert_non_null(step);
        assert_int_equal(strtoll(step + strlen("\"global_step\": "), NULL, 10), expected[count++]);
        at = step;
    }
    assert_int_equal(expected[count], 0);
}

static void test_a_line_after_every_n_updates(void **state)
{
    (void)state;
    liana__test_folder();
    char config[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(NUM_TRAINING));
    const char *run = liana__test_path("run");
    liana__test_result got =
        liana__test_command("train", config, "--out", run, "--json", "--log-every", "3", "train.epochs=2");
    assert_logged(got.out, (const int64_t[]){3, 6, 0});
    assert_code(got, 0);
    /* Counted from the beginning of the training on. */
    run = liana__test_path("run");
    got =
        liana__test_command("train", config, "--out", run, "--json", "--log-every", "5", "train.epochs=4", "--resume");
    assert_logged(got.out, (const int64_t[]){10, 15, 0});
    assert_code(got, 0);
    /* A group of updates has one line, whichever of the numbers it meets. */
    run = liana__test_path("groups");
    got = liana__test_command("train", config, "--out", run, "--json", "--log-every", "2", "train.epochs=2",
                              "train.steps_per_execution=3");
    assert_logged(got.out, (const int64_t[]){3, 4, 7, 8, 0});
    assert_code(got, 0);
    run = liana__test_path("lines");
    got = liana__test_command("train", config, "--out", run, "--log-every", "7", "train.epochs=2");
    assert_says(got.out, "global step 7, epoch 2/2: step 3/4, ");
    assert_code(got, 0);
    /* Of a cluster the chief says it, once. */
    got = liana__test_process(NULL, "launch", "-n", "2", "--json", "--log-every", "4", "--out",
                              liana__test_path("both"), config, "train.epochs=2", "train.microbatch=4");
    assert_logged(got.out, (const int64_t[]){4, 8, 0});
    assert_code(got, 0);
    static const char *const wrong[] = {"0", "-1", "often"};
    for (size_t i = 0; i < 3; i++) {
        got = liana__test_command("train", config, "--out", liana__test_path("wrong"), "--log-every", wrong[i]);
        assert_refused(got, 2, "--log-every", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_of_stages_and_fits_count_on),
        cmocka_unit_test(test_an_older_run_goes_on),
        cmocka_unit_test(test_a_line_after_every_n_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
