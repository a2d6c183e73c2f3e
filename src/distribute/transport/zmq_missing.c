/* What builds without libzmq (LIANA_ZMQ=OFF) say instead. */
#include "distribute/transport/cluster_keys.h"

static liana_status fail_missing(liana__error *error)
{
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "this build of liana is without libzmq, which the cluster's keys need; build with -DLIANA_ZMQ=ON");
}

liana_status liana__cluster_keys_make(const char *folder, liana__error *error)
{
    (void)folder;
    return fail_missing(error);
}

liana_status liana__cluster_keys_read(const char *folder, liana__cluster_keys *keys, liana__error *error)
{
    (void)folder;
    (void)keys;
    return fail_missing(error);
}

void liana__cluster_keys_forget(liana__cluster_keys *keys)
{
    (void)keys;
}

liana_status liana__check_private_folder(const char *folder, const char *what, liana__error *error)
{
    (void)folder;
    (void)what;
    return fail_missing(error);
}
