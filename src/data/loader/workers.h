/* workers.h - how several processes share the steps of a loader.
 *
 * Each process has a loader over the same data with the same options. A step is cut into shards of `microbatch`
 * positions (cut.h). Each process makes a contiguous range of them, in the order of the processes; a range may be
 * empty. So its batches have the rows of its own shards only, and these are the rows that one process alone would have
 * at these positions: order, draws, mixing and gaps are functions of positions and shards.
 *
 * A stream is read by one process alone, which sends the others their rows.
 *
 * Step by step, each process tells all others its findings: the records that it cannot use, or its first error.
 * So all lists of bad records, limits and errors are the same in all processes. */
#ifndef LIANA_DATA_WORKERS_H
#define LIANA_DATA_WORKERS_H

#include "base/error.h"
#include "batch/batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message of one process. */
typedef struct liana__told {
    char *data; /* of malloc */
    size_t size;
} liana__told;

/* The processes, for the options of a loader. */
typedef struct liana__input_workers {
    size_t count; /* of processes; 2 or more, or 1 for tests */
    size_t self;  /* the number of this one */
    int64_t microbatch;
    /* Sets bounds[count + 1] for a step of that number of shards: process w makes the shards bounds[w] to before
     * bounds[w + 1]. bounds[0] is 0, the last one num_shards. All processes must answer the same. The answer may change
     * when all loaders begin anew (liana__loader_begin): then a process is gone, or has come. Any thread. */
    void (*divide)(void *user, int64_t num_shards, int64_t *bounds);
    /* Gives all processes' messages to all of them: all[count], to be freed one by one; empty of those that are
     * gone. All processes call it equally often, in one order. It is called by the thread that calls
     * liana__loader_next. Errors: UNAVAILABLE where a process is gone; then nothing is to be freed. */
    liana_status (*gather)(void *user, const void *data, size_t size, liana__told *all, liana__error *error);
    /* Process `from` gives messages[count], one for each process but itself; each of the others gets its own, to be
     * freed. Called as `gather` is. NULL: no streams. */
    liana_status (*scatter)(void *user, size_t from, const liana__told *messages, liana__told *own,
                            liana__error *error);
    /* The process that reads a stream. The answer may change as that of `divide`: then another one goes on where all
     * begin. NULL: process 0. */
    size_t (*reader)(void *user);
    /* The processes do not wait for each other: they do not tell their findings, and `gather` is not called. The ranges
     * of others then count as whole. Not for streams. */
    bool apart;
    /* The one process that makes all of a step of an epoch. NULL: they share each step as `divide` says. */
    size_t (*owner)(void *user, uint64_t step);
    void *user;
} liana__input_workers;

#endif
