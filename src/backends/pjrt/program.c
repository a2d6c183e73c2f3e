/* Compiles and runs programs. */
#include "backends/pjrt/program.h"

#include "backends/pjrt/program_cache.h"
#include "backends/pjrt/xla_settings.h"
#include "base/scoped.h"

#include <stdlib.h>
#include <string.h>

/* ---- compiling ---- */

/* The options for the plugin; those that need its settings only where these can be read. */
static liana_status write_options(const liana__pjrt_client *client, const liana__pjrt_compile_options *wanted,
                                  liana__text *options, liana__error *error)
{
    liana__pjrt_compile_options asked = *wanted;
    LIANA__SCOPED(liana__text) settings = {0};
    if (wanted->fewer_loops || wanted->keeps_barriers) LIANA_TRY(liana__xla_settings_read(client, &settings, error));
    asked.fewer_loops = wanted->fewer_loops && settings.length > 0;
    asked.keeps_barriers = wanted->keeps_barriers && settings.length > 0;
    asked.settings = settings.data;
    asked.settings_size = settings.length;
    liana__pjrt_compile_options_write(&asked, options);
    return options->failed ? liana__fail_memory(error, "a program") : LIANA_OK;
}

static liana_status compile(liana__pjrt_program *program, liana__error *error)
{
    liana__pjrt_client *client = program->client;
    LIANA__SCOPED(liana__text) options = {0};
    const liana__pjrt_program_text text = liana__pjrt_stablehlo(program->text, program->text_size);
    LIANA_TRY(write_options(client, &program->wanted, &options, error));
    liana__pjrt_compile_args args = {.client = client->handle,
                                     .program = &text,
                                     .options = options.data,
                                     .options_size = options.length};
    LIANA_TRY(liana__pjrt_call(&client->plugin, LIANA__PJRT_CLIENT_COMPILE, &args, error));
    program->handle = args.executable;
    client->num_compiled++;
    return LIANA_OK;
}

/* From the disk, or by the plugin's compiler. The wanted options are part of a file's key, whether the plugin can have
 * them or not. */
static liana_status call_compiler(liana__pjrt_program *program, liana__error *error)
{
    liana__pjrt_client *client = program->client;
    LIANA__SCOPED(liana__text) known_by = {0};
    liana__pjrt_compile_options_write(&program->wanted, &known_by);
    if (known_by.failed) return liana__fail_memory(error, "a program");
    const liana__program_source source = {known_by.data, known_by.length, program->text, program->text_size};
    program->handle = liana__program_cache_read(client, &source);
    if (program->handle) {
        client->num_loaded++;
        return LIANA_OK;
    }
    LIANA_TRY(compile(program, error));
    liana__program_cache_write(client, &source, program->handle);
    return LIANA_OK;
}

/* The number of its results, and its memory. */
static liana_status learn(liana__pjrt_program *program, liana__error *error)
{
    const liana__pjrt_plugin *plugin = &program->client->plugin;
    liana__pjrt_pointer_args executable = {.object = program->handle};
    LIANA_TRY(liana__pjrt_call(plugin, LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE, &executable, error));
    liana__pjrt_size_args results = {.object = executable.pointer};
    liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_NUM_OUTPUTS, &results, error);
    program->num_results = results.size;
    liana__pjrt_program_memory_args memory = {.executable = executable.pointer};
    bool said = liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS, &memory, NULL) == LIANA_OK;
    program->temporaries = said ? memory.temporaries : -1;
    liana__pjrt_destroy(plugin, LIANA__PJRT_EXECUTABLE_DESTROY, executable.pointer);
    return status;
}

static void free_program(liana__pjrt_program *program)
{
    liana__pjrt_destroy(&program->client->plugin, LIANA__PJRT_LOADED_EXECUTABLE_DESTROY, program->handle);
    liana__arena_free(&program->arena);
    free(program);
}

static liana_status copy_text(liana__pjrt_program *program, const char *text, size_t size,
                              const liana__pjrt_compile_options *options, liana__error *error)
{
    const size_t bytes = options->num_replicas * sizeof *options->devices;
    program->text = liana__arena_allocate(&program->arena, size + 1);
    program->text_size = size;
    program->wanted = *options;
    if (options->devices) program->wanted.devices = liana__arena_copy(&program->arena, options->devices, bytes);
    if (program->arena.failed) return liana__fail_memory(error, "a program");
    memcpy(program->text, text, size);
    return LIANA_OK;
}

