/* Checkpoints: written in the background, the best one kept, found by name, damaged ones never loaded, full disks. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "base/random.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUM_TRAINING = 100 };

static char config_path[256];

static void make_data(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(NUM_TRAINING));
}

#define TRAIN(run, ...) liana__test_command("train", config_path, "--out", liana__test_path(run), __VA_ARGS__)

static const char *in_run(const char *run, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return liana__test_path(path);
}

/* The names of a run's checkpoints, with spaces between. */
static const char *names_of(const char *run)
{
    static char text[1024];
    liana__arena arena = {0};
    liana__paths names;
    text[0] = 0;
    assert_ok(liana__folder_list(in_run(run, "checkpoints"), &arena, &names, NULL), NULL);
    for (size_t i = 0; i < names.count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", i ? " " : "", names.items[i]);
    }
    liana__arena_free(&arena);
    return text;
}

static double number_at(const char *file, const char *list, size_t index, const char *key)
{
    liana__arena arena = {0};
    liana__value *root;
    liana__error error = {0};
    assert_ok(liana__json_read(file, &arena, &root, &error), &error);
    const liana__value *items = list ? liana__value_get(root, list) : NULL;
    const liana__value *value = liana__value_get(items ? items->items[index] : root, key);
    assert_non_null(value);
    double number = value->number;
    liana__arena_free(&arena);
    return number;
}

/* ---- the best one ---- */

/* The epoch with the smallest loss in history.json, from 1. */
static int best_epoch(const char *run, int epochs)
{
    int best = 0;
    double least = 1e30;
    for (int i = 0; i < epochs; i++) {
        double loss = number_at(in_run(run, "history.json"), "epochs", (size_t)i, "loss");
        if (loss < least) best = i + 1, least = loss;
    }
    return best;
}

/* Weights stay as they are, and dropout alone makes the loss of each epoch another one. */
static void test_the_best_one_is_kept(void **state)
{
    (void)state;
    make_data();
    int best = 0;
    for (int seed = 1; seed <= 20 && (best == 0 || best > 6); seed++) {
        char text[32];
        snprintf(text, sizeof text, "train.seed=%d", seed);
        assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
        assert_code(TRAIN("run", text, "train.epochs=8", "checkpoint.keep=2", "checkpoint.best=loss",
                          "train.optimizer={name: SGD, learning_rate: 1.0e-30}"),
                    0);
        best = best_epoch("run", 8);
    }
    assert_in_range(best, 1, 6);
    char name[64], expected[256];
    snprintf(name, sizeof name, "step-%010d", 4 * best);
    snprintf(expected, sizeof expected, "%s step-0000000028 step-0000000032", name);
    assert_string_equal(names_of("run"), expected);
    /* Evaluating it gives the history's values. */
    liana__test_result got = liana__test_command("evaluate", liana__test_path("run"), "--checkpoint", "best", "--json");
    liana__arena arena = {0};
    liana__value *event;
    assert_ok(liana__json_parse(got.out, strcspn(got.out, "\n"), "out", &arena, &event, NULL), NULL);
    double wanted = number_at(in_run("run", "history.json"), "epochs", (size_t)best - 1, "val_loss");
    assert_compare(liana__value_get(event, "loss")->number, ==, wanted);
    assert_says(liana__value_get(event, "checkpoint")->string, name);
    liana__arena_free(&arena);
    assert_code(got, 0);
    assert_code(liana__test_command("predict", liana__test_path("run"), in_run("run", "../validation-images"),
                                    "--checkpoint", "best", "--out", liana__test_path("predicted.csv")),
                0);
    assert_refused(liana__test_command("evaluate", liana__test_path("run"), "--checkpoint", "step-7"), 1,
                   "there is no checkpoint 'step-7'", name);
}

