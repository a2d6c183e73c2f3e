/* Loads and unloads versions of models. All of it is on the thread that polls; the lock is held only where what
 * requests see changes. */
#include "serve/predict/registry_internal.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENDED = 8 }; /* versions that are over, and still told of */

static void LIANA__PRINTF(2, 3) say(const liana__registry *registry, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    if (!registry->options.say) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    registry->options.say(registry->options.user, line);
}

/* ---- closing ---- */

void liana__reload_retire(liana__registry *registry, liana__served *served)
{
    served->after = registry->retired;
    registry->retired = served;
}

/* Unlinks one that nobody has. NULL: there is none. */
static liana__served *take_idle(liana__registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    liana__served **at = &registry->retired;
    while (*at && (*at)->borrowed) at = &(*at)->after;
    liana__served *idle = *at;
    if (idle) *at = idle->after;
    pthread_mutex_unlock(&registry->lock);
    return idle;
}

void liana__reload_close_retired(liana__registry *registry)
{
    for (liana__served *idle; (idle = take_idle(registry));) {
        liana__servable_close(idle->servable);
        liana__count_unload(idle->metrics);
        /* Versions move in their list, so it is looked for again. */
        pthread_mutex_lock(&registry->lock);
        for (liana__served_model *model = registry->models; model; model = model->after) {
            for (size_t i = 0; i < model->num_versions && &model->metrics == idle->metrics; i++) {
                liana__version *version = &model->versions[i];
                if (version->number != idle->number || version->state != LIANA__VERSION_UNLOADING) continue;
                version->state = LIANA__VERSION_END;
                version->was_tried = false;
            }
        }
        pthread_mutex_unlock(&registry->lock);
        free(idle);
    }
}

/* ---- the list of versions ---- */

/* The entry of a number, at its place in the list. NULL: there is no memory. */
static liana__version *find_version(liana__registry *registry, liana__served_model *model, int64_t number)
{
    size_t at = 0;
    while (at < model->num_versions && model->versions[at].number > number) at++;
    if (at < model->num_versions && model->versions[at].number == number) return &model->versions[at];
    pthread_mutex_lock(&registry->lock);
    const bool has_room = liana__grow(&model->versions, model->num_versions, &model->capacity, sizeof(liana__version));
    if (has_room) {
        memmove(&model->versions[at + 1], &model->versions[at], (model->num_versions - at) * sizeof(liana__version));
        model->versions[at] = (liana__version){.number = number};
        model->num_versions++;
    }
    pthread_mutex_unlock(&registry->lock);
    return has_room ? &model->versions[at] : NULL;
}

static void set_state(liana__registry *registry, liana__version *version, liana__version_state state,
                      const liana__error *error)
{
    pthread_mutex_lock(&registry->lock);
    version->state = state;
    version->error = error ? *error : (liana__error){0};
    pthread_mutex_unlock(&registry->lock);
}

/* Of the versions that are over, only the last ones are told of. */
static void forget_ended(liana__registry *registry, liana__served_model *model)
{
    size_t ended = 0;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < model->num_versions; i++) {
        if (model->versions[i].state != LIANA__VERSION_END || ++ended <= MOST_ENDED) continue;
        memmove(&model->versions[i], &model->versions[i + 1], (model->num_versions - i - 1) * sizeof(liana__version));
        model->num_versions--;
        i--;
    }
    pthread_mutex_unlock(&registry->lock);
}

/* ---- loading ---- */

static void on_batch(void *user, int64_t examples, double seconds)
{
    liana__count_batch(user, examples, seconds);
}

static liana_status open_served(const liana__registry *registry, liana__served_model *model,
                                const liana__version_found *found, liana__served **served, liana__error *error)
{
    liana__servable_options options = registry->options.servable;
    options.batching.on_batch = on_batch;
    options.batching.user = &model->metrics;
    LIANA_TRY(liana__version_check(found->path, error));
    *served = calloc(1, sizeof **served);
    if (!*served) return liana__fail_memory(error, "a model");
    **served = (liana__served){.metrics = &model->metrics, .number = found->number};
    const liana_status status = liana__servable_open(found->path, &options, &(*served)->servable, error);
    if (status == LIANA_OK) return LIANA_OK;
    free(*served);
    *served = NULL;
    return status;
}

