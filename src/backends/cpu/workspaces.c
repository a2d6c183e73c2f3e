/* The memory in which workers compute. */
#include "backends/cpu/cpu.h"

#include "base/memory.h"

#include <stdlib.h>

size_t liana__cpu_private_size(const liana__cpu_executable *executable)
{
    return executable->scratch_size + executable->packed_size;
}

/* Makes every worker's workspace at least so large. */
static liana_status grow_workspaces(liana__cpu_device *device, size_t size, liana__error *error)
{
    if (size <= device->workspace_size) return LIANA_OK;
    int count = device->num_workers;
    device->workspace_size = 0;
    for (int i = 0; i < count; i++) {
        free(device->workspaces[i]);
        device->workspaces[i] = NULL;
    }
    for (int i = 0; i < count; i++) {
        device->workspaces[i] = liana__allocate_aligned(size);
        if (device->workspaces[i]) continue;
        return liana__fail(error, LIANA_OUT_OF_MEMORY,
                           "out of memory for the workspace: %d threads need %zu MiB each; use a smaller "
                           "train.microbatch or fewer threads (LIANA_THREADS)",
                           count, size >> 20);
    }
    device->workspace_size = size;
    return LIANA_OK;
}

liana_status liana__cpu_grow_scratch(liana__cpu_executable *executable, liana__error *error)
{
    executable->base.workspace_size = executable->plan.workspace_size + liana__cpu_private_size(executable);
    return grow_workspaces((liana__cpu_device *)executable->base.device, executable->base.workspace_size, error);
}
