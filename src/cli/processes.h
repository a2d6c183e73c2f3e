/* processes.h - processes that a subcommand starts: the runs of a sweep, and the ranks of a cluster. */
#ifndef LIANA_CLI_PROCESSES_H
#define LIANA_CLI_PROCESSES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- jobs ---- */

/* Runs liana commands as processes of their own, several at a time. */

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

/* ---- launched ---- */

/* Processes that run together as one: their output, signals and exit codes. */

typedef struct liana__launched {
    const char *const *words;       /* the command, NULL-terminated; the first one is looked for in PATH */
    const char *file;               /* the file of the program; NULL: the first word names it */
    const char *const *environment; /* NAME=value to set, or NAME to unset; NULL-terminated */
    bool far;    /* the command is ssh: codes from 128 on say that the process died, or its machine */
    bool speaks; /* its standard output is ours, though it is not the first one */
    /* The environment and command of a process that comes in its place when it dies; NULL: none can. */
    const char *const *again, *const *again_words;
    /* Filled in. */
    pid_t process;
    bool ended, died; /* by a signal that was not ours, or out of reach */
    bool returned;    /* it came in the place of the first one */
    double again_at;  /* when it is to be started again; 0: it is not */
    double pause;     /* seconds until then, after its next death */
    int code;         /* as a shell reports it */
    int errors;       /* its standard error; the chief's is ours: -1 */
    char line[1024];  /* the part of a line that has come */
    size_t length;
} liana__launched;

/* How they ended. */
typedef struct liana__launched_end {
    /* That of the process that failed first; 75 (run again) if none failed and one said so; if some died, 0 if a
     * process that speaks ended well, else the chief's. */
    int code;
    bool stopped;   /* a signal has stopped them, ours or one that reached one of them alone; the code says which */
    bool resumable; /* some died or said 75, and none failed or was stopped */
} liana__launched_end;

/* Starts the processes, the chief first, and waits for all. The chief's output is this process's; of the others only
 * standard error is shown, each line with "[rank N] ". A signal (liana__signals_catch) goes to all. If one fails, the
 * others are told to stop; processes that lose one by a signal are left alone: they go on, or end. Up to *restarts
 * times (NULL: 0) one that died, or said 75 while others go on, is started again in its place; they are counted down.
 *
 * Errors: IO_ERROR if a process cannot be started: those that were are stopped. */
liana_status liana__launched_run(liana__launched *processes, size_t count, int64_t *restarts, liana__launched_end *end,
                                 liana__error *error) LIANA_MUST_USE;

#endif
