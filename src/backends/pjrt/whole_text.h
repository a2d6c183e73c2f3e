/* whole_text.h - the text of a whole update, for a compiler whose devices need not be there. */
#ifndef LIANA_BACKENDS_PJRT_WHOLE_TEXT_H
#define LIANA_BACKENDS_PJRT_WHOLE_TEXT_H

#include "backends/whole_update.h"

typedef struct liana__whole_text {
    size_t replicas;       /* devices that share a batch */
    bool default_products; /* platform.h */
    int64_t side_by_side;  /* shards on each of them; 0: all that it has */
    int recomputed;        /* the level of recompute.h; 0: nothing is computed twice */
    size_t num_recomputed; /* result: parts of the forward pass that are */
    int64_t rounds;        /* result: how often, one after the other */
    char *text;            /* result: StableHLO; the caller frees it */
} liana__whole_text;

/* Writes the program of updates that liana__pjrt_whole.create would compile for this number of devices. The plan needs
 * no variables. Errors: those of building the graphs and of liana__stablehlo_print_whole. */
liana_status liana__whole_text_write(const liana__whole_plan *plan, liana__whole_text *text, liana__error *error)
    LIANA_MUST_USE;

#endif
