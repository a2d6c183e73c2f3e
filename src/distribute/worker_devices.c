/* How many devices a process of a cluster computes on. */
#include "distribute/worker_devices.h"

#include <stddef.h>

typedef struct worker_options {
    int64_t replicas;
    int64_t threads;
    int bind;
} worker_options;

enum { MOST_REPLICAS = 1024 };

static const liana__field rows[] = {
    LIANA__FIELD_ROW(worker_options, replicas, INT, .minimum = 0, .maximum = MOST_REPLICAS,
                     .doc = "number of devices of each process; on a CPU, of groups of threads; 0: one"),
    LIANA__FIELD_ROW(worker_options, threads, INT, .minimum = 0, .maximum = 65536,
                     .doc = "threads of each group; 0: those of train.threads, shared out"),
    LIANA__FIELD_ROW(worker_options, bind, ENUM, .default_text = "auto", .names = liana__cpu_binding_names,
                     .doc = "where the threads of a group stay: none; cores: on cores of its own; nodes: on a NUMA "
                            "node; auto: nodes if there are several of both"),
};
const liana__fields liana__worker_options = LIANA__FIELD_TABLE("worker", worker_options, rows);

liana_status liana__worker_lay_out(const void *options, const liana_context *context, liana__device_layout *layout,
                                   liana__error *error)
{
    static const worker_options standard = {0}; /* of a strategy that a cluster has chosen by itself */
    const worker_options *own = options ? options : &standard;
    const int threads = liana_context_num_threads(context);
    (void)error;
    layout->count = own->replicas ? (size_t)own->replicas : 1;
    layout->num_threads = (int)own->threads;
    layout->binding = (liana__cpu_binding)own->bind;
    if (layout->count == 1) {
        if (layout->binding == LIANA__BIND_AUTO) layout->binding = LIANA__BIND_NONE;
        return LIANA_OK;
    }
    if (!layout->num_threads) layout->num_threads = threads > (int)layout->count ? threads / (int)layout->count : 1;
    return LIANA_OK;
}
