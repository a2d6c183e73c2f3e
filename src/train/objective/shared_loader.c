/* Loaders of a cluster. */
#include "train/objective/shared_loader.h"

#include "base/scoped.h"
#include "step/shard_list.h"

#include <stdlib.h>
#include <string.h>

/* Parameter servers read nothing. Without memory the chief reads all. */
static void divide(void *user, int64_t num_shards, int64_t *bounds)
{
    const liana__cluster *cluster = user;
    const size_t num_workers = cluster->place.num_workers, size = liana__cluster_size(cluster);
    liana__leaf_range *ranges = calloc(num_workers, sizeof *ranges);
    liana_status status =
        ranges ? liana__share_among_workers((size_t)num_shards, cluster, ranges, NULL) : LIANA_OUT_OF_MEMORY;
    bounds[0] = 0;
    for (size_t i = 0; i < size; i++) {
        bounds[i + 1] = status == LIANA_OK && i < num_workers ? (int64_t)ranges[i].end : num_shards;
    }
    free(ranges);
}

static liana_status gather(void *user, const void *data, size_t size, liana__told *all, liana__error *error)
{
    liana__cluster *cluster = user;
    LIANA__SCOPED(liana__gathered) gathered = {0};
    const size_t count = liana__cluster_size(cluster);
    /* A process tells of the rows that it has read: no other can do so in its place. */
    const bool in_section = liana__cluster_in_section(cluster);
    liana__cluster_section_begin(cluster);
    liana_status status = liana__cluster_gather_sized(cluster, data, size, &gathered, error);
    if (!in_section) liana__cluster_section_forget(cluster);
    size_t done = 0;
    while (status == LIANA_OK && done < count) {
        const size_t length = gathered.offsets[done + 1] - gathered.offsets[done];
        all[done] = (liana__told){malloc(length + 1), length};
        if (!all[done].data) {
            status = liana__fail_memory(error, "what the processes tell each other");
        } else {
            memcpy(all[done].data, gathered.data + gathered.offsets[done], length);
            done++;
        }
    }
    for (size_t i = 0; status != LIANA_OK && i < done; i++) free(all[i].data);

    return status;
}

/* A message's size comes first. */
enum { PART_SIZE, PART_DATA };

static liana_status send_one(const liana__cluster *cluster, size_t to, const liana__told *message, liana__error *error)
{
    const uint64_t size = message->size;
    LIANA_TRY(liana__cluster_send(cluster, to, LIANA__MESSAGE_ROWS, PART_SIZE, &size, sizeof size, error));
    return liana__cluster_send(cluster, to, LIANA__MESSAGE_ROWS, PART_DATA, message->data, message->size, error);
}

static liana_status scatter(void *user, size_t from, const liana__told *messages, liana__told *own, liana__error *error)
{
    liana__cluster *cluster = user;
    uint64_t size;
    liana__cluster_begin(cluster);
    for (size_t i = 0; messages && i < liana__cluster_size(cluster); i++) {
        if (i != from && liana__cluster_is_member(cluster, i)) LIANA_TRY(send_one(cluster, i, &messages[i], error));
    }
    if (messages) return LIANA_OK;
    LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_ROWS, PART_SIZE, &size, sizeof size, error));
    *own = (liana__told){size < SIZE_MAX ? malloc((size_t)size + 1) : NULL, (size_t)size};
    liana_status status =
        own->data ? liana__cluster_receive(cluster, from, LIANA__MESSAGE_ROWS, PART_DATA, own->data, own->size, error)
                  : liana__fail_memory(error, "the rows of a stream");
    if (status != LIANA_OK) free(own->data);
    return status;
}

/* The first worker that is left; its rows of a step come first. */
static size_t reader(void *user)
{
    const liana__cluster *cluster = user;
    size_t first = 0;
    while (first + 1 < cluster->place.num_workers && !liana__cluster_is_member(cluster, first)) first++;
    return first;
}

liana__input_workers liana__share_input(liana__cluster *cluster, int64_t microbatch)
{
    return (liana__input_workers){.count = liana__cluster_size(cluster),
                                  .self = cluster->place.rank,
                                  .microbatch = microbatch,
                                  .divide = divide,
                                  .gather = gather,
                                  .scatter = scatter,
                                  .reader = reader,
                                  .user = cluster};
}

void liana__share_loader(const liana__trainer *trainer, liana__input_workers *workers, liana__loader_options *options)
{
    liana__cluster *cluster = liana__trainer_options_of(trainer)->cluster;
    if (!cluster) return;
    *workers = liana__share_input(cluster, liana__trainer_microbatch(trainer));
    options->workers = workers;
}
