/* cluster.h - the processes of one training, and their messages.
 *
 * All processes run the same program on the same configuration, and meet in the same collective operations, in the same
 * order: so each of them counts the operations, and the count is the key of the messages. A decision that hangs on
 * something that only one process has - a clock, a signal, a file - is told to all by the chief before anybody acts.
 *
 * Where the transport survives deaths, so does the cluster: see "deaths" below, and docs/explanation/cluster.md. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_H
#define LIANA_DISTRIBUTE_CLUSTER_H

#include "base/context.h"
#include "base/error.h"
#include "distribute/cluster/phase.h"
#include "distribute/transport/cluster_place.h"
#include "distribute/transport/transport.h"

/* The purpose of a message. A number each, so that no two operations take each other's messages. */
typedef enum liana__cluster_message {
    LIANA__MESSAGE_GATHER = 1,
    LIANA__MESSAGE_BROADCAST,
    LIANA__MESSAGE_ERROR,
    LIANA__MESSAGE_REPORT,    /* how a process fared with its shards, and their first sums */
    LIANA__MESSAGE_BLOCKS,    /* a slice of the sums of blocks, to the owner of the slice; the part is the block */
    LIANA__MESSAGE_VARIABLES, /* a slice's new values, from its owner */
    LIANA__MESSAGE_SUMS,      /* a slice of one sum, or of a round of sums */
    LIANA__MESSAGE_ROWS,      /* rows of the output */
    LIANA__MESSAGE_MIRROR,    /* a slice of the sums, from its owner to its mirror; or the slice's whole state */
    LIANA__MESSAGE_ALARM,     /* the names of the dead */
    LIANA__MESSAGE_VIEW,      /* how far a process is, as all begin a generation */
    LIANA__MESSAGE_LEAD,      /* whether the chief of a generation may go on */
    LIANA__MESSAGE_RESULT,    /* of an operation, for those that were still in it */
    LIANA__MESSAGE_CLOSE,     /* nothing else comes */
    /* Of workers that are not in step (span.h), with the numbers of their requests as parts. */
    LIANA__MESSAGE_REQUEST,
    LIANA__MESSAGE_REQUEST_DATA,
    LIANA__MESSAGE_REPLY,
    LIANA__MESSAGE_REPLY_DATA,
} liana__cluster_message;

/* The shards and slices of a process, since it began: a test sees in it the work of each. */
typedef struct liana__cluster_counters {
    uint64_t shards_computed;
    uint64_t updates;
    uint64_t slot_bytes;     /* of optimizer state that this process owns */
    uint64_t mirror_bytes;   /* of state that it holds for another owner */
    uint64_t variable_bytes; /* of slices of weights that it owns */
    uint64_t sent_early;     /* bytes of gradients that were on their way while others were still computed */
    liana__transport_counters transport;
} liana__cluster_counters;

/* A program's answers to changes of the cluster. Zeros: nothing. */
typedef struct liana__cluster_hooks {
    /* Asks the chief of a generation that begins whether this side of the cluster may go on. `takes_over`: it was not
     * the chief before. The others wait for the answer; an error ends the job on all. NULL: only the first chief
     * leads. */
    liana_status (*lead)(void *user, bool takes_over, liana__error *error);
    /* Called in each process when another one has become chief. */
    void (*chief_changed)(void *user, size_t chief);
    void *user;
} liana__cluster_hooks;

typedef struct liana__recovery liana__recovery;

typedef struct liana__cluster {
    liana__cluster_place place; /* borrowed from the caller that opened the cluster */
    const liana__transport *transport;
    liana__transport_instance *instance;
    uint64_t generation; /* processes that have gone so far */
    uint64_t step;       /* collective operations in this generation */
    size_t chief;        /* the first worker; after its death the first that was left then */
    uint64_t round;      /* in which the processes have met */
    bool computes_alike; /* all have found that they compute the same bits, of which shards and updates are made */
    /* Variables in slices that were read so far, and reads that failed, which fail for all. */
    uint64_t held_reads, held_failures;
    liana__cluster_hooks hooks;
    const char *advice; /* the remedy when the cluster cannot go on; it stays the caller's. NULL: not known yet */
    volatile liana__phases *phases; /* for tests; NULL: nobody asked */
    liana__recovery *recovery;      /* NULL: the death of a process ends the job */
    liana__cluster_counters counters;
} liana__cluster;

