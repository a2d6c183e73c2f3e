/* survey.h - the devices of a plugin, and the reasons for missing ones. */
#ifndef LIANA_BACKENDS_PJRT_SURVEY_H
#define LIANA_BACKENDS_PJRT_SURVEY_H

#include "backends/device_list.h"
#include "backends/pjrt/client.h"

typedef struct liana__pjrt_survey {
    const char *name;     /* of the devices, before their numbers: "gpu", "pjrt:cpu", "pjrt:/path/plugin.so" */
    const char *options;  /* that the plugin was given and a name of a device must repeat; "": none */
    const char *plugin;   /* its path; NULL: there is none */
    int major, minor;     /* of the interface that it speaks */
    const char *platform; /* "cuda" */
    const char *version;  /* of the platform */
    const liana__pjrt_device_facts *devices;
    size_t num_devices;
} liana__pjrt_survey;

/* Looks at the devices that `name` stands for, with its options. Where it has none, a client that the context has open
 * is asked; a GPU's memory is not taken to look at it. All memory is the arena's. Errors: the reasons for missing
 * devices: those of liana__pjrt_find_hardware, liana__pjrt_find_plugin and liana__pjrt_client_open. */
liana_status liana__pjrt_look(liana_context *context, const char *name, liana__arena *arena, liana__pjrt_survey *survey,
                              liana__error *error) LIANA_MUST_USE;

/* Adds the devices that `name` stands for to a list: "gpu", "pjrt:/path/plugin.so". Errors: those of
 * liana__pjrt_look. */
liana_status liana__pjrt_list_devices(liana_device_list *list, liana_context *context, const char *name,
                                      liana__error *error) LIANA_MUST_USE;

/* Adds the reasons why a client cannot be opened: the driver's version, the process that has taken the device. `kind`
 * may be NULL. Returns the status of the error. */
liana_status liana__pjrt_explain(const char *kind, liana__error *error);

/* The first process but this one that holds a file whose path begins with `prefix`; 0: none that may be looked at. */
int liana__pjrt_holder(const char *prefix);

#endif
