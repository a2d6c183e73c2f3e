/* Computes Keras 3's paths of layers. */
#include "layers/keras/keras_form.h"

#include "base/memory.h"

#include <liana/layers/recurrent.h>

#include <stdlib.h>
#include <string.h>

/* A layer or nested model of a scope. */
typedef struct operation {
    liana__scope_item item;
    size_t first_call; /* its calls are numbered in a row */
    size_t num_calls;
    size_t visit; /* when the walk from the outputs first met it */
    size_t depth; /* of its deepest call: the number of calls up to an output */
    bool is_used;
} operation;

/* A call, and how far the walk has come there. */
typedef struct call {
    size_t operation;
    size_t next_input;
    size_t depth;
    bool is_met;
} call;

/* Keras's map_graph (keras/src/ops/function.py), for one scope. */
typedef struct scope_order {
    const liana_model *model;
    size_t scope;
    operation *operations;
    size_t num_operations;
    size_t *places; /* which operation each layer is, then each nested model */
    call *calls;
    size_t num_calls;
    size_t *path; /* the calls between an output and where the walk is */
    size_t *finished;
    size_t num_finished;
    size_t num_visits;
} scope_order;

static size_t find_operation(const scope_order *own, liana__scope_item item)
{
    return own->places[item.is_nested ? own->model->num_layers + item.index : item.index];
}

static size_t call_of(const scope_order *own, const liana__scope_result *result)
{
    return own->operations[find_operation(own, result->item)].first_call + result->number;
}

static size_t inputs_of(const scope_order *own, size_t index, liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS])
{
    const operation *of = &own->operations[own->calls[index].operation];
    return liana__scope_inputs(own->model, own->scope, of->item, index - of->first_call, inputs);
}

/* Goes from an output to all that it needs, inputs in their order. A call is finished after its inputs. */
static void walk(scope_order *own, size_t output)
{
    size_t length = 0;
    if (!own->calls[output].is_met) own->path[length++] = output;
    while (length > 0) {
        size_t index = own->path[length - 1];
        call *here = &own->calls[index];
        operation *of = &own->operations[here->operation];
        if (!here->is_met) {
            here->is_met = true;
            if (!of->is_used) of->visit = own->num_visits++;
            of->is_used = true;
        }
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = inputs_of(own, index, inputs), next = SIZE_MAX;
        while (here->next_input < count && next == SIZE_MAX) {
            size_t input = call_of(own, &inputs[here->next_input++]);
            if (!own->calls[input].is_met) next = input;
        }
        if (next == SIZE_MAX) {
            own->finished[own->num_finished++] = index;
            length--;
        } else {
            own->path[length++] = next;
        }
    }
}

/* A layer that is called at several depths counts at the deepest. */
static void find_depths(scope_order *own)
{
    for (size_t i = own->num_finished; i-- > 0;) {
        size_t index = own->finished[i];
        call *here = &own->calls[index];
        operation *of = &own->operations[here->operation];
        if (here->depth < of->depth) here->depth = of->depth;
        of->depth = here->depth;
        liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
        size_t count = inputs_of(own, index, inputs);
        for (size_t k = 0; k < count; k++) {
            call *above = &own->calls[call_of(own, &inputs[k])];
            if (above->depth < here->depth + 1) above->depth = here->depth + 1;
        }
    }
}

/* The deepest first. Layers that no output needs, which Keras would not know, stand last. */
static int compare_operations(const void *a, const void *b)
{
    const operation *first = a, *second = b;
    if (first->is_used != second->is_used) return first->is_used ? -1 : 1;
    if (!first->is_used) return first->first_call < second->first_call ? -1 : 1;
    if (first->depth != second->depth) return first->depth > second->depth ? -1 : 1;
    return first->visit < second->visit ? -1 : 1;
}

/* Where outputs have names, Keras 3 goes through them in the order of these. */
static void sort_outputs(const scope_order *own, const liana__scope_result *outputs, size_t count, size_t *order)
{
    const bool by_name = liana__keras_names_outputs(own->model, own->scope);
    for (size_t i = 0; i < count; i++) {
        const char *name = liana__keras_output_name(own->model, own->scope, i);
        size_t at = 0;
        for (size_t k = 0; k < count; k++) {
            const int other = by_name && k != i ? strcmp(liana__keras_output_name(own->model, own->scope, k), name) : 0;
            at += other < 0 || (other == 0 && k < i);
        }
        order[at] = call_of(own, &outputs[i]);
    }
}

static void sort_operations(scope_order *own)
{
    liana__scope_result outputs[LIANA_MAX_MODEL_OUTPUTS];
    size_t count = liana__scope_outputs(own->model, own->scope, outputs), order[LIANA_MAX_MODEL_OUTPUTS];
    sort_outputs(own, outputs, count, order);
    for (size_t i = 0; i < count; i++) walk(own, order[i]);
    find_depths(own);
    qsort(own->operations, own->num_operations, sizeof *own->operations, compare_operations);
}

