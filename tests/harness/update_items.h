/* update_items.h - what updates change of a model, for tests: without a shard that was built. */
#ifndef LIANA_TESTS_UPDATE_ITEMS_H
#define LIANA_TESTS_UPDATE_ITEMS_H

#include "train/objective/trainer.h"

/* How a moving average follows its statistic, as in liana__model_update. */
typedef struct liana__average {
    double momentum;
    size_t about; /* LIANA__NO_WEIGHT: of nothing */
} liana__average;

/* Lists the weights that are `updated`. Averages and updated are by weight; lists are in the arena, which must outlive
 * the items. */
liana_status liana__test_update_items(const liana_model *model, const liana__update_rule *rule,
                                      const liana__average *averages, const bool *updated, liana__arena *arena,
                                      liana__update_items *items, liana__error *error) LIANA_MUST_USE;

#endif
