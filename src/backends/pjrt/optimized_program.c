/* Counts in programs that XLA has optimised (proto/hlo.proto). */
#include "backends/pjrt/optimized_program.h"

#include "base/scoped.h"
#include "base/text.h"
#include "formats/hlo.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef Liana__Hlo__Instruction instruction;
typedef Liana__Hlo__Computation computation;
typedef Liana__Hlo__Shape shape;

/* ---- bytes ---- */

/* By XLA's number of a type of elements, xla_data.proto; 0: a type without elements. */
static int64_t bits_of(int32_t type)
{
    static const unsigned char bits[] = {
        [1] = 8,  [2] = 8,   [3] = 16,  [4] = 32,  [5] = 64,  [6] = 8,   [7] = 16,   [8] = 32,
        [9] = 64, [10] = 16, [11] = 32, [12] = 64, [15] = 64, [16] = 16, [18] = 128, [19] = 8,
        [20] = 8, [21] = 4,  [22] = 4,  [23] = 8,  [24] = 8,  [25] = 8,
    };
    return type > 0 && (size_t)type < sizeof bits ? bits[type] : 0;
}

/* How far a tile stretches an axis; `place` counts axes from the one that changes fastest. */
static double stretched(const Liana__Hlo__Layout *layout, size_t place, int64_t size)
{
    if (!layout || layout->n_tiles == 0) return (double)size;
    const Liana__Hlo__Tile *tile = layout->tiles[0];
    if (place >= tile->n_dimensions) return (double)size;
    const int64_t step = tile->dimensions[tile->n_dimensions - 1 - place];
    return step > 0 ? ceil((double)size / (double)step) * (double)step : (double)size;
}

/* Bytes of an array, or of all arrays of a tuple. */
static void measure(const shape *x, double *plain, double *padded, int depth)
{
    enum { DEEPEST = 16 };
    if (!x || depth > DEEPEST) return;
    for (size_t i = 0; i < x->n_tuple_shapes; i++) measure(x->tuple_shapes[i], plain, padded, depth + 1);
    const Liana__Hlo__Layout *layout = x->layout;
    const bool is_packed = layout && layout->element_size_in_bits > 0;
    double bytes = (double)(is_packed ? layout->element_size_in_bits : bits_of(x->element_type)) / 8, whole = bytes;
    for (size_t i = 0; i < x->n_dimensions; i++) bytes *= (double)x->dimensions[i];
    /* Where the layout does not name the axes, they lie as they are named. */
    const bool is_ordered = layout && layout->n_minor_to_major == x->n_dimensions;
    for (size_t i = 0; i < x->n_dimensions; i++) {
        const int64_t axis = is_ordered ? layout->minor_to_major[i] : (int64_t)(x->n_dimensions - 1 - i);
        if (axis < 0 || (size_t)axis >= x->n_dimensions) return;
        whole *= stretched(layout, i, x->dimensions[axis]);
    }
    *plain += bytes;
    *padded += whole;
}

/* ---- steps ---- */

typedef struct counter {
    const Liana__Hlo__Module *module;
    bool *is_run; /* by computation: its instructions are steps */
    liana__pjrt_optimized counted;
} counter;

static bool is_one_of(const char *opcode, const char *const *names)
{
    while (*names && strcmp(*names, opcode) != 0) names++;
    return *names != NULL;
}

/* Their computations are run step by step; those of others are within a step. */
static bool runs_others(const instruction *x)
{
    static const char *const names[] = {"while", "call", "conditional", "async-start", NULL};
    return is_one_of(x->opcode, names);
}

/* An instruction for which a device does nothing, or that stands for a step counted elsewhere. */
static bool is_no_step(const char *opcode)
{
    static const char *const names[] = {"parameter",    "constant",   "tuple",       "get-tuple-element",
                                        "bitcast",      "after-all",  "opt-barrier", "add-dependency",
                                        "partition-id", "replica-id", "while",       "call",
                                        "conditional",  "domain",     NULL};
    const size_t length = strlen(opcode);
    const bool begins_another = length > 6 && strcmp(opcode + length - 6, "-start") == 0;
    const bool goes_on = length > 7 && strcmp(opcode + length - 7, "-update") == 0;
    return begins_another || goes_on || is_one_of(opcode, names);
}

/* A program that needs no product says so in other words on a GPU: calls of cuDNN and cuBLAS. */
static bool is_product(const instruction *x)
{
    const char *target = x->custom_call_target;
    return strcmp(x->opcode, "convolution") == 0 || strcmp(x->opcode, "dot") == 0 || strstr(target, "conv") ||
           strstr(target, "matmul") || strstr(target, "gemm");
}

static bool adds_devices(const instruction *x)
{
    static const char *const names[] = {"all-reduce", "all-reduce-done", "reduce-scatter", NULL};
    return is_one_of(x->opcode, names);
}

static const computation *find_computation(const counter *own, int64_t id, size_t *place)
{
    for (size_t i = 0; i < own->module->n_computations; i++) {
        if (own->module->computations[i]->id != id) continue;
        *place = i;
        return own->module->computations[i];
    }
    return NULL;
}

/* Whether a fused step does nothing but put elements to other places. */
static bool only_copies(const counter *own, const instruction *x)
{
    static const char *const names[] = {"parameter",         "constant", "copy",  "transpose",   "bitcast",
                                        "reshape",           "tuple",    "slice", "concatenate", "pad",
                                        "get-tuple-element", NULL};
    size_t place;
    if (strcmp(x->opcode, "copy") == 0 || strcmp(x->opcode, "transpose") == 0) return true;
    if (strcmp(x->opcode, "fusion") != 0 || x->n_called_computation_ids != 1) return false;
    const computation *fused = find_computation(own, x->called_computation_ids[0], &place);
    for (size_t i = 0; fused && i < fused->n_instructions; i++) {
        if (!is_one_of(fused->instructions[i]->opcode, names)) return false;
    }
    return fused != NULL;
}

