/* How many devices a process of a cluster computes on, and the type of the gradients that it sends. */
#include "distribute/cluster/worker_devices.h"

#include <stddef.h>
#include <stdio.h>

enum { MOST_REPLICAS = 1024 };

/* The first ones are of all strategies of several processes, the rest of parameter_server. */
enum { NUM_COMMON_ROWS = 4 };
static const liana__field rows[] = {
    LIANA__FIELD_ROW(liana__worker_asked, replicas, INT, .minimum = 0, .maximum = MOST_REPLICAS,
                     .doc = "number of devices of each process; on a CPU, of groups of threads; 0: one"),
    LIANA__FIELD_ROW(liana__worker_asked, threads, INT, .minimum = 0, .maximum = 65536,
                     .doc = "threads of each group; 0: those of train.threads, shared out"),
    LIANA__FIELD_ROW(liana__worker_asked, bind, ENUM, .default_text = "auto", .names = liana__cpu_binding_names,
                     .doc = "where the threads of a group stay: none; cores: on cores of its own; nodes: on a NUMA "
                            "node; auto: nodes if there are several of both"),
    LIANA__FIELD_ROW(liana__worker_asked, wire, ENUM, .default_text = "float32", .names = liana__wire_names,
                     .doc = "what gradients are sent in; bfloat16 halves their bytes: each worker's sums are rounded "
                            "once, so results depend on the number of workers"),
    LIANA__FIELD_ROW(liana__worker_asked, synchronous, BOOL, .default_text = "true",
                     .doc = "false: an update is one worker's gradients, applied when they come; not reproducible"),
    LIANA__FIELD_ROW(liana__worker_asked, max_staleness, FLOAT, .default_text = "null", .minimum = 0, .maximum = 1e9,
                     .doc = "with synchronous: false, the most updates between a worker's fetching of the weights and "
                            "the update by its gradients; unless given, 4 times the number of workers"),
    LIANA__FIELD_ROW(liana__worker_asked, replicas_to_aggregate, INT, .minimum = 1, .maximum = 1e6,
                     .doc =
                         "an update takes the gradients of the first so many workers, and later ones are dropped: not "
                         "reproducible; unless given, those of all"),
    LIANA__FIELD_ROW(liana__worker_asked, pause_steps, INT, .minimum = 1, .maximum = 1e9,
                     .doc =
                         "the most updates until all processes meet, where workers are not in step; unless given, 32 "
                         "times the number of workers"),
};
const liana__fields liana__worker_options = {"worker", sizeof(liana__worker_asked), NUM_COMMON_ROWS, rows};
const liana__fields liana__parameter_server_fields = LIANA__FIELD_TABLE("parameter_server", liana__worker_asked, rows);

liana_status liana__worker_lay_out(const void *options, const liana_context *context, liana__device_layout *layout,
                                   liana__error *error)
{
    static const liana__worker_asked standard = {0}; /* of a strategy that a cluster has chosen by itself */
    const liana__worker_asked *own = options ? options : &standard;
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

liana__wire_kind liana__worker_wire(const void *options)
{
    const liana__worker_asked *own = options;
    return own ? (liana__wire_kind)own->wire : LIANA__WIRE_FLOAT32;
}

void liana__worker_describe(const void *options, size_t num_workers, char *text, size_t size)
{
    const liana__wire_kind wire = liana__worker_wire(options);
    *text = 0;
    if (wire == LIANA__WIRE_FLOAT32) return;
    snprintf(text, size, "%s wire, %zu worker%s", liana__wire_names[wire], num_workers, num_workers == 1 ? "" : "s");
}
