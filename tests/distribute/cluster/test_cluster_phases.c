/* Signals and deaths in every part of a training of several processes, from the opening of the data to the end: a stop
 * of one process stops all in the same place, a death ends no process that can go on, and the bytes are those of an
 * undisturbed training. Processes halt themselves in the part that a test is about. */
#include "harness/cluster/cluster_job.h"
#include "harness/cluster/cluster_run.h"
#include "harness/text_files.h"

#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { COUNT = 90 };
#define EPOCHS "train.epochs=3"

typedef liana__test_job job;

/* The effect of the signal: all stop, or the work is done by then. */
typedef struct part {
    const char *name;
    bool stops;    /* a signal in it stops all */
    bool survives; /* the others go on without one that dies in it */
} part;

static const part parts[] = {
    {"open", true, false},    {"compile", true, false}, {"adapt", true, false},  {"train", true, true},
    {"validate", true, true}, {"save", true, true},     {"results", true, true}, {"predict", true, true},
    {"finish", false, true},  {"close", false, true},
};
enum { NUM_PARTS = sizeof parts / sizeof *parts };

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

/* Starts all, and waits until one of them has halted itself. */
static void begin(job *own, const char *name, const part *of, size_t rank, char room[64])
{
    int status = 0;
    snprintf(room, 64, "LIANA_HALT_AT=%s", of->name);
    *own = (job){
        .name = name, .number = own->number + 1, .workers = 3, .heartbeat = "60", .halts_at = room, .epochs = EPOCHS};
    own->halted = rank;
    liana__job_start_all(own);
    assert_int_equal(waitpid(own->processes[rank], &status, WUNTRACED), own->processes[rank]);
    if (!WIFSTOPPED(status)) print_error("rank %zu does not come to '%s'\n", rank, of->name);
    assert_true(WIFSTOPPED(status));
}

static void go_on_and_compare(job *own)
{
    own->halts_at = NULL;
    own->resumes = true;
    liana__job_start_all(own);
    for (size_t i = 0; i < liana__job_size(own); i++) liana__job_assert_ends(own, i, 0);
    assert_same_run(own);
}

static void assert_said(const liana__test_result *result, size_t rank, const part *of, int expected)
{
    if (result->code != expected) {
        print_error("rank %zu ends with %d of a signal in '%s': %s\n", rank, result->code, of->name, result->err);
    }
    assert_int_equal(result->code, expected);
    if (expected != 0) assert_says(result->err, "stopped");
}

static void stop_in(job *own, const part *of, size_t rank)
{
    char room[64];
    begin(own, "stopped", of, rank, room);
    kill(own->processes[rank], SIGTERM);
    kill(own->processes[rank], SIGCONT);
    for (size_t i = 0; i < liana__job_size(own); i++) {
        liana__test_result result = liana__test_wait_as(own->said[i], own->processes[i]);
        assert_said(&result, i, of, of->stops ? 75 : 0);
        liana__test_free_result(&result);
    }
    if (of->stops) go_on_and_compare(own);
    assert_same_run(own);
}

static void test_a_signal_in_any_part(void **state)
{
    (void)state;
    job own = {0};
    for (size_t i = 0; i < NUM_PARTS; i++) {
        for (size_t rank = 0; rank < 2; rank++) stop_in(&own, &parts[i], rank);
    }
}

/* Those that are left go on, or end with 75: then all are started again. */
static void die_in(job *own, const part *of, size_t rank)
{
    char room[64];
    bool ended = false;
    begin(own, "killed", of, rank, room);
    kill(own->processes[rank], SIGKILL);
    assert_int_equal(waitpid(own->processes[rank], NULL, 0), own->processes[rank]);
    for (size_t i = 0; i < liana__job_size(own); i++) {
        if (i == rank) continue;
        liana__test_result result = liana__test_wait_as(own->said[i], own->processes[i]);
        const bool expected = result.code == 0 || (result.code == 75 && !of->survives);
        if (!expected)
            print_error("rank %zu ends with %d of a death in '%s': %s\n", i, result.code, of->name, result.err);
        assert_true(expected);
        ended = ended || result.code != 0;
        liana__test_free_result(&result);
    }
    if (ended) go_on_and_compare(own);
    assert_same_run(own);
}

static void test_a_death_in_any_part(void **state)
{
    (void)state;
    job own = {0};
    for (size_t i = 0; i < NUM_PARTS; i++) {
        for (size_t rank = 0; rank < 2; rank++) die_in(&own, &parts[i], rank);
    }
}

static int make_data(void **state)
{
    (void)state;
    liana__job_make_data(COUNT, EPOCHS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signal_in_any_part),
        cmocka_unit_test(test_a_death_in_any_part),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
