/* Exact resume: a run that is killed, stopped or damaged at any instant ends in the same bytes as one that is not. */
#include "harness/command_run.h"
#include "harness/wait_until.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "train/run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* TRIES: how often a run may end before it is halted, or stopped. */
enum { TRIES = 10, MOST_TRIALS = 100 };

/* ---- a process that dies at its n-th change of the file system ----
 * These take the place of the C library's functions in this program. In children only, they count, and end the process
 * as SIGKILL does: before the change is made, or, for a write, when half of it is. */

static struct {
    bool counting;
    _Atomic long count; /* checkpoints are written by a thread */
    long kill_at;
} changes;

static void count_change(void)
{
    if (changes.counting && ++changes.count == changes.kill_at) kill(getpid(), SIGKILL);
}

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    bool last = changes.counting && changes.count + 1 == changes.kill_at;
    if (last) syscall(SYS_write, descriptor, bytes, size / 2);
    count_change();
    return syscall(SYS_write, descriptor, bytes, size);
}

int rename(const char *from, const char *to)
{
    count_change();
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int mkdir(const char *path, mode_t mode)
{
    count_change();
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int unlink(const char *path)
{
    count_change();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    count_change();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* Power cuts are not tested here, and disks are slow. */
int fsync(int descriptor)
{
    (void)descriptor;
    count_change();
    return 0;
}

/* ---- runs to compare ---- */

static char config_path[256];

/* Two epochs of 4 updates, the last of which is partial; a checkpoint every 3 updates and after each epoch. Callbacks
 * keep a text, numbers and weights. */
#define CALLBACKS                                                                                                   \
    "train.callbacks=[CSVLogger, EarlyStopping: {patience: 5, monitor: val_accuracy, "                              \
    "restore_best_weights: true}, ReduceLROnPlateau: {patience: 0, min_delta: 9}, SwapEMAWeights: {swap_on_epoch: " \
    "true}]"
/* Some of its decisions go on, some back, some are drawn. */
#define CONTROL \
    "train.control={name: annealing, monitor: loss, every_steps: 2, energy: 1, cooling_rate: 0.1, factor_high: 2}"
/* Averages of the weights are measured, saved and restored. */
#define AVERAGES "train.optimizer={name: Adam, learning_rate: 0.01, use_ema: true, ema_momentum: 0.8}"
#define SMALL "train.epochs=2", "checkpoint.every_steps=3", CALLBACKS, CONTROL, AVERAGES

static void make_data(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(108));
}

static const char *in_run(const char *run, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return liana__test_path(path);
}

static void assert_same_run(const char *run, const char *expected)
{
    static const char *const names[] = {"history.json", "validation_predictions.csv", "test_predictions.csv",
                                        "model.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_same_file(in_run(run, names[i]), in_run(expected, names[i]));
    }
    if (liana__file_exists(in_run(expected, "epochs.csv"))) {
        assert_same_file(in_run(run, "epochs.csv"), in_run(expected, "epochs.csv"));
    }
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(expected));
    assert_string_equal(liana__path_name(liana__test_newest_checkpoint(run)),
                        liana__path_name(liana__test_newest_checkpoint(expected)));
    assert_same_file(first, second);
}

static void remove_run(const char *run)
{
    assert_ok(liana__folder_remove(liana__test_path(run), NULL), NULL);
}

/* ---- killed at each change of the file system ---- */

/* Runs the command in a child that dies at change `kill_at` (0: never). Returns its wait status; *count, if not NULL,
 * is the number of changes of a child that lived. */
static int run_child(const char *run, const char *threads, long kill_at, long *count)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const char *folder = liana__test_path(run);
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        setenv("LIANA_THREADS", threads, 1);
        changes.counting = true;
        changes.kill_at = kill_at;
        liana__test_result got =
            liana__test_command("train", config_path, SMALL, "data.threads=2", "--resume", "--out", folder);
        changes.counting = false;
        if (got.code) fprintf(stderr, "%s", got.err);
        const long total = changes.count;
        if (write(ends[1], &total, sizeof total) < 0) _exit(99);
        _exit(got.code);
    }
    close(ends[1]);
    long changed = 0;
    ssize_t size = read(ends[0], &changed, sizeof changed);
    close(ends[0]);
    if (count) *count = size == sizeof changed ? changed : 0;
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Decisions of both kinds are among those of the run. */
static void assert_went_on_and_back(const char *run)
{
    char *text;
    size_t size;
    assert_ok(liana__file_read(in_run(run, "history.json"), 1 << 20, &text, &size, NULL), NULL);
    assert_says(text, "\"accepted\": true");
    assert_says(text, "\"accepted\": false");
    free(text);
}

