/* Names a size that would fit into a device's memory. */
#include "backends/pjrt/memory_advice.h"

#include <stdio.h>

int64_t liana__pjrt_leaf_size(const liana_graph *graph)
{
    int input = liana__graph_find_input(graph, "present");
    return input < 0 ? 0 : graph->inputs[input]->shape.dims[0];
}

/* The most examples of which a program like this needs no more than `room` bytes; halves, since they divide a batch. */
static int64_t largest_leaf(int64_t size, int64_t temporaries, int64_t room)
{
    while (size > 0 && temporaries > room) {
        size /= 2;
        temporaries /= 2;
    }
    return size;
}

liana_status liana__pjrt_advise(const liana__pjrt_device *device, int64_t size, const liana__pjrt_program *program,
                                bool may_recompute, liana__error *error)
{
    static const double MIB = 1 << 20;
    liana__error was = *error;
    liana__pjrt_device_facts facts;
    int64_t fits = size / 2;
    bool known = liana__pjrt_device_describe(device->client, device->number, &facts, NULL) == LIANA_OK;
    known = known && facts.memory >= 0 && program && program->temporaries > 0;
    if (known) fits = largest_leaf(size, program->temporaries, facts.memory - facts.memory_used);
    char needs[256] = "", advice[256] = "";
    if (known) {
        snprintf(needs, sizeof needs,
                 "it needs %.0f MiB beside its arguments, the device has %.0f MiB of %.0f MiB left; ",
                 (double)program->temporaries / MIB, (double)(facts.memory - facts.memory_used) / MIB,
                 (double)facts.memory / MIB);
    }
    if (size > 1 && fits > 0) {
        snprintf(advice, sizeof advice, "shards of %lld examples %s: train.microbatch=%lld", (long long)fits,
                 known ? "would fit" : "need about half", (long long)fits);
    } else {
        snprintf(advice, sizeof advice, "use a smaller train.batch_size, smaller images or a smaller model");
    }
    const char *again =
        may_recompute ? "; train.recompute=auto computes parts of the forward pass twice, and keeps less" : "";
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "out of memory: %s%s; train.precision=mixed_bfloat16 halves activations of float32%s (%.800s)",
                       needs, advice, again, was.message);
}
