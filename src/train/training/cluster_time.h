/* cluster_time.h - how long a step takes in a cluster, foretold from measurements on one machine: pure arithmetic.
 * docs/explanation/scaling.md has the model. Seconds and bytes everywhere. */
#ifndef LIANA_TRAIN_CLUSTER_TIME_H
#define LIANA_TRAIN_CLUSTER_TIME_H

#include "step/slice_update.h"

/* ---- cluster bytes ---- */

/* Computes how many bytes the processes of a training send each other in an update.
 *
 * docs/explanation/cluster.md has the steps of an update. Counts that follow from the tree, the slices and the fixed
 * messages are exact where no record is bad: tests/train/training/test_cluster_plan.c compares them with the counters
 * of clusters. */

/* The sizes of an update of a training. */
typedef struct liana__plan_update {
    const liana__update_items *items; /* borrowed */
    size_t first_sum;                 /* floats of loss and metrics */
    bool mirrored;     /* the sums of each slice go to one more process, its mirror, which updates it too */
    bool short_sums;   /* gradients travel in bfloat16 */
    size_t num_counts; /* floats that are counted before the shards are computed; 0: none are */
} liana__plan_update;

/* An update in a cluster of `num_workers` that own the slices. The bytes are those of messages, without headers. */
typedef struct liana__cluster_bytes {
    size_t num_workers;
    size_t num_shards;
    size_t most_shards;     /* of one worker */
    size_t most_blocks;     /* that a worker sends */
    size_t num_blocks;      /* of all workers */
    uint64_t variables;     /* bytes of all that is updated */
    uint64_t largest_slice; /* bytes of it that one owner has */
    uint64_t most_sums;     /* bytes of blocks that a worker sends or receives, whichever is more */
    uint64_t most_values;   /* the same of new values */
    bool has_mirrors;       /* each process has the slice of another owner too */
    uint64_t most_mirrored; /* bytes of sums that an owner sends its mirror; 0: mirrors add blocks, or there are none */
    uint64_t most_sent;     /* by a worker in an update, with all small messages */
    size_t num_operations;  /* in which each process tells all others something, one after the other */
} liana__cluster_bytes;

/* `sent`: by worker, the bytes that it sends in an update; NULL: not wanted. Errors: OUT_OF_MEMORY, INVALID_ARGUMENT
 * for no shards or no workers. */
liana_status liana__cluster_bytes_of(const liana__plan_update *update, size_t num_shards, size_t num_workers,
                                     liana__cluster_bytes *bytes, uint64_t *sent, liana__error *error) LIANA_MUST_USE;

/* Bytes that each worker would send in a ring all-reduce of the same variables. */
double liana__ring_bytes(const liana__cluster_bytes *bytes);

/* ---- cluster time ---- */

/* The variables, in the model's order, are cut into this number of equal portions. */
enum { LIANA__PLAN_PORTIONS = 64 };

/* The measured times of a full turn, from short to long, are cut into this number of equal parts. */
enum { LIANA__PLAN_QUANTILES = 32 };

/* The times and bytes of one worker, measured with one microbatch. */
typedef struct liana__plan_work {
    int64_t microbatch;
    size_t threads;
    double lone_shard;                 /* one shard, alone on the worker */
    double full_turn;                  /* one shard for each of the worker's threads */
    double next_turn;                  /* the same again, right after a turn */
    double update;                     /* of all variables */
    double example;                    /* waiting for input, per example; 0: it is ready in time */
    double memory;                     /* bytes of a worker that is alone */
    double slots;                      /* bytes of them that are optimizer state */
    double left[LIANA__PLAN_PORTIONS]; /* by portion: from the moment its sums are there to the end of a full turn */
    double quantiles[LIANA__PLAN_QUANTILES]; /* of a full turn, by its median; zeros: all are as long */
    double crowding; /* threads for each core, of all that computed while this was measured; 0: not more than 1 */
} liana__plan_work;

/* The time that a machine's processors need for messages, measured. */
typedef struct liana__plan_messages {
    double copied;   /* a byte copied from memory to memory */
    double byte;     /* processor time for a byte that is sent and one that is received */
    double one_way;  /* a small message from one process to another of this machine */
    double one_more; /* processor time for a small message that is sent and one that is received */
    double piece; /* bytes that are encrypted before the first of them is sent, and there before they are decrypted */
} liana__plan_messages;

/* The cluster that is asked about. */
typedef struct liana__plan_cluster {
    double bandwidth;    /* bytes a second that a worker can send, and receive at the same time */
    double latency;      /* of the network, one way */
    size_t shared_cores; /* that all workers share; 0: each has its own */
} liana__plan_cluster;

/* The longest wait of a step. */
typedef enum liana__plan_limit {
    LIANA__LIMIT_COMPUTING,
    LIANA__LIMIT_SHARDS, /* there are too few for the threads of all workers */
    LIANA__LIMIT_READING,
    LIANA__LIMIT_UPDATE,
    LIANA__LIMIT_BANDWIDTH,
    LIANA__LIMIT_MESSAGES, /* processor time for messages: encryption, copies */
    LIANA__LIMIT_LATENCY,
    LIANA__NUM_LIMITS,
} liana__plan_limit;

/* Seconds of a step, of the worker that takes longest. */
typedef struct liana__step_time {
    double computing, reading, update;
    double sums, values; /* the exchange, both ways: bytes are sent and received, copied and added */
    double wired;        /* of them: where the wire is waited for */
    double latency;      /* of all operations in which processes tell each other something */
    double total;
    double memory; /* bytes of a worker */
    liana__plan_limit limit;
} liana__step_time;

/* All wait for the slowest worker. Returns its time divided by the median's, for `turns` turns of each worker. */
double liana__slowest_of(const liana__plan_work *work, size_t num_workers, size_t turns);

/* The seconds that sums are on the wire after computing has ended, of the worker that takes longest: it sends the
 * slices of other owners, or it gets its own. A portion is sent when it is there and the wire is free. `seconds`: all
 * that sums take on the wire. `num_owners`: how many share the sums; 1: each worker gets all. `stretch`: computing
 * takes this many times the measured time. */
double liana__exposed_seconds(const liana__plan_work *work, size_t num_owners, double stretch, double seconds);

/* `batch`: examples of a step in all workers. */
liana__step_time liana__step_time_of(const liana__plan_work *work, const liana__plan_messages *messages,
                                     const liana__plan_cluster *cluster, const liana__cluster_bytes *bytes,
                                     int64_t batch);

/* The share of a step that is not computing, reading or updating. */
double liana__exchange_share(const liana__step_time *time);

/* "encryption and copies"... */
const char *liana__plan_limit_name(liana__plan_limit limit);

#endif
