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
enum { COUNT = 90, PROCESSES = 3, TRIES = 10 };
static char config[256], addresses[1024];
static size_t num_workers; /* the other processes are parameter servers */

static pid_t start(size_t rank, const char *run)
{
    char task[32];
    const bool serves = rank >= num_workers;
    snprintf(task, sizeof task, rank ? "cluster.task=%s:%zu" : "cluster.task=chief", serves ? "server" : "worker",
             serves ? rank - num_workers : rank);
    const char *const words[] = {"train",
                                 config,
                                 "--out",
                                 run,
                                 "--requeue",
                                 "--resume",
                                 "train.epochs=40",
                                 addresses,
                                 task,
                                 "checkpoint.every_steps=1",
                                 NULL};
    return liana__test_spawn(words, NULL);
}

static void start_all(pid_t *processes, const char *run)
{
    for (size_t i = 0; i < PROCESSES; i++) processes[i] = start(i, run);
}

static void wait_for_all(const pid_t *processes, int *codes)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_compare(waitpid(processes[i], &status, 0), ==, processes[i], i);
        codes[i] = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

/* One of them gets the signal once the training has saved something. False: it ended before. */
static bool stop_one(size_t which, int *codes)
{
    pid_t processes[PROCESSES];
    char checkpoints[300];
    snprintf(checkpoints, sizeof checkpoints, "%s", liana__test_path("run/checkpoints"));
    start_all(processes, liana__test_path("run"));
    wait_until(liana__folder_exists(checkpoints));
    kill(processes[which], SIGTERM);
    wait_for_all(processes, codes);
    return codes[which] != 0;
}

static void assert_codes(const int *codes, int expected)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        if (codes[i] != expected) print_error("process %zu ends with %d\n", i, codes[i]);
        assert_int_equal(codes[i], expected);
    }
}

/* `workers` workers, and parameter servers for the other processes. */
static void use_workers(size_t workers)
{
    char socket[300];
    size_t length = (size_t)snprintf(addresses, sizeof addresses, "cluster={workers: [");
    num_workers = workers;
    for (size_t i = 0; i < PROCESSES; i++) {
        const char *before = i == workers ? "], servers: [" : i ? ", " : "";
        snprintf(socket, sizeof socket, "%s", liana__test_path("socket"));
        length += (size_t)snprintf(addresses + length, sizeof addresses - length, "%sipc://%s%zu", before, socket, i);
    }
    snprintf(addresses + length, sizeof addresses - length, "]}");
}

static void assert_stopped_by(size_t which)
{
    liana__error error = {0};
    int codes[PROCESSES];
    pid_t processes[PROCESSES];
    for (int tries = 1; !stop_one(which, codes); tries++) {
        assert_compare(tries, <, TRIES);
        assert_ok(liana__folder_remove(liana__test_path("run"), &error), &error);
    }
    assert_codes(codes, 75);
    start_all(processes, liana__test_path("run"));
    wait_for_all(processes, codes);
    assert_codes(codes, 0);
    assert_same_file(liana__test_path("run/history.json"), liana__test_path("alone/history.json"));
    assert_same_file(liana__test_path("run/validation_predictions.csv"),
                     liana__test_path("alone/validation_predictions.csv"));
    assert_ok(liana__folder_remove(liana__test_path("run"), &error), &error);
}

static void test_a_signal_to_a_worker_stops_all(void **state)
{
    (void)state;
    use_workers(PROCESSES);
    for (size_t which = 0; which < PROCESSES; which++) assert_stopped_by(which);
}

static void test_a_signal_to_a_server_stops_all(void **state)
{
    (void)state;
    use_workers(PROCESSES - 1);
    assert_stopped_by(PROCESSES - 1);
}

static int train_alone(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("alone"), "train.epochs=40"), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_to_a_worker_stops_all),
        cmocka_unit_test(test_a_signal_to_a_server_stops_all),
    };
    return cmocka_run_group_tests(tests, train_alone, NULL);
}
