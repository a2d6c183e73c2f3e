/* Loads plugins and calls their functions. */
#include "backends/pjrt/plugin.h"

#include "base/scoped.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

static const char *name_of(liana__pjrt_function function)
{
    switch (function) {
#define LIANA__PJRT_NAME(constant, place, name) \
    case LIANA__PJRT_##constant: return #name;
        LIANA__PJRT_FUNCTIONS(LIANA__PJRT_NAME)
#undef LIANA__PJRT_NAME
    }
    return "a function";
}

bool liana__pjrt_has(const liana__pjrt_plugin *plugin, liana__pjrt_function function)
{
    return (size_t)function < plugin->num_functions && plugin->api->functions[function];
}

/* Plugins accept structs that are larger than theirs, and refuse smaller ones. So every struct goes out with zeros
 * behind it, which stand for fields of newer versions. */
enum { ROOM_FOR_ARGUMENTS = 512 };

static liana__pjrt_failure *call(const liana__pjrt_plugin *plugin, liana__pjrt_function function, void *args,
                                 size_t size)
{
    _Alignas(max_align_t) char room[ROOM_FOR_ARGUMENTS] = {0};
    memcpy(room, args, size);
    *(liana__pjrt_head *)room = (liana__pjrt_head){.struct_size = sizeof room};
    liana__pjrt_failure *failure = plugin->api->functions[function](room);
    memcpy(args, room, size);
    return failure;
}

static liana_status status_of(const liana__pjrt_plugin *plugin, liana__pjrt_failure *failure)
{
    liana__pjrt_int_args args = {.object = failure};
    liana__pjrt_failure *second = call(plugin, LIANA__PJRT_ERROR_GET_CODE, &args, sizeof args);
    if (second) {
        liana__pjrt_destroy(plugin, LIANA__PJRT_ERROR_DESTROY, second);
        return LIANA_UNAVAILABLE;
    }
    switch (args.number) {
    case LIANA__PJRT_CANCELLED: return LIANA_CANCELLED;
    case LIANA__PJRT_INVALID_ARGUMENT: return LIANA_INVALID_ARGUMENT;
    case LIANA__PJRT_NOT_FOUND: return LIANA_NOT_FOUND;
    case LIANA__PJRT_RESOURCE_EXHAUSTED: return LIANA_OUT_OF_MEMORY;
    case LIANA__PJRT_UNIMPLEMENTED: return LIANA_UNIMPLEMENTED;
    default: return LIANA_UNAVAILABLE;
    }
}

/* Plugins add stack traces and whole programs to their messages; the fault is at the beginning. */
enum { MOST_OF_A_MESSAGE = 1500 };

static liana_status report(const liana__pjrt_plugin *plugin, liana__pjrt_function function,
                           liana__pjrt_failure *failure, liana__error *error)
{
    liana__pjrt_list_args message = {.object = failure};
    (void)call(plugin, LIANA__PJRT_ERROR_MESSAGE, &message, sizeof message);
    size_t length = message.items ? message.count : 0;
    if (length > MOST_OF_A_MESSAGE) length = MOST_OF_A_MESSAGE;
    liana_status status =
        liana__fail(error, status_of(plugin, failure), "the plugin '%s' says in %s: %.*s", plugin->path,
                    name_of(function), (int)length, message.items ? (const char *)message.items : "");
    liana__pjrt_destroy(plugin, LIANA__PJRT_ERROR_DESTROY, failure);
    return status;
}

liana_status liana__pjrt_call_sized(const liana__pjrt_plugin *plugin, liana__pjrt_function function, void *args,
                                    size_t size, liana__error *error)
{
    if (!liana__pjrt_has(plugin, function)) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "the plugin '%s' (PJRT %d.%d) has no function %s", plugin->path,
                           (int)plugin->api->version.major, (int)plugin->api->version.minor, name_of(function));
    }
    liana__pjrt_failure *failure = call(plugin, function, args, size);
    return failure ? report(plugin, function, failure, error) : LIANA_OK;
}

