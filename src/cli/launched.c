/* Runs the processes of `liana launch`. */
#include "cli/processes.h"

#include "base/clock.h"
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURN = 10 /* milliseconds */ };
/* Seconds from SIGTERM to SIGKILL, and from a death to another process in its place; that doubles with each try, since
 * a machine may need a while to start again. */
static const double patience = 10, return_after = 1, longest_return = 60;

/* ---- a process ---- */

/* `signals`: those that this process lets through; all are held back until now. */
static void become(const liana__launched *own, size_t rank, int errors, pid_t parent, const sigset_t *signals)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) signal(caught[i], SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, signals, NULL);
    if (getppid() != parent) _exit(LIANA__EXIT_SIGNAL + SIGTERM);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    if (rank > 0) {
        if (!own->speaks) dup2(nothing, STDOUT_FILENO);
        dup2(errors, STDERR_FILENO);
    }
    for (const char *const *variable = own->environment; *variable; variable++) {
        if (strchr(*variable, '=')) {
            putenv((char *)(uintptr_t)*variable);
        } else {
            unsetenv(*variable);
        }
    }
    char *const *words = (char *const *)(uintptr_t)own->words;
    if (own->file) execv(own->file, words);
    if (!own->file) execvp(own->words[0], words);
    fprintf(stderr, "liana: %s cannot be run: %s\n", own->words[0], strerror(errno));
    _exit(LIANA__EXIT_NOT_STARTED);
}

/* Starts a process in a group of its own, which signals are sent to. -1: it could not be started (errno). */
static pid_t start_process(const liana__launched *own, size_t rank, int errors)
{
    sigset_t all, before;
    const pid_t parent = getpid();
    fflush(NULL);
    /* A signal that reaches the child early must end it. This program's handler would only note it. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t process = fork();
    if (process == 0) {
        /* The child's end waits as files do. */
        if (rank > 0) fcntl(errors, F_SETFL, 0);
        become(own, rank, errors, parent, &before);
    }
    /* Both make the group, since either may come first. */
    if (process > 0) setpgid(process, process);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return process;
}

static liana_status start(liana__launched *own, size_t rank, liana__error *error)
{
    int ends[2] = {-1, -1};
    own->errors = -1;
    own->ended = true;
    if (rank > 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "rank %zu cannot be started: there is no pipe for its messages: %s",
                           rank, strerror(errno));
    }
    own->process = start_process(own, rank, ends[1]);
    const int reason = errno;
    if (ends[1] >= 0) close(ends[1]);
    own->errors = ends[0];
    own->ended = own->process < 0;
    if (!own->ended) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "rank %zu cannot be started: %s", rank, strerror(reason));
}

/* ---- output ---- */

static void print_line(liana__launched *own, size_t rank)
{
    size_t length = own->length;
    if (length && own->line[length - 1] == '\r') length--;
    fprintf(stderr, "[rank %zu] %.*s\n", rank, (int)length, own->line);
    own->length = 0;
}

static void end_output(liana__launched *own, size_t rank)
{
    if (own->errors < 0) return;
    if (own->length) print_line(own, rank);
    close(own->errors);
    own->errors = -1;
}

/* Reads the output so far, up to a limit: one process that writes without end must not keep the others waiting. */
static void take_output(liana__launched *own, size_t rank)
{
    enum { MOST_READS = 64 };
    char bytes[4096];
    for (int i = 0; own->errors >= 0 && i < MOST_READS; i++) {
        const ssize_t got = read(own->errors, bytes, sizeof bytes);
        if (got < 0) return;
        if (got == 0) end_output(own, rank);
        for (ssize_t k = 0; k < got; k++) {
            if (bytes[k] != '\n') own->line[own->length++] = bytes[k];
            if (bytes[k] == '\n' || own->length == sizeof own->line) print_line(own, rank);
        }
    }
}

/* ---- all ---- */

