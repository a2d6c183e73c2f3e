/* The time of a step, part by part: no two parts of it run at the same time. */
#include "train/plan/cluster_time.h"

/* Of 1,538 bytes that a full Ethernet frame takes on the wire, with its gap, 1,448 are ours. */
static const double WIRE_SHARE = 1448.0 / 1538.0;

/* A transport's threads that work at the same time: that which sends and encrypts, that which reads and copies. */
static const double MESSAGE_THREADS = 2;

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* So many leaves at once, at most one for each thread. */
static double turn_of(const liana__plan_work *work, size_t leaves)
{
    if (leaves == 0) return 0;
    if (work->threads < 2) return work->full_turn;
    const double part = (double)(leaves - 1) / (double)(work->threads - 1);
    return work->lone_leaf + (work->full_turn - work->lone_leaf) * part;
}

static double computing_of(const liana__plan_work *work, size_t leaves)
{
    const size_t turns = leaves / work->threads, rest = leaves % work->threads;
    if (turns == 0) return turn_of(work, rest);
    /* A turn behind another one is a little shorter: what begins a step is over. */
    const double gain = work->full_turn - work->next_turn;
    double seconds = work->full_turn + (double)(turns - 1) * work->next_turn;
    if (rest) seconds += most(turn_of(work, rest) - gain, 0);
    return seconds;
}

/* How much longer the workers' threads take because they share cores. */
static double crowding_of(const liana__plan_work *work, const liana__plan_cluster *cluster, size_t num_workers)
{
    if (cluster->shared_cores == 0) return 1;
    return most(1, (double)(num_workers * work->threads) / (double)cluster->shared_cores);
}

/* Bytes that go out and as many that come in: the wire and the processors work at the same time. */
static double carry(const liana__plan_work *work, const liana__plan_messages *messages,
                    const liana__plan_cluster *cluster, size_t num_workers, double bytes)
{
    const double cores =
        cluster->shared_cores ? (double)cluster->shared_cores / (double)num_workers : (double)work->threads;
    const double threads = least(MESSAGE_THREADS, cores);
    return most(bytes / (cluster->bandwidth * WIRE_SHARE), bytes * messages->byte / threads);
}

/* Bytes of memory that the exchange copies before and after the wire. */
static double copied_for_sums(const liana__cluster_bytes *bytes)
{
    const double blocks = (double)bytes->most_blocks * (double)bytes->variables;
    const double added = (double)(bytes->num_blocks - 1) * (double)bytes->largest_slice;
    /* To the host, into one piece for each owner; additions; the check that all is finite. */
    return 2 * blocks + added + (double)bytes->largest_slice;
}

static double copied_for_values(const liana__cluster_bytes *bytes)
{
    /* Into one piece and checked; everybody's to their places, and into the variables. */
    return 2 * (double)bytes->largest_slice + 2 * (double)bytes->variables;
}

static double memory_of(const liana__plan_work *work, const liana__cluster_bytes *bytes)
{
    const double variables = (double)bytes->variables, slice = (double)bytes->largest_slice;
    if (bytes->num_workers < 2) return work->memory;
    const double share = variables > 0 ? slice / variables : 0;
    /* Own blocks, one piece of them, an owner's slices of all blocks, its part of the weights; everybody's new values. */
    const double exchanged =
        ((double)bytes->most_blocks + 1) * variables + (double)bytes->num_blocks * slice + 2 * slice + variables;
    /* A mirror has a slice of another owner, its sums and its slots too. */
    const double held = bytes->most_mirrored ? 2 * share : share;
    const double mirrored = bytes->most_mirrored ? 2 * slice : 0;
    return work->memory - work->slots * (1 - held) + exchanged + mirrored;
}

/* Of all that the wire carries in a step; 0: the processors are slower. */
static double wire_seconds(const liana__plan_cluster *cluster, const liana__cluster_bytes *bytes, double carried)
{
    const double moved = (double)(bytes->most_sums + bytes->most_values + bytes->most_mirrored);
    const double wire = moved / (cluster->bandwidth * WIRE_SHARE);
    return wire >= 0.999 * carried ? wire : 0;
}

