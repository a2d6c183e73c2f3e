/* recorder.h - the recorder of `liana profile`: events with their times, in rings that are allocated before anything
 * runs.
 *
 * A track is a ring with one writing and one reading thread. If a ring is full, the event is counted and dropped. So
 * recording never waits and never allocates. Code that can be profiled holds a pointer to a recorder, which is NULL
 * unless somebody profiles. */
#ifndef LIANA_BASE_RECORDER_H
#define LIANA_BASE_RECORDER_H

#include "base/clock.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum liana__event_kind {
    LIANA__EVENT_NODE,   /* a node ran: `subject` is the node, `how` the kernel */
    LIANA__EVENT_PACK,   /* an input was laid out for the node before it ran, as its kernel wants it */
    LIANA__EVENT_SHARD,  /* a shard ran: `number` is its index */
    LIANA__EVENT_REDUCE, /* all sums of two subtrees were added: `number` is a shard of the later one */
    LIANA__EVENT_ADD,    /* within a shard: an output was added to another shard's, or to that of another subtree */
    LIANA__EVENT_SHARDS, /* all shards of a batch ran, with the reduction: `number` of shards */
    LIANA__EVENT_UPDATE, /* the optimizer was applied */
    LIANA__EVENT_WAIT,   /* a step waited for its batch */
    LIANA__EVENT_STEP,   /* a whole step: `number` counts from 0 */
    LIANA__EVENT_READ,   /* a thread of the input made `number` examples */
    LIANA__NUM_EVENTS,
} liana__event_kind;

typedef struct liana__event {
    uint64_t begin, end; /* times of liana__clock */
    const void *subject;
    const void *how;
    liana__event_kind kind;
    uint32_t number;
} liana__event;

typedef struct liana__recorder liana__recorder;

/* `capacity`: events in each track, at least 1. */
liana_status liana__recorder_create(size_t num_tracks, size_t capacity, liana__recorder **recorder, liana__error *error)
    LIANA_MUST_USE;
void liana__recorder_destroy(liana__recorder *recorder);
size_t liana__recorder_num_tracks(const liana__recorder *recorder);

/* Records an event that ends now. Each track has one writing thread at a time. */
void liana__recorder_add(liana__recorder *recorder, size_t track, liana__event event);

/* Moves up to `capacity` events out of a track, oldest first, and returns how many. */
size_t liana__recorder_take(liana__recorder *recorder, size_t track, liana__event *events, size_t capacity);
/* Events of a track that wait to be taken; events that were dropped so far. */
size_t liana__recorder_waiting(const liana__recorder *recorder, size_t track);
size_t liana__recorder_dropped(const liana__recorder *recorder, size_t track);

#endif
