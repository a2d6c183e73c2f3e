/* liana train: trains a model as a configuration says. */
#include "base/clock.h"
#include "base/file.h"
#include "base/scoped.h"
#include "cli/reporter.h"
#include "cli/session.h"
#include "serve/live_server.h"

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the run folder (default: 'output' of the configuration)")},
    {LIANA__OPTION_RESUME},
    {"resume-from", "CHECKPOINT",
     "go on from this checkpoint: best, a name in the run, or a folder; newer ones are set aside"},
    {"allow-changed", NULL, "resume with other settings or data, where the state still fits"},
    {LIANA__OPTION_LOG_EVERY},
    {"live", "[PORT]", "serve a page that shows the training as it goes on, on this machine (default: a free port)"},
    {"requeue", NULL, "exit with 75 when it is stopped and could go on, so that a scheduler starts it again"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* Between two points of a live page. */
static const double LIVE_SECONDS = 0.25;

typedef struct watcher {
    liana__reporter reporter;
    liana__invocation *invocation;
    const liana__run *run;
    const char *run_folder; /* given in place of a configuration, or NULL */
    bool silent;            /* another process of the cluster reports */
    int64_t log_every;      /* updates; 0: no such lines */
    liana__run_options *options;
    liana__live_feed *feed; /* of --live, or NULL */
    liana__live_server *live;
    /* Of training, validation not counted: of the epochs that are over, and of the running one. */
    double seconds, wait;
    double epoch_seconds, epoch_wait;
} watcher;

static void add_means(const liana__run *run, const liana__totals *totals, const char *prefix, liana__progress *progress,
                      liana__arena *arena)
{
    for (size_t i = *prefix ? 0 : 1; i <= run->core.num_metrics; i++) {
        if (progress->num_metrics == LIANA__PROGRESS_MAX_METRICS) return;
        const char *name = liana__arena_format(arena, "%s%s", prefix, i ? run->core.metric_names[i - 1] : "loss");
        liana__progress_metric metric = {name ? name : "", liana__totals_value(totals, i)};
        progress->metrics[progress->num_metrics++] = metric;
    }
}

static bool is_caught(void)
{
    return liana__signals_caught() != 0;
}

static void add_time(watcher *own, const liana__fit_event *event)
{
    if (event->kind == LIANA__FIT_STEP) {
        own->epoch_seconds = event->seconds;
        own->epoch_wait = event->wait;
    } else if (event->kind == LIANA__FIT_EPOCH) {
        own->seconds += event->seconds;
        own->wait += event->wait;
        own->epoch_seconds = own->epoch_wait = 0;
    }
}

/* Hours of work must not depend on a reader of the output (| head). */
static void notice_unread(watcher *own)
{
    liana__invocation *invocation = own->invocation;
    if (!own->reporter.unread || invocation->output_lost) return;
    invocation->output_lost = true;
    fprintf(invocation->err, "liana: standard output has no reader any more; training goes on\n");
}

/* A group of updates that meets several of the numbers has one line. */
static bool is_logged(const watcher *own, const liana__fit_event *event)
{
    if (!own->log_every || event->kind != LIANA__FIT_STEP) return false;
    return event->global_step / own->log_every > (event->global_step - event->updates) / own->log_every;
}

/* Between two updates. */
static void follow_live(watcher *own, const liana__fit_event *event)
{
    if (!own->live) return;
    liana__live_feed_take(own->feed, event, own->run->core.metric_names, own->run->core.num_metrics,
                          liana__clock_seconds());
    if (event->kind != LIANA__FIT_STEP || !event->requests) return;
    event->requests->paused = liana__live_feed_wait(own->feed, is_caught);
    event->requests->checkpoint = liana__live_feed_saves(own->feed);
}

/* Whether somebody wants the training to stop. */
static bool goes_on(const watcher *own)
{
    return !is_caught() && !(own->live && liana__live_feed_stops(own->feed));
}

static bool watch(void *user, const liana__fit_event *event)
{
    watcher *own = user;
    add_time(own, event);
    follow_live(own, event);
    bool shown = !own->silent && event->kind != LIANA__FIT_CHECKPOINT && event->kind != LIANA__FIT_PREDICTION;
    if (!shown) return goes_on(own);
    static const liana__phase phases[] = {[LIANA__FIT_STEP] = LIANA__PHASE_TRAIN,
                                          [LIANA__FIT_VALIDATION] = LIANA__PHASE_VALIDATE,
                                          [LIANA__FIT_EPOCH] = LIANA__PHASE_EPOCH_DONE};
    liana__progress progress = {.phase = phases[event->kind],
                                .epoch = event->epoch,
                                .epochs = event->epochs,
                                .step = event->step,
                                .steps = event->steps,
                                .global_step = event->global_step,
                                .seconds = event->seconds,
                                .examples = event->images,
                                .no_images = own->run->image_shape[0] == 0,
                                .loss = liana__totals_value(event->training, 0),
                                .bad_records = event->kind == LIANA__FIT_VALIDATION ? event->validation->bad_records
                                                                                    : event->training->bad_records,
                                .input_wait = event->seconds > 0 ? event->wait / event->seconds : 0};
    liana__arena arena = {0};
    add_means(own->run, event->training, "", &progress, &arena);
    if (event->validation->count) add_means(own->run, event->validation, "val_", &progress, &arena);
    liana__reporter_update(&own->reporter, &progress, liana__clock_seconds());
    if (is_logged(own, event)) {
        progress.phase = LIANA__PHASE_LOG;
        liana__reporter_log(&own->reporter, &progress);
    }
    notice_unread(own);
    liana__arena_free(&arena);
    return goes_on(own);
}

static void note(void *user, const char *text)
{
    watcher *own = user;
    liana__reporter_note(&own->reporter, "%s", text);
    notice_unread(own);
}

/* The process that reported is dead. */
static void lead(void *user)
{
    watcher *own = user;
    own->silent = false;
    own->options->on_note = note;
}

static void report_end(watcher *own, const char *folder)
{
    double seconds = own->seconds + own->epoch_seconds, wait = own->wait + own->epoch_wait;
    if (seconds > 0) {
        liana__reporter_note(&own->reporter, "trained for %.1f s, %.1f%% of it waiting for input; the run is in '%s'",
                             seconds, 100 * wait / seconds, folder);
    } else {
        liana__reporter_note(&own->reporter, "the run is in '%s'", folder);
    }
}

/* The page of a training. In a cluster each process has one; the chief tells its address, and takes the port. */
static liana_status begin_live(watcher *own, const liana__cluster *cluster, const char *folder, liana__error *error)
{
    int64_t port = 0;
    if (!liana__invocation_has(own->invocation, "live")) return LIANA_OK;
    if (liana__path_is_remote(folder)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "train: --live shows a run folder of this machine, and not '%.200s'", folder);
    }
    if (*liana__invocation_text(own->invocation, "live")) {
        LIANA_TRY(liana__invocation_int(own->invocation, "live", 1, 65535, &port));
    }
    own->feed = liana__live_feed_create(LIVE_SECONDS);
    if (!own->feed) return liana__fail_memory(error, "a live page");
    const size_t worker = cluster ? cluster->place.rank : 0;
    const liana__live_options wanted = {worker ? 0 : (int)port, "--live", &folder, 1, own->feed, worker};
    LIANA_TRY(liana__live_server_open(&wanted, &own->live, error));
    if (!own->silent) liana__reporter_note(&own->reporter, "live: %s", liana__live_server_url(own->live));
    return LIANA_OK;
}

