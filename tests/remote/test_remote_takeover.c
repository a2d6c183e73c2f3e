/* Run folders in buckets, whose chief dies or is halted: another process goes on writing there, and the files there in
 * the end are those of a local run of one process. */
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/remote_server.h"
#include "harness/run_files.h"
#include "harness/text_files.h"
#include "harness/wait_until.h"

#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { COUNT = 90, NUM_PROCESSES = 3 };
static const char *const NAMES[NUM_PROCESSES] = {"0", "1", "2"};

/* As on machines of their own: none has what another one has fetched or keeps to be sent. */
static void start_all(const char *config, const char *url, pid_t *processes)
{
    const char *const *sockets = liana__test_sockets(NUM_PROCESSES);
    char workers[600], tasks[NUM_PROCESSES][32], caches[NUM_PROCESSES][600];
    snprintf(workers, sizeof workers, "cluster.workers=[%s, %s, %s]", sockets[0], sockets[1], sockets[2]);
    for (int rank = 0; rank < NUM_PROCESSES; rank++) {
        snprintf(tasks[rank], sizeof tasks[rank], "cluster.task=worker:%d", rank);
        snprintf(caches[rank], sizeof caches[rank], "LIANA_CACHE=%s-%d", liana__test_path("cache"), rank);
        const char *const words[] = {"train",
                                     config,
                                     "--out",
                                     url,
                                     "train.epochs=6",
                                     "train.microbatch=4",
                                     "train.threads=1",
                                     "cluster.heartbeat=8",
                                     "cluster.lease=2",
                                     "checkpoint.every_steps=3",
                                     workers,
                                     tasks[rank],
                                     NULL};
        processes[rank] = liana__test_spawn_as(NAMES[rank], words, (const char *const[]){caches[rank], NULL});
    }
}

static void wait_for_checkpoint(const char *served)
{
    char name[400];
    snprintf(name, sizeof name, "served/%s/checkpoints", served);
    wait_until(liana__folder_exists(liana__test_path(name)));
}

static bool leads(const char *output)
{
    char *said = liana__test_read_text(output);
    const bool found = strstr(said, "goes on in its place") != NULL;
    free(said);
    return found;
}

/* Until another process says that it leads. */
static void wait_for_successor(void)
{
    wait_until(leads("out-1"));
}

static void assert_same_run(const char *served)
{
    char name[300];
    snprintf(name, sizeof name, "served/%s", served);
    liana__test_assert_same_run("local", name);
}

static void assert_ends(int rank, pid_t process, int expected)
{
    liana__test_result got = liana__test_wait_as(NAMES[rank], process);
    if (got.code != expected) print_error("rank %d ends with %d: %s\n", rank, got.code, got.err);
    assert_int_equal(got.code, expected);
    liana__test_free_result(&got);
}

static const char *make_local(void)
{
    static char config[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    if (!liana__folder_exists(liana__test_path("local"))) {
        assert_code(liana__test_process(NULL, "train", config, "--out", liana__test_path("local"), "train.epochs=6",
                                        "train.microbatch=4", "train.threads=1", "checkpoint.every_steps=3"),
                    0);
    }
    return config;
}

static void test_a_chief_dies(void **state)
{
    (void)state;
    static const char *const places[][2] = {{"gs://bucket/killed", "killed"},
                                            {"s3://bucket/deep/killed", "deep/killed"}};
    const char *config = make_local();
    for (size_t i = 0; i < 2; i++) {
        pid_t processes[NUM_PROCESSES];
        start_all(config, places[i][0], processes);
        wait_for_checkpoint(places[i][1]);
        kill(processes[0], SIGKILL);
        assert_int_equal(waitpid(processes[0], NULL, 0), processes[0]);
        assert_ends(1, processes[1], 0);
        assert_ends(2, processes[2], 0);
        assert_same_run(places[i][1]);
    }
}

/* It comes back while its successor writes, or when all is done: it writes nothing, and ends nobody. */
static void test_a_chief_is_halted(void **state)
{
    (void)state;
    static const struct {
        const char *url, *served;
        bool comes_early;
    } runs[] = {{"gs://bucket/halted", "halted", true}, {"s3://bucket/halted-long", "halted-long", false}};
    const char *config = make_local();
    for (size_t i = 0; i < 2; i++) {
        pid_t processes[NUM_PROCESSES];
        start_all(config, runs[i].url, processes);
        wait_for_checkpoint(runs[i].served);
        kill(processes[0], SIGSTOP);
        if (runs[i].comes_early) {
            wait_for_successor();
            kill(processes[0], SIGCONT);
        }
        assert_ends(1, processes[1], 0);
        assert_ends(2, processes[2], 0);
        kill(processes[0], SIGCONT);
        assert_ends(0, processes[0], 75);
        assert_same_run(runs[i].served);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chief_dies),
        cmocka_unit_test(test_a_chief_is_halted),
    };
    return cmocka_run_group_tests(tests, liana__test_server_set_up, liana__test_server_tear_down);
}