static liana_status make(liana__pjrt_client *client, const char *text, size_t size,
                         const liana__pjrt_compile_options *options, liana__pjrt_program **made, liana__error *error)
{
    liana__pjrt_program *program = calloc(1, sizeof *program);
    if (!program) return liana__fail_memory(error, "a program");
    program->client = client;
    program->users = 1;
    liana_status status = copy_text(program, text, size, options, error);
    if (status == LIANA_OK) status = call_compiler(program, error);
    if (status == LIANA_OK) status = learn(program, error);
    if (status != LIANA_OK) {
        free_program(program);
        return status;
    }
    program->next = client->programs;
    client->programs = program;
    *made = program;
    return LIANA_OK;
}

static bool is_equal(const liana__pjrt_program *program, const char *text, size_t size,
                     const liana__pjrt_compile_options *options)
{
    const liana__pjrt_compile_options *wanted = &program->wanted;
    if (program->text_size != size || wanted->num_replicas != options->num_replicas) return false;
    if (!wanted->devices != !options->devices || wanted->fewer_loops != options->fewer_loops) return false;
    if (wanted->flags != options->flags || wanted->num_flags != options->num_flags) return false;
    if (wanted->keeps_barriers != options->keeps_barriers) return false;
    const size_t bytes = options->num_replicas * sizeof *options->devices;
    return (!options->devices || memcmp(wanted->devices, options->devices, bytes) == 0) &&
           memcmp(program->text, text, size) == 0;
}

liana_status liana__pjrt_program_make(liana__pjrt_client *client, const char *text, size_t size,
                                      const liana__pjrt_compile_options *options, liana__pjrt_program **out,
                                      liana__error *error)
{
    *out = NULL;
    pthread_mutex_lock(&client->mutex);
    liana__pjrt_program *program = client->programs;
    while (program && !is_equal(program, text, size, options)) program = program->next;
    liana_status status = LIANA_OK;
    if (program) {
        program->users++;
    } else {
        status = make(client, text, size, options, &program, error);
    }
    pthread_mutex_unlock(&client->mutex);
    if (status == LIANA_OK) *out = program;
    return status;
}

void liana__pjrt_origin_find(liana__pjrt_client *client, liana__pjrt_origin *origin)
{
    pthread_mutex_lock(&client->mutex);
    for (const liana__pjrt_program *program = client->programs; program; program = program->next) {
        const liana__pjrt_origin *each = &program->origin;
        const bool is_text = each->checksum == origin->checksum && each->text_size == origin->text_size;
        if (is_text && each->memory_limit == origin->memory_limit) *origin = *each;
    }
    pthread_mutex_unlock(&client->mutex);
}

void liana__pjrt_origin_note(liana__pjrt_program *program, const liana__pjrt_origin *origin)
{
    pthread_mutex_lock(&program->client->mutex);
    program->origin = *origin;
    pthread_mutex_unlock(&program->client->mutex);
}

void liana__pjrt_program_drop(liana__pjrt_program *program)
{
    if (!program) return;
    liana__pjrt_client *client = program->client;
    pthread_mutex_lock(&client->mutex);
    if (--program->users == 0) {
        liana__pjrt_program **place = &client->programs;
        while (*place != program) place = &(*place)->next;
        *place = program->next;
        free_program(program);
    }
    pthread_mutex_unlock(&client->mutex);
}

/* ---- running ---- */

liana_status liana__pjrt_program_run(const liana__pjrt_program *program, void *device, void **const *arguments,
                                     size_t num_arguments, void **const *results, liana__error *error)
{
    liana__pjrt_execute_options options = {.head = {.struct_size = sizeof options}};
    liana__pjrt_execute_args args = {
        .executable = program->handle,
        .options = &options,
        .arguments = (void *const *const *)arguments,
        .num_devices = device ? 1 : program->wanted.num_replicas,
        .num_arguments = num_arguments,
        .results = results,
        .device = device,
    };
    return liana__pjrt_call(&program->client->plugin, LIANA__PJRT_LOADED_EXECUTABLE_EXECUTE, &args, error);
}
