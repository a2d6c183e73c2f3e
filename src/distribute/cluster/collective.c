/* Small collective operations, made of sending and receiving. */
#include "distribute/cluster/recovery.h"

#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes come from other processes: sums of them must not overflow. */
static const size_t MOST_BYTES = SIZE_MAX / 2;

typedef struct gathering {
    const void *own;
    size_t size;
    void *all;
} gathering;

static liana_status gather(void *user, liana__cluster *cluster, liana__error *error)
{
    const gathering *of = user;
    return liana__cluster_exchange(cluster, of->own, of->size, of->all, NULL, error);
}

liana_status liana__cluster_gather(liana__cluster *cluster, const void *own, size_t size, void *all,
                                   liana__error *error)
{
    gathering of = {own, size, all};
    const liana__operation operation = {
        .run = gather, .user = &of, .result = all, .size = liana__cluster_size(cluster) * size, .hears_all = true};
    return liana__cluster_operate(cluster, &operation, error);
}

void liana__gathered_free(liana__gathered *gathered)
{
    free(gathered->data);
    free(gathered->offsets);
    *gathered = (liana__gathered){0};
}

typedef struct sized_gathering {
    const void *own;
    size_t size;
    liana__gathered *all;
    size_t count;
} sized_gathering;

/* Makes room for messages of these sizes, which become offsets. */
static liana_status lay_out(sized_gathering *of, const uint64_t *sizes, liana__error *error)
{
    liana__gathered_free(of->all);
    of->all->offsets = calloc(of->count + 1, sizeof *of->all->offsets);
    if (!of->all->offsets) return liana__fail_memory(error, "what the processes tell each other");
    for (size_t i = 0; i < of->count; i++) {
        if (sizes[i] > MOST_BYTES - of->all->offsets[i]) {
            return liana__fail(error, LIANA_INVALID_DATA, "process %zu tells too many bytes", i);
        }
        of->all->offsets[i + 1] = of->all->offsets[i] + (size_t)sizes[i];
    }
    of->all->data = malloc(of->all->offsets[of->count] + 1);
    return of->all->data ? LIANA_OK : liana__fail_memory(error, "what the processes tell each other");
}

static liana_status gather_all_sizes(sized_gathering *of, liana__cluster *cluster, liana__error *error)
{
    const uint64_t own_size = of->size;
    LIANA__SCOPED_MEMORY uint64_t *sizes = calloc(of->count, sizeof *sizes);
    if (!sizes) return liana__fail_memory(error, "what the processes tell each other");
    LIANA_TRY(liana__cluster_exchange(cluster, &own_size, sizeof own_size, sizes, NULL, error));
    return lay_out(of, sizes, error);
}

static liana_status gather_sized(void *user, liana__cluster *cluster, liana__error *error)
{
    sized_gathering *of = user;
    LIANA_TRY(gather_all_sizes(of, cluster, error));
    liana__cluster_begin(cluster);
    return liana__cluster_exchange(cluster, of->own, of->size, of->all->data, of->all->offsets, error);
}

/* The sizes of all, then their messages. */
static liana_status keep_gathered(void *user, char **data, size_t *size, liana__error *error)
{
    const sized_gathering *of = user;
    const size_t *offsets = of->all->offsets, head = of->count * sizeof(uint64_t);
    *size = head + offsets[of->count];
    *data = malloc(*size + 1);
    if (!*data) return liana__fail_memory(error, "what the processes tell each other");
    for (size_t i = 0; i < of->count; i++) {
        const uint64_t length = offsets[i + 1] - offsets[i];
        memcpy(*data + i * sizeof length, &length, sizeof length);
    }
    memcpy(*data + head, of->all->data, offsets[of->count]);
    return LIANA_OK;
}

static liana_status take_gathered(void *user, const char *data, size_t size, liana__error *error)
{
    sized_gathering *of = user;
    const size_t head = of->count * sizeof(uint64_t);
    LIANA__SCOPED_MEMORY uint64_t *sizes = calloc(of->count, sizeof *sizes);
    uint64_t total = 0;
    if (!sizes) return liana__fail_memory(error, "what the processes tell each other");
    memcpy(sizes, data, size < head ? size : head);
    for (size_t i = 0; i < of->count; i++) total += sizes[i] <= size ? sizes[i] : size;
    if (size < head || total != size - head) {
        return liana__fail(error, LIANA_INTERNAL, "another process has done something else at this place");
    }
    LIANA_TRY(lay_out(of, sizes, error));
    memcpy(of->all->data, data + head, size - head);
    return LIANA_OK;
}

