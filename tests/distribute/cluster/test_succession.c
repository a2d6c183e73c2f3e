/* A chief that is halted for longer than the heartbeat, and wakes up before its lease is old: the others take its place
 * without waiting for that, and the run has the bytes of one that nobody disturbed. */
#include "harness/cluster/cluster_job.h"
#include "harness/cluster/cluster_run.h"
#include "harness/text_files.h"

#include <signal.h>
#include <stdlib.h>

/* TRIES: how often the machine may have been too slow for the others to miss the chief. */
enum { COUNT = 90, TRIES = 6 };

typedef liana__test_job job;

static void assert_same_run(const job *own)
{
    static const char *const names[] = {"history.json", "validation_predictions.csv"};
    char left[700], right[700], name[64];
    snprintf(name, sizeof name, "%s%d", own->name, own->number);
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint(name));
    snprintf(right, sizeof right, "%s/variables.safetensors", liana__test_newest_checkpoint("alone"));
    assert_same_file(left, right);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(left, sizeof left, "%s/%s", liana__job_folder(own), names[i]);
        snprintf(right, sizeof right, "%s/%s", liana__test_path("alone"), names[i]);
        assert_same_file(left, right);
    }
}

/* False: nobody has missed the chief in that time, or the training was over before. */
static bool halt_chief(job *own, double seconds)
{
    liana__job_start_all(own);
    liana__job_wait_for_checkpoint(own);
    kill(own->processes[0], SIGSTOP);
    liana__job_pause(seconds);
    kill(own->processes[0], SIGCONT);
    liana__test_result result = liana__test_wait_as(own->said[0], own->processes[0]);
    const bool missed = result.code != 0;
    if (missed && result.code != 75) print_error("the chief ends with %d: %s\n", result.code, result.err);
    if (missed) {
        assert_int_equal(result.code, 75);
        assert_says(result.err, "took this one (rank 0) for dead");
    }
    liana__test_free_result(&result);
    for (size_t i = 1; i < liana__job_size(own); i++) liana__job_assert_ends(own, i, 0);
    assert_same_run(own);
    if (missed) assert_true(liana__job_have_said(own, "the chief is gone; rank 1 goes on in its place"));
    return missed;
}

/* The lease lasts longer than any test: only a chief that leaves its folder can be followed. */
static void assert_succeeds(const char *name, size_t workers, size_t servers)
{
    job own = {.name = name, .workers = workers, .servers = servers, .heartbeat = "2", .lease = "100000"};
    double seconds = 3;
    while (!halt_chief(&own, seconds)) {
        seconds *= 2;
        assert_compare(++own.number, <, TRIES);
    }
}

static void test_of_two_workers(void **state)
{
    (void)state;
    assert_succeeds("two", 2, 0);
}

static void test_of_three_workers(void **state)
{
    (void)state;
    assert_succeeds("three", 3, 0);
}

static void test_of_two_workers_and_a_server(void **state)
{
    (void)state;
    assert_succeeds("served", 2, 1);
}

static int make_data(void **state)
{
    (void)state;
    liana__job_make_data(COUNT, LIANA__JOB_EPOCHS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_two_workers),
        cmocka_unit_test(test_of_three_workers),
        cmocka_unit_test(test_of_two_workers_and_a_server),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