static void test_killed_at_each_change_of_the_file_system(void **state)
{
    (void)state;
    make_data();
    long total;
    assert_int_equal(run_child("whole", "1", 0, &total), 0);
    assert_went_on_and_back("whole");
    assert_compare(total, >, 100);
    static const char *const threads[] = {"1", "2", "3"};
    for (long at = 1; at <= total; at += 3) {
        int status = run_child("run", threads[at % 3], at, NULL);
        assert_true(WIFSIGNALED(status));
        assert_compare(WTERMSIG(status), ==, SIGKILL);
        assert_int_equal(run_child("run", threads[(at + 1) % 3], 0, NULL), 0);
        assert_same_run("run", "whole");
        remove_run("run");
    }
}

/* ---- real processes, killed at random ---- */

static void sleep_microseconds(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static const char *const environments[3][2] = {{"LIANA_THREADS=1"}, {"LIANA_THREADS=2"}, {"LIANA_THREADS=3"}};

static pid_t start(const char *run, int threads, const char *const *more)
{
    const char *words[16] = {"train", config_path, "--resume", "--out", liana__test_path(run)};
    for (int i = 5; *more; more++) words[i++] = *more;
    return liana__test_spawn(words, environments[threads]);
}

static void test_processes_killed_at_random(void **state)
{
    (void)state;
    make_data();
    static const char *const more[] = {SMALL, NULL};
    double begin = liana__clock_seconds();
    assert_code(liana__test_wait(start("whole", 0, more)), 0);
    double whole = liana__clock_seconds() - begin;
    liana__philox_key key = liana__philox_make_key((uint64_t)getpid(), LIANA__STREAM_TEST, 2);
    uint32_t num_killed = 0;
    /* LIANA_TEST_KILLS: the number of runs, each killed until it comes to its end. */
    const char *asked = getenv("LIANA_TEST_KILLS");
    const uint32_t wanted = asked ? (uint32_t)strtoul(asked, NULL, 10) : 0;
    /* A busy machine may make it slow: then fewer trials do, if one of them was killed. */
    for (uint32_t trial = 0; num_killed == 0 || (wanted && trial < wanted) ||
                             (!wanted && trial < 12 && (trial < 3 || liana__clock_seconds() - begin < 12));
         trial++) {
        if (!wanted) assert_compare(trial, <, MOST_TRIALS); /* none was killed: all ended too soon */
        liana__test_result got = {.code = -1};
        for (uint32_t attempt = 0; got.code != 0; attempt++) {
            assert_compare(attempt, <, 100);
            pid_t process = start("run", (int)((trial + attempt) % 3), more);
            uint32_t words[4];
            liana__philox(key, (const uint32_t[4]){trial, attempt, 0, 0}, words);
            /* Later attempts get more time, so that the run comes to its end. */
            sleep_microseconds((long)(1e6 * whole * (0.6 + 0.2 * attempt) * words[0] / 4294967296.0));
            if (attempt < 20) kill(process, SIGKILL);
            liana__test_free_result(&got);
            got = liana__test_wait(process);
            num_killed += got.code == 128 + SIGKILL;
            if (got.code != 0) assert_int_equal(got.code, 128 + SIGKILL);
        }
        liana__test_free_result(&got);
        assert_same_run("run", "whole");
        remove_run("run");
    }
    if (wanted) print_message("%u runs, killed %u times, ended in the same bytes\n", wanted, num_killed);
}

/* ---- stopped in good order ---- */

static bool has_ended(pid_t process)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == process;
}

