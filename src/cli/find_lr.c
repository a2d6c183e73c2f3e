/* liana find-lr: sweeps the learning rate, and suggests one. */
#include "cli/session.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "report/reports.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const liana__option options[] = {
    {"min-rate", "X", "the learning rate of the first update (default: 1e-7)"},
    {"max-rate", "X", "the learning rate of the last update (default: 10)"},
    {"updates", "N", "the number of updates (default: 100)"},
    {"smoothing", "X", "how much the smoothed loss keeps of its last value, below 1 (default: 0.9)"},
    {"divergence", "X", "stop when the smoothed loss is X times the lowest one (default: 4)"},
    {"plot", "FILE", "the picture, .png or .svg (default: NAME.find-lr.png beside NAME.yaml)"},
    {"numbers", "FILE", "the numbers, .csv or .json (default: NAME.find-lr.csv beside NAME.yaml)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

static liana_status read_range(liana__invocation *invocation, liana__rate_range *range)
{
    *range = (liana__rate_range){LIANA__RATE_MINIMUM, LIANA__RATE_MAXIMUM, LIANA__RATE_UPDATES, LIANA__RATE_SMOOTHING,
                                 LIANA__RATE_DIVERGENCE};
    LIANA_TRY(liana__invocation_float(invocation, "min-rate", 1.2e-38, 1e6, &range->minimum_rate));
    LIANA_TRY(liana__invocation_float(invocation, "max-rate", 1.2e-38, 1e6, &range->maximum_rate));
    LIANA_TRY(liana__invocation_int(invocation, "updates", 10, LIANA__MOST_RATE_UPDATES, &range->updates));
    LIANA_TRY(liana__invocation_float(invocation, "smoothing", 0, 0.999999, &range->smoothing));
    LIANA_TRY(liana__invocation_float(invocation, "divergence", 1.000001, 1e30, &range->divergence));
    if (range->minimum_rate < range->maximum_rate) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "find-lr: --min-rate is %g and --max-rate is %g, expected a larger --max-rate",
                       range->minimum_rate, range->maximum_rate);
}

/* ---- files ---- */

typedef struct files {
    const char *plot, *numbers;
} files;

/* Next to the configuration; in the current folder if that is one of a run, or a URL. */
static const char *default_path(liana__invocation *invocation, const char *ending)
{
    liana__arena *arena = &invocation->arena;
    const char *config = invocation->operands[0];
    const char *folder = liana__path_folder(arena, config);
    const char *name = liana__path_name(config), *dot = strrchr(name, '.');
    const char *history = liana__path_join(arena, folder, "history.json");
    const char *checkpoints = liana__path_join(arena, folder, "checkpoints");
    if (!folder || !history || !checkpoints) return NULL;
    bool elsewhere = liana__path_is_remote(config) || liana__file_exists(history) || liana__folder_exists(checkpoints);
    const char *stem = liana__arena_format(arena, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
    const char *file = stem ? liana__arena_format(arena, "%s.find-lr.%s", stem, ending) : NULL;
    return file ? liana__path_join(arena, elsewhere ? "" : folder, file) : NULL;
}

static liana_status find_files(liana__invocation *invocation, files *found)
{
    liana__error *error = &invocation->error;
    found->plot = liana__invocation_text(invocation, "plot");
    found->numbers = liana__invocation_text(invocation, "numbers");
    if (!found->plot) found->plot = default_path(invocation, "png");
    if (!found->numbers) found->numbers = default_path(invocation, "csv");
    if (!found->plot || !found->numbers) return liana__fail_memory(error, "names of files");
    if (!liana__ends_with(found->plot, ".png") && !liana__ends_with(found->plot, ".svg")) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "find-lr: --plot: found '%.200s', expected a name ending in "
                           ".png or .svg",
                           found->plot);
    }
    if (liana__ends_with(found->numbers, ".csv") || liana__ends_with(found->numbers, ".json")) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "find-lr: --numbers: found '%.200s', expected a name ending in .csv or .json", found->numbers);
}

/* ---- the sweep ---- */

typedef struct watcher {
    liana__invocation *invocation;
    int64_t updates;
    bool json, terminal;
} watcher;

static bool watch(void *user, int64_t update, double rate, double loss)
{
    watcher *own = user;
    liana__invocation *invocation = own->invocation;
    if (own->json) {
        liana__arena arena = {0};
        liana__value *event = liana__value_map(&arena);
        liana__value_set(&arena, event, "event", liana__value_string(&arena, "update"));
        liana__value_set(&arena, event, "update", liana__value_int(&arena, update));
        liana__value_set(&arena, event, "rate", liana__value_float(&arena, rate));
        liana__value_set(&arena, event, "loss", liana__value_float(&arena, loss));
        if (event && !arena.failed) liana__invocation_print_json(invocation, event);
        liana__arena_free(&arena);
    } else if (own->terminal) {
        char text[128];
        liana__format(text, sizeof text, "update %lld/%lld: rate %.2e, loss %.4f", (long long)update,
                      (long long)own->updates, rate, liana__shown(loss));
        liana__terminal_draw(invocation->out, text);
    }
    return liana__signals_caught() == 0;
}