typedef struct group {
    liana__launched *items;
    size_t count, num_running;
    int failure, requeue, death; /* codes, the first of each */
    int passed_on;               /* the signal that was passed on */
    int stop;                    /* the code of a process that a signal has stopped, ours or its own */
    double stopped;              /* when the rest was told to stop */
    bool killed;
    double done; /* when a process that speaks ended well: the work is done */
    int64_t *restarts;
} group;

static void send_all(group *own, int number)
{
    for (size_t i = 0; i < own->count; i++) {
        /* The processes that it has started, too. */
        if (own->items[i].process > 0 && !own->items[i].ended) kill(-own->items[i].process, number);
    }
}

static void stop_all(group *own)
{
    if (own->stopped > 0) return;
    own->stopped = liana__clock_seconds();
    send_all(own, SIGTERM);
}

/* Whether the others go on turns out later: a training says it after the next step, else they say why they end. */
static void tell_death(const group *own, size_t rank, int status)
{
    char how[128];
    if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "is out of reach (ssh ended with code %d)", WEXITSTATUS(status));
    }
    fprintf(stderr, "liana: rank %zu %s; %zu of %zu processes are left\n", rank, how, own->num_running, own->count);
}

/* The processes that are left go on, or end a moment later: then all are started again. */
static void plan_return(const group *own, liana__launched *item)
{
    const bool may = item->again_words && own->restarts && *own->restarts > 0 && own->num_running > 0;
    if (!may || own->done > 0) return;
    item->again_at = liana__clock_seconds() + item->pause;
    item->pause = 2 * item->pause < longest_return ? 2 * item->pause : longest_return;
}

/* One that was started again is no loss for the processes that went on without it. */
static void note_failed_return(const group *own, const liana__launched *item, size_t rank)
{
    fprintf(stderr, "liana: rank %zu, which was started again, has ended with code %d; %zu of %zu processes are left\n",
            rank, item->code, own->num_running, own->count);
}

/* A process of liana that was asked to stop says with its code by which signal. Others are ended by it. */
static bool is_stop(const group *own, const liana__launched *item, int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - LIANA__EXIT_SIGNAL;
    const bool tells = WIFEXITED(status) && item->speaks;
    return (tells || own->passed_on) && (number == SIGINT || number == SIGTERM || number == SIGHUP);
}

static void note_end(group *own, size_t rank, int status)
{
    liana__launched *item = &own->items[rank];
    item->ended = true;
    own->num_running--;
    item->code = WIFSIGNALED(status) ? LIANA__EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    take_output(item, rank);
    /* A process that it has started may hold the other end for ever. */
    end_output(item, rank);
    if (item->code == 0 && item->speaks && own->done == 0) own->done = liana__clock_seconds();
    /* A failure that follows from stopping them is no cause. */
    if (item->code == 0 || own->stopped > 0) return;
    const bool out_of_reach = item->far && item->code >= LIANA__EXIT_SIGNAL;
    if (is_stop(own, item, status)) {
        /* They agree on it, so the others stop by themselves, and save first. */
        if (!own->stop) own->stop = item->code;
    } else if (WIFSIGNALED(status) || out_of_reach) {
        tell_death(own, rank, status);
        if (!own->death) own->death = item->code;
        item->died = true;
        plan_return(own, item);
    } else if (item->code == LIANA__EXIT_REQUEUE) {
        own->requeue = LIANA__EXIT_REQUEUE;
        plan_return(own, item);
    } else if (item->returned && own->num_running > 0) {
        note_failed_return(own, item, rank);
    } else {
        if (!own->failure) own->failure = item->code;
        if (own->passed_on) return;
        fprintf(stderr, "liana: rank %zu has failed with code %d; the others are stopped\n", rank, item->code);
        stop_all(own);
    }
}

