/* The list of losses, and finding one by its name. */
#include "losses/loss.h"

#include "base/named.h"

const liana__loss *const liana__losses[] = {
#define LIANA__LOSS(stem, name) &liana__loss_##name,
#include "losses/losses.def"
#undef LIANA__LOSS
    NULL,
};

enum { NUM_LOSSES = sizeof liana__losses / sizeof *liana__losses - 1 };

const liana__loss *liana__loss_find(const char *name, const char **nearest)
{
    const liana__named list = LIANA__NAMED_POINTERS(liana__loss, liana__losses, NUM_LOSSES);
    return liana__losses[liana__named_find(list, name, nearest)];
}
