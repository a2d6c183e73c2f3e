/* optimized_program.h - the steps and bytes of a compiled program, counted in the optimised one that a plugin gives. */
#ifndef LIANA_BACKENDS_PJRT_OPTIMIZED_PROGRAM_H
#define LIANA_BACKENDS_PJRT_OPTIMIZED_PROGRAM_H

#include "backends/pjrt/plugin.h"

#include <stdint.h>

/* Steps of the program are run by a device one after the other: a fused step counts once, and so does the body of a
 * loop. Bytes are those of the arrays that steps write. */
typedef struct liana__pjrt_optimized {
    bool is_known; /* the plugin has given the program; else all numbers of it are 0 */
    int64_t steps;
    int64_t fused;       /* of them those that several operations were joined to */
    int64_t products;    /* convolutions and matrix products, also those within fused steps */
    int64_t copies;      /* steps that only copy, mostly to another layout */
    int64_t device_sums; /* steps that add over devices */
    int64_t loops;
    double written;      /* bytes with padding, without copies between kinds of memory */
    double padding;      /* of them the part that only fills tiles */
    double copied;       /* of them the part that copies write */
    double device_bytes; /* that are added over devices */
    double flops;        /* of an execution, as the plugin counts them; 0: it does not say */
    double accessed;     /* bytes that are read and written, likewise */
} liana__pjrt_optimized;

/* Counts in bytes of XLA's HloModuleProtoWithConfig. Errors: INVALID_DATA, OUT_OF_MEMORY. */
liana_status liana__pjrt_optimized_count(const void *bytes, size_t size, liana__pjrt_optimized *counted,
                                         liana__error *error) LIANA_MUST_USE;

/* Asks a plugin for the program of an executable, and for its cost. Plugins that give neither leave zeros. Errors:
 * OUT_OF_MEMORY; INVALID_DATA if the plugin's program cannot be read. */
liana_status liana__pjrt_optimized_read(const liana__pjrt_plugin *plugin, void *executable,
                                        liana__pjrt_optimized *counted, liana__error *error) LIANA_MUST_USE;

#endif