/* Only when it gets better: Keras's save_best_only. The end is saved in any case. */
static void test_only_the_best_ones(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=4", "checkpoint.keep=0", "checkpoint.best=val_accuracy",
                      "checkpoint.best_mode=max", "checkpoint.every_epoch=false",
                      "train.optimizer={name: SGD, learning_rate: 1.0e-30}"),
                0);
    /* The accuracy never gets better than after the first epoch, but for moving averages: the best is kept. */
    double first = number_at(in_run("run", "history.json"), "epochs", 0, "val_accuracy");
    size_t improvements = 1;
    for (size_t i = 1; i < 4; i++) {
        double value = number_at(in_run("run", "history.json"), "epochs", i, "val_accuracy");
        if (value > first) improvements++, first = value;
    }
    size_t count = 1;
    for (const char *at = names_of("run"); *at; at++) count += *at == ' ';
    assert_in_range(count, improvements, improvements + 1);
    assert_refused(TRAIN("bad", "checkpoint.best=val_acuracy"), 2, "nothing is measured as 'val_acuracy'");
    assert_refused(TRAIN("bad", "checkpoint.best=val_accuracy", "checkpoint.best_mode=min"), 2,
                   "better if it is greater");
    assert_refused(liana__test_command("evaluate", liana__test_path("bad2"), "--checkpoint", "best"), 2, "bad2");
    assert_code(TRAIN("plain", "train.epochs=1"), 0);
    assert_refused(liana__test_command("evaluate", liana__test_path("plain"), "--checkpoint", "best"), 1,
                   "no checkpoint in '", "is known as the best", "checkpoint.best");
}

/* A run whose last epoch has the smallest loss, and another one the smallest val_loss. */
static void train_until_they_differ(void)
{
    char seed[32];
    for (int i = 1; i <= 40; i++) {
        snprintf(seed, sizeof seed, "train.seed=%d", i);
        assert_code(
            TRAIN("run", seed, "train.epochs=3", "checkpoint.best=loss",
                  "train.callbacks=[EarlyStopping: {monitor: val_loss, patience: 9, restore_best_weights: true}]",
                  "train.optimizer={name: SGD, learning_rate: 0.003}"),
            0);
        const char *history = in_run("run", "history.json");
        double last = number_at(history, "epochs", 2, "loss");
        bool found = strstr(names_of("run"), "-changed") && last < number_at(history, "epochs", 0, "loss") &&
                     last < number_at(history, "epochs", 1, "loss");
        if (found) return;
        assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    }
    fail_msg("no seed gave such a run");
}

/* EarlyStopping puts other weights in the place of those of the best one, which is saved first. */
static void test_the_best_one_is_saved_before_weights_are_restored(void **state)
{
    (void)state;
    make_data();
    train_until_they_differ();
    const char *names = names_of("run");
    assert_says(names, "step-0000000012 step-0000000012-changed");
    liana__test_result got = liana__test_command("evaluate", liana__test_path("run"), "--checkpoint", "best", "--json");
    liana__arena arena = {0};
    liana__value *event;
    assert_ok(liana__json_parse(got.out, strcspn(got.out, "\n"), "out", &arena, &event, NULL), NULL);
    double wanted = number_at(in_run("run", "history.json"), "epochs", 2, "val_loss");
    assert_compare(liana__value_get(event, "loss")->number, ==, wanted);
    liana__arena_free(&arena);
    assert_code(got, 0);
}

static void test_some_are_kept_for_good(void **state)
{
    (void)state;
    make_data();
    /* Every update is due after so short a time. */
    assert_code(TRAIN("run", "train.epochs=2", "checkpoint.keep=1", "checkpoint.keep_every_hours=1.0e-12"), 0);
    size_t count = 1;
    for (const char *at = names_of("run"); *at; at++) count += *at == ' ';
    assert_int_equal(count, 8);
    assert_true(liana__file_exists(in_run("run", "checkpoints/step-0000000001/kept")));
    assert_code(TRAIN("other", "train.epochs=2", "checkpoint.keep=1", "checkpoint.keep_every_hours=100"), 0);
    assert_string_equal(names_of("other"), "step-0000000008");
}

