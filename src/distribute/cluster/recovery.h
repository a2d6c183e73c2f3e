/* recovery.h - how a cluster goes on when a process has gone. For the files of this folder.
 *
 * Operations that all processes complete are counted: the count is a process's position. Nobody completes an operation
 * in which it hears from all before all have begun it. So when a process dies, the others are in the same operation, or
 * some have completed it, and a few that only one tells. Those ahead give their results to those behind; then all do
 * the operation once more without the dead, or the section that it belongs to.
 *
 * The dead only become more, and their number is the generation. All that are left tell each other whom they miss,
 * until all say the same: no one has to lead that. */
#ifndef LIANA_DISTRIBUTE_RECOVERY_H
#define LIANA_DISTRIBUTE_RECOVERY_H

#include "distribute/cluster/cluster.h"

#include <stdatomic.h>

/* Seconds between looks for deaths, while a message is awaited. */
#define LIANA__BETWEEN_LOOKS 0.05

/* The result of an operation: the same bytes in all processes. */
typedef struct liana__kept_result {
    uint64_t position;
    char *data;
    size_t size;
} liana__kept_result;

typedef struct liana__result_list {
    liana__kept_result *items;
    size_t count, capacity;
    size_t bytes;
} liana__result_list;

/* A process, as this one knows it. */
typedef struct liana__rank_state {
    atomic_bool is_member;             /* of this generation */
    bool is_dead;                      /* as far as this process knows */
    uint64_t alarms_to, alarms_from;   /* how many were sent and heard */
    uint64_t told_dead, told_position; /* of its last alarm */
    uint64_t position;                 /* when the generation began */
} liana__rank_state;

struct liana__recovery {
    size_t size;              /* processes, gone or not */
    liana__rank_state *ranks; /* by rank */
    uint64_t num_dead, told;  /* how many are dead; when the others were last told of them */
    uint64_t position;
    bool in_section;
    bool lost;                 /* an operation has ended because somebody is gone */
    bool repeats;              /* a new generation has begun: the section is to be done once more */
    liana__result_list log;    /* of the last operations, for those behind */
    liana__result_list queued; /* of operations that others have completed */
    liana__error failure;      /* why the cluster cannot go on */
};

/* NULL: there is no memory; then a death ends the job. */
liana__recovery *liana__recovery_create(size_t size);
void liana__recovery_destroy(liana__recovery *recovery);

/* ---- members.c ---- */

/* Looks for deaths. True: a process of the generation is dead. */
bool liana__members_look(liana__cluster *cluster);
/* Takes a process for dead that has closed the cluster before it sent the awaited message. */
void liana__members_lose(liana__cluster *cluster, size_t rank);
/* Whether a process begins a new generation that had completed fewer operations than `position` when it said so: it
 * needs all others for it. */
bool liana__members_call_back(const liana__cluster *cluster, uint64_t position);
/* Tells all others the same as if this process were behind them all. */
void liana__members_pass_on(liana__cluster *cluster);
/* Tells the transport who belongs to the generation. Errors: OUT_OF_MEMORY. */
liana_status liana__members_set(liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;
/* A message outside of operations: it can be received in any generation. */
liana__message_key liana__members_close_key(void);

/* Tells a process the names of the dead, and that this one has completed `position` operations. Errors: those of the
 * transport. */
liana_status liana__members_send_alarm(liana__cluster *cluster, size_t to, uint64_t position, liana__error *error)
    LIANA_MUST_USE;

/* ---- messages.c ---- */

/* Of a message of the running operation. */
liana__message_key liana__cluster_key(const liana__cluster *cluster, liana__cluster_message kind, size_t part);

/* In the running operation everybody gets everybody's `own`, by rank; zeros of those that are gone. `offsets`: where
 * each begins in `all`, and one more; NULL: all have `size` bytes. */
liana_status liana__cluster_exchange(const liana__cluster *cluster, const void *own, size_t size, void *all,
                                     const size_t *offsets, liana__error *error) LIANA_MUST_USE;

/* ---- generation.c ---- */

/* All that are left agree on a new generation; `positions` are set. Errors: UNAVAILABLE if the others have gone on
 * without this process, if this side may not go on, or if no worker is left. */
liana_status liana__members_agree(liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;

/* ---- rounds.c ---- */

/* Takes over the absent and the leader of the round in which the processes have met. */
void liana__rounds_begin(liana__cluster *cluster);

/* ---- recovery.c ---- */

/* An operation that all processes do at the same position. */
typedef struct liana__operation {
    liana_status (*run)(void *user, liana__cluster *cluster, liana__error *error);
    void *user;
    /* Its result. NULL: `result`. Both functions are for results whose size is not known before. */
    liana_status (*keep)(void *user, char **data, size_t *size, liana__error *error);
    liana_status (*take)(void *user, const char *data, size_t size, liana__error *error);
    void *result;
    size_t size;
    bool hears_all; /* nobody completes it before all have begun it */
} liana__operation;

/* Begins an operation and runs it: until it has been done in all that are left. In a section it is tried once. */
liana_status liana__cluster_operate(liana__cluster *cluster, const liana__operation *operation, liana__error *error)
    LIANA_MUST_USE;
/* Begins a new generation, and gets the results that others have completed. Errors: those of liana__members_agree,
 * INTERNAL. */
liana_status liana__cluster_recover(liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;

#endif
