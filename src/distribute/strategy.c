/* Finds strategies by name. */
#include "distribute/strategy.h"

#include "base/text.h"

const liana__strategy *const liana__strategies[] = {
#define LIANA__STRATEGY(stem, name) &liana__strategy_##name,
#include "distribute/strategies.def"
#undef LIANA__STRATEGY
    NULL,
};

enum { NUM_STRATEGIES = sizeof liana__strategies / sizeof *liana__strategies - 1 };

liana_status liana__strategy_find(const char *name, const liana__strategy **strategy, liana__error *error)
{
    const char *names[NUM_STRATEGIES];
    for (int i = 0; i < NUM_STRATEGIES; i++) {
        names[i] = liana__strategies[i]->name;
        *strategy = liana__strategies[i];
        if (strcmp(name, names[i]) == 0) return LIANA_OK;
    }
    *strategy = NULL;
    const char *nearest = liana__nearest(name, names, NUM_STRATEGIES);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no strategy '%s' among those that 'liana list strategies' shows%s", name,
                       liana__hint(nearest).text);
}
