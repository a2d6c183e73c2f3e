/* Decides how much memory training may take. */
#include "train/objective/trainer.h"

#include "base/format.h"
#include "base/memory.h"

#include <stdio.h>

const char *const liana__recompute_names[] = {
    [LIANA_RECOMPUTE_NONE] = "none",
    [LIANA_RECOMPUTE_AUTO] = "auto",
    NULL,
};

size_t liana__recompute_limit(liana_recompute asked, int64_t mebibytes, size_t data_bytes, size_t on_plugin)
{
    enum { MIB = 1 << 20 };
    if (asked != LIANA_RECOMPUTE_AUTO) return 0;
    if (mebibytes > 0) return (size_t)mebibytes << 20;
    if (on_plugin) return on_plugin > MIB ? on_plugin / MIB * MIB : MIB; /* as it is recorded */
    size_t all = liana__machine_memory();
    size_t left = all > data_bytes ? all - data_bytes : 0;
    left -= left / 4;
    return left ? left : 1;
}

liana__recompute_result liana__recompute_report(const liana__trainer *trainer, liana_recompute asked, size_t limit,
                                                bool on_plugin)
{
    liana__recompute_result result = {.recompute = LIANA_RECOMPUTE_NONE};
    if (asked != LIANA_RECOMPUTE_AUTO) return result;
    liana__step_memory memory = liana__step_memory_of(trainer->step);
    if (memory.num_segments > 0 || on_plugin) {
        result.recompute = LIANA_RECOMPUTE_AUTO;
        result.memory = (int64_t)(limit >> 20);
    }
    if (memory.num_segments == 0) {
        snprintf(result.note, sizeof result.note, "recompute: none (auto: training takes %zu MiB of %zu)",
                 memory.bytes >> 20, limit >> 20);
        return result;
    }
    liana__format(
        result.note, sizeof result.note,
        "recompute: %zu parts of the forward pass run twice, for %.3g GFLOP more in a step (%.1f%%): training takes "
        "%zu MiB instead of %zu (auto: it may take %zu)",
        memory.num_segments, memory.flops_again * 1e-9, 100 * memory.flops_again / memory.flops_before,
        memory.bytes >> 20, memory.bytes_before >> 20, limit >> 20);
    return result;
}
