/* precision.h - the precision of a run, and the meaning of `auto` on this machine. No other place decides it. */
#ifndef LIANA_STEP_PRECISION_H
#define LIANA_STEP_PRECISION_H

#include "backends/backend.h"
#include "layers/model.h"

/* As configurations and checkpoints spell them, in the order of liana_precision, NULL-terminated. */
extern const char *const liana__precision_names[];

/* The precision of a name; FLOAT32 for NULL, for an empty name and for one of a newer liana. */
liana_precision liana__precision_named(const char *name);

typedef struct liana__precision_choice {
    liana_precision precision; /* of training */
    /* Evaluation and prediction gain nothing from bf16: they keep no activations for a backward pass, and these
     * instructions multiply in f32. */
    bool evaluates_in_float32; /* never AUTO */
    char note[320];            /* a line for the user; empty if there is nothing to say */
} liana__precision_choice;

/* The asked precision, with AUTO resolved for this device: by the processor's features, or the platform of a plugin.
 * The note also says if the precision is slower here than float32. */
liana__precision_choice liana__precision_choose(const liana__device *device, liana_precision asked);

/* The instructions for bf16 of a level that has some; and, where the kernel keeps the processor's better ones back,
 * that it does. */
void liana__precision_name_feature(liana__isa isa, const liana__cpu_facts *facts, char *text, size_t size);

#endif