/* Starts a run and halts it after its first epoch. One that comes to its end before that is begun anew, up to ten
 * times. */
static pid_t start_and_halt(int threads, const char *const *more)
{
    for (int tries = 0;; tries++) {
        assert_compare(tries, <, TRIES);
        pid_t process = start("run", threads, more);
        wait_until(liana__file_exists(in_run("run", "history.json")) || has_ended(process));
        kill(process, SIGSTOP);
        siginfo_t info = {0};
        assert_int_equal(waitid(P_PID, (id_t)process, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
        if (info.si_code == CLD_STOPPED) return process;
        assert_code(liana__test_wait(process), 0);
        remove_run("run");
    }
}

/* Ends a halted run by a signal; false if it was past its last step, and has ended by itself. */
static bool stop_halted(pid_t process, int signal, liana__test_result *got)
{
    kill(process, signal);
    kill(process, SIGCONT);
    *got = liana__test_wait(process);
    if (got->code != 0) return true;
    liana__test_free_result(got);
    remove_run("run");
    return false;
}

static void test_signals_save_a_checkpoint(void **state)
{
    (void)state;
    make_data();
    static const char *const more[] = {"train.epochs=120", "checkpoint.every_epoch=false", NULL};
    static const char *const requeued[] = {"train.epochs=120", "checkpoint.every_epoch=false", "--requeue", NULL};
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGTERM};
    for (int i = 0; i < 4; i++) {
        liana__test_result got;
        pid_t process;
        int tries = 0;
        do {
            assert_compare(tries++, <, TRIES);
            process = start_and_halt(1, i < 3 ? more : requeued);
            /* While it is at work, or asleep, nobody else is let in. */
            assert_refused(liana__test_command("train", config_path, "--out", liana__test_path("run"), "--resume"), 1,
                           "another process is training in '");
        } while (!stop_halted(process, signals[i], &got));
        assert_says(got.err, "stopped on request in epoch ");
        assert_code(got, i < 3 ? 128 + signals[i] : 75);
        assert_true(liana__folder_exists(liana__test_newest_checkpoint("run")));
        got = liana__test_wait(start("run", 2, more));
        assert_says(got.out, "resumed from '");
        assert_code(got, 0);
        if (i == 0) {
            assert_code(liana__test_wait(start("whole", 0, more)), 0);
        }
        assert_same_run("run", "whole");
        remove_run("run");
    }
}

/* Another instruction set rounds differently. A resume with one says so. */
static void test_another_instruction_set_is_said(void **state)
{
    (void)state;
    make_data();
    static const char *const more[] = {"train.epochs=120", NULL};
    static const char *const environment[] = {"LIANA_MAX_ISA=baseline", NULL};
    liana__test_result got;
    for (int tries = 1; !stop_halted(start_and_halt(1, more), SIGTERM, &got); tries++) assert_compare(tries, <, TRIES);
    bool told_apart = !strstr(got.out, "threads, baseline");
    assert_code(got, 128 + SIGTERM);
    got = liana__test_process(environment, "train", config_path, "--out", liana__test_path("run"), "--resume",
                              "train.epochs=120");
    assert_int_equal(strstr(got.out, "resuming with baseline, which rounds differently") != NULL, told_apart);
    assert_code(got, 0);
    remove_run("run");
}

/* Stops the run at its n-th event (0: never), as a signal does. */
typedef struct stopper {
    int events;
    int stop_at;
    liana__fit_event_kind kind; /* of the event it was stopped at */
} stopper;

static bool count_event(void *user, const liana__fit_event *event)
{
    stopper *own = user;
    own->events++;
    if (own->events == own->stop_at) own->kind = event->kind;
    return own->stop_at == 0 || own->events < own->stop_at;
}

static liana_status train_in_process(const char *run_name, int num_threads, stopper *own, liana__error *error)
{
    liana__arena arena = {0};
    liana__config config;
    static const char *const overrides[] = {SMALL};
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, config_path, overrides,
                                 sizeof overrides / sizeof *overrides, &arena, &config, error),
              error);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &context), LIANA_OK);
    char folder[256];
    snprintf(folder, sizeof folder, "%s", liana__test_path(run_name));
    liana__run_options options = {
        .folder = folder, .training = true, .resume = true, .on_event = count_event, .user = own};
    liana__run run;
    assert_ok(liana__run_open(context, &config, &options, &run, error), error);
    liana_status status = liana__run_train(&run, &options, error);
    liana__run_close(&run);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return status;
}