static liana__plan_limit limit_of(const liana__plan_work *work, const liana__plan_cluster *cluster,
                                  const liana__cluster_bytes *bytes, const liana__step_time *time)
{
    const double exchange = time->sums + time->values, wire = wire_seconds(cluster, bytes, time->carried);
    /* The rest are copies, before and after the wire, and encryption that is slower than the wire. */
    const bool by_wire = wire >= exchange - wire;
    const double parts[LIANA__NUM_LIMITS] = {
        [LIANA__LIMIT_COMPUTING] = time->computing,
        [LIANA__LIMIT_READING] = time->reading,
        [LIANA__LIMIT_UPDATE] = time->update,
        [LIANA__LIMIT_BANDWIDTH] = by_wire ? exchange : 0,
        [LIANA__LIMIT_MESSAGES] = by_wire ? 0 : exchange,
        [LIANA__LIMIT_LATENCY] = time->latency,
    };
    liana__plan_limit limit = LIANA__LIMIT_COMPUTING;
    for (int i = 0; i < LIANA__NUM_LIMITS; i++) {
        if (parts[i] > parts[limit]) limit = (liana__plan_limit)i;
    }
    const bool idle = bytes->num_leaves < bytes->num_workers * work->threads;
    return limit == LIANA__LIMIT_COMPUTING && idle ? LIANA__LIMIT_SHARDS : limit;
}

liana__step_time liana__step_time_of(const liana__plan_work *work, const liana__plan_messages *messages,
                                     const liana__plan_cluster *cluster, const liana__cluster_bytes *bytes,
                                     int64_t batch)
{
    const size_t workers = bytes->num_workers;
    const double crowding = crowding_of(work, cluster, workers);
    const double share = (double)bytes->largest_slice / most((double)bytes->variables, 1);
    const double examples = (double)batch * (double)bytes->most_leaves / (double)bytes->num_leaves;
    liana__step_time time = {.computing = crowding * computing_of(work, bytes->most_leaves),
                             .reading = crowding * examples * work->example,
                             .update = crowding * work->update * share * (bytes->most_mirrored ? 2 : 1),
                             .memory = memory_of(work, bytes)};
    if (workers > 1) {
        const double copied = crowding * messages->copied;
        const double sums = carry(work, messages, cluster, workers, (double)bytes->most_sums);
        const double values = carry(work, messages, cluster, workers, (double)bytes->most_values);
        const double mirrored = carry(work, messages, cluster, workers, (double)bytes->most_mirrored);
        time.carried = sums + values + mirrored;
        time.sums = copied * (copied_for_sums(bytes) + 2 * (double)bytes->most_mirrored) + sums + mirrored;
        time.values = copied * copied_for_values(bytes) + values;
        time.latency = (double)bytes->num_operations * (cluster->latency + crowding * messages->one_way +
                                                        crowding * (double)(workers - 2) * messages->one_more);
    }
    time.total = time.computing + time.reading + time.update + time.sums + time.values + time.latency;
    time.limit = limit_of(work, cluster, bytes, &time);
    return time;
}

double liana__exchange_share(const liana__step_time *time)
{
    return time->total > 0 ? (time->sums + time->values + time->latency) / time->total : 0;
}

const char *liana__plan_limit_name(liana__plan_limit limit)
{
    static const char *const names[LIANA__NUM_LIMITS] = {
        [LIANA__LIMIT_COMPUTING] = "computing", [LIANA__LIMIT_SHARDS] = "too few shards",
        [LIANA__LIMIT_READING] = "reading",     [LIANA__LIMIT_UPDATE] = "the update",
        [LIANA__LIMIT_BANDWIDTH] = "bandwidth", [LIANA__LIMIT_MESSAGES] = "encryption and copies",
        [LIANA__LIMIT_LATENCY] = "latency",
    };
    return names[limit];
}
