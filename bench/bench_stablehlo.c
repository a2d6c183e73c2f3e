/* What a StableHLO program costs on a PJRT plugin: seconds of an execution. For bench_pjrt.sh, which gives it the update that
 * JAX exports (jax_peer.py --export), beside liana's own on the same plugin (bench_step --device).
 *
 *   bench_stablehlo FILE [DEVICE [SECONDS]]    default pjrt:cpu?cpu_device_count=1 and 10
 *
 * Arguments that the program donates to a result are what that result was, from execution to execution, as weights are in a
 * training. The report is one JSON line. */
#include "backends/pjrt/buffer.h"
#include "backends/pjrt/program.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 8192, MOST_RUNS = 10000, WARMUP = 2, LEAST_RUNS = 3 };

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

typedef struct bench {
    liana__pjrt_device *device;
    liana__pjrt_program *program;
    argument *arguments;
    size_t num_arguments;
    void **handles, **results;
    double seconds[MOST_RUNS];
    int runs;
} bench;

static liana_status upload(bench *b, liana__error *error)
{
    for (size_t i = 0; i < b->num_arguments; i++) {
        const argument *each = &b->arguments[i];
        liana__buffer *buffer = NULL;
        void *data = malloc(liana__byte_size(each->dtype, &each->shape));
        if (!data) return liana__fail_memory(error, "an argument");
        fill(each, data);
        liana_status status =
            liana__pjrt_upload(&b->device->base, each->dtype, &each->shape, data, &buffer, NULL, error);
        free(data);
        LIANA_TRY(status);
        b->handles[i] = ((liana__pjrt_buffer *)buffer)->handle;
    }
    return LIANA_OK;
}

/* One execution, to its end: its smallest result is read. */
static liana_status run(bench *b, double *seconds, liana__error *error)
{
    const liana__pjrt_plugin *plugin = &b->device->client->plugin;
    const double begin = liana__clock_seconds();
    LIANA_TRY(liana__pjrt_program_run(b->program, b->device->handle, b->handles, b->num_arguments, b->results, error));
    liana__pjrt_download_args args = {.buffer = b->results[b->program->num_results - 1]};
    LIANA_TRY(liana__pjrt_call(plugin, LIANA__PJRT_BUFFER_TO_HOST_BUFFER, &args, error));
    void *data = malloc(args.size);
    if (!data) return liana__fail_memory(error, "a result");
    args.data = data;
    liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_BUFFER_TO_HOST_BUFFER, &args, error);
    if (status == LIANA_OK) status = liana__pjrt_await(plugin, args.done, error);
    free(data);
    *seconds = liana__clock_seconds() - begin;
    for (size_t i = 0; i < b->num_arguments; i++) {
        const long result = b->arguments[i].result;
        if (result < 0) continue;
        liana__pjrt_destroy(plugin, LIANA__PJRT_BUFFER_DESTROY, b->handles[i]);
        b->handles[i] = b->results[result];
        b->results[result] = NULL;
    }
    for (size_t i = 0; i < b->program->num_results; i++) {
        liana__pjrt_destroy(plugin, LIANA__PJRT_BUFFER_DESTROY, b->results[i]);
    }
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static liana_status measure(bench *b, const char *path, double least, liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, (size_t)1 << 30, &text, &size, error));
    b->num_arguments = read_arguments(text, b->arguments);
    if (!b->num_arguments) {
        free(text);
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s': its function @main has no arguments as JAX writes them",
                           path);
    }
    double begin = liana__clock_seconds();
    liana_status status =
        liana__pjrt_program_make(b->device->client, text, size, &(liana__pjrt_compile_options){0}, &b->program, error);
    free(text);
    LIANA_TRY(status);
    const double compiled = liana__clock_seconds() - begin;
    b->handles = calloc(b->num_arguments, sizeof *b->handles);
    b->results = calloc(b->program->num_results, sizeof *b->results);
    if (!b->handles || !b->results) return liana__fail_memory(error, "the arguments");
    LIANA_TRY(upload(b, error));
    double ignored;
    for (int i = 0; i < WARMUP; i++) LIANA_TRY(run(b, &ignored, error));
    begin = liana__clock_seconds();
    while (b->runs < MOST_RUNS && (b->runs < LEAST_RUNS || liana__clock_seconds() - begin < least)) {
        LIANA_TRY(run(b, &b->seconds[b->runs++], error));
    }
    qsort(b->seconds, (size_t)b->runs, sizeof *b->seconds, compare_doubles);
    printf("{\"program\": \"StableHLO\", \"runs\": %d, \"compile_seconds\": %.2f, \"seconds_median\": %.5f, "
           "\"seconds_least\": %.5f}\n",
           b->runs, compiled, (b->seconds[(b->runs - 1) / 2] + b->seconds[b->runs / 2]) / 2, b->seconds[0]);
    return LIANA_OK;
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana__error error = {0};
    liana__device *device = NULL;
    bench *b = calloc(1, sizeof *b);
    if (argc < 2 || !b || liana_context_create(NULL, &context) != LIANA_OK) {
        fprintf(stderr, "usage: bench_stablehlo FILE [DEVICE [SECONDS]]\n");
        return 2;
    }
    b->arguments = calloc(MOST_ARGUMENTS, sizeof *b->arguments);
    const char *name = argc > 2 ? argv[2] : "pjrt:cpu?cpu_device_count=1";
    liana_status status = b->arguments ? LIANA_OK : liana__fail_memory(&error, "the arguments");
    if (status == LIANA_OK) status = liana__device_open(context, name, &device, &error);
    if (status == LIANA_OK && device->backend != &liana__backend_pjrt) {
        status = liana__fail(&error, LIANA_INVALID_CONFIG, "'%s' is no device of a PJRT plugin", name);
    }
    b->device = (liana__pjrt_device *)device;
    if (status == LIANA_OK) status = measure(b, argv[1], argc > 3 ? strtod(argv[3], NULL) : 10, &error);
    if (status != LIANA_OK) fprintf(stderr, "bench_stablehlo: %s\n", error.message);
    /* The process ends here, with all that the plugin holds. */
    fflush(stdout);
    _Exit(status == LIANA_OK ? 0 : 1);
}
