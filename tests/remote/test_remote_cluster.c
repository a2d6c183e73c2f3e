/* Run folders in buckets, where several processes train: the chief alone reaches the bucket. */
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/remote_server.h"
#include "harness/run_files.h"

#include <stdlib.h>
#include <sys/wait.h>

enum { COUNT = 90, NUM_PROCESSES = 3, MAX_WORDS = 16 };

/* The others' values instead of credentials. */
static const char *const NONE[] = {"AWS_ACCESS_KEY_ID=nobody", "AWS_SECRET_ACCESS_KEY=nothing",
                                   "GOOGLE_OAUTH_ACCESS_TOKEN=none", NULL};

static const char *const NAMES[NUM_PROCESSES] = {"0", "1", "2"};

/* One command in several processes; the chief's output. */
static liana__test_result run_in_processes(const char *const *words)
{
    const char *const *sockets = liana__test_sockets(NUM_PROCESSES);
    char workers[600], tasks[NUM_PROCESSES][32];
    pid_t processes[NUM_PROCESSES];
    snprintf(workers, sizeof workers, "cluster.workers=[%s, %s, %s]", sockets[0], sockets[1], sockets[2]);
    for (int rank = 0; rank < NUM_PROCESSES; rank++) {
        const char *all[MAX_WORDS] = {0};
        size_t count = 0;
        for (; words[count]; count++) all[count] = words[count];
        snprintf(tasks[rank], sizeof tasks[rank], "cluster.task=worker:%d", rank);
        all[count++] = workers;
        all[count++] = tasks[rank];
        processes[rank] = liana__test_spawn_as(NAMES[rank], all, rank ? NONE : NULL);
    }
    liana__test_result got = liana__test_wait_as(NAMES[0], processes[0]);
    for (int rank = 1; rank < NUM_PROCESSES; rank++) {
        int status;
        assert_compare(waitpid(processes[rank], &status, 0), ==, processes[rank], rank);
        assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, got.code);
    }
    return got;
}

static void assert_same_run(const char *served)
{
    char name[300];
    snprintf(name, sizeof name, "served/%s", served);
    liana__test_assert_same_run("local", name);
}

static void test_runs_of_several_processes_in_buckets(void **state)
{
    (void)state;
    static const struct {
        const char *url, *served;
    } runs[] = {{"gs://bucket/cluster", "cluster"}, {"s3://bucket/deep/cluster", "deep/cluster"}};
    char config[300], local[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    snprintf(local, sizeof local, "%s", liana__test_path("local"));
    assert_code(liana__test_process(NULL, "train", config, "--out", local, "train.epochs=2", "train.microbatch=4"), 0);
    for (size_t i = 0; i < 2; i++) {
        const char *url = runs[i].url;
        assert_code(run_in_processes((const char *const[]){"train", config, "--out", url, "train.epochs=1",
                                                           "train.microbatch=4", NULL}),
                    0);
        /* Another beginning would be another run. */
        assert_refused(run_in_processes(
                           (const char *const[]){"train", config, "--out", url, "train.microbatch=4", NULL}),
                       2, "already holds a run");
        /* Goes on, and keeps the run's choices: here the size of shards is only in its configuration. */
        liana__test_result got = run_in_processes((const char *const[]){"train", config, "--out", url, "--resume",
                                                                        "train.epochs=2", "train.microbatch=4", NULL});
        assert_says(got.out, "resumed from '");
        assert_code(got, 0);
        assert_same_run(runs[i].served);
        /* Measured from the bucket, by all. */
        liana__test_result shared = run_in_processes((const char *const[]){"evaluate", url, "--json", NULL});
        liana__test_result alone = liana__test_process(NULL, "evaluate", url, "--json");
        assert_string_equal(shared.out, alone.out);
        assert_code(shared, 0);
        assert_code(alone, 0);
    }
}

static void test_a_chief_without_credentials(void **state)
{
    (void)state;
    char config[300];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    liana__test_result got =
        run_in_processes((const char *const[]){"train", config, "--out", "gs://readonly/run", "train.epochs=1", NULL});
    assert_says(got.err, "gs://readonly/run");
    assert_int_not_equal(got.code, 0);
    liana__test_free_result(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_several_processes_in_buckets),
        cmocka_unit_test(test_a_chief_without_credentials),
    };
    return cmocka_run_group_tests(tests, liana__test_server_set_up, liana__test_server_tear_down);
}
