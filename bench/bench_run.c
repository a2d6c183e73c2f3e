/* Runs one command, measures its time and its largest memory, and keeps its report. For bench.sh.
 *
 *   bench_run [--limit SECONDS] RECORDS WORKLOAD PROGRAM VARIANT ROUND RESULT COMMAND...
 *
 * Appends one line of JSON to the file RECORDS: workload, program, variant, round; seconds from the process's start to
 * its end; peak_memory, the largest resident set in bytes (of the process, or of the largest process it waited for);
 * result, the command's report: the JSON in the file RESULT, or in its last line of output where RESULT is '-';
 * version, that of the report if it has one; error, the last line of its messages instead if it failed. A command that
 * takes longer than the limit is ended with all that it started, and has failed. Status 1 if the command failed, 2 if
 * nothing could be recorded. The command's output lies next to RECORDS, in run.out and run.err. */
#include "base/context.h"
#include "base/file.h"
#include "formats/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 1, WORKLOAD, PROGRAM, VARIANT, ROUND, RESULT, COMMAND };
enum { MOST_OUTPUT = 64 << 20 };

typedef struct bench_run {
    liana__arena arena;
    char *output, *errors; /* paths */
    double seconds;
    long long peak_memory; /* bytes */
    unsigned limit;        /* seconds; 0: any */
    bool failed, late;
} bench_run;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Gives the descriptor `target` to a file. */
static bool redirect(const char *path, int target)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return file >= 0 && dup2(file, target) >= 0 && close(file) == 0;
}

/* The command's group of processes, and the signal that ended it, for a handler. */
static volatile sig_atomic_t running;
static volatile sig_atomic_t ended_by;

/* The command is in a group of its own, so that it ends with all that it started; a terminal's Ctrl-C then reaches only
 * us. */
static void end_command(int number)
{
    ended_by = number;
    kill(-(pid_t)running, SIGKILL);
}

static liana_status execute(bench_run *run, char **command, liana__error *error)
{
    double begin = now();
    pid_t child = fork();
    if (child < 0) return liana__fail(error, LIANA_IO_ERROR, "fork: %s", strerror(errno));
    if (child == 0) {
        setpgid(0, 0);
        if (redirect(run->output, STDOUT_FILENO) && redirect(run->errors, STDERR_FILENO)) {
            execvp(command[0], command);
            dprintf(STDERR_FILENO, "%s: %s\n", command[0], strerror(errno));
        }
        _exit(127);
    }
    setpgid(child, child); /* Whichever of the two is first. */
    running = child;
    static const int signals[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], end_command);
    alarm(run->limit);
    int outcome;
    struct rusage usage;
    while (wait4(child, &outcome, 0, &usage) < 0) {
        if (errno != EINTR) return liana__fail(error, LIANA_IO_ERROR, "wait4: %s", strerror(errno));
    }
    alarm(0);
    if (ended_by && ended_by != SIGALRM) return liana__fail(error, LIANA_IO_ERROR, "interrupted");
    run->late = ended_by == SIGALRM;
    run->seconds = now() - begin;
    run->peak_memory = (long long)usage.ru_maxrss * 1024;
    run->failed = !WIFEXITED(outcome) || WEXITSTATUS(outcome) != 0;
    return LIANA_OK;
}

/* The last line of a file that is not empty; "" if there is none. In the arena. */
static liana_status last_line(bench_run *run, const char *path, char **line, liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, MOST_OUTPUT, &text, &size, error));
    while (size > 0 && strchr("\n\r \t", text[size - 1])) text[--size] = 0;
    char *begin = strrchr(text, '\n');
    *line = liana__arena_string(&run->arena, begin ? begin + 1 : text);
    free(text);
    return *line ? LIANA_OK : liana__fail_memory(error, path);
}

static liana_status read_result(bench_run *run, const char *path, liana__value **result, liana__error *error)
{
    if (strcmp(path, "-") != 0) return liana__json_read(path, &run->arena, result, error);
    char *line;
    LIANA_TRY(last_line(run, run->output, &line, error));
    return liana__json_parse(line, strlen(line), run->output, &run->arena, result, error);
}

