/* The state of a training as callbacks see it, and their requests. */
#include "train/callbacks/callback.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char VALIDATION[] = "val_";

/* The index of a value among loss and metrics; -1: it has none of that name. */
static int find_value(const liana__training *training, const char *name)
{
    if (strcmp(name, "loss") == 0) return 0;
    for (size_t i = 0; i < training->num_metrics; i++) {
        if (strcmp(name, training->metric_names[i]) == 0) return (int)i + 1;
    }
    return -1;
}

/* Whether a metric of that name has several numbers. */
static bool is_list(const liana__objective *objective, const char *name)
{
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        if (item->num_values && strcmp(item->name, name) == 0) return true;
    }
    return false;
}

static liana_status fail_unknown(const liana_fit_context *context, const char *name, liana__error *error)
{
    const liana__training *training = context->training;
    bool is_validation = liana__starts_with(name, VALIDATION);
    if (is_validation && !context->validates && find_value(training, name + strlen(VALIDATION)) >= 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no '%s' without validation data; give some, or "
                           "watch '%s'",
                           name, name + strlen(VALIDATION));
    }
    if (is_list(training->objective, is_validation ? name + strlen(VALIDATION) : name)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%.60s' is a number for each class, and not one to watch; give the metric an average, such "
                           "as average: macro",
                           name);
    }
    LIANA__SCOPED(liana__text) names = {0};
    for (size_t i = 0; i <= training->num_metrics; i++) {
        const char *one = i ? training->metric_names[i - 1] : "loss";
        liana__text_add(&names, "%s%s", i ? ", " : "", one);
        if (context->validates) liana__text_add(&names, ", %s%s", VALIDATION, one);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "nothing is measured as '%.60s'; there are: %s", name,
                       names.data ? names.data : "loss");
}

liana_status liana__fit_metric(const liana_fit_context *context, const char *name, double *value, bool *known,
                               liana__error *error)
{
    bool is_validation = liana__starts_with(name, VALIDATION);
    int index = find_value(context->training, is_validation ? name + strlen(VALIDATION) : name);
    *value = 0;
    *known = false;
    if (index < 0 || (is_validation && !context->validates)) return fail_unknown(context, name, error);
    const liana__totals *totals = is_validation ? context->validation : context->totals;
    *known = totals && totals->count > 0;
    if (*known) *value = liana__totals_value(totals, (size_t)index);
    return LIANA_OK;
}

bool liana__fit_metric_of(const liana_fit_context *context, const char *name, const liana__totals *totals,
                          double *value)
{
    const int index = find_value(context->training, name);
    if (index < 0 || totals->count == 0) return false;
    *value = liana__totals_value(totals, (size_t)index);
    return true;
}

static LIANA__PRINTF(2, 0) void keep_reason(liana_fit_context *context, const char *format, va_list arguments)
{
    const char *name = context->running ? context->running->name : "";
    snprintf(context->stopped_by, sizeof context->stopped_by, "%s", *name ? name : "a callback");
    liana__format_list(context->reason, sizeof context->reason, format, arguments);
}

void liana__fit_stop(liana_fit_context *context, const char *format, ...)
{
    if (context->stopping) return;
    context->stopping = true;
    va_list arguments;
    va_start(arguments, format);
    keep_reason(context, format, arguments);
    va_end(arguments);
}

void liana__fit_stop_stage(liana_fit_context *context, const char *format, ...)
{
    const liana__training_stages *stages = context->training->stages;
    const bool is_last = !stages || (size_t)context->training->state.stage + 1 >= stages->count;
    if (context->stopping || context->stops_stage) return;
    context->stopping = is_last;
    context->stops_stage = !is_last;
    va_list arguments;
    va_start(arguments, format);
    keep_reason(context, format, arguments);
    va_end(arguments);
}

void liana__fit_interrupt(liana_fit_context *context)
{
    context->interrupted = true;
}

void liana__fit_set_rate_factor(liana_fit_context *context, double factor)
{
    context->training->state.rate_factor = factor;
}

liana_status liana__fit_write_variable(liana_fit_context *context, liana__variable *variable, const void *data,
                                       liana__error *error)
{
    if (context->saves_before_change) {
        context->saves_before_change = false;
        LIANA_TRY(liana__fit_save_update(context, error));
    }
    LIANA_TRY(liana__variable_write(variable, data, error));
    context->training->state.changed_after_update = true;
    return LIANA_OK;
}

bool liana__fit_any_decision(const liana_fit_context *context, bool own)
{
    bool any = own;
    liana__cluster *cluster = context->training->cluster;
    /* As below. */
    const liana_status status = cluster ? liana__cluster_agree(cluster, &any, NULL) : LIANA_OK;
    return status == LIANA_OK ? any : own;
}

bool liana__fit_clock_decision(const liana_fit_context *context, bool own)
{
    bool decision = own;
    liana__cluster *cluster = context->training->cluster;
    /* A cluster that has failed fails again in the next step, which says so. */
    const liana_status status = cluster ? liana__cluster_decide(cluster, &decision, NULL) : LIANA_OK;
    return status == LIANA_OK ? decision : own;
}

/* ---- files of an epoch ---- */

typedef struct epoch_file {
    const liana_fit_context *context;
    const char *folder, *part;
    const liana__text *text;
} epoch_file;

static liana_status write_file(void *user, bool is_chief, liana__error *error)
{
    const epoch_file *own = user;
    char name[64];
    LIANA__SCOPED(liana__arena) arena = {0};
    if (!is_chief) return LIANA_OK;
    const bool inside = own->context->folder && own->folder[0] != '/';
    const char *folder = inside ? liana__path_join(&arena, own->context->folder, own->folder) : own->folder;
    snprintf(name, sizeof name, "epoch-%04lld-%s.csv", (long long)own->context->epoch, own->part);
    const char *path = folder ? liana__path_join(&arena, folder, name) : NULL;
    if (!path || own->text->failed) return liana__fail_memory(error, "a file of an epoch");
    LIANA_TRY(liana__folder_make(folder, error));
    return liana__file_replace(path, own->text->data, own->text->length, error);
}

liana_status liana__fit_write_epoch(const liana_fit_context *context, const char *folder, const char *part,
                                    const liana__text *text)
{
    epoch_file file = {context, folder, part, text};
    return liana__chief_does(context->training->cluster, write_file, &file, context->error);
}
