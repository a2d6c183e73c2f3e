/* program.h - StableHLO compiled by a plugin, and run on one of its devices. Equal programs of a client are one. */
#ifndef LIANA_BACKENDS_PJRT_PROGRAM_H
#define LIANA_BACKENDS_PJRT_PROGRAM_H

#include "backends/pjrt/client.h"
#include "backends/pjrt/compile_options.h"

/* A program's graph before recomputation, where a memory limit holds, and the level that was chosen (recompute.h). */
typedef struct liana__pjrt_origin {
    uint32_t checksum; /* of its text */
    size_t text_size;  /* 0: no limit was met */
    size_t memory_limit;
    int level;          /* how much is computed twice; -1: none was chosen yet */
    int64_t all_needed; /* bytes that an execution needs at level 0; -1: not known */
} liana__pjrt_origin;

typedef struct liana__pjrt_program {
    struct liana__pjrt_program *next;
    liana__pjrt_client *client;
    liana__arena arena; /* of the text and the devices */
    char *text;         /* the StableHLO; this and `wanted` make programs equal */
    size_t text_size;
    liana__pjrt_compile_options wanted; /* its devices are the program's own; equal flags are at one place */
    liana__pjrt_origin origin;
    size_t users;
    void *handle; /* a loaded executable */
    size_t num_results;
    int64_t temporaries; /* bytes of a run in addition to arguments and results; -1: the plugin does not say */
} liana__pjrt_program;

/* Compiles a module, or takes the equal one that the client has. `options` come without settings, and are not quick;
 * their flags must outlive the program; zeros: it runs on any one device. Errors: those of liana__pjrt_call. */
liana_status liana__pjrt_program_make(liana__pjrt_client *client, const char *text, size_t size,
                                      const liana__pjrt_compile_options *options, liana__pjrt_program **program,
                                      liana__error *error) LIANA_MUST_USE;
/* Sets the choice for the program in use that has this origin; leaves `origin` as it is without one. */
void liana__pjrt_origin_find(liana__pjrt_client *client, liana__pjrt_origin *origin);
void liana__pjrt_origin_note(liana__pjrt_program *program, const liana__pjrt_origin *origin);
/* Gives it back; the last user frees it. NULL is allowed. */
void liana__pjrt_program_drop(liana__pjrt_program *program);

/* Runs it on a device of the client; `device` NULL: on all devices that it was compiled for, in their order. By device
 * the arguments, which are buffers of the plugin there, and the results [num_results], which are new ones. Arguments
 * that the program is compiled to take over are gone afterwards, and still have to be freed. The devices may still
 * compute when this returns; what fails then is reported by whoever reads a result. */
liana_status liana__pjrt_program_run(const liana__pjrt_program *program, void *device, void **const *arguments,
                                     size_t num_arguments, void **const *results, liana__error *error) LIANA_MUST_USE;

#endif