/* As if the process had died between its last save and removing checkpoints that were too old by then. */
static void test_what_is_too_old_goes_at_the_end(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=3", "checkpoint.keep=0", "checkpoint.best=loss"), 0);
    assert_string_equal(names_of("run"), "step-0000000004 step-0000000008 step-0000000012");
    assert_code(TRAIN("run", "train.epochs=3", "checkpoint.keep=1", "checkpoint.best=loss", "--resume"), 0);
    assert_string_equal(names_of("run"), "step-0000000012");
}

/* ---- going on from a chosen one ---- */

static void test_resume_from(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("whole", "train.epochs=4", "checkpoint.keep=0"), 0);
    assert_code(TRAIN("run", "train.epochs=4", "checkpoint.keep=0"), 0);
    liana__test_result got = TRAIN("run", "train.epochs=4", "checkpoint.keep=0", "--resume-from", "step-0000000008");
    assert_says(got.out, "resumed from '");
    assert_says(got.out, "step-0000000016.rewound");
    assert_code(got, 0);
    assert_string_equal(names_of("run"),
                        "step-0000000004 step-0000000008 step-0000000012 step-0000000012.rewound step-0000000016 "
                        "step-0000000016.rewound");
    char first[600];
    snprintf(first, sizeof first, "%s", in_run("run", "checkpoints/step-0000000016/variables.safetensors"));
    assert_same_file(first, in_run("whole", "checkpoints/step-0000000016/variables.safetensors"));
    snprintf(first, sizeof first, "%s", in_run("run", "history.json"));
    assert_same_file(first, in_run("whole", "history.json"));
    /* Into a new folder: a branch. */
    char from[300];
    snprintf(from, sizeof from, "%s", in_run("whole", "checkpoints/step-0000000012"));
    assert_code(TRAIN("branch", "train.epochs=4", "--resume-from", from), 0);
    snprintf(first, sizeof first, "%s", in_run("branch", "checkpoints/step-0000000016/variables.safetensors"));
    assert_same_file(first, in_run("whole", "checkpoints/step-0000000016/variables.safetensors"));
    assert_refused(TRAIN("run", "train.epochs=4", "--resume-from", from), 2, "is a checkpoint of another folder");
    assert_refused(TRAIN("run", "--resume-from", "step-0000000099"), 1, "there is no checkpoint 'step-0000000099'",
                   "step-0000000016");
    assert_refused(TRAIN("run", "--resume-from", "best"), 1, "is known as the best");
}

static void test_resume_from_in_c(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context), *again = liana__tiny_model(own.context);
    char folder[256];
    snprintf(folder, sizeof folder, "%s", liana__test_path("saved"));
    liana_fit_options options = {.training = own.training,
                                 .validation = own.validation,
                                 .epochs = 4,
                                 .checkpoints = folder,
                                 .keep_checkpoints = -1,
                                 .best_checkpoint = "val_loss"};
    done(liana_fit(model, &options));
    assert_true(liana__folder_exists(liana__test_path("saved/step-0000000004")));
    options.resume_from = "step-0000000008";
    done(liana_fit(again, &options));
    assert_true(liana__same_weights(model, again));
    options.resume_from = "best";
    done(liana_fit(again, &options));
    assert_true(liana__same_weights(model, again));
    options.resume_from = "nothing";
    refused(liana_fit(again, &options), LIANA_NOT_FOUND, "there is no checkpoint 'nothing'");
    options.checkpoints = NULL;
    refused(liana_fit(again, &options), LIANA_INVALID_ARGUMENT, "no folder for checkpoints is given");
    /* Another fit is at work in the folder. */
    options = (liana_fit_options){.training = own.training, .epochs = 1, .checkpoints = folder, .resume = true};
    int held = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    refused(liana_fit(again, &options), LIANA_IO_ERROR, "another process is training in '");
    close(held);
    liana_model_destroy(model);
    liana_model_destroy(again);
    liana__tiny_fit_close(&own);
}