static void test_stopped_at_each_event(void **state)
{
    (void)state;
    make_data();
    liana__error error = {0};
    stopper all = {0};
    assert_ok(train_in_process("whole", 1, &all, &error), &error);
    bool stopped_at[LIANA__FIT_CHECKPOINT + 1] = {0};
    for (int at = 1; at <= all.events; at++) {
        stopper own = {.stop_at = at};
        liana_status status = train_in_process("run", 1 + at % 2, &own, &error);
        assert_fails(status, LIANA_CANCELLED, &error, "stopped on request", "--resume");
        stopped_at[own.kind] = true;
        assert_ok(train_in_process("run", 2, &(stopper){0}, &error), &error);
        assert_same_run("run", "whole");
        remove_run("run");
    }
    for (int kind = 0; kind <= LIANA__FIT_CHECKPOINT; kind++) assert_true(stopped_at[kind]);
}

/* ---- what resuming refuses ---- */

static void test_a_run_is_not_mixed_with_another(void **state)
{
    (void)state;
    make_data();
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("train", config_path, SMALL, "--out", run, "--resume");
    assert_says(got.out, "no checkpoint in '");
    assert_says(got.out, "starting from the beginning");
    assert_code(got, 0);
    assert_refused(liana__test_command("train", config_path, SMALL, "--out", run), 2, run, "already holds a run",
                   "--resume", "--out");
    static const char *const changed[][2] = {
        {"train.batch_size=16", "'train.batch_size'"},
        {"train.validation_freq=2", "'train.validation_freq'"},
        {"train.optimizer.learning_rate=0.1", "'train.optimizer.learning_rate'"},
        {"model.layers[0].Conv2D.filters=9", "'model.layers'"},
        {"data.label_offset=1", "'data.label_offset'"},
        {"data.scale=none", "'data.scale'"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        assert_refused(liana__test_command("train", config_path, SMALL, "--out", run, "--resume", changed[i][0]), 2,
                       "--resume: ", changed[i][1], "differs from the beginning of this run", "run/config.yaml");
    }
    /* An empty folder is begun anew. */
    assert_ok(liana__folder_make(liana__test_path("empty"), NULL), NULL);
    liana__test_write("empty/config.yaml", "train: {epochs: 77}\n", 20);
    assert_code(liana__test_command("train", config_path, SMALL, "--out", liana__test_path("empty")), 0);
    /* A setting that changes no result may change; and the run's choices stay. */
    got = liana__test_command("train", config_path, SMALL, "--out", run, "--resume", "train.threads=1",
                              "data.cache=false", "checkpoint.keep=1", "data.scale=0..1", "data.num_classes=4");
    assert_says(got.out, "nothing is left to train");
    assert_code(got, 0);
}

/* ---- damaged checkpoints ---- */

static void flip_bit(const char *path, size_t from_end)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 24, &data, &size, &error), &error);
    assert_compare(from_end, <, size);
    data[size - 1 - from_end] ^= 1;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    free(data);
}

typedef enum damage { FLIP_VARIABLES, FLIP_STATE, CUT_VARIABLES, CUT_STATE, LOSE_VARIABLES, LOSE_STATE } damage;

