/* loader.h - the input pipeline: batches of decoded images in an order that depends on nothing but the seed.
 *
 * The data are an endless stream of positions 0, 1, 2, ...: position p is record p % num_records of pass
 * p / num_records, in the order of the files or, shuffled, in the order liana__permute gives for (seed, pass). The
 * whole data set is shuffled, without a buffer; where the source is read in blocks, these are and the records in
 * windows of them (data/loader/block_order.h). An epoch is epoch_length positions, whatever the size of the data; step
 * k of epoch e is the positions [e * epoch_length + k * batch_size, ...), cut at the epoch's end. So any batch can be
 * computed at once: a run resumes anywhere without replaying, and the number of threads changes nothing. With a sampler
 * a pass is what it says, of another length in each, and without steps_per_epoch an epoch is one pass.
 *
 * Threads of the loader's own read, decode and resize ahead, straight into the batches of a ring. */
#ifndef LIANA_DATA_LOADER_H
#define LIANA_DATA_LOADER_H

#include "base/recorder.h"
#include "data/loader/batch.h"

typedef struct liana__loader liana__loader;

/* Starts the threads; the source must outlive the loader. Errors: INVALID_ARGUMENT, INVALID_CONFIG (the remainder is
 * refused; fewer records than one batch and the remainder is dropped), OUT_OF_MEMORY, IO_ERROR (no threads). */
liana_status liana__loader_create(const liana__source *source, const liana__loader_options *options,
                                  liana__loader **loader, liana__error *error) LIANA_MUST_USE;
/* Stops the threads, whatever they are doing. Batches not yet released die with it. NULL is allowed. */
void liana__loader_destroy(liana__loader *loader);

/* Positions and steps in an epoch; all have the same unless a sampler says otherwise. */
uint64_t liana__loader_epoch_length(const liana__loader *loader, uint64_t epoch);
uint64_t liana__loader_steps_per_epoch(const liana__loader *loader, uint64_t epoch);
int liana__loader_num_threads(const liana__loader *loader); /* that read */
/* Where decoded images are kept; NULL: nowhere. Borrowed. */
liana__image_cache *liana__loader_cache(const liana__loader *loader);

/* Goes to a step of an epoch, from where `next` runs on over epochs. All batches must have been released; may be called
 * again at any time, after an error too. Errors: INVALID_ARGUMENT. */
liana_status liana__loader_begin(liana__loader *loader, uint64_t epoch, uint64_t step, liana__error *error)
    LIANA_MUST_USE;

/* Waits for the next batch; *batch is NULL after the last one of num_epochs. The batch belongs to the caller until it
 * is released. An error is that of the first position in order that fails, the same on any number of threads, and
 * comes again until `begin`: those of the source, of decoding (they name file, record and id), OUT_OF_RANGE (label);
 * with a list of bad records that of liana__bad_records_meet. */
liana_status liana__loader_next(liana__loader *loader, liana__batch **batch, liana__error *error) LIANA_MUST_USE;
/* From now on each reading thread records its work on a track of its own, the first on track 0; NULL: no longer, and
 * nothing is touched any more when this returns. */
void liana__loader_record(liana__loader *loader, liana__recorder *recorder);
/* Gives the batch's memory back. Batches may be released in any order, from any thread. */
void liana__loader_release(liana__loader *loader, liana__batch *batch);

#endif
