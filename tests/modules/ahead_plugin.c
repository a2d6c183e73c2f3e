/* A plugin that compiles for devices that are not there, as libtpu does, and does nothing else. Its topology has an
 * option "mode": good, refuse (an error), loops or barriers (the same, unless the program has one), abort or exit (the
 * end of the process). */
#include "backends/pjrt/interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) const liana__pjrt_api *GetPjrtApi(void);

enum { NUM_FUNCTIONS = 100, RESOURCE_EXHAUSTED = 8, INVALID = 3 };

static char mode[16];
static liana__pjrt_program_memory_args answer;

static liana__pjrt_failure *fail(const char *text)
{
    return (liana__pjrt_failure *)(void *)strdup(text);
}

static liana__pjrt_failure *initialize(void *args)
{
    (void)args;
    return NULL;
}

static liana__pjrt_failure *create_topology(void *args)
{
    liana__pjrt_topology_args *own = args;
    if (own->num_options < 1 || strncmp(own->options->name, "mode", own->options->name_size) != 0) {
        return fail("an option 'mode' is expected");
    }
    /* A GPU's description, and its place among others. */
    const liana__pjrt_named_value *target = own->options + 1, *place = own->options + 2;
    const bool is_gpu = own->num_options == 3 && strncmp(target->name, "target_config", target->name_size) == 0 &&
                        strncmp(place->name, "topology", place->name_size) == 0;
    if (own->num_options != 1 && !is_gpu) return fail("options are mode, and target_config with topology");
    answer.code = is_gpu ? (int64_t)target->value_size : 0;
    snprintf(mode, sizeof mode, "%.*s", (int)own->options->value_size, own->options->value.string);
    answer.results = (int64_t)own->name_size;
    own->topology = mode;
    return NULL;
}

static liana__pjrt_failure *compile(void *args)
{
    liana__pjrt_compile_ahead_args *own = args;
    const bool has_loop = strstr(own->program->code, "stablehlo.while") != NULL;
    const bool has_barrier = strstr(own->program->code, "stablehlo.optimization_barrier") != NULL;
    if (strcmp(mode, "refuse") == 0 || (strcmp(mode, "loops") == 0 && !has_loop) ||
        (strcmp(mode, "barriers") == 0 && !has_barrier))
        return fail("the program needs 17 GiB of 16 GiB");
    if (strcmp(mode, "abort") == 0) {
        fputs("starting\nno such chip\n", stderr);
        abort();
    }
    if (strcmp(mode, "exit") == 0) exit(3);
    if (own->topology != mode || own->client) return fail("another topology, or a client");
    answer.arguments = (int64_t)own->program->code_size;
    answer.temporaries = (int64_t)own->options_size;
    own->executable = &answer;
    return NULL;
}

static liana__pjrt_failure *tell_memory(void *args)
{
    liana__pjrt_program_memory_args *own = args;
    const liana__pjrt_program_memory_args *known = own->executable;
    own->code = known->code;
    own->arguments = known->arguments;
    own->results = known->results;
    own->temporaries = known->temporaries;
    return NULL;
}

/* One copy of f32 [9, 129] in tiles of 8 x 128, as a HloModuleProtoWithConfig: messages one in the other, each with its
 * field and length before it. */
static const char program[] = "\x0a\x24" /* module */
                              "\x1a\x20" /* computation */
                              "\x12\x1c\x12\x04"
                              "copy"                                 /* instruction */
                              "\x1a\x14\x10\x0b\x1a\x03\x09\x81\x01" /* shape: f32, 9, 129 */
                              "\x2a\x0b\x0a\x02\x01\x00"             /* layout: axis 1 changes fastest */
                              "\x32\x05\x0a\x03\x08\x80\x01"         /* tile: 8, 128 */
                              "\x28\x07"                             /* the computation's number */
                              "\x30\x07";                            /* that of the entry */

static liana__pjrt_failure *tell_program(void *args)
{
    liana__pjrt_optimized_program_args *own = args;
    if (own->program->code) memcpy((char *)(uintptr_t)own->program->code, program, sizeof program - 1);
    own->program->code_size = sizeof program - 1;
    own->program->format = "hlo_with_config";
    own->program->format_size = strlen(own->program->format);
    return NULL;
}

static liana__pjrt_failure *tell_cost(void *args)
{
    static const liana__pjrt_named_value costs[] = {
        {.name = "flops", .name_size = 5, .kind = LIANA__PJRT_FLOAT, .value.number = 2.5e9F},
        {.name = "bytes accessed", .name_size = 14, .kind = LIANA__PJRT_FLOAT, .value.number = 3 << 20},
    };
    liana__pjrt_cost_args *own = args;
    own->items = costs;
    own->count = 2;
    return NULL;
}

static liana__pjrt_failure *tell_message(void *args)
{
    liana__pjrt_list_args *own = args;
    own->items = own->object;
    own->count = strlen(own->object);
    return NULL;
}

static liana__pjrt_failure *tell_code(void *args)
{
    liana__pjrt_int_args *own = args;
    own->number = strstr(own->object, "GiB") ? RESOURCE_EXHAUSTED : INVALID;
    return NULL;
}

static liana__pjrt_failure *destroy_error(void *args)
{
    free(((liana__pjrt_object_args *)args)->object);
    return NULL;
}

const liana__pjrt_api *GetPjrtApi(void)
{
    static union {
        liana__pjrt_api api;
        char bytes[sizeof(liana__pjrt_api) + NUM_FUNCTIONS * sizeof(liana__pjrt_entry)];
    } table;
    liana__pjrt_api *api = &table.api;
    api->struct_size = sizeof table;
    api->version.major = LIANA__PJRT_MAJOR;
    api->version.minor = LIANA__PJRT_OLDEST_MINOR;
    api->functions[LIANA__PJRT_ERROR_DESTROY] = destroy_error;
    api->functions[LIANA__PJRT_ERROR_MESSAGE] = tell_message;
    api->functions[LIANA__PJRT_ERROR_GET_CODE] = tell_code;
    api->functions[LIANA__PJRT_PLUGIN_INITIALIZE] = initialize;
    api->functions[LIANA__PJRT_TOPOLOGY_CREATE] = create_topology;
    api->functions[LIANA__PJRT_COMPILE] = compile;
    api->functions[LIANA__PJRT_EXECUTABLE_GET_COMPILED_MEMORY_STATS] = tell_memory;
    api->functions[LIANA__PJRT_EXECUTABLE_OPTIMIZED_PROGRAM] = tell_program;
    api->functions[LIANA__PJRT_EXECUTABLE_GET_COST_ANALYSIS] = tell_cost;
    return api;
}
