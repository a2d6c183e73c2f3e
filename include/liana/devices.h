/* devices.h - which devices there are: of this machine, and of servers. It is what `liana devices` prints.
 *
 *     liana_device_list_create(context, NULL, &list);
 *     for (size_t i = 0; i < liana_device_list_count(list); i++) {
 *         const liana_device_facts *facts = liana_device_list_at(list, i);
 *         if (!facts->missing) printf("%s: %s\n", facts->name, facts->kind);
 *     }
 *     liana_device_list_destroy(list); */
#ifndef LIANA_DEVICES_H
#define LIANA_DEVICES_H

#include <liana/context.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device, or a kind of devices that is missing. Texts are valid as long as the list, and NULL where nothing is known. */
typedef struct liana_device_facts {
    const char *name;     /* as for liana_device_open: "cpu", "gpu:1"; of what is missing "gpu", "/job:worker/task:1" */
    const char *kind;     /* "NVIDIA H200"; of a CPU its instruction set, "avx512" */
    const char *platform; /* "cpu", "cuda", "tpu" */
    int64_t memory;       /* bytes, of a server's CPU those for all its clients; -1: not known */
    int64_t memory_used;  /* bytes; -1: not known */
    int64_t threads;      /* of a CPU; of others 0 */
    const char *plugin;   /* the path of its PJRT plugin, on its own machine; NULL: it needs none */
    const char *interface_version; /* of PJRT, as the plugin speaks it: "0.81" */
    const char *version;           /* of the plugin's platform; of a CPU that of liana */
    const char *environment;       /* of TPUs: the variables that libtpu reads, "NAME=VALUE, ..."; NULL: none is set */
    const char *address;           /* of the server that offers it; NULL: it is this process's */
    const char *missing;           /* why it is not there; NULL: it is */
} liana_device_facts;

typedef struct liana_device_list liana_device_list;

/* Lists devices. `name` NULL: the CPU, then GPUs, TPUs and the devices of PJRT's plugin for CPUs, with what is missing and
 * why, then those of the servers that liana_connect_to_cluster or TF_CONFIG names. Else what one name means, whatever
 * number it has: "cpu", "gpu", "pjrt:/path/plugin.so", "pjrt:cpu?cpu_device_count=8", "/job:worker/task:1",
 * "host:port/cpu:0". GPUs and TPUs are opened to be looked at, without taking their memory, and closed again; a plugin
 * that the context uses already is asked as it is. Errors: OUT_OF_MEMORY, INVALID_CONFIG (TF_CONFIG cannot be read);
 * of one name those of liana_device_open: that it is missing is an error then. */
LIANA_API LIANA_MUST_USE liana_status liana_device_list_create(liana_context *context, const char *name,
                                                               liana_device_list **list);
/* NULL is allowed. */
LIANA_API void liana_device_list_destroy(liana_device_list *list);

/* 0 for NULL. */
LIANA_API size_t liana_device_list_count(const liana_device_list *list);
/* By index, from 0. NULL: there is none. */
LIANA_API const liana_device_facts *liana_device_list_at(const liana_device_list *list, size_t index);

#ifdef __cplusplus
}
#endif
#endif
