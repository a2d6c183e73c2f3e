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
    LIANA_TRY(liana__folder_lock_take(&hold->lock, folder, wanted->advice, error));
    if (hold->lease || !hold->lock.taken) return LIANA_OK;
    liana__lease_options options = *wanted;
    /* Of a bucket, this machine's processes lock what they send from. */
    const int descriptor = outlet ? liana__outlet_lock(outlet) : hold->lock.descriptor;
    options.lock = liana__folder_lock_identity(descriptor, descriptor >= 0 && (outlet || hold->lock.works), lock);
    options.folder = outlet ? liana__outlet_url(outlet) : folder;
    LIANA_TRY(liana__lease_take(&options, &hold->lease, error));
    if (outlet) liana__outlet_guard(outlet, may_write, hold->lease);
    return LIANA_OK;
}

void liana__folder_hold_end(liana__folder_hold *hold)
{
    liana__lease_end(hold->lease);
    liana__folder_lock_end(&hold->lock);
    *hold = (liana__folder_hold){0};
}