/* The record as a map. A report that cannot be read is a failure of the command. */
static liana_status describe(bench_run *run, char **arguments, liana__value *record, liana__error *error)
{
    liana__arena *arena = &run->arena;
    liana__value *result = NULL;
    char *said = NULL;
    if (run->late) {
        said = liana__arena_format(arena, "took longer than %u s", run->limit);
        if (!said) return liana__fail_memory(error, "the record");
    } else if (run->failed) {
        LIANA_TRY(last_line(run, run->errors, &said, error));
    } else if (read_result(run, arguments[RESULT], &result, error) != LIANA_OK) {
        run->failed = true;
        said = error->message;
    }
    liana__value_set(arena, record, "workload", liana__value_string(arena, arguments[WORKLOAD]));
    liana__value_set(arena, record, "program", liana__value_string(arena, arguments[PROGRAM]));
    const liana__value *version =
        result && result->kind == LIANA__VALUE_MAP ? liana__value_get(result, "version") : NULL;
    if (version && version->kind == LIANA__VALUE_STRING) {
        liana__value_set(arena, record, "version", liana__value_string(arena, version->string));
    }
    liana__value_set(arena, record, "variant", liana__value_string(arena, arguments[VARIANT]));
    liana__value_set(arena, record, "round", liana__value_int(arena, atoll(arguments[ROUND])));
    liana__value_set(arena, record, "seconds", liana__value_float(arena, run->seconds));
    liana__value_set(arena, record, "peak_memory", liana__value_int(arena, run->peak_memory));
    if (run->failed) {
        liana__value_set(arena, record, "error", liana__value_string(arena, *said ? said : "it failed silently"));
        fprintf(stderr, "%s %s, %s: failed: %s\n", arguments[PROGRAM], arguments[VARIANT], arguments[WORKLOAD], said);
    } else {
        liana__value_set(arena, record, "result", result);
    }
    return arena->failed ? liana__fail_memory(error, "the record") : LIANA_OK;
}

static liana_status append(const char *path, const liana__value *record, liana__error *error)
{
    liana__text text = {0};
    liana__value_write_json(record, 0, &text);
    liana_status status = text.failed ? liana__fail_memory(error, "the record") : LIANA_OK;
    FILE *file = status == LIANA_OK ? fopen(path, "a") : NULL;
    if (status == LIANA_OK && (!file || fprintf(file, "%s\n", text.data) < 0)) {
        status = liana__fail(error, LIANA_IO_ERROR, "'%s': %s", path, strerror(errno));
    }
    if (file && fclose(file) != 0 && status == LIANA_OK) {
        status = liana__fail(error, LIANA_IO_ERROR, "'%s': %s", path, strerror(errno));
    }
    liana__text_free(&text);
    return status;
}

int main(int argc, char **argv)
{
    bench_run run = {0};
    if (argc > 2 && strcmp(argv[1], "--limit") == 0) {
        run.limit = (unsigned)strtoul(argv[2], NULL, 10);
        argc -= 2, argv += 2;
    }
    if (argc <= COMMAND) {
        fprintf(stderr,
                "usage: bench_run [--limit SECONDS] RECORDS WORKLOAD PROGRAM VARIANT ROUND RESULT COMMAND...\n");
        return 2;
    }
    liana__error error = {0};
    const char *slash = strrchr(argv[RECORDS], '/');
    int folder = slash ? (int)(slash + 1 - argv[RECORDS]) : 0;
    run.output = liana__arena_format(&run.arena, "%.*srun.out", folder, argv[RECORDS]);
    run.errors = liana__arena_format(&run.arena, "%.*srun.err", folder, argv[RECORDS]);
    liana__value *record = liana__value_map(&run.arena);
    liana_status status = run.arena.failed ? liana__fail_memory(&error, "the record") : LIANA_OK;
    if (status == LIANA_OK) status = execute(&run, argv + COMMAND, &error);
    if (status == LIANA_OK) status = describe(&run, argv, record, &error);
    if (status == LIANA_OK) status = append(argv[RECORDS], record, &error);
    if (status != LIANA_OK) fprintf(stderr, "bench_run: %s\n", error.message);
    liana__arena_free(&run.arena);
    return status != LIANA_OK ? 2 : run.failed ? 1 : 0;
}
