/* Loaders of a cluster. */
#include "train/core/shared_loader.h"

#include "train/core/worker_share.h"

void liana__share_loader(const liana__trainer *trainer, liana__input_workers *workers, liana__loader_options *options)
{
    liana__cluster *cluster = liana__trainer_options_of(trainer)->cluster;
    if (!cluster) return;
    *workers = liana__share_input(cluster, liana__trainer_microbatch(trainer));
    options->workers = workers;
}
