/* A signal to any process of a cluster stops all after the same step: the chief saves, and the training goes on from
 * there to the same bytes. */
#include "harness/command_run.h"
#include "harness/wait_until.h"

#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* TRIES: how often the training may be over before the signal comes. */
enum { COUNT = 90, WORKERS = 3, TRIES = 10 };
static char config[256], workers[1024];

static pid_t start(size_t rank, const char *run, const char *more)
{
    char task[32];
    snprintf(task, sizeof task, rank ? "cluster.task=worker:%zu" : "cluster.task=chief", rank);
    const char *const words[] = {"train",           config,  "--out", run,  "--requeue", "--resume",
                                 "train.epochs=40", workers, task,    more, NULL};
    return liana__test_spawn(words, NULL);
}

static void start_all(pid_t *processes, const char *run, const char *more)
{
    for (size_t i = 0; i < WORKERS; i++) processes[i] = start(i, run, more);
}

static void wait_for_all(const pid_t *processes, int *codes)
{
    for (size_t i = 0; i < WORKERS; i++) {
        int status;
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        codes[i] = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

/* One of them gets the signal once the training has saved something. False: it ended before. */
static bool stop_one(size_t which, int *codes)
{
    pid_t processes[WORKERS];
    char checkpoints[300];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("run/checkpoints"));
    start_all(processes, liana__test_path("run"), "checkpoint.every_steps=1");
    wait_until(liana__folder_exists(checkpoints));
    kill(processes[which], SIGTERM);
    wait_for_all(processes, codes);
    return codes[which] != 0;
}

static void assert_codes(const int *codes, int expected)
{
    for (size_t i = 0; i < WORKERS; i++) {
        if (codes[i] != expected) print_error("process %zu ends with %d\n", i, codes[i]);
        assert_int_equal(codes[i], expected);
    }
}

static void test_a_signal_to_one_stops_all(void **state)
{
    (void)state;
    liana__error error = {0};
    int codes[WORKERS];
    pid_t processes[WORKERS];
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    size_t length = (size_t)snprintf(workers, sizeof workers, "cluster.workers=[");
    for (int i = 0; i < WORKERS; i++) {
        length += (size_t)snprintf(workers + length, sizeof workers - length, "%sipc://%s%d", i ? ", " : "",
                                   liana__test_path("socket"), i);
    }
    snprintf(workers + length, sizeof workers - length, "]");
    assert_code(liana__test_command("train", config, "--out", liana__test_path("alone"), "train.epochs=40"), 0);
    for (size_t which = 0; which < WORKERS; which++) {
        for (int tries = 1; !stop_one(which, codes); tries++) {
            assert_true(tries < TRIES);
            assert_ok(liana__folder_remove(liana__test_path("run"), &error), &error);
        }
        assert_codes(codes, 75);
        start_all(processes, liana__test_path("run"), "checkpoint.every_steps=1");
        wait_for_all(processes, codes);
        assert_codes(codes, 0);
        assert_same_file(liana__test_path("run/history.json"), liana__test_path("alone/history.json"));
        assert_same_file(liana__test_path("run/validation_predictions.csv"),
                         liana__test_path("alone/validation_predictions.csv"));
        assert_ok(liana__folder_remove(liana__test_path("run"), &error), &error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_to_one_stops_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
