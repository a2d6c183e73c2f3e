/* Several devices of this process, each with a copy of the variables. On a CPU a device is a group of threads. */
#include "distribute/device_set.h"
#include "distribute/replicas.h"

#include <stddef.h>

typedef struct mirrored_options {
    int64_t replicas;
    liana__strings devices;
    int64_t threads;
    int bind;
} mirrored_options;

enum { MOST_REPLICAS = 1024 };

static const liana__field rows[] = {
    LIANA__FIELD_ROW(mirrored_options, replicas, INT, .minimum = 0, .maximum = MOST_REPLICAS,
                     .doc = "number of devices; on a CPU, of groups of threads; 0: all devices, on a CPU one for each "
                            "NUMA node"),
    LIANA__FIELD_ROW(mirrored_options, devices, STRINGS,
                     .doc = "these devices and no others, by the names that 'liana devices' lists: [gpu:0, gpu:2]"),
    LIANA__FIELD_ROW(mirrored_options, threads, INT, .minimum = 0, .maximum = 65536,
                     .doc = "threads of each group; 0: those of train.threads, shared out"),
    LIANA__FIELD_ROW(mirrored_options, bind, ENUM, .default_text = "auto", .names = liana__cpu_binding_names,
                     .doc = "where the threads of a group stay: none; cores: on cores of its own; nodes: on a NUMA "
                            "node; auto: nodes if there are several"),
};
static const liana__fields options = LIANA__FIELD_TABLE("mirrored", mirrored_options, rows);

static liana_status lay_out(const void *chosen, const liana_context *context, liana__device_layout *layout,
                            liana__error *error)
{
    const mirrored_options *own = chosen;
    const int threads = liana_context_num_threads(context);
    const size_t num_named = own->devices.count;
    if (num_named && own->replicas && (size_t)own->replicas != num_named) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "strategy.replicas is %lld, but strategy.devices names %zu: leave one of them out",
                           (long long)own->replicas, num_named);
    }
    layout->count = num_named ? num_named : own->replicas ? (size_t)own->replicas : liana__cpu_num_nodes();
    layout->all = own->replicas == 0 && !num_named;
    layout->names = num_named ? &own->devices : NULL;
    layout->num_threads = (int)own->threads;
    if (!layout->num_threads) layout->num_threads = threads > (int)layout->count ? threads / (int)layout->count : 1;
    layout->binding = (liana__cpu_binding)own->bind;
    return LIANA_OK;
}

const liana__strategy liana__strategy_mirrored = {
    .name = "mirrored",
    .doc = "Several devices of this process, each with a copy of the variables.",
    .options = &options,
    .lay_out = lay_out,
    .create = liana__replicas_create,
    .functions = &liana__replicas_functions,
};
