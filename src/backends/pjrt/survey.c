/* Looks at devices for `liana devices`, and explains failures. */
#include "backends/pjrt/survey.h"

#include "backends/pjrt/discovery.h"
#include "backends/pjrt/tpu_environment.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- why it fails ---- */

/* Whether one of the files that a process holds begins with the prefix. */
static bool holds(const char *process, const char *prefix)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *folder = opendir(path);
    bool found = false;
    for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        char link[600], target[512];
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length <= 0) continue;
        target[length] = '\0';
        found = liana__starts_with(target, prefix);
    }
    if (folder) closedir(folder);
    return found;
}

int liana__pjrt_holder(const char *prefix)
{
    DIR *processes = opendir("/proc");
    int holder = 0;
    for (const struct dirent *entry; processes && !holder && (entry = readdir(processes));) {
        int process = atoi(entry->d_name);
        if (process > 0 && process != (int)getpid() && holds(entry->d_name, prefix)) holder = process;
    }
    if (processes) closedir(processes);
    return holder;
}

/* The version of NVIDIA's driver; "": there is none. */
static void read_driver(char *version, size_t size)
{
    *version = '\0';
    FILE *file = fopen("/sys/module/nvidia/version", "re");
    if (!file) return;
    if (!fgets(version, (int)size, file)) *version = '\0';
    version[strcspn(version, "\n")] = '\0';
    fclose(file);
}

liana_status liana__pjrt_explain(const char *kind, liana__error *error)
{
    const liana__error was = *error;
    if (kind && strcmp(kind, "tpu") == 0) {
        int holder = liana__pjrt_holder("/dev/accel");
        if (!holder) holder = liana__pjrt_holder("/dev/vfio/");
        if (holder) return liana__fail(error, was.status, "the TPU is taken by process %d: %s", holder, was.message);
    }
    if (kind && strcmp(kind, "gpu") == 0) {
        char driver[64];
        read_driver(driver, sizeof driver);
        if (*driver) {
            return liana__fail(error, was.status,
                               "%s; the driver is %s: if the plugin calls it too old, install a newer driver or a "
                               "plugin for an older CUDA",
                               was.message, driver);
        }
    }
    return was.status;
}

/* ---- looking ---- */

static liana_status describe_all(const liana__pjrt_client *client, liana__arena *arena, liana__pjrt_survey *survey,
                                 liana__error *error)
{
    liana__pjrt_device_facts *facts = liana__arena_allocate(arena, (client->num_devices + 1) * sizeof *facts);
    if (!facts) return liana__fail_memory(error, "the list of devices");
    for (size_t i = 0; i < client->num_devices; i++) {
        LIANA_TRY(liana__pjrt_device_describe(client, i, &facts[i], error));
    }
    survey->devices = facts;
    survey->num_devices = client->num_devices;
    survey->major = client->plugin.api->version.major;
    survey->minor = client->plugin.api->version.minor;
    survey->platform = liana__arena_string(arena, client->platform);
    survey->version = liana__arena_string(arena, client->version);
    return arena->failed ? liana__fail_memory(error, "the list of devices") : LIANA_OK;
}

liana_status liana__pjrt_look(liana_context *context, const char *name, liana__arena *arena, liana__pjrt_survey *survey,
                              liana__error *error)
{
    liana__pjrt_device_name read;
    LIANA_TRY(liana__pjrt_device_name_read(name, arena, &read, error));
    *survey = (liana__pjrt_survey){.name = read.shown, .plugin = read.path, .options = read.option_text};
    if (!read.path) {
        LIANA_TRY(liana__pjrt_find_hardware(read.kind, error));
        LIANA_TRY(liana__pjrt_find_plugin(read.kind, arena, &survey->plugin, error));
    }
    liana__pjrt_client *client = *read.option_text ? NULL : liana__pjrt_client_find(context, survey->plugin);
    if (client) {
        survey->options = client->options;
        return describe_all(client, arena, survey, error);
    }
    if (!*read.option_text && read.kind && strcmp(read.kind, "gpu") == 0) {
        LIANA_TRY(liana__pjrt_device_name_read("gpu?preallocate=false", arena, &read, error));
    }
    liana_status status = liana__pjrt_client_open(context, survey->plugin, &read, &client, error);
    if (status != LIANA_OK) return liana__pjrt_explain(read.kind, error);
    status = describe_all(client, arena, survey, error);
    liana__pjrt_client_close(client);
    return status;
}

/* ---- in a list ---- */

/* The name that opens the device, with the options that the plugin needs for it. */
static const char *name_of(const liana__pjrt_survey *survey, size_t number, liana__arena *arena)
{
    return liana__arena_format(arena, "%s:%zu%s%s", survey->name, number, *survey->options ? "?" : "", survey->options);
}

liana_status liana__pjrt_list_devices(liana_device_list *list, liana_context *context, const char *name,
                                      liana__error *error)
{
    liana__pjrt_survey survey;
    liana__arena *arena = &list->arena;
    LIANA_TRY(liana__pjrt_look(context, name, arena, &survey, error));
    liana_device_facts facts = {.platform = survey.platform, .plugin = survey.plugin, .version = survey.version};
    facts.interface_version = liana__arena_format(arena, "%d.%d", survey.major, survey.minor);
    if (strcmp(survey.platform, "tpu") == 0) facts.environment = liana__tpu_environment_in(arena);
    for (size_t i = 0; i < survey.num_devices; i++) {
        facts.name = name_of(&survey, i, arena);
        facts.kind = survey.devices[i].kind;
        facts.memory = survey.devices[i].memory;
        facts.memory_used = survey.devices[i].memory_used;
        LIANA_TRY(liana__device_list_add(list, &facts, error));
    }
    return LIANA_OK;
}
