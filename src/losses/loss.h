/* loss.h - the loss contract. To add one: src/losses/<stem>.c with the struct, and a row in losses.def. */
#ifndef LIANA_LOSSES_LOSS_H
#define LIANA_LOSSES_LOSS_H

#include <liana/ops.h>

typedef struct liana__loss {
    const char *name; /* Keras's */
    const char *doc;
    bool of_probabilities; /* the model's outputs must be probabilities: at least 0, with sum 1 */
    /* Builds the loss of each example, [batch], in the output's dtype. Its sum over the batch is differentiated; the
     * trainer divides by the number of examples of the whole update. output [batch, classes]: the model's output,
     * usually probabilities. logits [batch, classes]: `output` is their softmax; invalid if it is not a softmax.
     * labels: s32 [batch], in [0, classes). */
    liana_tensor (*per_example)(liana_tensor output, liana_tensor logits, liana_tensor labels);
} liana__loss;

#define LIANA__LOSS(stem, name) extern const liana__loss liana__loss_##name;
#include "losses/losses.def"
#undef LIANA__LOSS

/* All losses in the order of losses.def, NULL-terminated. */
extern const liana__loss *const liana__losses[];

/* Finds a loss by name. NULL: there is none; *nearest is then the nearest name, or NULL. */
const liana__loss *liana__loss_find(const char *name, const char **nearest);

#endif
