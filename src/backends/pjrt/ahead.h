/* ahead.h - compiles a program for devices that need not be there: a TPU's or a GPU's program, known without one. */
#ifndef LIANA_BACKENDS_PJRT_AHEAD_H
#define LIANA_BACKENDS_PJRT_AHEAD_H

#include "backends/pjrt/optimized_program.h"
#include "base/memory.h"

typedef struct liana__pjrt_ahead_request {
    const char *device;   /* as devices are named (device_name.h); options are those of the topology */
    const char *topology; /* "v5e:2x2"; the valid ones are the plugin's own business */
    const char *target;  /* NULL, or the description of a GPU: XLA's GpuTargetConfig as text; the topology is "1x1x8" */
    size_t num_replicas; /* devices that run the program together; at least 1 */
    const char *text;    /* StableHLO */
    size_t text_size;
    bool is_quick; /* compile_options.h */
} liana__pjrt_ahead_request;

/* Bytes on a device, as the compiler has planned them, the compiled program in numbers, and the seconds of
 * compiling. */
typedef struct liana__pjrt_ahead_program {
    int64_t code, arguments, results, aliased, temporaries;
    liana__pjrt_optimized optimized;
    double seconds;
} liana__pjrt_ahead_program;

/* Compiles in a child process, since a plugin without its hardware may end the process, or need gigabytes. Errors:
 * those of liana__pjrt_find_plugin and of the plugin; UNAVAILABLE with the last line that it printed if it ended the
 * child. */
liana_status liana__pjrt_compile_ahead(const liana__pjrt_ahead_request *request, liana__pjrt_ahead_program *program,
                                       liana__error *error) LIANA_MUST_USE;

#endif
