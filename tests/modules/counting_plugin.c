/* The plugin that counts (counting_plugin.h). */
#include "counting_plugin.h"

#include "backends/pjrt/interface.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) counting_plugin_state *counting_plugin(void);
__attribute__((visibility("default"))) const liana__pjrt_api *GetPjrtApi(void);

enum { MAX_FUNCTIONS = 200, MAX_OBJECTS = 1 << 16 };

static counting_plugin_state state = {.fails = -1};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const liana__pjrt_api *inner; /* NULL: there is none */
static struct {
    void *object;
    int kind;
} live[MAX_OBJECTS];
static size_t num_live;
static bool is_computing; /* as far as nobody has asked for an execution's results */

/* An error of this plugin's own. */
typedef struct own_error {
    int code;
    char text[200];
} own_error;
static own_error *own_errors[64];

counting_plugin_state *counting_plugin(void)
{
    return &state;
}

/* ---- objects ---- */

static void complain(const char *what, const char *function)
{
    if (!*state.wrong) snprintf(state.wrong, sizeof state.wrong, "%s: %s", function, what);
}

static void made(void *object, int kind)
{
    if (!object) return;
    state.made[kind]++;
    if (num_live < MAX_OBJECTS) {
        live[num_live].object = object;
        live[num_live++].kind = kind;
    }
}

static long find(const void *object, int kind)
{
    for (size_t i = num_live; i-- > 0;) {
        if (live[i].object == object && live[i].kind == kind) return (long)i;
    }
    return -1;
}

static void freed(void *object, int kind, const char *function)
{
    long at = find(object, kind);
    if (at < 0) {
        complain("frees what is not there", function);
        return;
    }
    live[at] = live[--num_live];
    state.freed[kind]++;
}

static void used(const void *object, int kind, const char *function)
{
    if (find(object, kind) < 0) complain("uses what is not there", function);
}

/* ---- errors ---- */

static void *fail(int code, const char *text)
{
    own_error *error = calloc(1, sizeof *error);
    if (!error) abort();
    error->code = code;
    snprintf(error->text, sizeof error->text, "%s", text);
    for (size_t i = 0; i < 64; i++) {
        if (own_errors[i]) continue;
        own_errors[i] = error;
        break;
    }
    return error;
}

static own_error *find_own(const void *object, bool take)
{
    for (size_t i = 0; i < 64; i++) {
        own_error *error = own_errors[i];
        if (!error || error != object) continue;
        if (take) own_errors[i] = NULL;
        return error;
    }
    return NULL;
}

/* The functions of errors, for own ones; whether it was one. */
static bool answer_for_own(int function, void *args)
{
    liana__pjrt_object_args *object = args;
    own_error *error = find_own(object->object, function == LIANA__PJRT_ERROR_DESTROY);
    if (!error) return false;
    if (function == LIANA__PJRT_ERROR_DESTROY) free(error);
    if (function == LIANA__PJRT_ERROR_GET_CODE) ((liana__pjrt_int_args *)args)->number = error->code;
    if (function == LIANA__PJRT_ERROR_MESSAGE) {
        ((liana__pjrt_list_args *)args)->items = error->text;
        ((liana__pjrt_list_args *)args)->count = strlen(error->text);
    }
    return true;
}

/* ---- calls ---- */

static bool is_of_errors(int function)
{
    return function <= LIANA__PJRT_ERROR_GET_CODE;
}

/* The kind of object that a function frees; -1: none. */
static int frees(int function)
{
    switch (function) {
    case LIANA__PJRT_ERROR_DESTROY: return COUNTED_ERRORS;
    case LIANA__PJRT_EVENT_DESTROY: return COUNTED_EVENTS;
    case LIANA__PJRT_CLIENT_DESTROY: return COUNTED_CLIENTS;
    case LIANA__PJRT_EXECUTABLE_DESTROY: return COUNTED_EXECUTABLES;
    case LIANA__PJRT_LOADED_EXECUTABLE_DESTROY: return COUNTED_PROGRAMS;
    case LIANA__PJRT_BUFFER_DESTROY: return COUNTED_BUFFERS;
    default: return -1;
    }
}

static void look_at_execution(const liana__pjrt_execute_args *args, const char *name)
{
    used(args->executable, COUNTED_PROGRAMS, name);
    for (size_t device = 0; device < args->num_devices; device++) {
        for (size_t i = 0; i < args->num_arguments; i++) used(args->arguments[device][i], COUNTED_BUFFERS, name);
    }
    state.executed++;
    is_computing = true;
}

