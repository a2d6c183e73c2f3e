/* loss.h - the loss contract. To add one: src/losses/<stem>.c with the struct, and a row in losses.def. */
#ifndef LIANA_LOSSES_LOSS_H
#define LIANA_LOSSES_LOSS_H

#include <liana/ops.h>

typedef struct liana__loss {
    const char *name; /* Keras's */
    const char *doc;
    bool of_probabilities; /* what the model gives must be such: numbers of at least 0 that add up to 1 */
    /* Builds the loss of each example, [batch], in the output's dtype. Its sum over the batch is what is
     * differentiated; the trainer divides by the number of examples of the whole update. output [batch, classes]: what
     * the model gives, usually probabilities; logits [batch, classes]: what `output` is the softmax of, invalid if it
     * is none; labels: s32 [batch], in [0, classes). */
    liana_tensor (*per_example)(liana_tensor output, liana_tensor logits, liana_tensor labels);
} liana__loss;

#define LIANA__LOSS(stem, name) extern const liana__loss liana__loss_##name;
#include "losses/losses.def"
#undef LIANA__LOSS

/* All losses in the order of losses.def, NULL-terminated. */
extern const liana__loss *const liana__losses[];

/* By name; NULL if there is none, and then *nearest is the nearest name or NULL. */
const liana__loss *liana__loss_find(const char *name, const char **nearest);

#endif
