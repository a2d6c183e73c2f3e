/* compile_options.h - XLA's CompileOptionsProto, as far as liana fills it: written by hand as protobuf's wire
 * format. */
#ifndef LIANA_BACKENDS_PJRT_COMPILE_OPTIONS_H
#define LIANA_BACKENDS_PJRT_COMPILE_OPTIONS_H

#include "base/text.h"

typedef struct liana__pjrt_flag {
    const char *name; /* of XLA's DebugOptions, such as "xla_cpu_multi_thread_eigen" */
    int64_t value;
    bool is_number; /* false: the value is true or false */
} liana__pjrt_flag;

typedef struct liana__pjrt_compile_options {
    size_t num_replicas; /* 0 and 1: one device, any of the client's, which is chosen at each run */
    const int *devices;  /* [num_replicas] by replica: the device's id; NULL: the client's own order */
    const liana__pjrt_flag *flags;
    size_t num_flags;
    /* XLA on CPUs writes one loop for results that read the same values, not one for each of them, and one loop for a
     * sum over many elements, not a tree of windows: less to compile, to load and to read. */
    bool fewer_loops;
    /* XLA on CPUs keeps optimization barriers. By itself it drops them, and then merges nodes that are computed
     * twice. */
    bool keeps_barriers;
    /* xla_settings.h. The two above need all of XLA's settings, since options that say one replace them all. NULL: the
     * plugin's own stay. */
    const char *settings;
    size_t settings_size;
    bool is_quick; /* the compiler makes least effort, where it knows that: soon ready, perhaps slower */
} liana__pjrt_compile_options;

/* Adds the message to `bytes`; check bytes->failed. */
void liana__pjrt_compile_options_write(const liana__pjrt_compile_options *options, liana__text *bytes);

#endif