/* ---- other settings and data ---- */

static void test_what_differs_is_said(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=1"), 0);
    assert_refused(TRAIN("run", "train.epochs=2", "--resume", "train.optimizer.learning_rate=0.5",
                         "train.batch_size=16"),
                   2, "'train.optimizer.learning_rate': 0.003 -> 0.5", "'train.batch_size': 32 -> 16",
                   "--allow-changed");
    /* A setting that is not safe is refused in any case. */
    assert_refused(TRAIN("run", "train.epochs=2", "--resume", "--allow-changed", "train.optimizer.learning_rate=0.5",
                         "train.batch_size=16"),
                   2, "--resume: 'train.batch_size': 32 -> 16;");
    liana__test_result got = TRAIN("run", "train.epochs=2", "--resume", "--allow-changed",
                                   "train.optimizer.learning_rate=0.5", "train.control=annealing");
    assert_says(got.out, "which is allowed: 'train.optimizer.learning_rate': 0.003 -> 0.5");
    assert_code(got, 0);
    assert_compare(number_at(in_run("run", "history.json"), "epochs", 0, "learning_rate"), ==, 0.003);
    assert_compare(number_at(in_run("run", "history.json"), "epochs", 1, "learning_rate"), ==, 0.5);
    /* Other data. */
    liana__test_tiny_data("train", 132, 9);
    assert_refused(TRAIN("run", "train.epochs=3", "--resume", "train.optimizer.learning_rate=0.5",
                         "train.control=annealing"),
                   1, "train-images");
    got = TRAIN("run", "train.epochs=3", "--resume", "--allow-changed", "train.optimizer.learning_rate=0.5",
                "train.control=annealing");
    assert_says(got.out, "other training data, which is allowed: ");
    assert_code(got, 0);
}

/* ---- damage ---- */

static char *read_all(const char *path, size_t *size)
{
    char *data;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 26, &data, size, &error), &error);
    return data;
}

static void write_all(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* One of: a bit, a cut, bytes behind the end, a block of zeros, or the file is missing. Drawn by the trial. */
static void damage(const char *checkpoint, uint32_t trial)
{
    uint32_t words[4];
    liana__philox(liana__philox_make_key(5, LIANA__STREAM_TEST, 3), (const uint32_t[4]){trial}, words);
    char path[600];
    snprintf(path, sizeof path, "%s/%s", checkpoint, words[0] % 2 ? "state.json" : "variables.safetensors");
    size_t size;
    char *data = read_all(path, &size);
    size_t at = words[2] % size;
    switch (words[1] % 8) {
    case 0: write_all(path, data, at); break;
    case 1: assert_int_equal(unlink(path), 0); break;
    case 2: {
        char *longer = calloc(1, size + 7);
        memcpy(longer, data, size);
        write_all(path, longer, size + 7);
        free(longer);
        break;
    }
    case 3: {
        bool zeros = true;
        for (size_t i = at; i < size && i < at + 64; i++) {
            zeros = zeros && data[i] == 0;
            data[i] = 0;
        }
        if (zeros) data[at] = 1;
        write_all(path, data, size);
        break;
    }
    default:
        data[at] ^= (char)(1U << words[3] % 8);
        write_all(path, data, size);
        break;
    }
    free(data);
}

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *data = read_all(from, &size);
    write_all(to, data, size);
    free(data);
}

