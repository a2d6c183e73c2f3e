/* The time of a step, part by part: no two parts of it run at the same time. */
#include "train/training/cluster_time.h"

#include <math.h>

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

/* At most one shard for each thread, all at once. */
static double turn_of(const liana__plan_work *work, size_t shards)
{
    if (shards == 0) return 0;
    if (work->threads < 2) return work->full_turn;
    const double part = (double)(shards - 1) / (double)(work->threads - 1);
    return work->lone_shard + (work->full_turn - work->lone_shard) * part;
}

static double computing_of(const liana__plan_work *work, size_t shards)
{
    const size_t turns = shards / work->threads, rest = shards % work->threads;
    if (turns == 0) return turn_of(work, rest);
    /* A turn behind another one is a little shorter: the beginning of the step is over. */
    const double gain = work->full_turn - work->next_turn;
    double seconds = work->full_turn + (double)(turns - 1) * work->next_turn;
    if (rest) seconds += most(turn_of(work, rest) - gain, 0);
    return seconds;
}

double liana__slowest_of(const liana__plan_work *work, size_t num_workers, size_t turns)
{
    const double count = LIANA__PLAN_QUANTILES, workers = (double)num_workers;
    double mean = 0, slowest = 0;
    if (work->quantiles[0] <= 0 || turns == 0) return 1;
    for (size_t i = 0; i < LIANA__PLAN_QUANTILES; i++) {
        /* The chance that the slowest of all is this one. */
        const double chance = pow((double)(i + 1) / count, workers) - pow((double)i / count, workers);
        mean += work->quantiles[i] / count;
        slowest += work->quantiles[i] * chance;
    }
    /* Several turns even out. */
    return mean + (slowest - mean) / sqrt((double)turns);
}

/* How much longer the workers' threads take because they share cores. */
static double crowding_of(const liana__plan_work *work, const liana__plan_cluster *cluster, size_t num_workers)
{
    if (cluster->shared_cores == 0) return 1;
    return most(1, (double)(num_workers * work->threads) / (double)cluster->shared_cores);
}

/* ---- the wire ---- */

/* The part of a portion that lies inside [begin, end) of all, or outside. */
static double share_of(size_t portion, double begin, double end, bool inside)
{
    const double width = 1.0 / LIANA__PLAN_PORTIONS, from = (double)portion * width;
    const double common = most(least(from + width, end) - most(from, begin), 0);
    return inside ? common : width - common;
}

/* The end of sending a part of all portions, after the end of computing. */
static double end_of(const double *left, const size_t *order, double begin, double end, bool inside, double seconds)
{
    const double whole = inside ? end - begin : 1 - (end - begin);
    double free = -left[order[0]];
    for (size_t i = 0; i < LIANA__PLAN_PORTIONS; i++) {
        const double share = share_of(order[i], begin, end, inside);
        if (share > 0) free = most(free, -left[order[i]]) + seconds * share / whole;
    }
    return most(free, 0);
}