/* Takes over a transport that is open, with its place. `cluster` is the caller's memory. */
void liana__cluster_init(liana__cluster *cluster, const liana__cluster_place *place, const liana__transport *transport,
                         liana__transport_instance *instance);
/* Closes the transport. Where the cluster survives deaths it waits a moment for the others to come here too: one that
 * is behind may need this process's results. */
void liana__cluster_close(liana__cluster *cluster);

/* The cluster that a program's context belongs to; NULL: none. It is borrowed, and must outlive all that is made with
 * the context. Errors: OUT_OF_MEMORY, in the context. */
liana_status liana__cluster_join(liana_context *context, liana__cluster *cluster) LIANA_MUST_USE;
liana__cluster *liana__cluster_of(const liana_context *context);
/* The same for a strategy that needs one: the first call joins the cluster that the environment tells of
 * (cluster_read.h); it is left when the context is destroyed. Errors: INVALID_CONFIG if there is none, and those of
 * joining. */
liana_status liana__cluster_require(liana_context *context, const char *strategy, liana__cluster **cluster,
                                    liana__error *error) LIANA_MUST_USE;

/* ---- roles ---- */

size_t liana__cluster_size(const liana__cluster *cluster); /* processes: workers, then servers */
/* True for no cluster, too. */
bool liana__cluster_is_chief(const liana__cluster *cluster);
bool liana__cluster_is_worker(const liana__cluster *cluster); /* the chief is one */
/* The number of processes that may own slices: the servers, or all workers without servers. Some of them may be
 * gone. */
size_t liana__cluster_num_owners(const liana__cluster *cluster);
size_t liana__cluster_owner_rank(const liana__cluster *cluster, size_t owner);
/* Whether a process is still there, as all agree. Any thread. */
bool liana__cluster_is_member(const liana__cluster *cluster, size_t rank);

/* ---- messages ---- */

/* Begins a collective operation. */
void liana__cluster_begin(liana__cluster *cluster);
/* A message of the running operation. Errors: those of the transport. */
liana_status liana__cluster_send(const liana__cluster *cluster, size_t to, liana__cluster_message kind, size_t part,
                                 const void *data, size_t size, liana__error *error) LIANA_MUST_USE;
/* The same with a message of several parts. */
liana_status liana__cluster_send_parts(const liana__cluster *cluster, size_t to, liana__cluster_message kind,
                                       size_t part, const liana__message_part *parts, size_t num_parts,
                                       liana__error *error) LIANA_MUST_USE;
/* To all others that are there. */
liana_status liana__cluster_send_to_all(const liana__cluster *cluster, liana__cluster_message kind, const void *data,
                                        size_t size, liana__error *error) LIANA_MUST_USE;
liana_status liana__cluster_receive(const liana__cluster *cluster, size_t from, liana__cluster_message kind,
                                    size_t part, void *data, size_t size, liana__error *error) LIANA_MUST_USE;
/* The same without a copy: the message's own memory, to be freed (liana__message_free). */
liana_status liana__cluster_take(const liana__cluster *cluster, size_t from, liana__cluster_message kind, size_t part,
                                 size_t size, liana__message *message, liana__error *error) LIANA_MUST_USE;

/* ---- collective operations: every process calls them, in the same order ---- */

/* Everybody gets everybody's `own`: `all` is [processes, size], by rank. It is zeros of those that are gone. */
liana_status liana__cluster_gather(liana__cluster *cluster, const void *own, size_t size, void *all,
                                   liana__error *error) LIANA_MUST_USE;

/* The same where sizes differ. Zero-initialise; free it in any case. */
typedef struct liana__gathered {
    char *data;      /* everybody's, one behind the other by rank */
    size_t *offsets; /* by rank, and one more */
} liana__gathered;
liana_status liana__cluster_gather_sized(liana__cluster *cluster, const void *own, size_t size, liana__gathered *all,
                                         liana__error *error) LIANA_MUST_USE;
void liana__gathered_free(liana__gathered *gathered);

/* Everybody gets the data of the process `from`. All pass the same rank, so all fail alike if it dies. Errors:
 * UNAVAILABLE where it dies before it has told. */
liana_status liana__cluster_tell(liana__cluster *cluster, size_t from, void *data, size_t size, liana__error *error)
    LIANA_MUST_USE;