static void test_damage_is_always_found(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=2", "train.control={name: annealing, every_steps: 3}"), 0);
    char newest[512], files[2][700], saved[2][300];
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("run"));
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "state.json" : "variables.safetensors";
        snprintf(files[i], sizeof files[i], "%s/%s", newest, name);
        snprintf(saved[i], sizeof saved[i], "%s", liana__test_path(name));
        copy_file(files[i], saved[i]);
    }
    for (uint32_t trial = 0; trial < 100; trial++) {
        damage(newest, trial);
        liana__test_result got = liana__test_command("evaluate", liana__test_path("run"));
        if (got.code != 1) print_error("trial %u\n", trial);
        assert_refused(got, 1, newest);
        for (int i = 0; i < 2; i++) copy_file(saved[i], files[i]);
    }
    assert_code(liana__test_command("evaluate", liana__test_path("run")), 0);
    /* And a resume goes on from the one before, which it says. */
    damage(newest, 3);
    liana__test_result got =
        TRAIN("run", "train.epochs=2", "train.control={name: annealing, every_steps: 3}", "--resume");
    assert_says(got.out, "is damaged");
    assert_says(got.out, "set aside as");
    assert_code(got, 0);
}

static void test_a_newer_version(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=1"), 0);
    /* As a newer liana would write it, with its checksum. */
    liana__arena arena = {0};
    liana__value *root;
    char path[600];
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint("run"));
    assert_ok(liana__json_read(path, &arena, &root, NULL), NULL);
    liana__value_remove(root, "crc32c");
    liana__value_set(&arena, root, "version", liana__value_int(&arena, 7));
    uint32_t checksum;
    assert_true(liana__checkpoint_checksum(root, &checksum));
    liana__value_set(&arena, root, "crc32c", liana__value_int(&arena, checksum));
    liana__text text = {0};
    liana__value_write_json(root, 2, &text);
    write_all(path, text.data, text.length);
    liana__text_free(&text);
    liana__arena_free(&arena);
    assert_refused(TRAIN("run", "train.epochs=2", "--resume"), 1, "a newer liana wrote it", "version is 7");
    assert_refused(liana__test_command("evaluate", liana__test_path("run")), 1, "a newer liana wrote it");
    assert_true(liana__file_exists(path)); /* it is not damaged: it stays where it is */
}

/* ---- full disks ---- */

