/* cluster_job.h - a training of the liana command in several processes, started one by one, which a test may kill and
 * halt. */
#ifndef LIANA_TESTS_CLUSTER_JOB_H
#define LIANA_TESTS_CLUSTER_JOB_H

#include "harness/command_run.h"

#include <sys/types.h>

enum { LIANA__JOB_PROCESSES = 6 };
#define LIANA__JOB_EPOCHS "train.epochs=40"

/* Trains the test folder's config.yaml. Each process writes its output to files of its own. */
typedef struct liana__test_job {
    const char *name;
    size_t workers, servers;
    int number; /* of the try: each has a folder and sockets of its own */
    const char *heartbeat;
    const char *lease;    /* NULL: a short one */
    int port;             /* where rank 0 is, which is all that they are told; 0: they know all addresses */
    const char *strategy; /* an option of the command; NULL: none */
    const char *epochs;   /* train.epochs=N; NULL: LIANA__JOB_EPOCHS */
    const char *halts_at; /* LIANA_HALT_AT=PART, for one of them; NULL: nobody halts itself */
    size_t halted;
    bool resumes;
    pid_t processes[LIANA__JOB_PROCESSES];
    char said[LIANA__JOB_PROCESSES][64];
} liana__test_job;

size_t liana__job_size(const liana__test_job *job);
/* The run folder; static. */
const char *liana__job_folder(const liana__test_job *job);
/* Starts a process, whose files have `as` at the end of their names. */
void liana__job_start(liana__test_job *job, size_t rank, const char *as);
void liana__job_start_all(liana__test_job *job);
/* Waits for the first checkpoint. */
void liana__job_wait_for_checkpoint(const liana__test_job *job);
/* A process's output so far, to be freed. */
char *liana__job_said(const liana__test_job *job, size_t rank, const char *as);
/* Whether a worker has said so: the chief, or the one that became it. */
bool liana__job_have_said(const liana__test_job *job, const char *text);
/* Waits until a process has said so. */
void liana__job_wait_until_said(const liana__test_job *job, size_t rank, const char *text);
/* Waits for the end of a process. */
void liana__job_assert_ends(const liana__test_job *job, size_t rank, int expected);

void liana__job_pause(double seconds);

/* The test folder with `count` tiny examples and their config.yaml, keys in `keys`, and in `alone` the run of one
 * process with which jobs are compared. `epochs`: train.epochs=N. */
void liana__job_make_data(uint32_t count, const char *epochs);

#endif
