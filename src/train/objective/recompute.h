/* recompute.h - `train.recompute: auto` on this machine: how much memory training may take. The backend finds the nodes
 * that are computed twice to stay below it (plan/recompute.h). */
#ifndef LIANA_TRAIN_RECOMPUTE_H
#define LIANA_TRAIN_RECOMPUTE_H

#include "train/objective/trainer.h"

#include <liana/train.h>

/* As configurations spell them, in the order of liana_recompute, NULL-terminated. */
extern const char *const liana__recompute_names[];

/* The bytes that training may take of a device: `mebibytes` if it is not 0. Else the free memory of a plugin's device
 * (`on_plugin`, not 0), or on the host three quarters of the memory that the machine, or the control group of the
 * process, has beyond `data_bytes`. 0, for no limit, if nothing is to be computed twice. */
size_t liana__recompute_limit(liana_recompute asked, int64_t mebibytes, size_t data_bytes, size_t on_plugin);

typedef struct liana__recompute_result {
    liana_recompute recompute; /* NONE if the limit has changed nothing */
    int64_t memory;            /* the limit in MiB; 0 with NONE */
    char note[256];            /* a line for the user; empty if nothing was asked for */
} liana__recompute_result;

/* The outcome: of a trainer that was made with this limit. `on_plugin`: on a plugin's device, where the limit also says
 * how many shards are computed side by side; so it is kept in any case. */
liana__recompute_result liana__recompute_report(const liana__trainer *trainer, liana_recompute asked, size_t limit,
                                                bool on_plugin);

#endif
