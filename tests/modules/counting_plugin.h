/* counting_plugin.h - a PJRT plugin for the tests: it hands all calls to a real plugin, counts objects that are made
 * and freed, checks its arguments more strictly than a real one, and fails on purpose.
 *
 * It reads the environment when a client asks for its table:
 *   COUNTING_PLUGIN_INNER=PATH   the real plugin; without it there is none, and no client can be made
 *   COUNTING_PLUGIN_FAULT=TEXT   "major": says another major version; "minor": an old one; "table": gives no table;
 *                                "short": its table ends before the functions that programs need */
#ifndef LIANA_TESTS_PJRT_COUNTING_PLUGIN_H
#define LIANA_TESTS_PJRT_COUNTING_PLUGIN_H

#include <stddef.h>

/* Kinds of objects. */
enum {
    COUNTED_CLIENTS,
    COUNTED_PROGRAMS,
    COUNTED_EXECUTABLES,
    COUNTED_BUFFERS,
    COUNTED_EVENTS,
    COUNTED_ERRORS,
    NUM_COUNTED
};

typedef struct counting_plugin_state {
    size_t made[NUM_COUNTED], freed[NUM_COUNTED];
    size_t compiled, executed, uploaded, downloaded; /* calls */
    size_t donated;                                  /* arguments of executions that were taken over */
    size_t bytes_downloaded, bytes_uploaded;
    size_t uploaded_ahead; /* of the uploads: those between an execution and the next download */

    /* The fault: an object that is freed twice, used after it was freed, or unknown. "" : nothing. */
    char wrong[256];
    /* Makes call number `fails_after` (from 0, counted from now) of a function fail with a code; function -1: none. */
    int fails, fails_after, fails_with;
    const char *fails_saying;
    const char *refuses; /* an op: programs with it are not compiled, and the message names its place; NULL: none */
    /* Values that a test makes up: the platform and the names of its devices (NULL: those of the plugin behind), and
     * devices of other hosts of its slice. */
    const char *platform, *kind;
    size_t other_devices;
    /* The options of the last program that was compiled: as far as they have room, with their length. */
    char options[8192];
    size_t options_size;
    long long memory_limit; /* bytes of a device, for a plugin that counts memory; 0: it does not */
} counting_plugin_state;

/* Exported as counting_plugin: the one state of this process. */
typedef counting_plugin_state *counting_plugin_function(void);

#endif
