/* span.h - the updates between two points at which all processes meet, in which workers are not in step with each
 * other.
 *
 * Parameter servers own all slices. A worker asks the first server whether it may begin, fetches the values of the
 * weights, computes, and sends each server its slice of the gradients. There are two ways:
 *
 * - asynchronous: an update is one worker's gradients, which the servers apply as they come. The first server lets a
 *   worker begin when no gradient can become staler than the bound (span_gate.h).
 * - first arrivals: an update is the sum of the first `gradients` workers' gradients. Later ones are dropped.
 *
 * All processes call liana__span_run, and meet in it at the end. Nothing here is reproducible, but which gradients were
 * used is known, and each is used once.
 *
 * Where the cluster survives deaths, the servers go on without a worker that is gone. Without a server, and where some
 * process has not come into the span when others have, nothing of the span stays: the servers take back their former
 * values. */
#ifndef LIANA_DISTRIBUTE_SPAN_H
#define LIANA_DISTRIBUTE_SPAN_H

#include "distribute/cluster/exchange_options.h"
#include "distribute/cluster/sliced_update.h"
#include "distribute/cluster/span_counts.h"

/* A worker's results of a step. */
typedef struct liana__span_share {
    liana__leaf_batch leaves; /* its own, all of them */
    int64_t count;            /* examples; 0: there are none, and nothing is computed */
    size_t num_sharing;       /* workers that have shards of the step; 0: this worker has none of it, and goes on */
} liana__span_share;

/* The functions of the training. Steps are counted from the span's first one. */
typedef struct liana__span_work {
    size_t num_steps;
    const bool *done;    /* by step: those that are not to be done again */
    uint64_t generation; /* of the cluster, in which shares were divided */
    /* On a worker: its share of a step. Steps are asked for in ascending order; others are not computed here. */
    liana_status (*begin)(void *user, size_t step, liana__span_share *share, liana__error *error);
    /* It was computed, and its gradients are not offered yet: an error keeps them back. `first` is the first of the
     * sums. NULL: nobody looks. */
    liana_status (*look)(void *user, size_t step, const float *first, liana__error *error);
    /* Its gradients were used. */
    liana_status (*end)(void *user, size_t step, const float *first, liana__error *error);
    /* On a server: the scalars of the n-th update of the span, for `count` examples. */
    liana_status (*scalars)(void *user, size_t update, double count, float *scalars, liana__error *error);
    /* On a server: the name of a sum that an input of the update reads, for messages. NULL: as the input is called. */
    const char *(*name_sum)(void *user, const char *input);
    bool allows_non_finite; /* nobody looks for numbers that are not finite */
    void *user;
} liana__span_work;

/* The fate of the gradients of one step. */
typedef struct liana__span_step {
    uint32_t used;      /* that its update took */
    uint32_t dropped;   /* that came when its update was over */
    uint32_t staleness; /* of asynchronous ones: updates between fetching and applying, the most on any server */
} liana__span_step;

/* The results of a span: the same in all processes. The tables are the caller's, zeros before. */
typedef struct liana__span_outcome {
    liana__span_counts counts;
    bool undone; /* nothing of the span stays; all is to be done again, by those that are left */
    bool *done; /* by step: it was done. Not of those of workers that are gone, where an update is of one's gradients */
    liana__span_step *steps; /* by step, of all tries together that were not undone */
    bool *died;              /* by worker: it was there at the beginning, and not at the end ... */
    int64_t *examples;       /* ... and this number of its examples was used */
} liana__span_outcome;

/* The first server's record of a worker, should that not be able to tell it. */
typedef struct liana__span_given {
    uint64_t used, dropped; /* gradients */
    int64_t examples;       /* of those used */
} liana__span_given;

/* One process's record of a span. */
typedef struct liana__span_side {
    bool broken; /* it cannot stay */
    liana__span_counts counts;
    liana__span_step *steps;  /* of a server; `dropped` is known to the first one */
    liana__span_given *given; /* of the first server, by worker */
} liana__span_side;

/* The parts of the strategy that compute and update. */
typedef struct liana__span_parts {
    liana__cluster *cluster;
    liana__exchange_options options;
    liana__sliced_update *update;
    const liana__wire_format *format;
    /* Computes shards; *block: all their sums, one behind the other, with `offsets` by sum. */
    liana_status (*compute)(void *user, const liana__leaf_batch *leaves, const float **block, liana__error *error);
    const size_t *offsets;
    void *user;
} liana__span_parts;

/* Runs the span, and brings the new values of all variables to all processes. If one fails, all fail with its error.
 * Errors: those of the work, of the update, of the cluster; OUT_OF_RANGE (a number is not finite). */
liana_status liana__span_run(const liana__span_parts *span, const liana__span_work *work, liana__span_outcome *outcome,
                             liana__error *error) LIANA_MUST_USE;

/* The two sides. A server is made first, everywhere, and then serves. It serves until all workers have ended. */
typedef struct liana__span_server liana__span_server;
liana_status liana__span_server_create(const liana__span_parts *span, const liana__span_work *work,
                                       liana__span_side *side, liana__span_server **server, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__span_serve(liana__span_server *server, liana__error *error) LIANA_MUST_USE;
void liana__span_server_destroy(liana__span_server *server); /* NULL is allowed */
liana_status liana__span_worker(const liana__span_parts *span, const liana__span_work *work, liana__span_side *side,
                                liana__error *error) LIANA_MUST_USE;

/* ---- messages ---- */

typedef enum liana__span_request_kind {
    LIANA__SPAN_BEGIN = 1, /* to the first server: may this worker begin? */
    LIANA__SPAN_FETCH,     /* to all: the values; they follow the reply */
    LIANA__SPAN_OFFER,     /* to the first: are these gradients among the first? */
    LIANA__SPAN_GRADIENTS, /* to all: they follow, unless they are of no examples */
    LIANA__SPAN_DONE,      /* to the first: all servers have applied them; there is no reply */
    LIANA__SPAN_END,       /* to all: this worker has no more work; there is no reply */
    /* Between servers, where the cluster survives deaths; there are no replies. */
    LIANA__SPAN_GONE,  /* from the first: the worker `round` is gone */
    LIANA__SPAN_SEEN,  /* to the first: nothing of that worker is applied any more */
    LIANA__SPAN_CLOSE, /* from the first: the update takes `expected` gradients of those that are left */
} liana__span_request_kind;

typedef struct liana__span_request {
    uint32_t kind;
    uint32_t stops;    /* of END: the sender ends before its work was done */
    uint64_t round;    /* the update that is meant, counted from 0 */
    uint64_t expected; /* gradients that the update takes */
    int64_t count;     /* examples of the gradients */
} liana__span_request;

typedef enum liana__span_answer {
    LIANA__SPAN_YES = 1,
    LIANA__SPAN_NO,   /* these gradients come too late */
    LIANA__SPAN_STOP, /* a process failed */
} liana__span_answer;

typedef struct liana__span_reply {
    uint32_t answer; /* liana__span_answer */
    uint32_t unused;
    uint64_t round; /* of BEGIN: the running update */
} liana__span_reply;

/* A worker and a server number their requests. */
liana_status liana__span_send(const liana__span_parts *span, size_t to, uint32_t number,
                              const liana__span_request *request, liana__error *error) LIANA_MUST_USE;
liana_status liana__span_answer_to(const liana__span_parts *span, size_t to, uint32_t number,
                                   const liana__span_reply *reply, liana__error *error) LIANA_MUST_USE;

#endif