static size_t size_of_type(int32_t type)
{
    switch (type) {
    case LIANA__PJRT_PRED:
    case LIANA__PJRT_U8: return 1;
    case LIANA__PJRT_BF16: return 2;
    case LIANA__PJRT_S64:
    case LIANA__PJRT_U64:
    case LIANA__PJRT_F64: return 8;
    default: return 4;
    }
}

static void count_bytes(const liana__pjrt_upload_args *args)
{
    size_t size = size_of_type(args->type);
    for (size_t i = 0; i < args->num_dims; i++) size *= (size_t)args->dims[i];
    state.bytes_uploaded += size;
}

static void before(int function, void *args, const char *name)
{
    liana__pjrt_object_args *object = args;
    if (frees(function) >= 0) {
        if (function == LIANA__PJRT_CLIENT_DESTROY && num_live > 1) complain("objects are still there", name);
        freed(object->object, frees(function), name);
    }
    switch (function) {
    case LIANA__PJRT_EVENT_AWAIT: used(object->object, COUNTED_EVENTS, name); break;
    case LIANA__PJRT_BUFFER_TO_HOST_BUFFER:
        used(object->object, COUNTED_BUFFERS, name);
        state.downloaded++;
        is_computing = false;
        state.bytes_downloaded += ((liana__pjrt_download_args *)args)->size;
        break;
    case LIANA__PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER:
        used(((liana__pjrt_upload_args *)args)->client, COUNTED_CLIENTS, name);
        state.uploaded++;
        state.uploaded_ahead += is_computing;
        count_bytes(args);
        break;
    case LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE: look_at_execution(args, name); break;
    case LIANA__PJRT_CLIENT_COMPILE: {
        const liana__pjrt_compile_args *compile = args;
        state.compiled++;
        state.options_size =
            compile->options_size < sizeof state.options ? compile->options_size : sizeof state.options;
        memcpy(state.options, compile->options, state.options_size);
        break;
    }
    default: break;
    }
}

static size_t num_results_of(void *program)
{
    liana__pjrt_pointer_args executable = {.head.struct_size = sizeof executable, .object = program};
    inner->functions[LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE](&executable);
    liana__pjrt_size_args results = {.head.struct_size = sizeof results, .object = executable.pointer};
    inner->functions[LIANA__PJRT_EXECUTABLE_NUM_OUTPUTS](&results);
    liana__pjrt_object_args end = {.head.struct_size = sizeof end, .object = executable.pointer};
    inner->functions[LIANA__PJRT_EXECUTABLE_DESTROY](&end);
    return results.size;
}

/* Arguments that are gone, because their memory became that of a result. */
static size_t num_taken_over(const liana__pjrt_execute_args *args)
{
    size_t count = 0;
    for (size_t device = 0; device < args->num_devices; device++) {
        for (size_t i = 0; i < args->num_arguments; i++) {
            liana__pjrt_bool_args deleted = {.head.struct_size = sizeof deleted, .object = args->arguments[device][i]};
            inner->functions[LIANA__PJRT_BUFFER_IS_DELETED](&deleted);
            count += deleted.yes;
        }
    }
    return count;
}

static void after(int function, void *args)
{
    switch (function) {
    case LIANA__PJRT_CLIENT_DEVICES: ((liana__pjrt_list_args *)args)->count += state.other_devices; break;
    case LIANA__PJRT_CLIENT_CREATE: made(((liana__pjrt_client_create_args *)args)->client, COUNTED_CLIENTS); break;
    case LIANA__PJRT_CLIENT_COMPILE: made(((liana__pjrt_compile_args *)args)->executable, COUNTED_PROGRAMS); break;
    case LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD:
        made(((liana__pjrt_deserialize_args *)args)->executable, COUNTED_PROGRAMS);
        break;
    case LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE:
        made(((liana__pjrt_pointer_args *)args)->pointer, COUNTED_EXECUTABLES);
        break;
    case LIANA__PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER:
        made(((liana__pjrt_upload_args *)args)->buffer, COUNTED_BUFFERS);
        made(((liana__pjrt_upload_args *)args)->done, COUNTED_EVENTS);
        break;
    case LIANA__PJRT_BUFFER_TO_HOST_BUFFER: made(((liana__pjrt_download_args *)args)->done, COUNTED_EVENTS); break;
    case LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE: {
        const liana__pjrt_execute_args *execute = args;
        size_t count = num_results_of(execute->executable);
        for (size_t device = 0; device < execute->num_devices; device++) {
            for (size_t i = 0; i < count; i++) made(execute->results[device][i], COUNTED_BUFFERS);
        }
        state.donated += num_taken_over(execute);
        break;
    }
    default: break;
    }
}

static bool is_to_fail(int function)
{
    return function == state.fails && state.fails_after-- == 0;
}

