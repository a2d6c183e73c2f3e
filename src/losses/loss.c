#include "losses/loss.h"

#include "base/text.h"

#include <string.h>

const liana__loss *const liana__losses[] = {
#define LIANA__LOSS(stem, name) &liana__loss_##name,
#include "losses/losses.def"
#undef LIANA__LOSS
    NULL,
};

enum { NUM_LOSSES = sizeof liana__losses / sizeof *liana__losses - 1 };

const liana__loss *liana__loss_find(const char *name, const char **nearest)
{
    const char *names[NUM_LOSSES];
    for (int i = 0; i < NUM_LOSSES; i++) {
        names[i] = liana__losses[i]->name;
        if (strcmp(name, names[i]) == 0) return liana__losses[i];
    }
    *nearest = liana__nearest(name, names, NUM_LOSSES);
    return NULL;
}