liana_status liana__cluster_gather_sized(liana__cluster *cluster, const void *own, size_t size, liana__gathered *all,
                                         liana__error *error)
{
    sized_gathering of = {own, size, all, liana__cluster_size(cluster)};
    const liana__operation operation = {
        .run = gather_sized, .user = &of, .keep = keep_gathered, .take = take_gathered, .hears_all = true};
    return liana__cluster_operate(cluster, &operation, error);
}

typedef struct telling {
    size_t from;
    void *data;
    size_t size;
} telling;

static liana_status tell(void *user, liana__cluster *cluster, liana__error *error)
{
    const telling *of = user;
    if (cluster->place.rank == of->from) {
        return liana__cluster_send_to_all(cluster, LIANA__MESSAGE_BROADCAST, of->data, of->size, error);
    }
    if (!liana__cluster_is_member(cluster, of->from)) {
        return liana__fail(error, LIANA_UNAVAILABLE, "process %zu was gone before it told what it had to tell",
                           of->from);
    }
    return liana__cluster_receive(cluster, of->from, LIANA__MESSAGE_BROADCAST, 0, of->data, of->size, error);
}

liana_status liana__cluster_tell(liana__cluster *cluster, size_t from, void *data, size_t size, liana__error *error)
{
    telling of = {from, data, size};
    const liana__operation operation = {.run = tell, .user = &of, .result = data, .size = size};
    return liana__cluster_operate(cluster, &operation, error);
}

liana_status liana__cluster_tell_sized(liana__cluster *cluster, size_t from, void **data, size_t *size,
                                       liana__error *error)
{
    uint64_t length = *size;
    LIANA_TRY(liana__cluster_tell(cluster, from, &length, sizeof length, error));
    if (length > MOST_BYTES) return liana__fail(error, LIANA_INVALID_DATA, "process %zu tells too many bytes", from);
    *size = (size_t)length;
    if (cluster->place.rank != from) {
        *data = malloc(*size + 1);
        if (!*data) return liana__fail_memory(error, "what another process tells");
        ((char *)*data)[*size] = 0;
    }
    return liana__cluster_tell(cluster, from, *data, *size, error);
}

liana_status liana__cluster_agree(liana__cluster *cluster, bool *any, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    const unsigned char own = *any;
    LIANA__SCOPED_MEMORY unsigned char *all = malloc(count);
    if (!all) return liana__fail_memory(error, "what the processes tell each other");
    LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, all, error));
    for (size_t i = 0; i < count; i++) *any |= all[i] != 0;
    return LIANA_OK;
}

static liana_status tell_as_chief(void *user, liana__cluster *cluster, liana__error *error)
{
    telling of = *(const telling *)user;
    of.from = cluster->chief;
    return tell(&of, cluster, error);
}

liana_status liana__cluster_follow_chief(liana__cluster *cluster, void *data, size_t size, liana__error *error)
{
    telling of = {.data = data, .size = size};
    const liana__operation operation = {.run = tell_as_chief, .user = &of, .result = data, .size = size};
    return liana__cluster_operate(cluster, &operation, error);
}

liana_status liana__cluster_decide(liana__cluster *cluster, bool *decision, liana__error *error)
{
    unsigned char told = *decision;
    LIANA_TRY(liana__cluster_follow_chief(cluster, &told, sizeof told, error));
    *decision = told != 0;
    return LIANA_OK;
}

liana_status liana__cluster_share_error(liana__cluster *cluster, const int32_t *statuses, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    size_t first = 0;
    while (first < count && statuses[first] == LIANA_OK) first++;
    if (first == count) return LIANA_OK;
    char text[sizeof error->message] = "";
    if (first == cluster->place.rank && error) snprintf(text, sizeof text, "%s", error->message);
    const liana_status told = liana__cluster_tell(cluster, first, text, sizeof text, error);
    if (told == LIANA_UNAVAILABLE && !liana__cluster_is_member(cluster, first)) {
        return liana__fail(error, (liana_status)statuses[first], "process %zu failed, and was gone before it said why",
                           first);
    }
    LIANA_TRY(told);
    if (first == cluster->place.rank) {
        const bool has_said = !error || *error->message;
        return has_said ? (liana_status)statuses[first]
                        : liana__fail(error, (liana_status)statuses[first], "other processes say that this one failed");
    }
    text[sizeof text - 1] = 0;
    return liana__fail(error, (liana_status)statuses[first], "process %zu: %.1900s", first, text);
}

liana_status liana__cluster_agree_status(liana__cluster *cluster, liana_status status, liana__error *error)
{
    if (!cluster) return status;
    const size_t count = liana__cluster_size(cluster);
    const int32_t own = (int32_t)status;
    LIANA__SCOPED_MEMORY int32_t *all = calloc(count, sizeof *all);
    if (!all) return liana__fail_memory(error, "what the processes tell each other");
    LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, all, error));
    return liana__cluster_share_error(cluster, all, error);
}