/* The memory of a device whose limit a test has set. */
static bool answer_for_memory(int function, void *args)
{
    if (function != LIANA__PJRT_DEVICE_MEMORY_STATS || !state.memory_limit) return false;
    liana__pjrt_memory_stats_args *memory = args;
    memory->bytes_in_use = 4096;
    memory->bytes_limit = (liana__pjrt_known_bytes){state.memory_limit, true};
    return true;
}

/* The platform and the other hosts' devices that a test has made up. */
static bool answer_for_platform(int function, void *args)
{
    liana__pjrt_list_args *list = args;
    const char *made_up = function == LIANA__PJRT_CLIENT_PLATFORM_NAME      ? state.platform
                          : function == LIANA__PJRT_DEVICE_DESCRIPTION_KIND ? state.kind
                                                                            : NULL;
    if (!made_up) return false;
    list->items = made_up;
    list->count = strlen(made_up);
    return true;
}

/* The message of a compiler that refuses an op: the op, and the location at the end of its line. NULL: it refuses
 * nothing. */
static void *refuse(int function, void *args)
{
    const liana__pjrt_compile_args *compile = args;
    if (function != LIANA__PJRT_CLIENT_COMPILE || !state.refuses) return NULL;
    const char *op = strstr(compile->program->code, state.refuses), *end = op ? strchr(op, '\n') : NULL;
    const char *place = NULL;
    for (const char *at = op; at && (at = strstr(at, " loc(")) && at < end; at++) place = at;
    char text[200];
    if (!op) return NULL;
    snprintf(text, sizeof text, "no kernel for %s at%.*s", state.refuses, place ? (int)(end - place) : 0,
             place ? place : "");
    return fail(3, text);
}

static void *call(int function, const char *name, void *args)
{
    if (answer_for_memory(function, args) || answer_for_platform(function, args)) return NULL;
    if (is_of_errors(function) && answer_for_own(function, args)) return NULL;
    if (!inner) return function == LIANA__PJRT_CLIENT_CREATE ? fail(14, "there is no device behind this plugin") : NULL;
    pthread_mutex_lock(&mutex);
    void *failure = is_to_fail(function) ? fail(state.fails_with, state.fails_saying) : refuse(function, args);
    if (!failure) before(function, args, name);
    pthread_mutex_unlock(&mutex);
    if (failure) return failure;
    failure = inner->functions[function](args);
    pthread_mutex_lock(&mutex);
    /* PJRT_Error_Destroy and PJRT_Error_Message return nothing. */
    if (is_of_errors(function)) failure = NULL;
    if (failure) {
        made(failure, COUNTED_ERRORS);
    } else {
        after(function, args);
    }
    pthread_mutex_unlock(&mutex);
    return failure;
}

#define COUNTING_CALL(constant, place, name)              \
    static liana__pjrt_failure *call_##name(void *args)   \
    {                                                     \
        return call(LIANA__PJRT_##constant, #name, args); \
    }
LIANA__PJRT_FUNCTIONS(COUNTING_CALL)

/* ---- the table ---- */

static void open_inner(void)
{
    const char *path = getenv("COUNTING_PLUGIN_INNER");
    if (inner || !path) return;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, "GetPjrtApi") : NULL;
    const liana__pjrt_api *(*get)(void);
    memcpy(&get, &address, sizeof get);
    if (get) inner = get();
}

static void spoil(liana__pjrt_api *table, const char *fault)
{
    if (strcmp(fault, "major") == 0) table->version.major = 1;
    if (strcmp(fault, "minor") == 0) table->version.minor = 40;
    if (strcmp(fault, "short") == 0) {
        table->struct_size = offsetof(liana__pjrt_api, functions) + LIANA__PJRT_CLIENT_COMPILE * sizeof(void *);
    }
}

const liana__pjrt_api *GetPjrtApi(void)
{
    static union {
        liana__pjrt_api api;
        char room[offsetof(liana__pjrt_api, functions) + MAX_FUNCTIONS * sizeof(void *)];
    } table;
    const char *fault = getenv("COUNTING_PLUGIN_FAULT");
    if (fault && strcmp(fault, "table") == 0) return NULL;
    open_inner();
    memset(&table, 0, sizeof table);
    table.api.struct_size = sizeof table;
    table.api.version.struct_size = sizeof table.api.version;
    table.api.version.minor = 81;
    if (inner) memcpy(&table, inner, inner->struct_size < sizeof table ? inner->struct_size : sizeof table);
#define COUNTING_PLACE(constant, place, name) table.api.functions[place] = call_##name;
    LIANA__PJRT_FUNCTIONS(COUNTING_PLACE)
    if (fault) spoil(&table.api, fault);
    return &table.api;
}
