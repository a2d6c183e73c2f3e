/* Programs that others have written as StableHLO, run on a plugin's device. */
#include "stablehlo_program.h"

#include "backends/pjrt/buffer.h"
#include "backends/pjrt/program.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 8192 };

typedef struct argument {
    liana_dtype dtype;
    liana_shape shape;
    long result; /* that takes its memory; -1: none */
} argument;

static const struct {
    const char *name;
    liana_dtype dtype;
} types[] = {{"f32", LIANA_F32}, {"bf16", LIANA_BF16}, {"f64", LIANA_F64},  {"i32", LIANA_S32}, {"i64", LIANA_S64},
             {"ui8", LIANA_U8},  {"ui32", LIANA_U32},  {"ui64", LIANA_U64}, {"i1", LIANA_BOOL}};

/* "2x3xf32>..." */
static bool read_type(const char *text, argument *read)
{
    read->shape = LIANA_SCALAR;
    for (char *end; *text >= '0' && *text <= '9'; text = end + 1) {
        if (read->shape.rank == LIANA_MAX_RANK) return false;
        read->shape.dims[read->shape.rank++] = strtoll(text, &end, 10);
        if (*end != 'x') return false;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].name);
        read->dtype = types[i].dtype;
        if (strncmp(text, types[i].name, length) == 0 && text[length] == '>') return true;
    }
    return false;
}

/* Those of @main, which JAX calls %arg0, %arg1, ... */
static size_t read_arguments(const char *text, argument *arguments)
{
    static const char alias[] = "tf.aliasing_output = ";
    const char *at = strstr(text, "@main("), *end = at ? strstr(at, ") -> ") : NULL;
    size_t count = 0;
    while (end && count < MOST_ARGUMENTS) {
        char name[48];
        snprintf(name, sizeof name, "%%arg%zu: tensor<", count);
        at = strstr(at, name);
        if (!at || at > end) break;
        at += strlen(name);
        argument *read = &arguments[count++];
        if (!read_type(at, read)) return 0;
        const char *next = strstr(at, "%arg"), *found = strstr(at, alias);
        if (!next || next > end) next = end;
        read->result = found && found < next ? strtol(found + strlen(alias), NULL, 10) : -1;
    }
    return count;
}

/* Small positive numbers, which weights and their squares may be; integers are 0 or 1, as labels. */
static void fill(const argument *of, void *data)
{
    uint32_t random = 1;
    for (int64_t i = 0; i < liana_shape_size(&of->shape); i++) {
        random = random * 1664525 + 1013904223;
        const double number = (random >> 8) * 0x1p-24;
        liana__store(data, of->dtype, i, liana__dtype_is_float(of->dtype) ? 0.01 + 0.04 * number : number > 0.5);
    }
}

struct stablehlo_program {
    liana__pjrt_device *device;
    liana__pjrt_program *program;
    argument *arguments;
    size_t num_arguments;
    void **handles, **results;
};

static liana_status upload(stablehlo_program *own, liana__error *error)
{
    for (size_t i = 0; i < own->num_arguments; i++) {
        const argument *each = &own->arguments[i];
        liana__buffer *buffer = NULL;
        void *data = malloc(liana__byte_size(each->dtype, &each->shape));
        if (!data) return liana__fail_memory(error, "an argument");
        fill(each, data);
        liana_status status =
            liana__pjrt_upload(&own->device->base, each->dtype, &each->shape, data, &buffer, NULL, error);
        free(data);
        LIANA_TRY(status);
        own->handles[i] = ((liana__pjrt_buffer *)buffer)->handle;
    }
    return LIANA_OK;
}

liana_status stablehlo_program_run(stablehlo_program *own, double *seconds, liana__error *error)
{
    const liana__pjrt_plugin *plugin = &own->device->client->plugin;
    const double begin = liana__clock_seconds();
    LIANA_TRY(liana__pjrt_program_run(own->program, own->device->handle, &own->handles, own->num_arguments,
                                      &own->results, error));
    liana__pjrt_download_args args = {.buffer = own->results[own->program->num_results - 1]};
    LIANA_TRY(liana__pjrt_call(plugin, LIANA__PJRT_BUFFER_TO_HOST_BUFFER, &args, error));
    void *data = malloc(args.size);
    if (!data) return liana__fail_memory(error, "a result");
    args.data = data;
    liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_BUFFER_TO_HOST_BUFFER, &args, error);
    if (status == LIANA_OK) status = liana__pjrt_await(plugin, args.done, error);
    free(data);
    *seconds = liana__clock_seconds() - begin;
    for (size_t i = 0; i < own->num_arguments; i++) {
        const long result = own->arguments[i].result;
        if (result < 0) continue;
        liana__pjrt_destroy(plugin, LIANA__PJRT_BUFFER_DESTROY, own->handles[i]);
        own->handles[i] = own->results[result];
        own->results[result] = NULL;
    }
    for (size_t i = 0; i < own->program->num_results; i++) {
        liana__pjrt_destroy(plugin, LIANA__PJRT_BUFFER_DESTROY, own->results[i]);
    }
    return status;
}

static liana_status compile(stablehlo_program *own, const char *path, double *seconds, liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, (size_t)1 << 30, &text, &size, error));
    own->num_arguments = read_arguments(text, own->arguments);
    const double begin = liana__clock_seconds();
    liana_status status = own->num_arguments
                              ? liana__pjrt_program_make(own->device->client, text, size,
                                                         &(liana__pjrt_compile_options){0}, &own->program, error)
                              : liana__fail(error, LIANA_INVALID_CONFIG,
                                            "'%s': its function @main has no arguments as JAX writes them", path);
    *seconds = liana__clock_seconds() - begin;
    free(text);
    return status;
}

liana_status stablehlo_program_open(liana__device *device, const char *path, stablehlo_program **out, double *seconds,
                                    liana__error *error)
{
    if (device->backend != &liana__backend_pjrt) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is no device of a PJRT plugin", device->opened_as);
    }
    stablehlo_program *own = calloc(1, sizeof *own);
    if (own) own->arguments = calloc(MOST_ARGUMENTS, sizeof *own->arguments);
    if (!own || !own->arguments) {
        free(own);
        return liana__fail_memory(error, "the arguments");
    }
    *out = own;
    own->device = (liana__pjrt_device *)device;
    LIANA_TRY(compile(own, path, seconds, error));
    own->handles = calloc(own->num_arguments, sizeof *own->handles);
    own->results = calloc(own->program->num_results, sizeof *own->results);
    if (!own->handles || !own->results) return liana__fail_memory(error, "the arguments");
    return upload(own, error);
}

void stablehlo_program_close(stablehlo_program *own)
{
    if (!own) return;
    for (size_t i = 0; own->handles && i < own->num_arguments; i++) {
        liana__pjrt_destroy(&own->device->client->plugin, LIANA__PJRT_BUFFER_DESTROY, own->handles[i]);
    }
    liana__pjrt_program_drop(own->program);
    free(own->arguments);
    free(own->handles);
    free(own->results);
    free(own);
}
