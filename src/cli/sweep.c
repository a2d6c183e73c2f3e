/* liana sweep: trains all runs of a sweep. */
#include "base/scoped.h"
#include "cli/processes.h"
#include "cli/session.h"

#include "base/context_plugins.h"
#include "base/file.h"
#include "report/page/run_page.h"
#include "report/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder of the sweep (default: 'output' of the file)")},
    {"jobs", "N", "the number of runs at a time (default: 'jobs' of the file)"},
    {"report", "FILE",
     "write a page when all is trained: tables and pictures (.md), or all runs for a browser (.html)"},
    {"live", NULL, "start each run with --live, so that 'liana watch' of the sweep's folder shows and steers them"},
    {"dry-run", NULL, "check all, list the runs, train nothing"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

typedef struct sweeper {
    liana__invocation *invocation;
    liana__sweep sweep;
    liana__process *jobs;
    const liana__sweep_run **runs; /* of the jobs */
    double *begins;                /* of the jobs, in seconds since 1970 */
    size_t num_jobs, at_once;
    size_t num_ended, num_failed;
    char first_failure[600];
} sweeper;

/* ---- before the first run ---- */

static bool has_validation(const liana__config *config)
{
    return liana__config_has_source(&config->data.validation) || config->data.validation_split > 0;
}

/* A metric is the name of a value, with val_ for that of the validation. */
static liana_status check_metric(const sweeper *own, const liana__run *run, const liana__objective *objective,
                                 const char *metric)
{
    char names[2 * LIANA__MAX_VALUES][80];
    size_t count = 0;
    liana__nearest_search nearest = liana__nearest_begin(metric);
    for (size_t i = 0; i < objective->num_values; i++) {
        snprintf(names[count++], sizeof *names, "%.60s", objective->value_names[i]);
        if (has_validation(run->config))
            snprintf(names[count++], sizeof *names, "val_%.60s", objective->value_names[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], metric) == 0) return LIANA_OK;
        liana__nearest_add(&nearest, names[i]);
    }
    return liana__fail(&own->invocation->error, LIANA_INVALID_CONFIG,
                       "%s: metrics: the runs do not measure '%.100s'; train.metrics of '%s' says what is measured%s",
                       own->sweep.file, metric, own->sweep.base, liana__hint(nearest.nearest).text);
}

/* Opens the data and builds the model of a run, so that missing parts are found now. */
static liana_status check_run(const sweeper *own, const liana__sweep_run *planned)
{
    liana__error *error = &own->invocation->error;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__config config;
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    const liana_context_options wanted = {.allow_plugins = own->sweep.allow_plugins};
    liana_status status = liana__context_make(&wanted, &context);
    if (status != LIANA_OK) {
        liana__fail_memory(error, own->sweep.file);
        return status;
    }
    LIANA_TRY(liana__sweep_config(&own->sweep, planned, context, &arena, &config, error));
    status = liana__context_start(context, 1);
    if (status != LIANA_OK) return liana__fail(error, status, "%s", liana_context_message(context));
    LIANA_TRY(liana__run_open_model(context, &config, &(liana__run_options){.training = true}, &run, error));
    const liana__objective *objective;
    LIANA_TRY(liana__run_list_values(&run, &objective, error));
    for (size_t i = 0; i < own->sweep.metrics.count; i++) {
        LIANA_TRY(check_metric(own, &run, objective, own->sweep.metrics.items[i]));
    }
    return LIANA_OK;
}

/* One run of each setting that has something to train. */
static liana_status check_settings(const sweeper *own)
{
    size_t checked = own->sweep.num_settings;
    for (size_t i = 0; i < own->num_jobs; i++) {
        if (own->runs[i]->setting == checked) continue;
        checked = own->runs[i]->setting;
        liana_status status = check_run(own, own->runs[i]);
        if (status == LIANA_OK) continue;
        char message[sizeof own->invocation->error.message];
        snprintf(message, sizeof message, "%s", own->invocation->error.message);
        return liana__fail(&own->invocation->error, status, "setting '%s': %.900s", own->sweep.settings[checked].name,
                           message);
    }
    return LIANA_OK;
}

/* ---- jobs ---- */

static liana_status make_job(sweeper *own, const liana__sweep_run *run, int64_t threads)
{
    liana__arena *arena = &own->invocation->arena;
    const bool is_live = liana__invocation_has(own->invocation, "live");
    const char *words[] = {"train",
                           run->config,
                           "--out",
                           run->folder,
                           "--resume",
                           liana__arena_format(arena, "train.threads=%lld", (long long)threads),
                           own->sweep.allow_plugins ? "--allow-plugins"
                           : is_live                ? "--live"
                                                    : NULL,
                           own->sweep.allow_plugins && is_live ? "--live" : NULL,
                           NULL};
    const char *const *kept = liana__arena_copy(arena, words, sizeof words);
    if (!kept || arena->failed) return liana__fail_memory(&own->invocation->error, own->sweep.file);
    own->jobs[own->num_jobs] = (liana__process){.words = kept, .log = run->log};
    own->runs[own->num_jobs++] = run;
    return LIANA_OK;
}

