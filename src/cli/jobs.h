/* jobs.h - runs liana commands as processes of their own, several at a time. */
#ifndef LIANA_CLI_JOBS_H
#define LIANA_CLI_JOBS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum liana__process_state {
    LIANA__PROCESS_WAITS,
    LIANA__PROCESS_RUNS,
    LIANA__PROCESS_ENDED
} liana__process_state;

typedef struct liana__process {
    const char *const *words; /* the command without "liana", NULL-terminated */
    const char *log;          /* its output is added to this file */
    /* Filled in. */
    liana__process_state state;
    pid_t process;
    int code; /* as a shell reports it */
} liana__process;

/* Called when a job has begun, and when it has ended. A failure ends all of it: running jobs are stopped. */
typedef liana_status (*liana__on_process)(void *user, size_t index, const liana__process *job, liana__error *error);

/* Runs all jobs in their order, `at_once` at a time. The jobs are copies of this process (fork), which must have no
 * other threads. They end when this process does. After a signal (liana__signals_catch) jobs are told to stop and
 * waited for. Errors: CANCELLED after a signal, IO_ERROR (no process), those of on_job. A job that fails is no
 * error. */
liana_status liana__jobs_run(liana__process *jobs, size_t count, size_t at_once, liana__on_process on_job, void *user,
                             liana__error *error) LIANA_MUST_USE;

#endif