/* Files of at most `limit` bytes can be written; as where a disk is full, a write then fails. */
static int train_limited(const char *run, rlim_t limit, const char *epochs)
{
    const char *folder = liana__test_path(run);
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const struct rlimit most = {limit, limit};
        if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(99);
        liana__test_result got =
            liana__test_command("train", config_path, "--out", folder, "--resume", epochs, "train.threads=1");
        bool told = got.code == 0 || strstr(got.err, "checkpoint could not be saved") || strstr(got.err, "write");
        _exit(told ? got.code : 98);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_full_disk_loses_nothing(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("whole", "train.epochs=6"), 0);
    assert_int_equal(train_limited("run", RLIM_INFINITY, "train.epochs=2"), 0);
    size_t size;
    char path[600];
    snprintf(path, sizeof path, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    free(read_all(path, &size));
    static const double shares[] = {0, 0.1, 0.5, 0.9, 0.999};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        assert_int_equal(train_limited("run", (rlim_t)(shares[i] * (double)size), "train.epochs=6"), 1);
        /* Saved checkpoints are there, whole. */
        assert_says(liana__test_newest_checkpoint("run"), "step-0000000008");
        assert_code(liana__test_command("evaluate", liana__test_path("run")), 0);
    }
    assert_int_equal(train_limited("run", RLIM_INFINITY, "train.epochs=6"), 0);
    snprintf(path, sizeof path, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    assert_same_file(path, in_run("whole", "checkpoints/step-0000000024/variables.safetensors"));
}

/* ---- the writer ---- */

static const float THREE[] = {1, 2, 3};

/* A variable with three numbers. */
static liana__device *hold_three(liana_context *context, liana__variables *variables)
{
    liana__device *device;
    liana__error error = {0};
    const liana_shape shape = liana_shape_of(3);
    assert_ok(liana__device_open(context, "cpu", &device, &error), &error);
    liana__variables_init(variables, device);
    assert_ok(liana__variables_add(variables, "a/b", LIANA_F32, &shape, THREE, &error), &error);
    return device;
}

/* A failure of the thread is told by the next save, or at the end, once. */
static void test_failures_of_the_thread_are_told(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    liana__test_write("plain", "x", 1);
    liana_fit_options options = {.training = own.training, .epochs = 3, .checkpoints = liana__test_path("plain/below")};
    refused(liana_fit(model, &options), LIANA_IO_ERROR, "plain");
    liana__error error = {0};
    liana__variables variables;
    liana__device *device = hold_three(own.context, &variables);
    const liana__objective objective = {.num_sums = 1, .num_values = 1, .value_names = {"loss"}};
    liana__training_state at = {.iteration = 5, .running = {.objective = &objective}};
    for (int i = 0; i < 2; i++) {
        liana__checkpoint_writer *writer;
        const liana__checkpoint_writer_options where = {.folder = liana__test_path(i ? "good" : "plain/below")};
        assert_ok(liana__checkpoint_writer_create(&where, &variables, &writer, &error), &error);
        assert_ok(liana__checkpoint_writer_save(writer, &variables, &at, &error), &error);
        if (i == 0) {
            assert_fails(liana__checkpoint_writer_save(writer, &variables, &at, &error), LIANA_IO_ERROR, &error,
                         "the checkpoint could not be saved", "plain");
        } else {
            /* The saved checkpoint is the state at that time: later changes are not in it. */
            const float others[] = {7, 7, 7};
            assert_ok(liana__variable_write(&variables.items[0], others, &error), &error);
        }
        assert_int_equal(liana__checkpoint_writer_close(writer, LIANA_OK, &error), LIANA_OK);
    }
    size_t size;
    char *saved = read_all(liana__test_path("good/step-0000000005/variables.safetensors"), &size);
    assert_memory_equal(saved + size - sizeof THREE, THREE, sizeof THREE);
    free(saved);
    liana__variables_free(&variables);
    liana__device_close(device);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* A chief that was halted in a save comes back while its successor saves the same: neither is in the way of the
 * other. */
static void test_two_processes_save_the_same(void **state)
{
    (void)state;
    enum { SAVES = 40 };
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana__error error = {0};
    liana__variables variables;
    liana__device *device = hold_three(own.context, &variables);
    const liana__objective objective = {.num_sums = 1, .num_values = 1, .value_names = {"loss"}};
    const char *folder = liana__test_path("both");
    for (int i = 1; i <= SAVES; i++) {
        const liana__training_state at = {.iteration = i, .running = {.objective = &objective}};
        const pid_t other = fork();
        const liana_status status = liana__checkpoint_save(folder, &variables, &at, 3, &error);
        if (other == 0) {
            if (status != LIANA_OK) fprintf(stderr, "the other one: %s\n", error.message);
            _exit(status != LIANA_OK);
        }
        int code = 0;
        assert_ok(status, &error);
        assert_int_equal(waitpid(other, &code, 0), other);
        assert_int_equal(code, 0);
    }
    assert_false(liana__folder_exists(liana__test_path("both/unfinished")));
    assert_true(liana__file_exists(liana__test_path("both/step-0000000040/variables.safetensors")));
    assert_true(liana__file_exists(liana__test_path("both/step-0000000040/state.json")));
    liana__variables_free(&variables);
    liana__device_close(device);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_one_is_kept),
        cmocka_unit_test(test_two_processes_save_the_same),
        cmocka_unit_test(test_only_the_best_ones),
        cmocka_unit_test(test_the_best_one_is_saved_before_weights_are_restored),
        cmocka_unit_test(test_some_are_kept_for_good),
        cmocka_unit_test(test_what_is_too_old_goes_at_the_end),
        cmocka_unit_test(test_resume_from),
        cmocka_unit_test(test_resume_from_in_c),
        cmocka_unit_test(test_what_differs_is_said),
        cmocka_unit_test(test_damage_is_always_found),
        cmocka_unit_test(test_a_newer_version),
        cmocka_unit_test(test_a_full_disk_loses_nothing),
        cmocka_unit_test(test_failures_of_the_thread_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
