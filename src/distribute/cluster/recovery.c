/* Operations and sections that survive the death of a process. */
#include "distribute/cluster/recovery.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of results that are kept without hearing from all. */
static const size_t most_kept = 4 << 20;

/* ---- results ---- */

static void drop_before(liana__result_list *list, uint64_t position)
{
    size_t left = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].position >= position) {
            list->items[left++] = list->items[i];
            continue;
        }
        list->bytes -= list->items[i].size;
        free(list->items[i].data);
    }
    list->count = left;
}

/* Takes over the data, also if it fails. */
static liana_status add_result(liana__result_list *list, uint64_t position, char *data, size_t size,
                               liana__error *error)
{
    if (!data || !liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
        free(data);
        return liana__fail_memory(error, "what processes have in common");
    }
    list->items[list->count++] = (liana__kept_result){position, data, size};
    list->bytes += size;
    return LIANA_OK;
}

static const liana__kept_result *find_result(const liana__result_list *list, uint64_t position)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].position == position) return &list->items[i];
    }
    return NULL;
}

static char *copy_bytes(const void *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy && size) memcpy(copy, data, size);
    return copy;
}

/* ---- create and destroy ---- */

liana__recovery *liana__recovery_create(size_t size)
{
    liana__recovery *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    own->size = size;
    own->ranks = calloc(size, sizeof *own->ranks);
    if (!own->ranks) {
        liana__recovery_destroy(own);
        return NULL;
    }
    for (size_t i = 0; i < size; i++) own->ranks[i].is_member = true;
    return own;
}

void liana__recovery_destroy(liana__recovery *recovery)
{
    if (!recovery) return;
    drop_before(&recovery->log, UINT64_MAX);
    drop_before(&recovery->queued, UINT64_MAX);
    free(recovery->log.items);
    free(recovery->queued.items);
    free(recovery->ranks);
    free(recovery);
}

/* ---- those behind get the results of others ---- */

/* Two messages for each result: its size and its bytes. */
static liana_status send_results(liana__cluster *cluster, size_t to, liana__error *error)
{
    const liana__recovery *own = cluster->recovery;
    size_t part = 0;
    for (uint64_t at = own->ranks[to].position; at < own->position; at++) {
        const liana__kept_result *found = find_result(&own->log, at);
        if (!found) return liana__fail(error, LIANA_INTERNAL, "rank %zu is too far behind", to);
        const uint64_t size = found->size;
        LIANA_TRY(liana__cluster_send(cluster, to, LIANA__MESSAGE_RESULT, part++, &size, sizeof size, error));
        LIANA_TRY(liana__cluster_send(cluster, to, LIANA__MESSAGE_RESULT, part++, found->data, found->size, error));
    }
    return LIANA_OK;
}

static liana_status receive_results(liana__cluster *cluster, size_t from, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    size_t part = 0;
    for (uint64_t at = own->position; at < own->ranks[from].position; at++) {
        uint64_t size = 0;
        LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_RESULT, part++, &size, sizeof size, error));
        char *data = size < SIZE_MAX ? malloc((size_t)size + 1) : NULL;
        liana_status status =
            data ? liana__cluster_receive(cluster, from, LIANA__MESSAGE_RESULT, part++, data, (size_t)size, error)
                 : liana__fail_memory(error, "what other processes have completed");
        if (status != LIANA_OK) {
            free(data);
            return status;
        }
        LIANA_TRY(add_result(&own->queued, at, data, (size_t)size, error));
    }
    return LIANA_OK;
}

/* The first of those that are furthest gives. */
static liana_status share_results(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    size_t first = own->size;
    for (size_t i = 0; i < own->size; i++) {
        const bool further = first == own->size || own->ranks[i].position > own->ranks[first].position;
        if (own->ranks[i].is_member && further) first = i;
    }
    drop_before(&own->queued, UINT64_MAX);
    if (first != cluster->place.rank) return receive_results(cluster, first, error);
    for (size_t i = 0; i < own->size; i++) {
        if (own->ranks[i].is_member && i != first) LIANA_TRY(send_results(cluster, i, error));
    }
    return LIANA_OK;
}

static liana_status begin_anew(liana__cluster *cluster, liana__error *error)
{
    for (;;) {
        LIANA_TRY(liana__members_agree(cluster, error));
        const liana_status status = share_results(cluster, error);
        if (status != LIANA_UNAVAILABLE || !liana__members_look(cluster)) return status;
    }
}

liana_status liana__cluster_recover(liana__cluster *cluster, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    liana__error failure = {0};
    own->lost = false;
    const liana_status status = begin_anew(cluster, &failure);
    own->lost = false;
    if (status == LIANA_OK) return LIANA_OK;
    own->failure = failure;
    return liana__fail(error, status, "%s", failure.message);
}

/* ---- operations ---- */

static liana_status keep_result(liana__recovery *own, const liana__operation *operation, liana__error *error)
{
    char *data = NULL;
    size_t size = operation->size;
    if (operation->hears_all) drop_before(&own->log, own->position);
    if (operation->keep) {
        LIANA_TRY(operation->keep(operation->user, &data, &size, error));
    } else {
        data = copy_bytes(operation->result, size);
    }
    return add_result(&own->log, own->position++, data, size, error);
}

