/* Writes events into rings, and reads them back in order. */
#include "base/recorder.h"

#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Counts only grow. An event is at its count modulo the capacity. Each track has cache lines of its own. */
typedef struct track {
    _Alignas(LIANA__ALIGNMENT) atomic_size_t written;
    atomic_size_t taken;
    atomic_size_t dropped;
    liana__event *events;
} track;

struct liana__recorder {
    size_t num_tracks;
    size_t capacity;
    track *tracks;
};

void liana__recorder_destroy(liana__recorder *recorder)
{
    if (!recorder) return;
    for (size_t i = 0; recorder->tracks && i < recorder->num_tracks; i++) free(recorder->tracks[i].events);
    free(recorder->tracks);
    free(recorder);
}

liana_status liana__recorder_create(size_t num_tracks, size_t capacity, liana__recorder **out, liana__error *error)
{
    *out = NULL;
    liana__recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder) return liana__fail_memory(error, "the recorder");
    recorder->num_tracks = num_tracks;
    recorder->capacity = capacity;
    recorder->tracks = liana__allocate_zeroed(num_tracks * sizeof *recorder->tracks);
    bool enough = recorder->tracks != NULL;
    for (size_t i = 0; enough && i < num_tracks; i++) {
        recorder->tracks[i].events = calloc(capacity, sizeof *recorder->tracks[i].events);
        enough = recorder->tracks[i].events != NULL;
    }
    if (!enough) {
        liana__recorder_destroy(recorder);
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for recording %zu events on each of %zu threads",
                           capacity, num_tracks);
    }
    *out = recorder;
    return LIANA_OK;
}

size_t liana__recorder_num_tracks(const liana__recorder *recorder)
{
    return recorder->num_tracks;
}

void liana__recorder_add(liana__recorder *recorder, size_t track_index, liana__event event)
{
    event.end = liana__clock();
    track *own = &recorder->tracks[track_index];
    size_t written = atomic_load_explicit(&own->written, memory_order_relaxed);
    if (written - atomic_load_explicit(&own->taken, memory_order_acquire) == recorder->capacity) {
        atomic_fetch_add_explicit(&own->dropped, 1, memory_order_relaxed);
        return;
    }
    own->events[written % recorder->capacity] = event;
    atomic_store_explicit(&own->written, written + 1, memory_order_release);
}

size_t liana__recorder_waiting(const liana__recorder *recorder, size_t track_index)
{
    const track *own = &recorder->tracks[track_index];
    return atomic_load_explicit(&own->written, memory_order_acquire) -
           atomic_load_explicit(&own->taken, memory_order_relaxed);
}

size_t liana__recorder_take(liana__recorder *recorder, size_t track_index, liana__event *events, size_t capacity)
{
    track *own = &recorder->tracks[track_index];
    size_t count = liana__recorder_waiting(recorder, track_index);
    size_t taken = atomic_load_explicit(&own->taken, memory_order_relaxed);
    if (count > capacity) count = capacity;
    for (size_t i = 0; i < count; i++) events[i] = own->events[(taken + i) % recorder->capacity];
    atomic_store_explicit(&own->taken, taken + count, memory_order_release);
    return count;
}

size_t liana__recorder_dropped(const liana__recorder *recorder, size_t track_index)
{
    return atomic_load_explicit(&recorder->tracks[track_index].dropped, memory_order_relaxed);
}
