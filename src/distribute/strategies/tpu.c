/* All cores of a TPU slice that this process has, each with a copy of the variables. */
#include "distribute/device_set.h"
#include "distribute/replicas.h"

static liana_status lay_out(const void *chosen, const liana_context *context, liana__device_layout *layout,
                            liana__error *error)
{
    (void)chosen;
    (void)context;
    (void)error;
    layout->all = true;
    layout->platform = "tpu";
    return LIANA_OK;
}

const liana__strategy liana__strategy_tpu = {
    .name = "tpu",
    .doc = "All cores of this process's TPU slice, each with a copy of the variables and batch statistics of its own.",
    .lay_out = lay_out,
    .create = liana__replicas_create,
    .functions = &liana__replicas_functions,
};