static void count_step(counter *own, const instruction *x)
{
    liana__pjrt_optimized *counted = &own->counted;
    double plain = 0, padded = 0;
    counted->loops += strcmp(x->opcode, "while") == 0;
    if (is_no_step(x->opcode)) return;
    counted->steps++;
    counted->fused += strcmp(x->opcode, "fusion") == 0;
    if (strcmp(x->opcode, "copy-done") == 0) return;
    measure(x->shape, &plain, &padded, 0);
    counted->written += padded;
    counted->padding += padded - plain;
    if (adds_devices(x)) {
        counted->device_sums++;
        counted->device_bytes += plain;
    }
    if (!only_copies(own, x)) return;
    counted->copies++;
    counted->copied += padded;
}

/* Marks all that runs from a computation on. */
static void mark_run(counter *own, int64_t id)
{
    size_t place;
    const computation *x = find_computation(own, id, &place);
    if (!x || own->is_run[place]) return;
    own->is_run[place] = true;
    for (size_t i = 0; i < x->n_instructions; i++) {
        const instruction *each = x->instructions[i];
        if (!runs_others(each)) continue;
        for (size_t k = 0; k < each->n_called_computation_ids; k++) mark_run(own, each->called_computation_ids[k]);
    }
}

static void count_all(counter *own)
{
    mark_run(own, own->module->entry_computation_id);
    for (size_t i = 0; i < own->module->n_computations; i++) {
        const computation *x = own->module->computations[i];
        for (size_t k = 0; k < x->n_instructions; k++) {
            own->counted.products += is_product(x->instructions[k]);
            if (own->is_run[i]) count_step(own, x->instructions[k]);
        }
    }
}

liana_status liana__pjrt_optimized_count(const void *bytes, size_t size, liana__pjrt_optimized *counted,
                                         liana__error *error)
{
    counter own = {0};
    Liana__Hlo__ModuleWithConfig *parsed = liana__hlo__module_with_config__unpack(NULL, size, bytes);
    *counted = own.counted;
    if (!parsed || !parsed->hlo_module) {
        if (parsed) liana__hlo__module_with_config__free_unpacked(parsed, NULL);
        return liana__fail(error, LIANA_INVALID_DATA, "the %zu bytes of an optimised program cannot be read", size);
    }
    own.module = parsed->hlo_module;
    own.is_run = calloc(own.module->n_computations + 1, sizeof *own.is_run);
    if (own.is_run) {
        count_all(&own);
        own.counted.is_known = true;
        *counted = own.counted;
    }
    free(own.is_run);
    liana__hlo__module_with_config__free_unpacked(parsed, NULL);
    return counted->is_known ? LIANA_OK : liana__fail_memory(error, "an optimised program");
}

/* ---- asking a plugin ---- */

/* The bytes of the program; NULL if the plugin does not give them in a form that is read here. */
static char *ask_for_program(const liana__pjrt_plugin *plugin, void *executable, size_t *size)
{
    liana__pjrt_program_text text = {.head = {.struct_size = sizeof text}};
    liana__pjrt_optimized_program_args args = {.executable = executable, .program = &text};
    static const char expected[] = "hlo_with_config";
    if (!liana__pjrt_has(plugin, LIANA__PJRT_EXECUTABLE_OPTIMIZED_PROGRAM)) return NULL;
    if (liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, &args, NULL) != LIANA_OK) return NULL;
    char *bytes = malloc(text.code_size + 1);
    text.code = bytes;
    const bool is_given = bytes &&
                          liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_OPTIMIZED_PROGRAM, &args, NULL) == LIANA_OK &&
                          text.format_size == strlen(expected) && memcmp(text.format, expected, text.format_size) == 0;
    *size = text.code_size;
    if (is_given) return bytes;
    free(bytes);
    return NULL;
}

static bool is_named(const liana__pjrt_named_value *value, const char *name)
{
    return value->kind == LIANA__PJRT_FLOAT && value->name_size == strlen(name) &&
           memcmp(value->name, name, value->name_size) == 0;
}

static void ask_for_cost(const liana__pjrt_plugin *plugin, void *executable, liana__pjrt_optimized *counted)
{
    liana__pjrt_cost_args args = {.executable = executable};
    if (!liana__pjrt_has(plugin, LIANA__PJRT_EXECUTABLE_GET_COST_ANALYSIS)) return;
    if (liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_GET_COST_ANALYSIS, &args, NULL) != LIANA_OK) return;
    for (size_t i = 0; i < args.count; i++) {
        const liana__pjrt_named_value *value = &args.items[i];
        if (is_named(value, "flops")) counted->flops = (double)value->value.number;
        if (is_named(value, "bytes accessed")) counted->accessed = (double)value->value.number;
    }
}

liana_status liana__pjrt_optimized_read(const liana__pjrt_plugin *plugin, void *executable,
                                        liana__pjrt_optimized *counted, liana__error *error)
{
    size_t size = 0;
    *counted = (liana__pjrt_optimized){0};
    LIANA__SCOPED_MEMORY char *bytes = ask_for_program(plugin, executable, &size);
    const liana_status status = bytes ? liana__pjrt_optimized_count(bytes, size, counted, error) : LIANA_OK;
    ask_for_cost(plugin, executable, counted);
    return status;
}