/* A process that was halted while the others did its work waits for nothing. */
static void stop_the_rest(group *own)
{
    if (own->done == 0 || own->stopped > 0 || liana__clock_seconds() - own->done < patience) return;
    fprintf(stderr, "liana: the work is done, but %zu processes do not end; they are stopped\n", own->num_running);
    stop_all(own);
}

static void look_at_all(group *own)
{
    for (size_t i = 0; i < own->count; i++) {
        int status = 0;
        if (own->items[i].ended) continue;
        take_output(&own->items[i], i);
        if (waitpid(own->items[i].process, &status, WNOHANG) > 0) note_end(own, i, status);
    }
}

static liana_status start_again(group *own, size_t rank, liana__error *error)
{
    liana__launched *item = &own->items[rank];
    item->ended = item->died = false;
    item->again_at = 0;
    item->returned = true;
    item->environment = item->again;
    item->words = item->again_words;
    --*own->restarts;
    fprintf(stderr, "liana: rank %zu is started again (%lld more times)\n", rank, (long long)*own->restarts);
    const liana_status status = start(item, rank, error);
    if (status == LIANA_OK) own->num_running++;
    return status;
}

static liana_status start_those_due(group *own, liana__error *error)
{
    for (size_t i = 0; own->stopped == 0 && !own->passed_on && !own->stop && own->done == 0 && i < own->count; i++) {
        const double due = own->items[i].again_at;
        if (due == 0 || *own->restarts == 0 || liana__clock_seconds() < due) continue;
        LIANA_TRY(start_again(own, i, error));
    }
    return LIANA_OK;
}

static void wait_for_output(const group *own)
{
    struct pollfd *files = calloc(own->count, sizeof *files);
    nfds_t count = 0;
    for (size_t i = 0; files && i < own->count; i++) {
        if (own->items[i].errors >= 0) files[count++] = (struct pollfd){.fd = own->items[i].errors, .events = POLLIN};
    }
    poll(files, files ? count : 0, TURN);
    free(files);
}

static int code_of(const group *own)
{
    if (own->failure) return own->failure;
    if (own->done > 0) return 0;
    /* It does not matter which process heard of it first. */
    if (own->stop) return own->passed_on ? LIANA__EXIT_SIGNAL + own->passed_on : own->stop;
    if (own->requeue) return own->requeue;
    /* The others went on without those that died. */
    return own->items[0].died ? own->death : own->items[0].code;
}

liana_status liana__launched_run(liana__launched *processes, size_t count, int64_t *restarts, liana__launched_end *end,
                                 liana__error *error)
{
    group own = {.items = processes, .count = count, .restarts = restarts};
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < count; i++) {
        processes[i].ended = true;
        processes[i].errors = -1;
    }
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        processes[i].pause = return_after;
        status = start(&processes[i], i, error);
        if (status == LIANA_OK) own.num_running++;
    }
    if (status != LIANA_OK) stop_all(&own);
    while (own.num_running > 0) {
        int caught = liana__signals_caught();
        if (caught && !own.passed_on) {
            own.passed_on = caught;
            send_all(&own, caught);
        }
        if (own.stopped > 0 && !own.killed && liana__clock_seconds() - own.stopped > patience) {
            own.killed = true;
            send_all(&own, SIGKILL);
        }
        stop_the_rest(&own);
        wait_for_output(&own);
        look_at_all(&own);
        if (own.num_running > 0 && status == LIANA_OK) {
            status = start_those_due(&own, error);
            if (status != LIANA_OK) stop_all(&own);
        }
    }
    end->code = code_of(&own);
    if (own.death && end->code == LIANA__EXIT_REQUEUE) {
        fprintf(stderr,
                "liana: the processes that were left could not go on without the dead; --resume goes on from the "
                "newest checkpoint\n");
    }
    end->stopped = end->code != 0 && !own.failure && own.stop;
    end->resumable = end->code != 0 && !own.failure && !own.passed_on && !own.stop && (own.death || own.requeue);
    return status;
}
