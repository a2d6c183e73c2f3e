/* parts.h - finding own parts: losses, layers, optimizers, ... that a program or a plugin has registered in a context. They are
 * found by name wherever built-in ones are. */
#ifndef LIANA_BASE_PARTS_H
#define LIANA_BASE_PARTS_H

#include "base/context.h"
#include "base/named.h"

/* The kinds, as messages call them. Own parts of a kind have the struct of the built-in ones (liana__loss, ...). */
#define LIANA__PART_LAYER "layer"
#define LIANA__PART_LOSS "loss"
#define LIANA__PART_METRIC "metric"
#define LIANA__PART_OPTIMIZER "optimizer"
#define LIANA__PART_SCHEDULE "schedule"
#define LIANA__PART_INITIALIZER "initializer"
#define LIANA__PART_ACTIVATION "activation"
#define LIANA__PART_REGULARIZER "regularizer"
#define LIANA__PART_CONSTRAINT "constraint"
#define LIANA__PART_CALLBACK "callback"
#define LIANA__PART_SOURCE "source"

/* The part of that name: a built-in one of the list, else an own one of the context (NULL: there are none). NULL: there
 * is none; *nearest (NULL: not wanted) is then the nearest name of both, or NULL. */
const void *liana__part_find(const liana_context *context, const char *kind, liana__named builtin, const char *name,
                             const char **nearest);

/* Own part `index` of a kind, in the order of their registration; NULL after the last. */
const void *liana__part_at(const liana_context *context, const char *kind, size_t index);

#endif
