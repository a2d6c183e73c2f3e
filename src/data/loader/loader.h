/* loader.h - the input pipeline: batches of named components, in an order that depends only on the seed.
 *
 * The data are an endless stream of positions 0, 1, 2, ... Position p is record p % num_records of pass p /
 * num_records. The order is that of the files, or if shuffled the order that liana__permute gives for (seed, pass). The
 * whole data set is shuffled, without a buffer. If the source is read in blocks, blocks are permuted, and records in
 * windows of them (data/loader/block_order.h).
 *
 * An epoch is epoch_length positions, for data of any size. Step k of epoch e is the positions [e * epoch_length + k *
 * batch_size, ...), up to the end of the epoch. So any batch can be computed at once: a run resumes anywhere without
 * replaying, and the number of threads changes nothing.
 *
 * With a sampler, the sampler decides the records of a pass; its length differs from pass to pass. Without
 * steps_per_epoch an epoch is then one pass.
 *
 * The loader's own threads read, decode and resize ahead, directly into the batches of a ring.
 *
 * Where several processes share steps (workers.h), each makes the examples of its own shards only. */
#ifndef LIANA_DATA_LOADER_H
#define LIANA_DATA_LOADER_H

#include "base/recorder.h"
#include "data/loader/options.h"

typedef struct liana__loader liana__loader;

/* Creates a loader and starts its threads. The source must outlive it. Errors: INVALID_ARGUMENT (options, a component
 * that the data lack or have in another shape), INVALID_CONFIG (a remainder with REFUSE; fewer records than one batch
 * with DROP), OUT_OF_MEMORY, IO_ERROR (no threads). */
liana_status liana__loader_create(const liana__source *source, const liana__loader_options *options,
                                  liana__loader **loader, liana__error *error) LIANA_MUST_USE;
/* Stops the threads at once and frees the loader, with all batches that were not released. NULL is allowed. */
void liana__loader_destroy(liana__loader *loader);

/* Positions and steps in an epoch: the same in all epochs, unless there is a sampler. */
uint64_t liana__loader_epoch_length(const liana__loader *loader, uint64_t epoch);
uint64_t liana__loader_steps_per_epoch(const liana__loader *loader, uint64_t epoch);
const liana__source *liana__loader_source(const liana__loader *loader); /* borrowed */
/* The only column of the data that a component of its batches is made of; NULL: none, or several. */
const char *liana__loader_column(const liana__loader *loader, const char *component);
int liana__loader_num_threads(const liana__loader *loader);                     /* that read */
const liana__input_workers *liana__loader_workers(const liana__loader *loader); /* NULL: none */
/* Other ways to share steps, of as many processes and the same shards. Before `begin`; copied. */
void liana__loader_set_workers(liana__loader *loader, const liana__input_workers *workers);
/* Of the options: only the last batch of an epoch may have fewer positions. */
int64_t liana__loader_batch_size(const liana__loader *loader);
/* Whether records come in another order than that of the data: they are shuffled or sampled. */
bool liana__loader_changes_order(const liana__loader *loader);
/* The cache of decoded images; NULL: none. Borrowed. */
liana__image_cache *liana__loader_cache(const liana__loader *loader);

/* Goes to a step of an epoch; `next` continues from there, over epochs. All batches must have been released. May be
 * called at any time, also after an error. Errors: INVALID_ARGUMENT. */
liana_status liana__loader_begin(liana__loader *loader, uint64_t epoch, uint64_t step, liana__error *error)
    LIANA_MUST_USE;

/* Waits for the next batch, which belongs to the caller until it is released. *batch is NULL after the last batch of
 * num_epochs. An error is that of the first failing position in order, on any number of threads, and is repeated until
 * `begin`. Errors: those of the source and of decoding (with file, record and id), OUT_OF_RANGE (a label, a value);
 * with a list of bad records, those of liana__bad_records_meet; with workers, the same for all of them, and
 * UNAVAILABLE. */
liana_status liana__loader_next(liana__loader *loader, liana__batch **batch, liana__error *error) LIANA_MUST_USE;
/* From now on each reading thread records its work on a track of its own, beginning with track 0. NULL: no longer; when
 * this returns, nothing is written any more. */
void liana__loader_record(liana__loader *loader, liana__recorder *recorder);
/* Releases a batch. In any order, on any thread. */
void liana__loader_release(liana__loader *loader, liana__batch *batch);

#endif
