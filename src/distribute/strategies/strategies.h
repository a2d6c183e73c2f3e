/* strategies.h - the strategies of this build, and how they are chosen.
 *
 * To add a strategy: a file with the struct (distribute/strategy.h), and a row in strategies.def. */
#ifndef LIANA_DISTRIBUTE_STRATEGIES_STRATEGIES_H
#define LIANA_DISTRIBUTE_STRATEGIES_STRATEGIES_H

#include "base/text.h"
#include "distribute/strategy.h"

#include <liana/strategy.h>

#define LIANA__STRATEGY(stem, name) extern const liana__strategy liana__strategy_##name;
#include "distribute/strategies/strategies.def"
#undef LIANA__STRATEGY

/* All strategies, NULL-terminated. */
extern const liana__strategy *const liana__strategies[];

/* Reads NAME or {name: NAME, option: value, ...}; NULL: one_device. `where` is its dotted key; options are in the
 * arena. Errors: INVALID_CONFIG with place, key and the nearest known name; OUT_OF_MEMORY. */
liana_status liana__strategy_read(const liana__value *value, const char *where, liana__arena *arena,
                                  liana__strategy_choice *choice, liana__error *error) LIANA_MUST_USE;
/* The same of a program's options. Errors: INVALID_CONFIG with "strategy" and the option; OUT_OF_MEMORY. */
liana_status liana__strategy_of(const liana_strategy *options, liana__arena *arena, liana__strategy_choice *choice,
                                liana__error *error) LIANA_MUST_USE;
/* A copy with texts of its own, in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__strategy_copy(const liana_strategy *options, liana__arena *arena, liana_strategy *copy,
                                  liana__error *error) LIANA_MUST_USE;
/* All that they say, as text that differs where they do. */
void liana__strategy_print(const liana_strategy *options, liana__text *text);

/* The cluster that a strategy computes in, joined if it was not; NULL: it computes in this process, or there is no such
 * strategy. Errors: those of liana__cluster_require. */
liana_status liana__strategy_cluster(liana_context *context, const liana_strategy *options,
                                     struct liana__cluster **cluster, liana__error *error) LIANA_MUST_USE;

#endif
