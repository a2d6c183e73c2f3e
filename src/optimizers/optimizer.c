#include "optimizers/optimizer.h"

#include "base/text.h"

#include <string.h>

const liana__optimizer *const liana__optimizers[] = {
#define LIANA__OPTIMIZER(stem, name) &liana__optimizer_##name,
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER
    NULL,
};

enum { NUM_OPTIMIZERS = sizeof liana__optimizers / sizeof *liana__optimizers - 1 };

const liana__optimizer *liana__optimizer_find(const char *name, const char **nearest)
{
    const char *names[NUM_OPTIMIZERS];
    for (int i = 0; i < NUM_OPTIMIZERS; i++) {
        names[i] = liana__optimizers[i]->name;
        /* Keras takes "adam" for "Adam" too. */
        if (strcasecmp(name, names[i]) == 0) return liana__optimizers[i];
    }
    *nearest = liana__nearest(name, names, NUM_OPTIMIZERS);
    return NULL;
}

size_t liana__optimizer_num_slots(const liana__optimizer *optimizer, const void *options)
{
    if (optimizer->num_slots) return optimizer->num_slots(options);
    size_t count = 0;
    while (count < LIANA__MAX_SLOTS && optimizer->slot_names[count]) count++;
    return count;
}