double liana__exposed_seconds(const liana__plan_work *work, size_t num_owners, double stretch, double seconds)
{
    double left[LIANA__PLAN_PORTIONS], longest = 0;
    size_t order[LIANA__PLAN_PORTIONS];
    for (size_t i = 0; i < LIANA__PLAN_PORTIONS; i++) {
        size_t at = i;
        left[i] = stretch * work->left[i];
        for (; at > 0 && left[order[at - 1]] < left[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    /* Of many owners, some: neighbours hardly differ. */
    const size_t step = (num_owners + LIANA__PLAN_PORTIONS - 1) / LIANA__PLAN_PORTIONS;
    for (size_t i = 0; i < num_owners; i += step) {
        const double begin = (double)i / (double)num_owners, end = (double)(i + 1) / (double)num_owners;
        longest = most(longest, end_of(left, order, begin, end, false, seconds));
        longest = most(longest, end_of(left, order, begin, end, true, seconds));
    }
    return longest;
}

static double wire_of(const liana__plan_cluster *cluster, uint64_t bytes)
{
    return (double)bytes / (cluster->bandwidth * WIRE_SHARE);
}

static double processors_of(const liana__plan_work *work, const liana__plan_messages *messages,
                            const liana__plan_cluster *cluster, size_t num_workers, double bytes)
{
    const double cores =
        cluster->shared_cores ? (double)cluster->shared_cores / (double)num_workers : (double)work->threads;
    return bytes * messages->byte / least(MESSAGE_THREADS, cores);
}

/* The values that the time of a message depends on. */
typedef struct passing {
    const liana__plan_work *work;
    const liana__plan_messages *messages;
    const liana__plan_cluster *cluster;
    size_t num_workers;
} passing;

/* Seconds after the end of computing that it takes to send these bytes and to receive as many. `exposed`: seconds of
 * them on the wire. Bytes that travel earlier take their processor time from computing. The rest is encrypted and
 * copied while it is on the wire, except its first and last piece. Adds to *wired the seconds in which the wire is
 * waited for. */
static double carry(const passing *of, uint64_t bytes, double exposed, double *wired)
{
    const double wire = wire_of(of->cluster, bytes), share = wire > 0 ? exposed / wire : 1;
    const double late = share * (double)bytes, piece = least(late, of->messages->piece);
    const double early = processors_of(of->work, of->messages, of->cluster, of->num_workers, (double)bytes - late);
    const double processors = processors_of(of->work, of->messages, of->cluster, of->num_workers, late);
    const double ends = processors_of(of->work, of->messages, of->cluster, of->num_workers, piece);
    if (exposed >= processors) *wired += exposed;
    return early + ends + most(exposed, processors - ends);
}

static bool do_mirrors_add(const liana__cluster_bytes *bytes)
{
    return bytes->has_mirrors && bytes->most_mirrored == 0;
}

/* Bytes of memory that the exchange copies before and after the wire. */
static double copied_for_sums(const liana__cluster_bytes *bytes)
{
    const double slice = (double)bytes->largest_slice;
    const double added = (double)(bytes->num_blocks - 1) * (do_mirrors_add(bytes) ? 2 * slice : slice);
    /* Additions; slices that a mirror gets added up; the check that all is finite. */
    return added + (double)bytes->most_mirrored + slice;
}

static double copied_for_values(const liana__cluster_bytes *bytes)
{
    /* The check of the own ones; everybody's into the variables. */
    return (double)bytes->largest_slice + (double)bytes->variables;
}

static double memory_of(const liana__plan_work *work, const liana__cluster_bytes *bytes)
{
    const double variables = (double)bytes->variables, slice = (double)bytes->largest_slice;
    if (bytes->num_workers < 2) return work->memory;
    const double share = variables > 0 ? slice / variables : 0;
    /* The messages on their way: others' blocks, and everybody's new values; an owner's sums and its part of the
     * weights. */
    const double exchanged = (double)(bytes->num_blocks - bytes->most_blocks) * slice + variables + 2 * slice;
    /* A mirror has a slice of another owner, its sums and its slots too. */
    const double held = bytes->has_mirrors ? 2 * share : share;
    const double mirrored = bytes->has_mirrors ? 2 * slice : 0;
    return work->memory - work->slots * (1 - held) + exchanged + mirrored;
}

static liana__plan_limit limit_of(const liana__plan_work *work, const liana__cluster_bytes *bytes,
                                  const liana__step_time *time)
{
    const double exchange = time->sums + time->values;
    /* The rest are copies, before and after the wire, and encryption that is slower than the wire. */
    const bool by_wire = time->wired >= exchange - time->wired;
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
    const bool idle = bytes->num_shards < bytes->num_workers * work->threads;
    return limit == LIANA__LIMIT_COMPUTING && idle ? LIANA__LIMIT_SHARDS : limit;
}

liana__step_time liana__step_time_of(const liana__plan_work *work, const liana__plan_messages *messages,
                                     const liana__plan_cluster *cluster, const liana__cluster_bytes *bytes,
                                     int64_t batch)
{
    const size_t workers = bytes->num_workers;
    const double crowding = crowding_of(work, cluster, workers), measured = most(1, work->crowding);
    const double slowdown = most(1, crowding / measured);
    const double share = (double)bytes->largest_slice / most((double)bytes->variables, 1);
    const double examples = (double)batch * (double)bytes->most_shards / (double)bytes->num_shards;
    const size_t turns = (bytes->most_shards + work->threads - 1) / work->threads;
    const double slowest = liana__slowest_of(work, workers, turns);
    liana__step_time time = {.computing = slowdown * slowest * computing_of(work, bytes->most_shards),
                             .reading = slowdown * examples * work->example,
                             .update = slowdown * work->update * share * (bytes->has_mirrors ? 2 : 1),
                             .memory = memory_of(work, bytes)};
    if (workers > 1) {
        const double copied = crowding * messages->copied;
        const double stretch = slowdown * (bytes->most_shards ? 1 : 0);
        const passing of = {work, messages, cluster, workers};
        const size_t owners = do_mirrors_add(bytes) ? 1 : workers;
        const double exposed = liana__exposed_seconds(work, owners, stretch, wire_of(cluster, bytes->most_sums));
        const double sums = carry(&of, bytes->most_sums, exposed, &time.wired);
        const double values = carry(&of, bytes->most_values, wire_of(cluster, bytes->most_values), &time.wired);
        const double mirrored = carry(&of, bytes->most_mirrored, wire_of(cluster, bytes->most_mirrored), &time.wired);
        time.sums = copied * copied_for_sums(bytes) + sums + mirrored;
        time.values = copied * copied_for_values(bytes) + values;
        time.latency = (double)bytes->num_operations * (cluster->latency + crowding * messages->one_way +
                                                        crowding * (double)(workers - 2) * messages->one_more);
    }
    time.total = time.computing + time.reading + time.update + time.sums + time.values + time.latency;
    time.limit = limit_of(work, bytes, &time);
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