static bool list_operations(scope_order *own, liana__arena *arena)
{
    liana__scope_item item;
    size_t most = own->model->num_layers + own->model->num_nested + 1;
    own->operations = liana__arena_allocate(arena, most * sizeof *own->operations);
    own->places = liana__arena_allocate(arena, most * sizeof *own->places);
    if (!own->operations || !own->places) return false;
    for (size_t next = 0; liana__scope_next(own->model, own->scope, &next, &item);) {
        size_t calls = liana__scope_num_calls(own->model, own->scope, item);
        own->places[item.is_nested ? own->model->num_layers + item.index : item.index] = own->num_operations;
        own->operations[own->num_operations++] =
            (operation){.item = item, .first_call = own->num_calls, .num_calls = calls};
        own->num_calls += calls;
    }
    own->calls = liana__arena_allocate(arena, (own->num_calls + 1) * sizeof *own->calls);
    own->path = liana__arena_allocate(arena, (own->num_calls + 1) * sizeof *own->path);
    own->finished = liana__arena_allocate(arena, (own->num_calls + 1) * sizeof *own->finished);
    if (!own->calls || !own->path || !own->finished) return false;
    for (size_t i = 0; i < own->num_operations; i++) {
        const operation *of = &own->operations[i];
        for (size_t k = 0; k < of->num_calls; k++) own->calls[of->first_call + k] = (call){.operation = i};
    }
    return true;
}

static bool is_functional(const liana_model *model, size_t scope)
{
    bool said = scope == LIANA__NONE ? model->functional : model->nested[scope].functional;
    return said || !liana__scope_is_sequential(model, scope);
}

/* Whether a nested model may stand for a TimeDistributed of a Sequential: it has TimeDistributed layers alone. */
static bool is_of_steps(const liana_model *model, size_t scope)
{
    liana__scope_item item;
    bool found = false;
    if (scope == LIANA__NONE || is_functional(model, scope)) return false;
    for (size_t next = 0; liana__scope_next(model, scope, &next, &item);) {
        if (item.is_nested) return false;
        const liana_layer_type *type = model->layers[item.index].type;
        if (type != &liana__layer_time_distributed && type != &liana__layer_input_layer) return false;
        found |= type == &liana__layer_time_distributed;
    }
    return found;
}

/* The class of an item; `of_steps`: of what stands for a TimeDistributed of a Sequential, and of its layers. */
static void class_of(const liana_model *model, size_t scope, liana__scope_item item, bool of_steps, char *stem,
                     size_t size)
{
    const char *name = item.is_nested ? is_functional(model, item.index) ? "Functional" : "Sequential"
                                      : model->layers[item.index].type->part.name;
    if (of_steps && item.is_nested && is_of_steps(model, item.index)) name = liana__layer_time_distributed.part.name;
    if (of_steps && !item.is_nested && is_of_steps(model, scope)) {
        const liana__layer *layer = &model->layers[item.index];
        const liana_time_distributed_options *options = layer->options;
        if (layer->type == &liana__layer_time_distributed) name = options->layer.type->part.name;
    }
    liana__snake_case(name, stem, size);
}

/* The layers and nested models of a scope in the order of Keras's list. */
static bool order_scope(scope_order *own, liana__arena *arena)
{
    if (!list_operations(own, arena)) return false;
    if (is_functional(own->model, own->scope)) sort_operations(own);
    return true;
}

liana_status liana__keras_order(const liana_model *model, size_t scope, liana__arena *arena, liana__scope_item **items,
                                size_t *count, liana__error *error)
{
    scope_order own = {.model = model, .scope = scope};
    const bool ordered = order_scope(&own, arena);
    *items = ordered ? liana__arena_allocate(arena, (own.num_operations + 1) * sizeof **items) : NULL;
    if (!*items) return liana__fail_memory(error, "the order of layers");
    for (size_t i = 0; i < own.num_operations; i++) (*items)[i] = own.operations[i].item;
    *count = own.num_operations;
    return LIANA_OK;
}

/* Names the layers of a scope, below `above` ("" or "layers/functional/"). */
static bool name_scope(const liana_model *model, size_t scope, const char *above, bool of_steps, liana__arena *arena,
                       const char **paths)
{
    enum { STEM = 64 };
    scope_order own = {.model = model, .scope = scope};
    if (!order_scope(&own, arena)) return false;
    char(*stems)[STEM] = liana__arena_allocate(arena, (own.num_operations + 1) * sizeof *stems);
    if (!stems) return false;
    for (size_t i = 0; i < own.num_operations; i++) {
        liana__scope_item item = own.operations[i].item;
        size_t number = 0;
        class_of(model, scope, item, of_steps, stems[i], STEM);
        for (size_t k = 0; k < i; k++) number += strcmp(stems[k], stems[i]) == 0;
        const char *path = number ? liana__arena_format(arena, "%slayers/%s_%zu", above, stems[i], number)
                                  : liana__arena_format(arena, "%slayers/%s", above, stems[i]);
        if (!path) return false;
        paths[item.is_nested ? model->num_layers + item.index : item.index] = path;
        if (!item.is_nested) continue;
        const char *below = liana__arena_format(arena, "%s/", path);
        if (!below || !name_scope(model, item.index, below, of_steps, arena, paths)) return false;
    }
    return true;
}

static liana_status name_all(const liana_model *model, bool of_steps, liana__arena *arena, const char ***paths,
                             liana__error *error)
{
    *paths = liana__arena_allocate(arena, (model->num_layers + model->num_nested + 1) * sizeof **paths);
    bool named = *paths && name_scope(model, LIANA__NONE, "", of_steps, arena, *paths);
    return named ? LIANA_OK : liana__fail_memory(error, "the paths of layers");
}

liana_status liana__keras_paths(const liana_model *model, liana__arena *arena, const char ***paths, liana__error *error)
{
    return name_all(model, false, arena, paths, error);
}

liana_status liana__keras_paths_of_steps(const liana_model *model, liana__arena *arena, const char ***paths,
                                         liana__error *error)
{
    return name_all(model, true, arena, paths, error);
}