static void note(void *user, const char *text)
{
    const watcher *own = user;
    if (!own->json) fprintf(own->invocation->out, "%s\n", text);
}

static void set_float(liana__arena *arena, liana__value *event, const char *key, double number)
{
    liana__value_set(arena, event, key,
                     isfinite(number) ? liana__value_float(arena, number) : liana__value_null(arena));
}

static void print_json(liana__invocation *invocation, const liana__rate_curve *curve,
                       const liana__rate_suggestion *suggestion, const files *written)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "learning_rate");
    set_float(arena, event, "suggested", suggestion->rate);
    set_float(arena, event, "steepest", suggestion->steepest);
    set_float(arena, event, "lowest", suggestion->lowest);
    liana__value_set(arena, event, "updates", liana__value_int(arena, (int64_t)curve->count));
    liana__value_set(arena, event, "diverged", liana__value_bool(arena, curve->diverged));
    liana__value_set(arena, event, "reason", liana__value_string(arena, suggestion->reason));
    liana__value_set(arena, event, "plot", liana__value_string(arena, written->plot));
    liana__value_set(arena, event, "numbers", liana__value_string(arena, written->numbers));
    liana__invocation_print_json(invocation, event);
}

/* The curve is written also where nothing can be suggested: it shows why. */
static liana_status report(liana__invocation *invocation, const liana__rate_curve *curve, const files *wanted)
{
    liana__error *error = &invocation->error;
    liana__rate_suggestion suggestion;
    liana_status found = liana__rate_curve_suggest(curve, &suggestion, error), status = LIANA_OK;
    liana__error unwritten = {0};
    bool json = liana__invocation_has(invocation, "json");
    if (curve->count) status = liana__report_rates(curve, &suggestion, wanted->plot, &unwritten);
    if (status == LIANA_OK) status = liana__report_rate_numbers(curve, &suggestion, wanted->numbers, &unwritten);
    if (found == LIANA_OK && json) print_json(invocation, curve, &suggestion, wanted);
    if (found == LIANA_OK && !json) {
        char text[64];
        liana__format(text, sizeof text, "%.2g", suggestion.rate);
        fprintf(invocation->out, "%zu of %lld updates; suggested learning rate: %s\n%s\n", curve->count,
                (long long)curve->range.updates, text, suggestion.reason);
    }
    if (status == LIANA_OK && !json) {
        if (curve->count) fprintf(invocation->out, "%s\n", wanted->plot);
        fprintf(invocation->out, "%s\n", wanted->numbers);
    }
    if (found != LIANA_OK || status == LIANA_OK) return found;
    *error = unwritten;
    return status;
}

static liana_status find(liana__invocation *invocation, const liana__session *session, const liana__rate_range *range,
                         const files *wanted)
{
    liana__error *error = &invocation->error;
    watcher own = {.invocation = invocation,
                   .updates = range->updates,
                   .json = liana__invocation_has(invocation, "json"),
                   .terminal = isatty(fileno(invocation->out))};
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    const liana__run_options opened = {.training = true, .on_note = note, .user = &own};
    LIANA_TRY(liana__run_open(session->context, &session->config, &opened, &run, error));
    const liana__rate_finder_options sweep = {.range = *range,
                                              .loader = run.training.loader,
                                              .on_update = watch,
                                              .user = &own};
    LIANA__SCOPED(liana__rate_curve) curve = {0};
    const liana_status status = liana__find_rate(&run.core, &sweep, &curve, error);
    if (own.terminal && !own.json) fputs("\n", invocation->out);
    return status == LIANA_OK ? report(invocation, &curve, wanted) : status;
}

static liana_status run(liana__invocation *invocation)
{
    liana__rate_range range;
    files wanted;
    LIANA_TRY(read_range(invocation, &range));
    LIANA_TRY(find_files(invocation, &wanted));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    LIANA_TRY(liana__config_require_training_data(&session.config, &invocation->error));
    session.config.data.validation = session.config.data.test = (liana__source_config){0};
    liana__signals_catch();
    return find(invocation, &session, &range, &wanted);
}

const liana__command liana__subcommand_find_lr = {
    .name = "find-lr",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Find a learning rate",
    .help = "Trains with a rate that grows exponentially from update to update, until the loss diverges (Smith\n"
            "2017), and suggests the smaller of two rates: where the smoothed loss falls fastest, and a tenth of\n"
            "the rate where it is lowest. Data that are shorter than the sweep are repeated. The schedule and the\n"
            "rate of the configuration are not used; all else is as in training.\n"
            "Writes a picture and the numbers. The run folder and its checkpoints are left as they are.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
