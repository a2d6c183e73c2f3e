/* loss.h - the loss contract. To add one: src/losses/<stem>.c with the struct, and a row in losses.def. */
#ifndef LIANA_LOSSES_LOSS_H
#define LIANA_LOSSES_LOSS_H

#include "base/context.h"
#include "losses/target.h"

enum { LIANA__MAX_ALIASES = 3 };

/* What a loss compares. Shapes are those of a leaf (shard). */
typedef struct liana__loss_call {
    const void *options;
    /* [batch, ..., n]: what the model predicts. Probabilities if the loss has an activation. */
    liana_tensor output;
    /* What the loss's activation makes `output` of; invalid: not known. Losses of logits are accurate for any
     * margin. */
    liana_tensor logits;
    liana__truth target;
} liana__loss_call;

typedef struct liana__loss {
    const char *name;                        /* Keras's function name */
    const struct liana__own_part *own;       /* of a program's own loss (own_loss.c) */
    const char *aliases[LIANA__MAX_ALIASES]; /* other names that Keras takes */
    const char *doc;
    const liana__fields *options; /* without from_logits, which every loss with an activation has */
    /* What outputs must be: SOFTMAX: probabilities of classes, with sum 1 along the last axis. SIGMOID: probabilities,
     * each by itself. NONE: any numbers. */
    liana__activation_kind activation;
    unsigned targets;          /* liana__target_kinds that it takes */
    liana__target_range range; /* of targets that are values */
    /* Builds the loss of each element, in the output's dtype: the output's shape without the last axis. Their sum is
     * differentiated. The trainer divides by the number of elements of the whole update (Keras's
     * sum_over_batch_size). */
    liana_tensor (*elements)(const liana__loss_call *call);
} liana__loss;

#define LIANA__LOSS(stem, name) extern const liana__loss liana__loss_##name;
#include "losses/losses.def"
#undef LIANA__LOSS

/* All losses in the order of losses.def, NULL-terminated. */
extern const liana__loss *const liana__losses[];

/* Finds a loss by its name or an alias, also among the context's own (NULL: there are none). NULL: there is none; *nearest (may be NULL) is then the nearest name, or
 * NULL. */
const liana__loss *liana__loss_find(const liana_context *context, const char *name, const char **nearest);

/* A loss with its options. */
typedef struct liana__loss_choice {
    const liana__loss *loss;
    const void *options;
    bool from_logits; /* the model gives logits, of which the loss's activation makes predictions */
} liana__loss_choice;

/* Reads NAME or {name: NAME, from_logits: true, ...} and finds all errors in it. The name may be one of the context's own (NULL: there are none). `where` is its dotted key; the choice
 * is in the arena. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__loss_read(const liana_context *context, const liana__value *value, const char *where,
                              liana__arena *arena, liana__loss_choice *choice, liana__error *error) LIANA_MUST_USE;

#endif
