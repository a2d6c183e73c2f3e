/* One device computes all shards. Its sums stay on it, and the update reads them there. */
#include "distribute/replicas.h"

static liana_status create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                           liana__strategy_instance **instance, liana__error *error)
{
    if (devices->count != 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "the strategy one_device was given %zu devices, expected one",
                           devices->count);
    }
    return liana__replicas_create(devices, plan, instance, error);
}

const liana__strategy liana__strategy_one_device = {
    .name = "one_device",
    .doc = "All shards on one device.",
    .create = create,
    .functions = &liana__replicas_functions,
};
