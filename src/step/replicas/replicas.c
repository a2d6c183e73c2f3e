/* Opens the devices of a strategy for a program, and keeps their variables equal. */
#include "step/replicas/replicas.h"

#include "base/context.h"
#include "base/context_plugins.h"
#include "base/scoped.h"
#include "distribute/strategies/strategies.h"

#include <stdlib.h>
#include <string.h>

/* ---- the replicas of a context ---- */

/* Those that are open, the newest first, and the default strategy. */
typedef struct open_replicas {
    liana_replicas *newest;
    liana_replicas *standard;
} open_replicas;

static const char KIND[] = "replicas";

/* A registered part has this function, which is never called. */
static void no_function(void)
{
}

static void free_replicas(liana_replicas *replicas);

static void forget_all(void *user)
{
    open_replicas *own = user;
    free_replicas(own->standard);
    free(own);
}

static liana_status find_open(liana_context *context, open_replicas **out)
{
    const liana__registered *found = liana__context_registered(context, KIND, KIND);
    *out = found ? found->user : NULL;
    if (*out) return LIANA_OK;
    open_replicas *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(&context->error, "a strategy");
    liana_status status = liana__context_at_end(context, forget_all, made);
    if (status != LIANA_OK) {
        free(made);
        return status;
    }
    *out = made;
    return liana__context_register(context, KIND, KIND, no_function, made);
}

/* ---- opening ---- */

static void free_replicas(liana_replicas *replicas)
{
    if (!replicas) return;
    liana_variables_destroy(replicas->variables);
    for (size_t i = 1; replicas->copies && i < replicas->devices.count; i++) {
        if (replicas->copies[i].values.device) liana__variables_free(&replicas->copies[i].values);
        free(replicas->copies[i].versions);
    }
    free(replicas->copies);
    liana__device_set_close(&replicas->devices);
    liana__pool_destroy(replicas->pool);
    free(replicas->first_of);
    liana__arena_free(&replicas->arena);
    free(replicas);
}

/* The message of each process to the others when it opens a strategy. */
typedef struct introduction {
    uint64_t num_replicas;
    char strategy[32];
} introduction;

static liana_status meet(liana_replicas *replicas, liana__error *error)
{
    liana__cluster *cluster = replicas->cluster;
    introduction own = {cluster && !liana__cluster_is_worker(cluster) ? 0 : replicas->devices.count, ""};
    replicas->num_processes = cluster ? liana__cluster_size(cluster) : 1;
    replicas->rank = cluster ? cluster->place.rank : 0;
    strncpy(own.strategy, replicas->choice.strategy->name, sizeof own.strategy - 1);
    replicas->first_of = calloc(replicas->num_processes + 1, sizeof *replicas->first_of);
    LIANA__SCOPED_MEMORY introduction *all = calloc(replicas->num_processes, sizeof *all);
    if (!all || !replicas->first_of) return liana__fail_memory(error, "a strategy");
    *all = own;
    if (cluster) LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, all, error));
    for (size_t i = 0; i < replicas->num_processes; i++) {
        replicas->first_of[i + 1] = replicas->first_of[i] + (size_t)all[i].num_replicas;
        if (memcmp(all[i].strategy, all[0].strategy, sizeof own.strategy) == 0) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "process 0 has the strategy %.31s, and process %zu has %.31s; all need the same one",
                           all[0].strategy, i, all[i].strategy);
    }
    return LIANA_OK;
}

static liana_status make_copies(liana_replicas *replicas, liana__error *error)
{
    const liana__device_set *set = &replicas->devices;
    replicas->copies = calloc(set->count, sizeof *replicas->copies);
    if (!replicas->copies) return liana__fail_memory(error, "a strategy");
    for (size_t i = 1; i < set->count; i++) liana__variables_init(&replicas->copies[i].values, set->items[i]);
    replicas->first = (struct liana_device){replicas->context, set->items[0]};
    LIANA_TRY(liana_variables_create(&replicas->first, &replicas->variables));
    return set->count > 1 ? liana__pool_create((int)set->count, &replicas->pool, error) : LIANA_OK;
}

static liana_status set_up(liana_replicas *replicas, const liana_replicas_options *options, liana__error *error)
{
    LIANA_TRY(liana__strategy_copy(&options->strategy, &replicas->arena, &replicas->strategy, error));
    LIANA_TRY(liana__strategy_of(&options->strategy, &replicas->arena, &replicas->choice, error));
    if (!replicas->strategy.name) replicas->strategy.name = replicas->choice.strategy->name;
    if (replicas->choice.strategy->needs_cluster) {
        const char *name = replicas->choice.strategy->name;
        LIANA_TRY(liana__cluster_require(replicas->context, name, &replicas->cluster, error));
        /* The rows of a dead process are lost: sums without them would be others. */
        liana__cluster_give_up_survival(replicas->cluster);
    }
    liana_status status = liana__device_set_open(replicas->context, options->device ? options->device : "cpu",
                                                 &replicas->choice, NULL, &replicas->devices, error);
    if (status == LIANA_OK) status = make_copies(replicas, error);
    if (status != LIANA_OK && replicas->devices.count == 0) {
        liana__fail_within(error, "the strategy %s on '%.100s'", replicas->strategy.name,
                           options->device ? options->device : "cpu");
    }
    LIANA_TRY(liana__cluster_agree_status(replicas->cluster, status, error));
    return meet(replicas, error);
}

