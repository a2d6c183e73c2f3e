/* Processes for the runs of a sweep. */
#include "cli/processes.h"

#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 16 };
static const struct timespec pause_between_looks = {.tv_nsec = 20 * 1000 * 1000};

typedef struct runner {
    liana__process *jobs;
    size_t count, at_once;
    liana__on_process on_job;
    void *user;
    liana__error *error;
    size_t num_running;
    bool stopping;
} runner;

/* ---- a job ---- */

/* The sweep's process must not wait for the job's own processes, nor get their signals. */
static void become_job(pid_t parent)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) signal(caught[i], SIG_DFL);
    liana__signals_forget();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(LIANA__EXIT_SIGNAL + SIGTERM);
}

static int run_job(const liana__process *job)
{
    const char *argv[MOST_WORDS] = {"liana"};
    int argc = 1;
    for (const char *const *word = job->words; *word && argc < MOST_WORDS - 1; word++) argv[argc++] = *word;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), log = open(job->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (nothing < 0 || log < 0) return 1;
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    FILE *out = fdopen(log, "a");
    if (!out) return 1;
    setvbuf(out, NULL, _IOLBF, BUFSIZ);
    int code = liana__command_line(argc, argv, out, out);
    return fclose(out) == 0 ? code : 1;
}

static liana_status start(runner *own, size_t index)
{
    liana__process *job = &own->jobs[index];
    pid_t parent = getpid();
    fflush(NULL);
    pid_t process = fork();
    if (process < 0) return liana__fail(own->error, LIANA_IO_ERROR, "no process can be started: %s", strerror(errno));
    if (process == 0) {
        become_job(parent);
        _exit(run_job(job));
    }
    job->process = process;
    job->state = LIANA__PROCESS_RUNS;
    own->num_running++;
    return own->on_job(own->user, index, job, own->error);
}

/* ---- all of them ---- */

static void stop_all(runner *own)
{
    if (own->stopping) return;
    own->stopping = true;
    for (size_t i = 0; i < own->count; i++) {
        if (own->jobs[i].state == LIANA__PROCESS_RUNS) kill(own->jobs[i].process, SIGTERM);
    }
}

static liana_status look(runner *own, size_t index)
{
    liana__process *job = &own->jobs[index];
    int status = 0;
    pid_t got = waitpid(job->process, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return LIANA_OK;
    job->code = got < 0 ? 1 : WIFSIGNALED(status) ? LIANA__EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    job->state = LIANA__PROCESS_ENDED;
    own->num_running--;
    return own->on_job(own->user, index, job, own->error);
}

static liana_status look_at_all(runner *own)
{
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < own->count; i++) {
        if (own->jobs[i].state != LIANA__PROCESS_RUNS) continue;
        liana_status looked = look(own, i);
        if (status == LIANA_OK) status = looked;
    }
    return status;
}

liana_status liana__jobs_run(liana__process *jobs, size_t count, size_t at_once, liana__on_process on_job, void *user,
                             liana__error *error)
{
    runner own = {jobs, count, at_once, on_job, user, error, 0, false};
    liana_status status = LIANA_OK;
    size_t next = 0;
    while (next < count || own.num_running) {
        if (liana__signals_caught() || status != LIANA_OK) {
            stop_all(&own);
            next = count;
        }
        while (status == LIANA_OK && next < count && own.num_running < at_once) status = start(&own, next++);
        liana_status looked = look_at_all(&own);
        if (status == LIANA_OK) status = looked;
        if (own.num_running) nanosleep(&pause_between_looks, NULL);
    }
    if (status != LIANA_OK || !liana__signals_caught()) return status;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request; the same command goes on, also in the middle of a run");
}