/* The same of a size that only `from` knows: *data is malloc'ed for the others, and `from` gives its own. */
liana_status liana__cluster_tell_sized(liana__cluster *cluster, size_t from, void **data, size_t *size,
                                       liana__error *error) LIANA_MUST_USE;

/* Everybody gets the chief's data; if it dies before it has told, the next chief's. */
liana_status liana__cluster_follow_chief(liana__cluster *cluster, void *data, size_t size, liana__error *error)
    LIANA_MUST_USE;
/* Whether it is so anywhere. */
liana_status liana__cluster_agree(liana__cluster *cluster, bool *any, liana__error *error) LIANA_MUST_USE;
/* The chief's decision. */
liana_status liana__cluster_decide(liana__cluster *cluster, bool *decision, liana__error *error) LIANA_MUST_USE;
/* If a process failed, all fail with the error of the first one by rank. Without a cluster: returns `status`. */
liana_status liana__cluster_agree_status(liana__cluster *cluster, liana_status status, liana__error *error)
    LIANA_MUST_USE;
/* The same where everybody knows already how all fared: by rank. */
liana_status liana__cluster_share_error(liana__cluster *cluster, const int32_t *statuses, liana__error *error)
    LIANA_MUST_USE;

/* ---- deaths ----
 *
 * All these do nothing for no cluster, and where a death ends the job.
 *
 * The operations above survive a death by themselves. Others must be in a section: the work since its beginning can be
 * done once more, since it changes nothing before the section has ended well in all processes. */

void liana__cluster_section_begin(liana__cluster *cluster);
bool liana__cluster_in_section(const liana__cluster *cluster);
/* Leaves a section that nobody repeats: a death in it ends the job. */
void liana__cluster_section_forget(liana__cluster *cluster);
/* All processes have come to the end: now the section counts as done. Errors: as any operation in it. */
liana_status liana__cluster_section_end(liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;
/* The same where it ends with a status that all processes have, which is returned: their results are bad. */
liana_status liana__cluster_section_leave(liana__cluster *cluster, liana_status status, liana__error *error)
    LIANA_MUST_USE;
/* After a section: whether it is to be done once more, from its beginning on, by all that are left; they have agreed on
 * a new generation then. `status` is how it ended, and may become another error. */
bool liana__cluster_repeats(liana__cluster *cluster, liana_status *status, liana__error *error) LIANA_MUST_USE;
/* From now on a death ends the job. All processes call it at the same place. */
void liana__cluster_give_up_survival(liana__cluster *cluster);
/* Whether a death may leave it alive. */
bool liana__cluster_survives(const liana__cluster *cluster);
/* Changes when members do; 0 for no cluster. A caller that has divided work among processes divides it anew then. */
uint64_t liana__cluster_generation(const liana__cluster *cluster);
void liana__cluster_set_hooks(liana__cluster *cluster, const liana__cluster_hooks *hooks);

/* ---- processes that come (back): rounds ----
 *
 * A process that starts when the others have met waits. They take it in by closing the cluster and meeting once more,
 * in the next round (cluster_place.h), of those that are left and those that wait: from a state that they have
 * saved. */

/* Whether such processes may wait; before they are refused. Only a program that asks can take them in. */
void liana__cluster_take_in(liana__cluster *cluster, bool may);
/* Whether the processes have met again after an earlier round; false for no cluster. */
bool liana__cluster_is_later_round(const liana__cluster *cluster);
/* Processes that are there, as far as this process knows. */
size_t liana__cluster_num_members(const liana__cluster *cluster);
/* Whether a process has died, or the processes have met again since the cluster began. False for no cluster. */
bool liana__cluster_has_changed(const liana__cluster *cluster);
/* Whether one waits, as far as this process knows. */
bool liana__cluster_has_waiting(const liana__cluster *cluster);
/* A collective operation. All agree whether they meet in a next round: somebody waits (`waits`), and nobody stops for
 * another reason (`stops`). *round: that one; its number is 0 if they do not. `absent` has room for all processes.
 * Those that wait are told when the cluster is closed. */
liana_status liana__cluster_plan_round(liana__cluster *cluster, bool waits, bool stops, liana__cluster_round *round,
                                       bool *absent, liana__error *error) LIANA_MUST_USE;

#endif