/* Takes a result that others have completed already. False: nobody has. */
static bool take_queued(liana__recovery *own, const liana__operation *operation, liana_status *status,
                        liana__error *error)
{
    const liana__kept_result *found = find_result(&own->queued, own->position);
    if (!found) return false;
    *status = LIANA_OK;
    if (operation->take) {
        *status = operation->take(operation->user, found->data, found->size, error);
    } else if (found->size != operation->size) {
        *status = liana__fail(error, LIANA_INTERNAL, "another process has done something else at this place");
    } else if (found->size) {
        memcpy(operation->result, found->data, found->size);
    }
    if (*status == LIANA_OK) *status = keep_result(own, operation, error);
    drop_before(&own->queued, own->position);
    return true;
}

static liana_status try_once(liana__cluster *cluster, const liana__operation *operation, liana__error *error)
{
    liana__cluster_begin(cluster);
    return operation->run(operation->user, cluster, error);
}

/* Until it is done, or `lost` is false: then something else is wrong. */
static liana_status complete(liana__cluster *cluster, const liana__operation *operation, liana__error *error)
{
    liana__recovery *own = cluster->recovery;
    liana_status status;
    if (own->failure.status != LIANA_OK) {
        return liana__fail(error, own->failure.status, "%s", own->failure.message);
    }
    while (!take_queued(own, operation, &status, error)) {
        status = try_once(cluster, operation, error);
        if (status == LIANA_OK) return keep_result(own, operation, error);
        if (status != LIANA_UNAVAILABLE || !own->lost) return status;
        LIANA_TRY(liana__cluster_recover(cluster, error));
        if (own->in_section && !own->queued.count) {
            own->repeats = true;
            return liana__fail(error, LIANA_UNAVAILABLE, "a process is gone");
        }
    }
    return status;
}

/* ---- hearing from all ---- */

static liana_status hear_all(void *user, liana__cluster *cluster, liana__error *error)
{
    (void)user;
    return liana__cluster_exchange(cluster, NULL, 0, NULL, NULL, error);
}

static const liana__operation hearing = {.run = hear_all, .hears_all = true};

liana_status liana__cluster_operate(liana__cluster *cluster, const liana__operation *operation, liana__error *error)
{
    const liana__recovery *own = cluster->recovery;
    if (!own || own->in_section) return try_once(cluster, operation, error);
    LIANA_TRY(complete(cluster, operation, error));
    return own->log.bytes > most_kept && !operation->hears_all ? complete(cluster, &hearing, error) : LIANA_OK;
}

/* ---- sections ---- */

void liana__cluster_section_begin(liana__cluster *cluster)
{
    if (cluster && cluster->phases) cluster->phases->phase = LIANA__PHASE_COMPUTES;
    if (!cluster || !cluster->recovery) return;
    cluster->recovery->in_section = true;
    cluster->recovery->lost = cluster->recovery->repeats = false;
}

liana_status liana__cluster_section_end(liana__cluster *cluster, liana__error *error)
{
    if (!cluster || !cluster->recovery || !cluster->recovery->in_section) return LIANA_OK;
    LIANA_TRY(complete(cluster, &hearing, error));
    cluster->recovery->in_section = false;
    if (cluster->phases) cluster->phases->phase = LIANA__PHASE_OTHER;
    if (cluster->phases) cluster->phases->steps++;
    return LIANA_OK;
}

bool liana__cluster_in_section(const liana__cluster *cluster)
{
    return cluster && cluster->recovery && cluster->recovery->in_section;
}

void liana__cluster_section_forget(liana__cluster *cluster)
{
    if (cluster && cluster->recovery) cluster->recovery->in_section = false;
}

liana_status liana__cluster_section_leave(liana__cluster *cluster, liana_status status, liana__error *error)
{
    if (status == LIANA_UNAVAILABLE) return status;
    LIANA_TRY(liana__cluster_section_end(cluster, error));
    return status;
}

bool liana__cluster_repeats(liana__cluster *cluster, liana_status *status, liana__error *error)
{
    liana__recovery *own = cluster ? cluster->recovery : NULL;
    if (!own) return false;
    const bool lost = own->in_section && *status == LIANA_UNAVAILABLE && own->lost;
    bool again = own->in_section && *status == LIANA_UNAVAILABLE && own->repeats;
    own->in_section = own->repeats = false;
    if (!lost) return again;
    *status = liana__cluster_recover(cluster, error);
    again = *status == LIANA_OK;
    if (!again || !own->queued.count) return again;
    *status = liana__fail(error, LIANA_INTERNAL, "another process has completed what this one is in the middle of");
    return false;
}

void liana__cluster_give_up_survival(liana__cluster *cluster)
{
    liana__recovery_destroy(cluster->recovery);
    cluster->recovery = NULL;
}

bool liana__cluster_survives(const liana__cluster *cluster)
{
    return cluster->recovery != NULL;
}

uint64_t liana__cluster_generation(const liana__cluster *cluster)
{
    return cluster ? cluster->generation : 0;
}

void liana__cluster_set_hooks(liana__cluster *cluster, const liana__cluster_hooks *hooks)
{
    cluster->hooks = *hooks;
}