static void end_live(watcher *own)
{
    if (own->feed) liana__live_feed_end(own->feed);
    liana__live_server_close(own->live);
    liana__live_feed_destroy(own->feed);
    own->live = NULL;
    own->feed = NULL;
}

static liana_status train_run(liana_context *context, const liana__config *config, const liana__run_options *wanted,
                              watcher *own, liana__error *error)
{
    liana__run run;
    own->run = &run;
    liana_status status = liana__run_open(context, config, wanted, &run, error);
    /* Somebody has died, and the next start will be without that. */
    if (status == LIANA_UNAVAILABLE) own->invocation->requeues = liana__cluster_has_changed(liana__cluster_of(context));
    LIANA_TRY(status);
    /* Workers write into folders of their own, and look at the chief's. */
    const char *shown = wanted->chief_folder ? wanted->chief_folder : wanted->folder;
    status = begin_live(own, liana__cluster_of(context), shown, error);
    if (status == LIANA_OK) status = liana__run_train(&run, wanted, error);
    end_live(own);
    liana__signals_end();
    /* It has begun, so it goes on from its checkpoint. A device that is gone may be gone for good. */
    const bool has_lost_folder = liana__lease_status(run.hold.lease, NULL) != LIANA_OK;
    own->invocation->requeues = status == LIANA_UNAVAILABLE && (liana__cluster_of(context) || has_lost_folder);
    liana__run_close(&run);
    return status;
}

/* Trains until it is done, or until the cluster meets again with other processes. */
static liana_status train_round(liana_context *context, const liana__config *config, liana__run_options wanted,
                                liana__run_cluster *joined, watcher *own, liana__error *error)
{
    own->options = &wanted;
    liana_status status = liana__run_cluster_join(context, config, &wanted, joined, error);
    const bool changed = joined->is_open ? liana__cluster_has_changed(&joined->cluster) : joined->resumable;
    own->invocation->requeues = status == LIANA_UNAVAILABLE && changed;
    if (status == LIANA_OK) {
        own->silent = !liana__cluster_is_chief(joined->is_open ? &joined->cluster : NULL);
        status = train_run(context, config, &wanted, own, error);
    }
    own->options = NULL;
    return status;
}