/* Loads a version; the one in memory answers until then, and goes on if the new one fails. */
static bool load(liana__registry *registry, liana__served_model *model, liana__version *version,
                 const liana__version_found *found)
{
    liana__served *made;
    liana__error error;
    const bool had = version->served != NULL;
    if (!had) set_state(registry, version, LIANA__VERSION_LOADING, NULL);
    const liana_status status = open_served(registry, model, found, &made, &error);
    const bool waits = status == LIANA_UNAVAILABLE;
    if (!waits) version->stamp = found->stamp;
    version->was_tried = !waits;
    if (status != LIANA_OK) {
        set_state(registry, version,
                  had     ? LIANA__VERSION_AVAILABLE
                  : waits ? LIANA__VERSION_START
                          : LIANA__VERSION_END,
                  &error);
        if (!waits) liana__count_load(&model->metrics, false);
        if (!waits)
            say(registry, "%s: version %lld cannot be loaded: %s", model->name, (long long)found->number,
                error.message);
        return had;
    }
    pthread_mutex_lock(&registry->lock);
    if (had) liana__reload_retire(registry, version->served);
    version->served = made;
    version->state = LIANA__VERSION_AVAILABLE;
    version->error = (liana__error){0};
    pthread_mutex_unlock(&registry->lock);
    liana__count_load(&model->metrics, true);
    say(registry, "%s: version %lld answers%s", model->name, (long long)found->number,
        had ? ", from its new files" : "");
    return true;
}

/* Whether a version's files are to be loaded now: they are new, and are no longer written. */
static bool is_due(const liana__version *version, const liana__version_found *found, bool all, bool is_first)
{
    if (all) return true;
    if (version->served && version->stamp == found->stamp) return false;
    if (!version->served && version->was_tried && version->stamp == found->stamp) return false;
    return is_first || version->seen == found->stamp;
}

/* ---- unloading ---- */

/* Retires versions that are not wanted if another one answers. */
static void unload_others(liana__registry *registry, liana__served_model *model, size_t num_wanted)
{
    static const char note[] = "its folder is gone; it goes on from memory";
    for (size_t i = 0; i < model->num_versions; i++) {
        liana__version *version = &model->versions[i];
        if (version->state != LIANA__VERSION_AVAILABLE || version->is_kept) continue;
        pthread_mutex_lock(&registry->lock);
        if (num_wanted) {
            liana__reload_retire(registry, version->served);
            version->served = NULL;
            version->state = LIANA__VERSION_UNLOADING;
        } else if (!*version->error.message) {
            snprintf(version->error.message, sizeof version->error.message, "%s", note);
        }
        pthread_mutex_unlock(&registry->lock);
        if (num_wanted) say(registry, "%s: version %lld is unloaded", model->name, (long long)version->number);
    }
}

void liana__reload_model(liana__registry *registry, liana__served_model *model, bool all, bool is_first)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error error;
    liana__version_found *found;
    size_t count = 0, num_wanted = 0;
    const size_t most = registry->options.num_versions ? (size_t)registry->options.num_versions : SIZE_MAX;
    /* A folder that cannot be listed has no versions: what is in memory goes on. */
    if (liana__versions_find(model->folder, &arena, &found, &count, &error) != LIANA_OK) count = 0;
    for (size_t i = 0; i < model->num_versions; i++) model->versions[i].is_kept = false;
    for (size_t i = 0; i < count && num_wanted < most; i++) {
        liana__version *version = find_version(registry, model, found[i].number);
        if (!version || version->state == LIANA__VERSION_UNLOADING) continue;
        bool answers = version->served != NULL;
        if (is_due(version, &found[i], all, is_first)) {
            answers = load(registry, model, version, &found[i]);
        } else if (answers && *version->error.message && version->stamp == found[i].stamp) {
            set_state(registry, version, LIANA__VERSION_AVAILABLE, NULL);
        }
        version->seen = found[i].stamp;
        version->is_kept = answers;
        num_wanted += answers;
    }
    unload_others(registry, model, num_wanted);
    forget_ended(registry, model);
}
