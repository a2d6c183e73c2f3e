/* client.h - a plugin's client: its devices, its programs, its executions. All devices of a plugin that are opened in
 * one context with the same options share a client, since a second one would take the devices' memory again. */
#ifndef LIANA_BACKENDS_PJRT_CLIENT_H
#define LIANA_BACKENDS_PJRT_CLIENT_H

#include "backends/pjrt/device_name.h"
#include "backends/pjrt/plugin.h"
#include "base/context.h"

struct liana__pjrt_program;

typedef struct liana__pjrt_client {
    liana__pjrt_plugin plugin;
    const char *options;  /* with which it is made, as in a device's name; "": none */
    void *handle;         /* NULL: closed */
    void *const *devices; /* the plugin's, those of this process */
    size_t num_devices;
    size_t num_devices_of_all;            /* processes of a slice; num_devices if the plugin does not say */
    char platform[64];                    /* "cpu", "cuda", "tpu" */
    char version[1024];                   /* of the platform */
    size_t users;                         /* devices that are open */
    struct liana__pjrt_program *programs; /* that are in use, of all devices */
    pthread_mutex_t mutex;                /* of `programs`, and of compiling */
    bool has_failed;                      /* to run a program, or to move bytes */
    size_t num_compiled, num_loaded;      /* programs, so far; from the cache on disk */
} liana__pjrt_client;

/* Opens the client of a plugin, or takes the one that the context has. Errors: those of liana__pjrt_plugin_load;
 * UNAVAILABLE and others if the plugin makes none. */
liana_status liana__pjrt_client_open(liana_context *context, const char *path, const liana__pjrt_device_name *name,
                                     liana__pjrt_client **client, liana__error *error) LIANA_MUST_USE;
/* Whether its devices are CPUs. */
bool liana__pjrt_is_cpu(const liana__pjrt_client *client);
/* One that the context has open, with any options; NULL: there is none. It is borrowed. */
liana__pjrt_client *liana__pjrt_client_find(const liana_context *context, const char *path);
/* Closes it with its last user. */
void liana__pjrt_client_close(liana__pjrt_client *client);

/* Facts about a device. */
typedef struct liana__pjrt_device_facts {
    char kind[128];              /* "NVIDIA H200" */
    int id;                      /* among the devices of all processes */
    int64_t memory, memory_used; /* bytes; -1: the plugin does not say */
} liana__pjrt_device_facts;
liana_status liana__pjrt_device_describe(const liana__pjrt_client *client, size_t number,
                                         liana__pjrt_device_facts *facts, liana__error *error) LIANA_MUST_USE;
/* The bytes that are free on it. Where the plugin does not count memory, it is the host's, which `count` devices share:
 * half of it, in equal parts. */
size_t liana__pjrt_device_room(const liana__pjrt_client *client, size_t number, size_t count);

#endif