static liana_status train(liana__invocation *invocation, liana_context *context, const liana__config *config,
                          watcher *own)
{
    liana__error *error = &invocation->error;
    const char *folder = liana__invocation_text(invocation, "out");
    if (!folder) folder = own->run_folder ? own->run_folder : config->output;
    if (!folder) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "train: the run has no folder: give --out DIR, or 'output' in '%s'", config->file);
    }
    const liana__run_options wanted = {.folder = folder,
                                       .training = true,
                                       .resume = liana__invocation_has(invocation, "resume"),
                                       .resume_from = liana__invocation_text(invocation, "resume-from"),
                                       .allow_changed = liana__invocation_has(invocation, "allow-changed"),
                                       .on_event = watch,
                                       .on_note = note,
                                       .stop = liana__session_stops,
                                       .on_lead = lead,
                                       .user = own};
    liana__run_cluster joined = {0};
    liana_status status;
    do {
        status = train_round(context, config, wanted, &joined, own, error);
    } while (status == LIANA_CANCELLED && liana__run_cluster_meets_again(&joined));
    invocation->stopped = joined.is_open;
    if (status == LIANA_OK && !own->silent) report_end(own, folder);
    liana__run_cluster_leave(&joined);
    return status;
}

/* A run folder stands for its config.yaml, and goes on. *folder is NULL for a configuration; so is *config_path where
 * all of it is on the command line. */
static liana_status find_config(liana__invocation *invocation, const char **config_path, const char **folder)
{
    const char *given = invocation->num_operands ? invocation->operands[0] : "";
    *config_path = *folder = NULL;
    if (!*given && invocation->num_overrides) return LIANA_OK;
    if (!*given) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "train: too few arguments, expected: liana train %s", invocation->command->operands);
    }
    const bool is_yaml = liana__ends_with(given, ".yaml") || liana__ends_with(given, ".yml");
    const bool is_folder = liana__path_is_remote(given) ? !is_yaml : liana__folder_exists(given);
    *config_path = given;
    if (!is_folder) return LIANA_OK;
    *config_path = liana__path_join(&invocation->arena, given, "config.yaml");
    if (!*config_path) return liana__fail_memory(&invocation->error, "the run folder");
    if (!liana__path_is_remote(given) && !liana__file_exists(*config_path)) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "train: '%s' is not a run folder: there is no config.yaml in it; give a configuration",
                           given);
    }
    *folder = given;
    const bool goes_on =
        liana__invocation_has(invocation, "resume") || liana__invocation_has(invocation, "resume-from");
    if (goes_on || liana__invocation_has(invocation, "out")) return LIANA_OK;
    return liana__fail(
        &invocation->error, LIANA_INVALID_CONFIG,
        "train: '%s' is a run folder; --resume goes on with it, and --out DIR begins another run with its "
        "configuration",
        given);
}

static liana_status run(liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    const char *config_path, *folder;
    LIANA_TRY(find_config(invocation, &config_path, &folder));
    LIANA_TRY(liana__session_open(invocation, config_path, &session));
    LIANA_TRY(liana__config_require_training_data(&session.config, &invocation->error));
    watcher own = {.invocation = invocation, .run_folder = folder};
    liana__reporter_init(&own.reporter, invocation->out, liana__invocation_has(invocation, "json"));
    liana__signals_catch();
    liana_status status = liana__invocation_int(invocation, "log-every", 1, INT64_MAX, &own.log_every);
    own.reporter.logs = own.log_every > 0;
    if (status == LIANA_OK) status = train(invocation, session.context, &session.config, &own);
    liana__reporter_free(&own.reporter);
    notice_unread(&own);
    return status;
}

const liana__command liana__subcommand_train = {
    .name = "train",
    .operands = "[CONFIG.yaml|RUN] [key=value ...]",
    .summary = "Train a classifier",
    .help =
        "Trains, and evaluates after each epoch. RUN is a run folder: 'liana train RUN --resume' goes on with it as\n"
        "its config.yaml says. Writes to the run folder: config.yaml (resolved), model.json,\n"
        "history.json, timing.json, checkpoints, and predictions.\n"
        "key=value changes the configuration: train.epochs=3, train.optimizer.learning_rate=1e-4. Without a file\n"
        "all of it is said so: liana train data.train=mnist model.base=MobileNet model.weights=imagenet ...\n"
        "--live serves a page on 127.0.0.1 with values as they come, and buttons: pause, go on, checkpoint, stop. Its\n"
        "address has a token, without which nobody sees anything. 'liana watch RUN' shows it too.\n"
        "SIGINT, SIGTERM and SIGHUP save a checkpoint and stop. --resume goes on in the middle of the epoch,\n"
        "also after a crash. If standard output has no reader any more (| head), training goes on.\n"
        "The run folder may be gs://bucket/folder or s3://bucket/folder.\n",
    .options = options,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
