/* Terminals that go, pipes that nobody reads, files that may not grow, folders that are taken away. */
#include "harness/command_run.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "train/run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char config[256], run[256];

static void set_up(void)
{
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(100));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
}

/* nohup starts programs like this: the end of the terminal is nothing to them. That it is noted otherwise is tested
 * with the other signals (test_resume). */
static void test_a_hangup_that_is_ignored_stays_ignored(void **state)
{
    (void)state;
    set_up();
    signal(SIGHUP, SIG_IGN);
    const char *words[] = {"train", config, "train.epochs=40", NULL};
    pid_t process = liana__test_spawn(words, NULL);
    signal(SIGHUP, SIG_DFL);
    wait_until(liana__file_exists(liana__test_path("run/history.json")));
    kill(process, SIGHUP);
    liana__test_result got = liana__test_wait(process);
    assert_says(got.out, "epoch 40/40");
    assert_code(got, 0);
}

/* Runs the command with a standard output whose reader is gone before it begins; its standard error is in "err". */
static int run_unread(const char *const *words)
{
    int ends[2];
    const char *err = liana__test_path("err");
    const char *argv[16] = {LIANA_COMMAND};
    for (int i = 1; *words; words++) argv[i++] = *words;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        int file = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (dup2(ends[1], STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) _exit(127);
        signal(SIGPIPE, SIG_DFL);
        execv(LIANA_COMMAND, (char *const *)argv);
        _exit(127);
    }
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *read_err(void)
{
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("err"), 1 << 20, &text, &size, NULL), NULL);
    return text;
}

static void test_help_for_nobody_ends_quietly(void **state)
{
    (void)state;
    set_up();
    static const char *const calls[][3] = {{"help"}, {"train", "--help"}, {"list", "ops"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(run_unread(calls[i]), 128 + SIGPIPE);
        char *text = read_err();
        assert_string_equal(text, "");
        free(text);
    }
}

static void test_training_for_nobody_goes_on(void **state)
{
    (void)state;
    set_up();
    static const char *const modes[] = {"--json", NULL};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_unread((const char *const[]){"train", config, "--out", run, modes[i], NULL}), 0);
        char *text = read_err();
        assert_string_equal(text, "liana: standard output has no reader any more; training goes on\n");
        free(text);
        assert_true(liana__file_exists(liana__test_path("run/validation_predictions.csv")));
        assert_ok(liana__folder_remove(run, NULL), NULL);
    }
}

/* Where files may not grow beyond a limit, the one that is too large is named. */
static void test_files_that_may_not_grow(void **state)
{
    (void)state;
    set_up();
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 9000; /* enough for all but the variables */
    const char *words[] = {"train", config, "data.cache=none", NULL};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    pid_t process = liana__test_spawn(words, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    liana__test_result got = liana__test_wait(process);
    assert_refused(got, 1, "variables.safetensors", "File too large", "ulimit -f");
}

static void test_a_run_folder_that_is_taken_away(void **state)
{
    (void)state;
    set_up();
    const char *words[] = {"train", config, "train.epochs=100000", "checkpoint.every_steps=3", NULL};
    pid_t process = liana__test_spawn(words, NULL);
    wait_until(liana__file_exists(liana__test_path("run/history.json")));
    assert_int_equal(rename(run, liana__test_path("elsewhere")), 0);
    assert_refused(liana__test_wait(process), 1, "the run folder '", "/run' was ", "during training");
}

/* At the last event of an epoch, or before the next checkpoint, from within. */
typedef struct thief {
    liana__fit_event_kind kind;
    bool removes;
    bool stops;
    bool done;
} thief;

static bool steal(void *user, const liana__fit_event *event)
{
    thief *own = user;
    if (own->done || event->kind != own->kind || event->step < 2) return !own->done || !own->stops;
    own->done = true;
    assert_int_equal(rename(run, liana__test_path("elsewhere")), 0);
    if (own->removes) assert_ok(liana__folder_remove(liana__test_path("elsewhere"), NULL), NULL);
    return !own->stops;
}

static void test_nothing_is_saved_where_the_folder_was(void **state)
{
    (void)state;
    static const thief thieves[] = {{.kind = LIANA__FIT_STEP, .removes = true},
                                    {.kind = LIANA__FIT_STEP, .stops = true},
                                    {.kind = LIANA__FIT_EPOCH, .removes = true},
                                    {.kind = LIANA__FIT_CHECKPOINT}};
    for (size_t i = 0; i < sizeof thieves / sizeof *thieves; i++) {
        set_up();
        thief own = thieves[i];
        liana__error error = {0};
        liana__arena arena = {0};
        liana__config loaded;
        liana_context *context;
        liana__run opened;
        static const char *const overrides[] = {"checkpoint.every_steps=3"};
        assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, config, overrides, 1, &arena, &loaded, &error),
                  &error);
        assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
        liana__run_options options = {.folder = run, .training = true, .on_event = steal, .user = &own};
        assert_ok(liana__run_open(context, &loaded, &options, &opened, &error), &error);
        liana_status status = liana__run_train(&opened, &options, &error);
        assert_fails(status, LIANA_NOT_FOUND, &error, "the run folder '",
                     own.removes ? "was removed" : "was moved away");
        assert_false(liana__folder_exists(run)); /* it would hold an end without a beginning */
        liana__run_close(&opened);
        liana_context_destroy(context);
        liana__arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hangup_that_is_ignored_stays_ignored),
        cmocka_unit_test(test_help_for_nobody_ends_quietly),
        cmocka_unit_test(test_training_for_nobody_goes_on),
        cmocka_unit_test(test_files_that_may_not_grow),
        cmocka_unit_test(test_a_run_folder_that_is_taken_away),
        cmocka_unit_test(test_nothing_is_saved_where_the_folder_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