/* Those runs that are not finished, with a part of the threads for each. */
static liana_status make_jobs(sweeper *own)
{
    liana__arena *arena = &own->invocation->arena;
    const liana__sweep *sweep = &own->sweep;
    int threads = (int)sweep->threads;
    int64_t at_once = sweep->jobs;
    LIANA_TRY(liana__invocation_int(own->invocation, "jobs", 1, 1024, &at_once));
    if (!threads) LIANA_TRY(liana__session_count_threads(&threads, &own->invocation->error));
    if (at_once > threads) at_once = threads;
    own->at_once = (size_t)at_once;
    own->jobs = liana__arena_allocate(arena, sweep->num_runs * sizeof *own->jobs + 1);
    own->runs = liana__arena_allocate(arena, sweep->num_runs * sizeof *own->runs + 1);
    own->begins = liana__arena_allocate(arena, sweep->num_runs * sizeof *own->begins + 1);
    if (!own->jobs || !own->runs || !own->begins) return liana__fail_memory(&own->invocation->error, sweep->file);
    for (size_t i = 0; i < sweep->num_runs; i++) {
        if (liana__file_exists(sweep->runs[i].done)) continue;
        LIANA_TRY(make_job(own, &sweep->runs[i], threads / at_once));
    }
    return LIANA_OK;
}

/* The last message of the command in a log: "liana: ...". In `message`. */
static void read_failure(const char *log, char *message, size_t size)
{
    char *text;
    size_t length;
    snprintf(message, size, "see the log");
    if (liana__file_read(log, (size_t)1 << 30, &text, &length, NULL) != LIANA_OK) return;
    const char *last = NULL;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (liana__starts_with(line, "liana: ")) last = line + strlen("liana: ");
    }
    if (last) snprintf(message, size, "%.*s", (int)strcspn(last, "\n"), last);
    free(text);
}

static void say(const sweeper *own, const liana__sweep_run *run, const char *state, const char *more)
{
    liana__invocation *invocation = own->invocation;
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "run");
        liana__value_set(&invocation->arena, event, "run", liana__value_string(&invocation->arena, run->name));
        liana__value_set(&invocation->arena, event, "state", liana__value_string(&invocation->arena, state));
        liana__invocation_print_json(invocation, event);
    } else {
        fprintf(invocation->out, "[%zu/%zu] %s: %s%s%s\n", own->num_ended, own->num_jobs, run->name, state,
                *more ? ": " : "", more);
    }
    fflush(invocation->out);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static liana_status watch(void *user, size_t index, const liana__process *job, liana__error *error)
{
    sweeper *own = user;
    const liana__sweep_run *run = own->runs[index];
    char message[400] = "";
    if (job->state == LIANA__PROCESS_RUNS) {
        own->begins[index] = now();
        say(own, run, liana__folder_exists(run->folder) ? "goes on" : "started", "");
        return LIANA_OK;
    }
    own->num_ended++;
    const bool has_ended = job->code == 0 || !liana__signals_caught();
    if (has_ended) {
        LIANA_TRY(liana__sweep_events_write(&own->sweep, run, own->begins[index], now(), job->code != 0, error));
    }
    if (job->code == 0) {
        LIANA_TRY(liana__file_replace(run->done, "finished\n", 9, error));
        say(own, run, "finished", "");
        return LIANA_OK;
    }
    if (liana__signals_caught()) {
        say(own, run, "stopped", "");
        return LIANA_OK;
    }
    read_failure(run->log, message, sizeof message);
    if (!own->num_failed++) {
        snprintf(own->first_failure, sizeof own->first_failure, "%.100s: %s", run->name, message);
    }
    say(own, run, "failed", message);
    return LIANA_OK;
}

/* Two sweeps in one folder would train the same runs. Those of a sweep that was killed end with a checkpoint soon. */
static liana_status lock_folder(const sweeper *own, int *lock)
{
    enum { LOOKS = 100 };
    static const struct timespec tenth = {.tv_nsec = 100 * 1000 * 1000};
    liana__error *error = &own->invocation->error;
    LIANA_TRY(liana__folder_make(own->sweep.folder, error));
    *lock = open(own->sweep.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) {
        return liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be opened: %s", own->sweep.folder, strerror(errno));
    }
    for (int i = 0; i < LOOKS && !liana__signals_caught(); i++) {
        if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return LIANA_OK;
        nanosleep(&tenth, NULL);
    }
    return liana__fail(error, LIANA_IO_ERROR,
                       "another sweep is running in '%s'; wait for it, or choose another folder "
                       "with --out",
                       own->sweep.folder);
}

/* ---- all of it ---- */

