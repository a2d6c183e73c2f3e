/* plugin.h - a PJRT plugin: loaded, its version checked, its functions called with errors for people. */
#ifndef LIANA_BACKENDS_PJRT_PLUGIN_H
#define LIANA_BACKENDS_PJRT_PLUGIN_H

#include "backends/pjrt/interface.h"
#include "base/error.h"

typedef struct liana__pjrt_plugin {
    const char *path;
    const liana__pjrt_api *api;
    size_t num_functions;
} liana__pjrt_plugin;

/* Loads the plugin into this process, for good, and sets it up. The path must stay valid. Errors: NOT_FOUND for a file
 * that is not there; INVALID_CONFIG for one that is no plugin; UNIMPLEMENTED for another version of the interface;
 * UNAVAILABLE if the plugin refuses to start. */
liana_status liana__pjrt_plugin_load(const char *path, liana__pjrt_plugin *plugin, liana__error *error) LIANA_MUST_USE;

/* Whether this version of the plugin has the function. */
bool liana__pjrt_has(const liana__pjrt_plugin *plugin, liana__pjrt_function function);

/* Calls a function with a struct of arguments, whose head is set here. Errors: the plugin's message, with the name of
 * the function; the status is OUT_OF_MEMORY, UNIMPLEMENTED, NOT_FOUND, INVALID_ARGUMENT or CANCELLED where the plugin
 * says so, else UNAVAILABLE. */
liana_status liana__pjrt_call_sized(const liana__pjrt_plugin *plugin, liana__pjrt_function function, void *args,
                                    size_t size, liana__error *error) LIANA_MUST_USE;
#define liana__pjrt_call(plugin, function, args, error) \
    liana__pjrt_call_sized((plugin), (function), (args), sizeof *(args), (error))

/* The same for functions that free an object. NULL is left alone; the plugin's answer is ignored. */
void liana__pjrt_destroy(const liana__pjrt_plugin *plugin, liana__pjrt_function function, void *object);

/* A program in StableHLO, which is borrowed. */
liana__pjrt_program_text liana__pjrt_stablehlo(const char *code, size_t size);

/* Waits for an event and frees it. NULL: nothing to wait for. */
liana_status liana__pjrt_await(const liana__pjrt_plugin *plugin, void *event, liana__error *error) LIANA_MUST_USE;

#endif