static liana_status make_replicas(liana_context *context, const liana_replicas_options *options, liana_replicas **out)
{
    static const liana_replicas_options standard = {0};
    liana_replicas *replicas = calloc(1, sizeof *replicas);
    if (!replicas) return liana__fail_memory(&context->error, "a strategy");
    replicas->context = context;
    liana_status status = set_up(replicas, options ? options : &standard, &context->error);
    if (status != LIANA_OK) {
        free_replicas(replicas);
        return status;
    }
    *out = replicas;
    return LIANA_OK;
}

static liana_status open_listed(liana_context *context, const liana_replicas_options *options, liana_replicas **out)
{
    open_replicas *list;
    LIANA_TRY(find_open(context, &list));
    LIANA_TRY(make_replicas(context, options, out));
    (*out)->next = list->newest;
    list->newest = *out;
    return LIANA_OK;
}

liana_status liana_replicas_open(liana_context *context, const liana_replicas_options *options, liana_replicas **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "replicas");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, open_listed(context, options, out));
}

void liana_replicas_close(liana_replicas *replicas)
{
    open_replicas *list;
    if (!replicas || find_open(replicas->context, &list) != LIANA_OK || list->standard == replicas) return;
    liana_replicas **place = &list->newest;
    while (*place && *place != replicas) place = &(*place)->next;
    if (*place) *place = replicas->next;
    free_replicas(replicas);
}

static liana_status find_current(liana_context *context, liana_replicas **current)
{
    open_replicas *list;
    LIANA_TRY(find_open(context, &list));
    if (!list->newest && !list->standard) LIANA_TRY(make_replicas(context, NULL, &list->standard));
    *current = list->newest ? list->newest : list->standard;
    return LIANA_OK;
}

liana_replicas *liana_replicas_current(liana_context *context)
{
    liana_replicas *current = NULL;
    LIANA__REQUIRE_OR(NULL, NULL, context);
    if (liana__context_begin(context) != LIANA_OK) return NULL;
    return liana__context_end(context, find_current(context, &current)) == LIANA_OK ? current : NULL;
}

/* ---- asking ---- */

liana_replicas_facts liana_replicas_info(const liana_replicas *replicas)
{
    if (!replicas) return (liana_replicas_facts){0};
    return (liana_replicas_facts){.num_in_sync = (int64_t)liana__replicas_total(replicas),
                                  .num_local = (int64_t)liana__replicas_local(replicas),
                                  .first_local = (int64_t)liana__replicas_first(replicas),
                                  .strategy = replicas->strategy};
}

liana_device *liana_replicas_device(liana_replicas *replicas)
{
    return replicas ? &replicas->first : NULL;
}

liana_variables *liana_replicas_variables(liana_replicas *replicas)
{
    return replicas ? replicas->variables : NULL;
}

/* ---- one call at a time ---- */

liana_status liana__replicas_enter(liana_replicas *replicas, const char *what, liana__error *error)
{
    const char *running = NULL;
    if (atomic_compare_exchange_strong(&replicas->running, &running, what)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: its replicas are in use by %s, which has not ended; they do one thing at a time", what,
                       running);
}

void liana__replicas_leave(liana_replicas *replicas)
{
    atomic_store(&replicas->running, NULL);
}

/* ---- variables of the other devices ---- */

liana__variables *liana__replicas_values(liana_replicas *replicas, size_t number)
{
    return number == 0 ? &replicas->variables->values : &replicas->copies[number].values;
}

static liana_status copy_variable(const liana__variable *from, liana__variables *to, liana__error *error)
{
    const liana__buffer *buffer = from->buffer;
    liana__variable *known = liana__variables_find(to, from->name);
    LIANA__SCOPED_MEMORY void *data = malloc(buffer->size + 1);
    if (!data) return liana__fail_memory(error, "the variables of another device");
    LIANA_TRY(liana__variable_read(from, data, error));
    return known ? liana__variable_write(known, data, error)
                 : liana__variables_add(to, from->name, buffer->dtype, &buffer->shape, data, error);
}

liana_status liana__replicas_copy(liana_replicas *replicas, size_t number, const size_t *places, size_t count,
                                  liana__error *error)
{
    liana__variable_copies *copies = &replicas->copies[number];
    const liana__variables *from = &replicas->variables->values;
    if (number == 0) return LIANA_OK;
    if (copies->num_versions < from->count) {
        uint64_t *versions = realloc(copies->versions, from->count * sizeof *versions);
        if (!versions) return liana__fail_memory(error, "the variables of another device");
        memset(versions + copies->num_versions, 0, (from->count - copies->num_versions) * sizeof *versions);
        copies->versions = versions;
        copies->num_versions = from->count;
    }
    for (size_t i = 0; i < count; i++) {
        const liana__variable *variable = &from->items[places[i]];
        if (copies->versions[places[i]] == variable->buffer->version) continue;
        LIANA_TRY(copy_variable(variable, &copies->values, error));
        copies->versions[places[i]] = variable->buffer->version;
    }
    return LIANA_OK;
}