void liana__pjrt_destroy(const liana__pjrt_plugin *plugin, liana__pjrt_function function, void *object)
{
    if (!object) return;
    liana__pjrt_object_args args = {.object = object};
    liana__pjrt_failure *failure = call(plugin, function, &args, sizeof args);
    /* PJRT_Error_Destroy returns nothing; the value in its place is no error. */
    if (failure && function != LIANA__PJRT_ERROR_DESTROY) {
        liana__pjrt_destroy(plugin, LIANA__PJRT_ERROR_DESTROY, failure);
    }
}

liana__pjrt_program_text liana__pjrt_stablehlo(const char *code, size_t size)
{
    return (liana__pjrt_program_text){.head = {.struct_size = sizeof(liana__pjrt_program_text)},
                                      .code = code,
                                      .code_size = size,
                                      .format = "mlir",
                                      .format_size = strlen("mlir")};
}

liana_status liana__pjrt_await(const liana__pjrt_plugin *plugin, void *event, liana__error *error)
{
    if (!event) return LIANA_OK;
    liana__pjrt_object_args args = {.object = event};
    liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_EVENT_AWAIT, &args, error);
    liana__pjrt_destroy(plugin, LIANA__PJRT_EVENT_DESTROY, event);
    return status;
}

/* ---- loading ---- */

/* By its whole path: the system looks for a name without a folder in its own places, and not where it was meant. */
static liana_status open_file(const char *path, void **handle, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *real = realpath(path, NULL);
    if (!real) {
        return liana__fail(error, LIANA_NOT_FOUND, "there is no plugin '%s'; expected the path of a PJRT plugin (.so)",
                           path);
    }
    *handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    if (*handle) return LIANA_OK;
    const char *reason = dlerror();
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "'%s' cannot be loaded as a PJRT plugin: %s; expected a shared library for this machine", path,
                       reason ? reason : "the system does not say why");
}

static liana_status find_table(const char *path, void *handle, const liana__pjrt_api **api, liana__error *error)
{
    const liana__pjrt_api *(*get)(void);
    void *address = dlsym(handle, "GetPjrtApi");
    memcpy(&get, &address, sizeof get);
    *api = address ? get() : NULL;
    if (*api) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is no PJRT plugin: %s", path,
                       address ? "its GetPjrtApi returns nothing" : "it has no function GetPjrtApi");
}

static liana_status check_version(const liana__pjrt_plugin *plugin, liana__error *error)
{
    const liana__pjrt_api *api = plugin->api;
    const size_t least = offsetof(liana__pjrt_api, functions);
    int major = api->version.major, minor = api->version.minor;
    if (api->struct_size < least || major != LIANA__PJRT_MAJOR) {
        return liana__fail(
            error, LIANA_UNIMPLEMENTED,
            "the plugin '%s' speaks PJRT %d.%d; liana speaks PJRT %d; use a plugin of that major version", plugin->path,
            major, minor, LIANA__PJRT_MAJOR);
    }
    if (minor >= LIANA__PJRT_OLDEST_MINOR) return LIANA_OK;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "the plugin '%s' speaks PJRT %d.%d; expected %d.%d or newer; install a newer plugin",
                       plugin->path, major, minor, LIANA__PJRT_MAJOR, LIANA__PJRT_OLDEST_MINOR);
}

liana_status liana__pjrt_plugin_load(const char *path, liana__pjrt_plugin *plugin, liana__error *error)
{
    void *handle = NULL;
    *plugin = (liana__pjrt_plugin){.path = path};
    LIANA_TRY(open_file(path, &handle, error));
    LIANA_TRY(find_table(path, handle, &plugin->api, error));
    LIANA_TRY(check_version(plugin, error));
    plugin->num_functions =
        (plugin->api->struct_size - offsetof(liana__pjrt_api, functions)) / sizeof *plugin->api->functions;
    liana__pjrt_head args = {0};
    return liana__pjrt_call(plugin, LIANA__PJRT_PLUGIN_INITIALIZE, &args, error);
}
