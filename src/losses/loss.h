/* loss.h - losses, which are liana_loss_type of <liana/parts.h>. To add one: src/losses/<stem>.c with the struct, and a
 * row in losses.def. */
#ifndef LIANA_LOSSES_LOSS_H
#define LIANA_LOSSES_LOSS_H

#include "base/part.h"
#include "losses/target.h"

#define LIANA__LOSS(stem, name) extern const liana_loss_type liana__loss_##name;
#include "losses/losses.def"
#undef LIANA__LOSS

/* The kind: its list has all losses in the order of losses.def. */
extern const liana__kind liana__loss_kind;

/* Builds the loss of each element, in the output's dtype: the output's shape without the last axis. Their sum is
 * differentiated. The trainer divides by the number of elements of the whole update (Keras's sum_over_batch_size). */
liana_tensor liana__loss_elements(const liana_loss_type *loss, const liana_loss_call *call);

/* What a sum of losses is divided by: Keras's reductions. */
typedef enum liana__reduction {
    LIANA__REDUCE_MEAN,          /* the number of elements: sum_over_batch_size and mean */
    LIANA__REDUCE_SUM,           /* nothing */
    LIANA__REDUCE_WEIGHTED_MEAN, /* the sum of the elements' weights: mean_with_sample_weight */
} liana__reduction;

/* A loss with its options. */
typedef struct liana__loss_choice {
    const liana_loss_type *loss;
    const void *options;
    liana__reduction reduction;
    bool from_logits; /* the model gives logits, of which the loss's activation makes predictions */
} liana__loss_choice;

/* The elements as they are added up. With the reduction sum a value of several elements together counts once, as in
 * Keras; else nothing changes. */
liana_tensor liana__loss_summed(const liana__loss_choice *choice, const liana_loss_call *call, liana_tensor each);

/* The same of the loss circle. */
liana_tensor liana__circle_summed(const liana_loss_call *call, liana_tensor each);

/* Whether elements are left out of the mean. */
bool liana__leaves_out(const liana__loss_choice *choice);

/* Reads NAME or {name: NAME, from_logits: true, ...} and finds all errors in it. The name may be one of the context's
 * own (NULL: there are none). `where` is its dotted key; the choice is in the arena. Errors: INVALID_CONFIG;
 * OUT_OF_MEMORY. */
liana_status liana__loss_read(const liana_context *context, const liana__value *value, const char *where,
                              liana__arena *arena, liana__loss_choice *choice, liana__error *error) LIANA_MUST_USE;

#endif
