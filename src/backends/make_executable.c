/* Makes executables. */
#include "backends/make_executable.h"

#include <stdlib.h>

liana_status liana__make_executable(liana__device *device, const liana_graph *graph, size_t size,
                                    liana_status (*build)(liana__executable *executable, const liana_graph *graph,
                                                          liana__error *error),
                                    liana__executable **out, liana__error *error)
{
    *out = NULL;
    liana__executable *executable = calloc(1, size);
    if (!executable) return liana__fail_memory(error, "an executable");
    *executable = (liana__executable){.device = device,
                                      .num_inputs = graph->num_inputs,
                                      .num_variables = graph->num_variables,
                                      .num_outputs = graph->num_outputs};
    const liana_status status = build(executable, graph, error);
    if (status != LIANA_OK) {
        device->backend->executable_destroy(executable);
        return status;
    }
    *out = executable;
    return LIANA_OK;
}
