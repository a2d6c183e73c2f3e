/* Holds folders. */
#include "train/checkpoint/folder_hold.h"

static liana_status may_write(void *user, liana__error *error)
{
    return liana__lease_check(user, error);
}

liana_status liana__folder_hold_take(liana__folder_hold *hold, const char *folder, liana__outlet *outlet,
                                     const liana__lease_options *wanted, liana__error *error)
{
    char lock[48];
    const liana_status locked = liana__folder_lock_take(&hold->lock, folder, wanted->advice, error);
    /* A halted process of the same job keeps its lock, but not its lease. */
    if (locked != LIANA_OK && !wanted->job) return locked;
    if (hold->lease || (locked == LIANA_OK && !hold->lock.taken)) return LIANA_OK;
    liana__lease_options options = *wanted;
    /* Of a bucket, this machine's processes lock what they send from. */
    const int descriptor = outlet ? liana__outlet_lock(outlet) : hold->lock.taken ? hold->lock.descriptor : -1;
    options.lock = liana__folder_lock_identity(descriptor, descriptor >= 0 && (outlet || hold->lock.works), lock);
    options.folder = outlet ? liana__outlet_url(outlet) : folder;
    const liana_status status = liana__lease_take(&options, &hold->lease, error);
    if (status != LIANA_OK) liana__folder_lock_end(&hold->lock);
    LIANA_TRY(status);
    if (outlet) liana__outlet_guard(outlet, may_write, hold->lease);
    return LIANA_OK;
}

void liana__folder_hold_end(liana__folder_hold *hold)
{
    liana__lease_end(hold->lease);
    liana__folder_lock_end(&hold->lock);
    *hold = (liana__folder_hold){0};
}
