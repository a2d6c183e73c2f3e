/* sliced_update.h - an update in a cluster: each slice is applied by its owner, and by its mirror if it has one. All
 * processes get the new values of the variables that shards read. Variables that only updates read stay with owner and
 * mirror. */
#ifndef LIANA_DISTRIBUTE_SLICED_UPDATE_H
#define LIANA_DISTRIBUTE_SLICED_UPDATE_H

#include "distribute/cluster/slice.h"
#include "distribute/cluster/slice_chunks.h"
#include "distribute/tree.h"

typedef struct liana__sliced_update {
    const liana__strategy_plan *plan; /* of all variables; NULL: not made */
    liana__arena arena;               /* of all lists, and of what they point to but slices */
    liana__cluster *cluster;
    liana__device *device;
    size_t num_slices;
    liana__slice **slices;    /* by slice: those that this process owns or mirrors; NULL: others have it */
    size_t *owners, *mirrors; /* by slice: ranks; SIZE_MAX: none */
    bool is_mirrored;         /* slices have mirrors, as long as there are two to share them */
    uint64_t generation;      /* in which owners and mirrors were agreed on */
    uint64_t num_updates;     /* that all have */
    liana__slice_map *maps;   /* by slice */
    uint64_t *round_sizes;    /* [slices, rounds]: floats that a slice adds to a round */
    float **chunk_sums;       /* by round: of all slices */
    float *scalars;
    /* New values, until all processes have them: by slice as they have come, or parts of the values that this process
     * has applied. By place among the plan's variables memory for them, where a device has its own; NULL: it has none,
     * or nothing is sent. */
    liana__message *received;
    liana__message_part *parts;
    char **whole;
    size_t num_places;
} liana__sliced_update;

/* Cuts the update, and compiles the own slices. All processes do it at the same time. The plan is borrowed; a training
 * shard was built before. Errors: those of the plan, of compiling, of the cluster. Zero-initialise; free it in any
 * case. */
liana_status liana__sliced_update_create(liana__cluster *cluster, liana__device *device,
                                         const liana__strategy_plan *plan, liana__sliced_update *update,
                                         liana__error *error) LIANA_MUST_USE;
void liana__sliced_update_free(liana__sliced_update *update);

/* The present holder of a slice's state: its owner, or if that is gone its mirror; SIZE_MAX: it is lost. */
size_t liana__sliced_update_owner(const liana__sliced_update *update, size_t slice);
/* The slice, if this process is its owner; else NULL. */
liana__slice *liana__sliced_update_owned(const liana__sliced_update *update, size_t slice);

/* One update, in a section of the cluster, which ends with it. The slices have their sums. It changes nothing before
 * all owners and mirrors have applied it; if it is done once more, those that have applied it do not do so again. */
liana_status liana__sliced_update_run(liana__sliced_update *update, const float *scalars, liana__error *error)
    LIANA_MUST_USE;

/* The parts of an update, for workers that are not in step (span.h), where slices have no mirrors. The own slices have
 * their sums. They change; nobody hears of it. */
liana_status liana__sliced_update_apply(liana__sliced_update *update, const float *scalars, liana__error *error)
    LIANA_MUST_USE;
/* Takes over new values of a slice (liana__slice_read_fetched), and writes those of all slices to the variables. */
void liana__sliced_update_take(liana__sliced_update *update, size_t slice, const char *values);
liana_status liana__sliced_update_write(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;
/* All processes get the new values of all slices. */
liana_status liana__sliced_update_exchange(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;

/* Counts the numbers of this process's slices that are not finite. `name` is that of the whole variable or sum. */
liana_status liana__sliced_update_check(const liana__sliced_update *update, liana__checked what, int64_t *count,
                                        char name[256], liana__error *error) LIANA_MUST_USE;

/* A variable that its owners hold: from them to all processes, and from this process's copy to its own part. The place
 * is that among the plan's variables. */
liana_status liana__sliced_update_gather(liana__sliced_update *update, size_t place, void *data, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__sliced_update_scatter(liana__sliced_update *update, size_t place, const void *data,
                                          liana__error *error) LIANA_MUST_USE;
/* This process's part of it, to its places in `data`. */
liana_status liana__sliced_update_read_own(const liana__sliced_update *update, size_t place, void *data,
                                           liana__error *error) LIANA_MUST_USE;
/* A sum of the shards, from its owners to all processes. */
liana_status liana__sliced_update_read_sum(liana__sliced_update *update, size_t sum, float *data, liana__error *error)
    LIANA_MUST_USE;

/* ---- mirror.c ---- */

/* Chooses the first owners and mirrors: of those that are left, as the chief sees it. A cluster has as many slices as
 * it had owners when it began. Errors: UNAVAILABLE if no owner is left, those of the cluster. */
liana_status liana__mirrors_choose(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;
/* After deaths: all agree on the holders of slices, and slices without mirror get one, which receives the state. In a
 * section. Errors: UNAVAILABLE if a slice is lost: its owner and its mirror died. */
liana_status liana__mirrors_follow(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;
/* Whether mirrors add the blocks themselves, as owners do: where two workers have a block each, which takes no more
 * bytes than the sums would, and can be sent while shards are computed. All processes say the same. */
bool liana__mirrors_add(const liana__sliced_update *update, const liana__tree_plan *tree);
/* Else: the sums of slices, from owners to mirrors, in chunks: the process that adds them sends them. */
liana_status liana__mirrors_send_chunk(const liana__sliced_update *update, const liana__slice_chunks *chunks,
                                       const liana__slice_chunk *chunk, liana__error *error) LIANA_MUST_USE;
liana_status liana__mirrors_receive_sums(const liana__sliced_update *update, const liana__slice_chunks *chunks,
                                         liana__error *error) LIANA_MUST_USE;
/* The slices that this process owns and mirrors, in the counters of the cluster. */
void liana__mirrors_count(const liana__sliced_update *update);

#endif