static void do_damage(const char *checkpoint, damage kind)
{
    char path[600];
    bool state = kind == FLIP_STATE || kind == CUT_STATE || kind == LOSE_STATE;
    snprintf(path, sizeof path, "%s/%s", checkpoint, state ? "state.json" : "variables.safetensors");
    if (kind == FLIP_VARIABLES) flip_bit(path, 5);
    /* A digit of a number of the JSON stays a digit: only the checksum can tell. */
    if (kind == FLIP_STATE) {
        char *text;
        size_t size;
        liana__error error = {0};
        assert_ok(liana__file_read(path, 1 << 24, &text, &size, &error), &error);
        char *count = strstr(text, "\"count\": ");
        assert_non_null(count);
        size_t at = (size_t)(count - text) + strlen("\"count\": ");
        free(text);
        flip_bit(path, size - 1 - at);
    }
    if (kind == CUT_VARIABLES || kind == CUT_STATE) assert_int_equal(truncate(path, 100), 0);
    if (kind == LOSE_VARIABLES || kind == LOSE_STATE) assert_int_equal(remove(path), 0);
}

static void test_damaged_checkpoints_are_set_aside(void **state)
{
    (void)state;
    make_data();
    char run[256], newest[512];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config_path, SMALL, "--out", liana__test_path("whole")), 0);
    for (damage kind = FLIP_VARIABLES; kind <= LOSE_STATE; kind++) {
        assert_code(liana__test_command("train", config_path, SMALL, "--out", run), 0);
        snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("run"));
        do_damage(newest, kind);
        assert_refused(liana__test_command("evaluate", run), 1, newest, "is damaged");
        liana__test_result got = liana__test_command("train", config_path, SMALL, "--out", run, "--resume");
        assert_says(got.out, "is damaged");
        assert_says(got.out, "was set aside as '");
        assert_says(got.out, "resumed from '");
        assert_code(got, 0);
        assert_same_run("run", "whole");
        char aside[600];
        snprintf(aside, sizeof aside, "%s.damaged", newest);
        assert_true(liana__folder_exists(aside));
        remove_run("run");
    }
    /* Where none is whole, nothing is trained over them. */
    assert_code(liana__test_command("train", config_path, SMALL, "--out", run, "checkpoint.keep=1"), 0);
    do_damage(liana__test_newest_checkpoint("run"), FLIP_VARIABLES);
    for (int i = 0; i < 2; i++) {
        assert_refused(liana__test_command("train", config_path, SMALL, "--out", run, "checkpoint.keep=1", "--resume"),
                       1, "no checkpoint in '", "is damaged", "checksum", "start from the beginning");
    }
}

/* A checkpoint that is whole but of another model stays where it is, as long as there is no other one. */
static void test_a_checkpoint_of_another_model_is_refused(void **state)
{
    (void)state;
    make_data();
    char run[256], other[256], newest[512];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(other, sizeof other, "%s", liana__test_path("other"));
    assert_code(liana__test_command("train", config_path, SMALL, "--out", run), 0);
    assert_code(liana__test_command("train", config_path, SMALL, "--out", other, "model.layers[0].Conv2D.filters=9"),
                0);
    remove_run("run/checkpoints");
    assert_int_equal(rename(liana__test_path("other/checkpoints"), liana__test_path("run/checkpoints")), 0);
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("run"));
    assert_refused(liana__test_command("train", config_path, SMALL, "--out", run, "--resume"), 1, newest,
                   "of another run", "'model.layers' is ", "\"filters\": 9", "\"filters\": 8");
    assert_true(liana__folder_exists(newest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_each_change_of_the_file_system),
        cmocka_unit_test(test_processes_killed_at_random),
        cmocka_unit_test(test_signals_save_a_checkpoint),
        cmocka_unit_test(test_another_instruction_set_is_said),
        cmocka_unit_test(test_stopped_at_each_event),
        cmocka_unit_test(test_a_run_is_not_mixed_with_another),
        cmocka_unit_test(test_damaged_checkpoints_are_set_aside),
        cmocka_unit_test(test_a_checkpoint_of_another_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