/* Of the runs that are there. */
static liana_status write_run_page(const sweeper *own, const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__run_page) page = {0};
    const char **folders = liana__arena_allocate(&own->invocation->arena, (own->sweep.num_runs + 1) * sizeof *folders);
    size_t count = 0;
    if (!folders) return liana__fail_memory(error, path);
    for (size_t i = 0; i < own->sweep.num_runs && count < LIANA__RUN_PAGE_MOST_RUNS; i++) {
        if (liana__is_run_folder(own->sweep.runs[i].folder)) folders[count++] = own->sweep.runs[i].folder;
    }
    LIANA_TRY(liana__run_page_begin(&page, folders, count, false, error));
    return liana__run_page_write(&page, path, error);
}

static liana_status write_page(const sweeper *own, const liana__sweep_results *results, const char *path,
                               liana__error *error)
{
    return liana__ends_with(path, ".html") ? write_run_page(own, path, error)
                                           : liana__sweep_report_write(results, path, error);
}

static liana_status report(const sweeper *own)
{
    liana__invocation *invocation = own->invocation;
    liana__error *error = &invocation->error;
    liana__sweep_results results;
    LIANA_TRY(liana__sweep_results_read(&own->sweep, &invocation->arena, &results, error));
    LIANA_TRY(liana__sweep_results_write(&results, error));
    const char *page = liana__invocation_text(invocation, "report");
    if (page && results.num_finished) LIANA_TRY(write_page(own, &results, page, error));
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "sweep");
        liana__arena *arena = &invocation->arena;
        liana__value_set(arena, event, "out", liana__value_string(arena, own->sweep.folder));
        liana__value_set(arena, event, "runs", liana__value_int(arena, (int64_t)own->sweep.num_runs));
        liana__value_set(arena, event, "finished", liana__value_int(arena, (int64_t)results.num_finished));
        liana__value_set(arena, event, "failed", liana__value_int(arena, (int64_t)own->num_failed));
        liana__invocation_print_json(invocation, event);
        return LIANA_OK;
    }
    liana__text text = {0};
    liana__sweep_results_plain(&results, &text);
    if (text.data) fprintf(invocation->out, "\n%s", text.data);
    fprintf(invocation->out, "%zu of %zu runs are finished; the tables are in '%s'\n", results.num_finished,
            own->sweep.num_runs, own->sweep.folder);
    liana__text_free(&text);
    return LIANA_OK;
}

static void list(const sweeper *own)
{
    for (size_t i = 0; i < own->sweep.num_runs; i++) {
        const liana__sweep_run *run = &own->sweep.runs[i];
        bool done = liana__file_exists(run->done);
        say(own, run, done ? "finished" : liana__folder_exists(run->folder) ? "begun" : "to do", "");
    }
}

static liana_status train(sweeper *own)
{
    liana__error *error = &own->invocation->error;
    for (size_t i = 0; i < own->num_jobs; i++) {
        LIANA_TRY(liana__sweep_write_config(&own->sweep, own->runs[i], error));
    }
    liana_status status = liana__jobs_run(own->jobs, own->num_jobs, own->at_once, watch, own, error);
    if (status != LIANA_OK) return status;
    LIANA_TRY(report(own));
    if (!own->num_failed) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "%zu of %zu runs failed; %s", own->num_failed, own->num_jobs,
                       own->first_failure);
}

static liana_status run(liana__invocation *invocation)
{
    sweeper own = {.invocation = invocation};
    liana__error *error = &invocation->error;
    LIANA_TRY(liana__sweep_read(invocation->operands[0], liana__invocation_text(invocation, "out"), &invocation->arena,
                                &own.sweep, error));
    own.sweep.allow_plugins = liana__invocation_has(invocation, "allow-plugins");
    const char *page = liana__invocation_text(invocation, "report");
    if (page && !liana__ends_with(page, ".md") && !liana__ends_with(page, ".html")) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "sweep: --report: found '%.200s', expected a name ending in .md or .html", page);
    }
    LIANA_TRY(liana__sweep_check(&own.sweep, error));
    LIANA_TRY(make_jobs(&own));
    LIANA_TRY(check_settings(&own));
    if (liana__invocation_has(invocation, "dry-run")) {
        list(&own);
        return LIANA_OK;
    }
    int lock = -1;
    liana__signals_catch();
    liana_status status = lock_folder(&own, &lock);
    /* Another sweep may have trained some meanwhile. */
    own.num_jobs = 0;
    if (status == LIANA_OK) status = make_jobs(&own);
    if (status == LIANA_OK) status = train(&own);
    if (lock >= 0) close(lock);
    return status;
}

const liana__command liana__subcommand_sweep = {
    .name = "sweep",
    .operands = "SWEEP.yaml",
    .summary = "Train a configuration with changes, over several seeds",
    .help = "The file names a base configuration and what changes: 'grid' (all combinations), 'settings' (a list),\n"
            "'set' (for all runs), each with dotted keys; and 'seeds'. 'liana list sweep' shows all keys. All is\n"
            "checked before the first run. Several runs train at a time, each with its share of the threads; the\n"
            "results do not depend on how many. Finished runs are skipped, and others go on where they were, so\n"
            "the same command continues a sweep. Writes results.csv, results.json and results.md.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
