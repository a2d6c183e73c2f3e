/* The environment of a TPU's library. */
#include "backends/pjrt/tpu_environment.h"

#include "base/scoped.h"

/* Of a slice, of a host's part of it, and of a process's part of a host. */
static const char *const variables[] = {
    "TPU_ACCELERATOR_TYPE",  "TPU_TOPOLOGY",
    "TPU_WORKER_ID",         "TPU_WORKER_HOSTNAMES",
    "TPU_HOST_BOUNDS",       "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_PROCESS_BOUNDS",    "TPU_CHIPS_PER_PROCESS_BOUNDS",
    "TPU_PROCESS_ADDRESSES", "TPU_PROCESS_PORT",
    "CLOUD_TPU_TASK_ID",     "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES",   "TPU_LIBRARY_PATH",
    "TPU_SKIP_MDS_QUERY",    "ALLOW_MULTIPLE_LIBTPU_LOAD",
    "LIBTPU_INIT_ARGS",      "MEGASCALE_NUM_SLICES",
    "MEGASCALE_SLICE_ID",
};

void liana__tpu_environment_print(liana__text *text)
{
    const char *between = "";
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value) continue;
        liana__text_add(text, "%s%s=%s", between, variables[i], value);
        between = ", ";
    }
}

const char *liana__tpu_environment_in(liana__arena *arena)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__tpu_environment_print(&text);
    return text.length ? liana__arena_string(arena, text.data) : NULL;
}
