/* shared_loader.h - the loader of a trainer's batches, where the trainer belongs to a cluster. */
#ifndef LIANA_TRAIN_SHARED_LOADER_H
#define LIANA_TRAIN_SHARED_LOADER_H

#include "data/loader/options.h"
#include "train/objective/trainer.h"

/* How the loaders of a cluster's processes share steps in shards of `microbatch`. The cluster is borrowed. */
liana__input_workers liana__share_input(liana__cluster *cluster, int64_t microbatch);

/* In a cluster, the loader makes this process's shards only. `workers` is the caller's memory, and must outlive the
 * loader. Alone: nothing. */
void liana__share_loader(const liana__trainer *trainer, liana__input_workers *workers, liana__loader_options *options);

#endif
