/* If, Loop and Scan. Nodes of their bodies take their place: of a loop once for each step, so the number of steps must
 * be known. What is the same in all steps is read once. */
#include "onnx/import_elements.h"
#include "onnx/import_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Nodes and steps that may take the place of all loops of a file. */
enum { MOST_UNROLLED = 1 << 16 };

/* ---- lists of values ---- */

typedef struct value_list {
    liana__import_value **items;
    size_t count, capacity;
} value_list;

static liana_status append(liana__import *own, value_list *list, liana__import_value *value)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 16;
        liana__import_value **items = liana__arena_allocate(&own->arena, capacity * sizeof *items);
        if (!items) return liana__fail_memory(own->error, own->path);
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = value;
    return LIANA_OK;
}

/* ---- nodes that no file has ---- */

/* A value with a name that no other one has. */
static liana_status new_value(liana__import *own, const char *stem, liana__import_value **value)
{
    const char *name = stem;
    for (size_t i = own->num_values; name && liana__import_value_named(own, name, false); i++) {
        name = liana__arena_format(&own->arena, "%s (%zu)", stem, i);
    }
    *value = name ? liana__import_value_named(own, name, true) : NULL;
    return *value ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

static liana_status constant_value(liana__import *own, const char *name, liana__import_constant *constant,
                                   liana__import_value **value)
{
    if (!constant) return own->error->status;
    LIANA_TRY(new_value(own, name, value));
    (*value)->kind = LIANA__IMPORT_CONSTANT;
    (*value)->constant = constant;
    (*value)->rank = constant->rank;
    return LIANA_OK;
}

static liana_status whole_number(liana__import *own, const char *name, int64_t number, bool is_bool,
                                 liana__import_value **value)
{
    liana__import_constant *constant = liana__import_new(own, false, 0, NULL);
    if (constant) {
        liana__import_new_ints(constant)[0] = number;
        constant->is_bool = is_bool;
    }
    return constant_value(own, name, constant, value);
}

/* Computes an operator with the attribute `axis`, as if the file had it in the place of the node. */
static liana_status compute(liana__import *own, const liana__import_node *place, const char *op, int64_t axis,
                            liana__import_value **inputs, size_t num_inputs, liana__import_value **result)
{
    Liana__Onnx__Node *from = liana__arena_allocate(&own->arena, sizeof *from);
    Liana__Onnx__Attribute *attribute = liana__arena_allocate(&own->arena, sizeof *attribute);
    Liana__Onnx__Attribute **attributes = liana__arena_allocate(&own->arena, sizeof *attributes);
    liana__import_value **outputs = liana__arena_allocate(&own->arena, sizeof *outputs);
    liana__import_node *node = liana__arena_allocate(&own->arena, sizeof *node);
    char *axis_name = liana__arena_string(&own->arena, "axis");
    if (!from || !attribute || !attributes || !outputs || !node || !axis_name) {
        return liana__fail_memory(own->error, own->path);
    }
    LIANA_TRY(new_value(own, place->name, result));
    liana__onnx__node__init(from);
    liana__onnx__attribute__init(attribute);
    attribute->name = axis_name;
    attribute->has_i = true;
    attribute->i = axis;
    attributes[0] = attribute;
    from->attribute = attributes;
    from->n_attribute = 1;
    outputs[0] = *result;
    *node = (liana__import_node){.from = from,
                                 .scope = place->scope,
                                 .op = op,
                                 .name = place->name,
                                 .inputs = inputs,
                                 .num_inputs = num_inputs,
                                 .outputs = outputs,
                                 .num_outputs = 1};
    return liana__import_read_node(own, node);
}

liana_status liana__import_element(liana__import *own, const liana__import_node *node, liana__import_value *value,
                                   int64_t axis, int64_t index, liana__import_value **element)
{
    liana__import_value **inputs = liana__arena_allocate(&own->arena, 2 * sizeof *inputs);
    if (!inputs) return liana__fail_memory(own->error, own->path);
    inputs[0] = value;
    LIANA_TRY(whole_number(own, node->name, index, false, &inputs[1]));
    return compute(own, node, "Gather", axis, inputs, 2, element);
}

/* A result with one more axis, behind those of the axes of ONNX before it. */
static liana_status widen_result(liana__import *own, const liana__import_node *node, const liana__import_value *value,
                                 int axis, liana__import_value *wide)
{
    const liana_shape shape = *liana__import_shape(own, value->result);
    const liana__import_options options = liana__import_options_new(own);
    int64_t dims[LIANA_MAX_RANK] = {0};
    int place = 1;
    size_t result;
    for (int i = 0; i < axis; i++) {
        for (int k = 0; k < value->axes[i].count; k++) {
            if (value->axes[i].at[k] >= place) place = value->axes[i].at[k] + 1;
        }
    }
    for (int i = 1; i <= shape.rank; i++) dims[i - 1] = i < place ? shape.dims[i] : i == place ? 1 : shape.dims[i - 1];
    liana__import_set_ints(&options, "target_shape", dims, shape.rank);
    LIANA_TRY(liana__import_add(own, node, "Reshape", "", &options, &value->result, 1, &result));
    liana__import_set_like(wide, value, result);
    for (int i = 0; i < wide->rank; i++) {
        for (int k = 0; k < wide->axes[i].count; k++) wide->axes[i].at[k] += wide->axes[i].at[k] >= place;
    }
    memmove(wide->axes + axis + 1, wide->axes + axis, (size_t)(value->rank - axis) * sizeof *wide->axes);
    wide->axes[axis] = (liana__import_axis){1, {place}};
    wide->rank++;
    return LIANA_OK;
}

/* The value with one more axis. */
static liana_status widen(liana__import *own, const liana__import_node *node, const liana__import_value *value,
                          int axis, liana__import_value **wide)
{
    const bool is_result = value->kind == LIANA__IMPORT_RESULT;
    if (value->rank == LIANA_MAX_RANK ||
        (is_result && liana__import_shape(own, value->result)->rank == LIANA_MAX_RANK)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it needs more than %d axes", LIANA_MAX_RANK);
    }
    LIANA_TRY(new_value(own, value->name, wide));
    if (is_result) return widen_result(own, node, value, axis, *wide);
    liana__import_constant *made = liana__arena_copy(&own->arena, value->constant, sizeof *made);
    if (!made) return liana__fail_memory(own->error, own->path);
    memmove(made->dims + axis + 1, made->dims + axis, (size_t)(made->rank - axis) * sizeof *made->dims);
    made->dims[axis] = 1;
    made->rank++;
    (*wide)->kind = LIANA__IMPORT_CONSTANT;
    (*wide)->constant = made;
    (*wide)->rank = made->rank;
    return LIANA_OK;
}

static void set_output(liana__import_value *output, const liana__import_value *value)
{
    output->kind = value->kind;
    output->constant = value->constant;
    output->result = value->result;
    output->rank = value->rank;
    memcpy(output->axes, value->axes, sizeof output->axes);
}

/* Values of all steps one behind the other, along a new axis. */
static liana_status stack(liana__import *own, const liana__import_node *node, const value_list *steps, int64_t axis,
                          bool is_backward, liana__import_value *output)
{
    const size_t count = steps->count;
    if (!output || (!output->num_users && !output->is_output)) return LIANA_OK;
    if (!count) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it has no steps, so '%.100s' would be empty",
                                  output->name);
    }
    liana__import_value **wide = liana__arena_allocate(&own->arena, count * sizeof *wide), *stacked;
    int place;
    if (!wide) return liana__fail_memory(own->error, own->path);
    LIANA_TRY(liana__import_axis_of(own, node, axis, steps->items[0]->rank + 1, &place));
    for (size_t i = 0; i < count; i++) {
        const liana__import_value *value = steps->items[is_backward ? count - 1 - i : i];
        if (value->rank < place) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "its steps give values with different axes");
        }
        LIANA_TRY(widen(own, node, value, place, &wide[i]));
    }
    LIANA_TRY(compute(own, node, "Concat", place, wide, count, &stacked));
    set_output(output, stacked);
    return LIANA_OK;
}

/* ---- states ---- */

/* The axis of a constant that has an element for each example, all with the same numbers. -1: there is none. `axis` -1:
 * the first that may be it. */
static int batch_axis(liana__import *own, liana__import_constant *constant, int axis)
{
    int64_t inner = 1;
    const bool is_told = axis >= 0;
    if (!is_told) axis = 0;
    while (!is_told && axis < constant->rank && constant->dims[axis] != own->batch) axis++;
    const bool fits = axis < constant->rank && constant->dims[axis] == own->batch && (is_told || own->batch > 1);
    const float *numbers = fits ? liana__import_floats(own, constant) : NULL;
    for (int i = axis + 1; i < constant->rank; i++) inner *= constant->dims[i];
    for (int64_t i = 0; numbers && i < constant->count; i++) {
        const int64_t first = i / (inner * own->batch) * inner * own->batch + i % inner;
        if (numbers[i] != numbers[first]) return -1;
    }
    return numbers ? axis : -1;
}

bool liana__import_is_state(liana__import *own, const liana__import_value *value)
{
    return liana__import_is_constant(value) && value->constant->is_float && value->rank == 2 &&
           batch_axis(own, value->constant, -1) == 0;
}

/* Zeros for each example, with axes of 1 beside the batch: of an input of the model. */
static liana_status batch_of_zeros(liana__import *own, liana__import_node *node, int rank, size_t *result)
{
    size_t input = 0;
    LIANA__SCOPED(liana__text) axes = {0};
    while (input < own->model->num_nodes && own->model->nodes[input].num_inputs) input++;
    *result = input;
    const liana_shape *shape = liana__import_shape(own, input);
    for (int i = 1; i < shape->rank; i++) liana__text_add(&axes, "%s%d", i > 1 ? ", " : "", i);
    if (axes.failed) return liana__fail_memory(own->error, own->path);
    if (own->model->nodes[input].dtype != LIANA_F32) {
        LIANA_TRY(liana__import_operation(own, node, result, 1, result, "cast(dtype='float32')"));
    }
    if (shape->rank > 1) LIANA_TRY(liana__import_operation(own, node, result, 1, result, "max(axis=[%s])", axes.data));
    LIANA_TRY(liana__import_operation(own, node, result, 1, result, "full_like(fill_value=0)"));
    const int64_t ones[LIANA_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (rank == 1) return LIANA_OK;
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "target_shape", ones, rank - 1);
    return liana__import_add(own, node, "Reshape", "", &options, result, 1, result);
}

liana_status liana__import_state(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                 int axis, liana__import_value **state)
{
    LIANA__SCOPED(liana__text) text = {0};
    LIANA_TRY(new_value(own, value->name, state));
    set_output(*state, value);
    const bool is_float = liana__import_is_constant(value) && value->constant->is_float;
    axis = is_float ? batch_axis(own, value->constant, axis) : -1;
    if (axis < 0) return own->error->status;
    const int rank = value->rank;
    size_t result;
    LIANA_TRY(batch_of_zeros(own, node, rank, &result));
    liana__import_set_plain(*state, result, rank);
    for (int i = 0, next = 1; i < rank; i++) (*state)->axes[i] = (liana__import_axis){1, {i == axis ? 0 : next++}};
    LIANA_TRY(liana__import_write_constant(own, node, value->constant, *state, false, &text));
    return liana__import_operation(own, node, &(*state)->result, 1, &(*state)->result, "add(x2=%s)", text.data);
}

/* ---- bodies ---- */

typedef struct liana__import_binding binding;

typedef struct inner_name {
    const char *name;
    const Liana__Onnx__Node *producer; /* NULL: an input of the body */
    bool varies;                       /* from step to step */
} inner_name;

typedef struct body {
    liana__import_node *node;
    const Liana__Onnx__Graph *graph;
    inner_name *names; /* sorted */
    size_t num_names;
    liana__import_scope *whole;              /* what is the same in all steps */
    Liana__Onnx__Node **constant, **varying; /* the nodes, in two lists */
    size_t num_constant, num_varying, num_steps;
} body;

static const char *name_of(const Liana__Onnx__ValueInfo *info)
{
    return info->name ? info->name : "";
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const inner_name *)a)->name, ((const inner_name *)b)->name);
}

static inner_name *find_name(const body *b, const char *name)
{
    const inner_name key = {.name = name};
    return b->num_names ? bsearch(&key, b->names, b->num_names, sizeof key, compare_names) : NULL;
}

static liana_status list_names(liana__import *own, body *b)
{
    const Liana__Onnx__Graph *graph = b->graph;
    size_t count = graph->n_input;
    for (size_t i = 0; i < graph->n_node; i++) count += graph->node[i]->n_output;
    b->names = liana__arena_allocate(&own->arena, (count + 1) * sizeof *b->names);
    if (!b->names) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < graph->n_input; i++) {
        b->names[b->num_names++] = (inner_name){name_of(graph->input[i]), NULL, true};
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        const Liana__Onnx__Node *node = graph->node[i];
        for (size_t k = 0; k < node->n_output; k++) {
            b->names[b->num_names++] = (inner_name){node->output[k], node, true};
        }
    }
    qsort(b->names, b->num_names, sizeof *b->names, compare_names);
    return LIANA_OK;
}

/* Whether output `name` of the body is its input `input` as it came in. */
static bool passes_on(const body *b, const char *name, const char *input)
{
    for (size_t i = 0; i < b->num_names && strcmp(name, input) != 0; i++) {
        const inner_name *found = find_name(b, name);
        const Liana__Onnx__Node *producer = found ? found->producer : NULL;
        const bool is_same = producer && producer->op_type && strcmp(producer->op_type, "Identity") == 0;
        if (!is_same || producer->n_input != 1) return false;
        name = producer->input[0];
    }
    return strcmp(name, input) == 0;
}

static bool node_varies(const body *b, const Liana__Onnx__Node *node)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const inner_name *found = find_name(b, node->input[i]);
        if (found && found->varies) return true;
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->g) return true; /* it may read anything */
    }
    return false;
}

/* Nodes of ONNX stand behind what they read. One that does not is taken for one that varies. */
static liana_status divide_nodes(liana__import *own, body *b)
{
    const size_t count = b->graph->n_node;
    b->constant = liana__arena_allocate(&own->arena, (count + 1) * sizeof *b->constant);
    b->varying = liana__arena_allocate(&own->arena, (count + 1) * sizeof *b->varying);
    if (!b->constant || !b->varying) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) {
        Liana__Onnx__Node *node = b->graph->node[i];
        if (node_varies(b, node)) {
            b->varying[b->num_varying++] = node;
            continue;
        }
        b->constant[b->num_constant++] = node;
        for (size_t k = 0; k < node->n_output; k++) {
            inner_name *found = find_name(b, node->output[k]);
            if (found) found->varies = false;
        }
    }
    return LIANA_OK;
}

/* The nodes in place of the body, and what they give. */
static liana_status expand(liana__import *own, const body *b, const liana__import_scope *in,
                           Liana__Onnx__Node *const *nodes, size_t count)
{
    const size_t first = own->num_nodes;
    own->num_unrolled += count + 1;
    if (own->num_unrolled > MOST_UNROLLED) {
        return liana__import_fail(own, b->node, LIANA_UNIMPLEMENTED,
                                  "its steps one behind the other, with those of other loops, are more than %d nodes; "
                                  "export the network with fewer steps",
                                  MOST_UNROLLED);
    }
    LIANA_TRY(liana__import_define(own, in, nodes, count));
    for (size_t i = 0; i < b->graph->n_output; i++) {
        liana__import_value *output = liana__import_lookup(own, in, name_of(b->graph->output[i]));
        if (output) output->is_output = true;
    }
    LIANA_TRY(liana__import_add_nodes(own, nodes, count, in));
    LIANA_TRY(liana__import_connect(own, first));
    const size_t end = own->num_nodes;
    for (size_t i = first; i < end; i++) LIANA_TRY(liana__import_read_node(own, own->nodes[i]));
    own->num_nodes = first;
    return LIANA_OK;
}

/* Reads what is the same in all steps: `bound` are the inputs that do not change. */
static liana_status open_body(liana__import *own, body *b, const binding *bound, size_t num_bound)
{
    LIANA_TRY(divide_nodes(own, b));
    LIANA_TRY(liana__import_enter(own, b->node, b->node->scope, b->node->name, &b->whole));
    b->whole->bound = bound;
    b->whole->num_bound = num_bound;
    LIANA_TRY(liana__import_initializers(own, b->graph, b->whole));
    return expand(own, b, b->whole, b->constant, b->num_constant);
}

/* One more step, whose inputs are `bound`. */
static liana_status take_step(liana__import *own, body *b, const binding *bound, size_t num_bound,
                              liana__import_scope **step)
{
    const char *name = liana__arena_format(&own->arena, "%s/%zu", b->node->name, b->num_steps++);
    if (!name) return liana__fail_memory(own->error, own->path);
    LIANA_TRY(liana__import_enter(own, b->node, b->whole, name, step));
    (*step)->bound = bound;
    (*step)->num_bound = num_bound;
    return expand(own, b, *step, b->varying, b->num_varying);
}

static liana_status output_of(liana__import *own, const body *b, const liana__import_scope *in, size_t index,
                              liana__import_value **value)
{
    const char *name = name_of(b->graph->output[index]);
    *value = liana__import_lookup(own, in, name);
    if (*value && (*value)->kind != LIANA__IMPORT_NOTHING) return LIANA_OK;
    return liana__import_fail(own, b->node, LIANA_INVALID_DATA, "nothing computes the output '%.100s' of its body",
                              name);
}

static liana_status find_body(liana__import *own, liana__import_node *node, const char *name, body *b)
{
    const Liana__Onnx__Attribute *found = liana__import_attribute(node, name);
    *b = (body){.node = node, .graph = found ? found->g : NULL};
    if (!b->graph) return liana__import_fail(own, node, LIANA_INVALID_DATA, "it has no graph '%s'", name);
    return list_names(own, b);
}

/* A number that must be known before data come. */
static liana_status known_number(liana__import *own, const liana__import_node *node, const liana__import_value *value,
                                 const char *what, int64_t *number)
{
    if (!liana__import_is_constant(value) || value->constant->count != 1 || value->constant->is_float) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its %s ('%.100s') follows from the data; expected a constant: liana puts the steps "
                                  "of a loop one behind the other",
                                  what, value->name);
    }
    const int64_t *numbers = liana__import_ints(own, value->constant);
    if (!numbers) return own->error->status;
    *number = numbers[0];
    return LIANA_OK;
}

/* ---- carried values ---- */

/* Values that a step hands to the next one. */
typedef struct carried {
    size_t count, first_input, first_output; /* of the body */
    liana__import_value **values;
    bool *is_constant; /* it goes through all steps as it is */
} carried;

static liana_status take_carried(liana__import *own, body *b, carried *c, size_t first)
{
    c->values = liana__arena_allocate(&own->arena, (c->count + 1) * sizeof *c->values);
    c->is_constant = liana__arena_allocate(&own->arena, (c->count + 1) * sizeof *c->is_constant);
    if (!c->values || !c->is_constant) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < c->count; i++) {
        liana__import_value *given = liana__import_input(b->node, first + i);
        const char *input = name_of(b->graph->input[c->first_input + i]);
        if (!given) {
            return liana__import_fail(own, b->node, LIANA_INVALID_DATA, "its input %zu is missing", first + i);
        }
        c->is_constant[i] = passes_on(b, name_of(b->graph->output[c->first_output + i]), input);
        c->values[i] = given;
        inner_name *found = find_name(b, input);
        if (c->is_constant[i] && found) found->varies = false;
        if (!c->is_constant[i]) LIANA_TRY(liana__import_state(own, b->node, given, -1, &c->values[i]));
    }
    return LIANA_OK;
}

/* Names for the values that change, or for those that do not. */
static size_t bind_carried(const body *b, const carried *c, bool constants, binding *bound)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->is_constant[i] != constants) continue;
        bound[count++] = (binding){name_of(b->graph->input[c->first_input + i]), c->values[i]};
    }
    return count;
}

static liana_status open_loop(liana__import *own, body *b, const carried *c)
{
    binding *bound = liana__arena_allocate(&own->arena, (c->count + 1) * sizeof *bound);
    if (!bound) return liana__fail_memory(own->error, own->path);
    return open_body(own, b, bound, bind_carried(b, c, true, bound));
}

static liana_status hand_on(liana__import *own, const body *b, carried *c, const liana__import_scope *step,
                            value_list *scanned, size_t num_scanned)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!c->is_constant[i]) LIANA_TRY(output_of(own, b, step, c->first_output + i, &c->values[i]));
    }
    for (size_t i = 0; i < num_scanned; i++) {
        liana__import_value *value;
        LIANA_TRY(output_of(own, b, step, c->first_output + c->count + i, &value));
        LIANA_TRY(append(own, &scanned[i], value));
    }
    return LIANA_OK;
}

static void set_carried(const body *b, const carried *c)
{
    for (size_t i = 0; i < c->count && i < b->node->num_outputs; i++) {
        if (b->node->outputs[i]) set_output(b->node->outputs[i], c->values[i]);
    }
}

static liana_status fail_body(const liana__import *own, const body *b)
{
    return liana__import_fail(own, b->node, LIANA_INVALID_DATA,
                              "its body has %zu inputs and %zu outputs, which do not fit its own", b->graph->n_input,
                              b->graph->n_output);
}

/* ---- Loop ---- */

/* Inputs of the body: the step, the condition, the carried values. Its outputs: the condition, the carried values, and
 * what is stacked. */
static liana_status loop_step(liana__import *own, body *b, carried *c, int64_t index, value_list *scanned,
                              size_t num_scanned, liana__import_scope **step)
{
    binding *bound = liana__arena_allocate(&own->arena, (c->count + 2) * sizeof *bound);
    if (!bound) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < 2; i++) {
        liana__import_value *number;
        LIANA_TRY(whole_number(own, b->node->name, i ? 1 : index, i == 1, &number));
        bound[i] = (binding){name_of(b->graph->input[i]), number};
    }
    const size_t count = bind_carried(b, c, false, bound + 2);
    LIANA_TRY(take_step(own, b, bound, count + 2, step));
    return hand_on(own, b, c, *step, scanned, num_scanned);
}

static liana_status read_loop(liana__import *own, liana__import_node *node)
{
    const liana__import_value *trips = liana__import_input(node, 0), *condition = liana__import_input(node, 1);
    const size_t given = node->from->n_input;
    int64_t most = INT64_MAX, goes_on = 1;
    body b;
    LIANA_TRY(find_body(own, node, "body", &b));
    carried c = {.count = given > 2 ? given - 2 : 0, .first_input = 2, .first_output = 1};
    if (given < 2 || b.graph->n_input != given || b.graph->n_output < c.count + 1) return fail_body(own, &b);
    const size_t num_scanned = b.graph->n_output - 1 - c.count;
    if (node->num_outputs > c.count + num_scanned) return fail_body(own, &b);
    if (!trips && !condition) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "the loop has no end");
    if (trips) LIANA_TRY(known_number(own, node, trips, "number of steps", &most));
    if (condition) LIANA_TRY(known_number(own, node, condition, "condition", &goes_on));
    value_list *scanned = liana__arena_allocate(&own->arena, (num_scanned + 1) * sizeof *scanned);
    if (!scanned) return liana__fail_memory(own->error, own->path);
    memset(scanned, 0, (num_scanned + 1) * sizeof *scanned);
    LIANA_TRY(take_carried(own, &b, &c, 2));
    LIANA_TRY(open_loop(own, &b, &c));
    for (int64_t i = 0; i < most && goes_on; i++) {
        liana__import_scope *step;
        liana__import_value *holds;
        LIANA_TRY(loop_step(own, &b, &c, i, scanned, num_scanned, &step));
        if (!condition) continue;
        LIANA_TRY(output_of(own, &b, step, 0, &holds));
        LIANA_TRY(known_number(own, node, holds, "condition", &goes_on));
    }
    set_carried(&b, &c);
    for (size_t i = c.count; i < node->num_outputs; i++) {
        LIANA_TRY(stack(own, node, &scanned[i - c.count], 0, false, node->outputs[i]));
    }
    return LIANA_OK;
}

/* ---- Scan ---- */

/* Element `index` of a list of integers of a node; `if_none` where the list is not given. */
static liana_status listed(liana__import *own, liana__import_node *node, const char *name, size_t index,
                           int64_t *number)
{
    const int64_t *values;
    int64_t count;
    *number = 0;
    LIANA_TRY(liana__import_integers(own, node, name, SIZE_MAX, &values, &count));
    if (!count) return LIANA_OK;
    if ((int64_t)index >= count) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "%s: found %" PRIi64 " numbers", name, count);
    }
    *number = values[index];
    return LIANA_OK;
}

/* What a Scan reads in turn. */
typedef struct rows {
    liana__import_value **values;
    int64_t *axes, *directions;
    size_t count;
    int64_t steps;
} rows;

static liana_status find_rows(liana__import *own, liana__import_node *node, size_t first, rows *r)
{
    r->values = node->inputs + first;
    r->axes = liana__arena_allocate(&own->arena, (r->count + 1) * sizeof *r->axes);
    r->directions = liana__arena_allocate(&own->arena, (r->count + 1) * sizeof *r->directions);
    if (!r->axes || !r->directions) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < r->count; i++) {
        const liana__import_value *value = r->values[i];
        int axis;
        if (!value) return liana__import_fail(own, node, LIANA_INVALID_DATA, "its input %zu is missing", first + i);
        LIANA_TRY(listed(own, node, "scan_input_axes", i, &r->axes[i]));
        LIANA_TRY(listed(own, node, "scan_input_directions", i, &r->directions[i]));
        LIANA_TRY(liana__import_axis_of(own, node, r->axes[i], value->rank, &axis));
        const int64_t size = liana__import_size(own, value, axis);
        if (i && size != r->steps) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                      "found inputs of %" PRIi64 " and of %" PRIi64 " steps", r->steps, size);
        }
        r->axes[i] = axis;
        r->steps = size;
    }
    return LIANA_OK;
}

/* Inputs of the body: the carried values, then an element of each input that is read. */
static liana_status scan_step(liana__import *own, body *b, carried *c, const rows *r, int64_t index,
                              value_list *scanned, size_t num_scanned)
{
    binding *bound = liana__arena_allocate(&own->arena, (c->count + r->count + 1) * sizeof *bound);
    liana__import_scope *step;
    if (!bound) return liana__fail_memory(own->error, own->path);
    size_t count = bind_carried(b, c, false, bound);
    for (size_t i = 0; i < r->count; i++) {
        const int64_t place = r->directions[i] ? r->steps - 1 - index : index;
        bound[count].name = name_of(b->graph->input[c->count + i]);
        LIANA_TRY(liana__import_element(own, b->node, r->values[i], r->axes[i], place, &bound[count].value));
        count++;
    }
    LIANA_TRY(take_step(own, b, bound, count, &step));
    return hand_on(own, b, c, step, scanned, num_scanned);
}

static liana_status read_scan(liana__import *own, liana__import_node *node)
{
    const size_t given = node->from->n_input;
    const int64_t num_rows = liana__import_int(node, "num_scan_inputs", 0);
    body b;
    LIANA_TRY(find_body(own, node, "body", &b));
    if (own->opset < 9) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "expected opset 9 or later");
    if (num_rows < 1 || (uint64_t)num_rows > given || b.graph->n_input != given) return fail_body(own, &b);
    rows r = {.count = (size_t)num_rows};
    carried c = {.count = given - r.count};
    if (b.graph->n_output < c.count || node->num_outputs > b.graph->n_output) return fail_body(own, &b);
    const size_t num_scanned = b.graph->n_output - c.count;
    value_list *scanned = liana__arena_allocate(&own->arena, (num_scanned + 1) * sizeof *scanned);
    if (!scanned) return liana__fail_memory(own->error, own->path);
    memset(scanned, 0, (num_scanned + 1) * sizeof *scanned);
    LIANA_TRY(find_rows(own, node, c.count, &r));
    LIANA_TRY(take_carried(own, &b, &c, 0));
    LIANA_TRY(open_loop(own, &b, &c));
    for (int64_t i = 0; i < r.steps; i++) LIANA_TRY(scan_step(own, &b, &c, &r, i, scanned, num_scanned));
    set_carried(&b, &c);
    for (size_t i = c.count; i < node->num_outputs; i++) {
        int64_t axis, direction;
        LIANA_TRY(listed(own, node, "scan_output_axes", i - c.count, &axis));
        LIANA_TRY(listed(own, node, "scan_output_directions", i - c.count, &direction));
        LIANA_TRY(stack(own, node, &scanned[i - c.count], axis, direction != 0, node->outputs[i]));
    }
    return LIANA_OK;
}

/* ---- If ---- */

static liana_status read_if(liana__import *own, liana__import_node *node)
{
    const liana__import_value *condition = liana__import_input(node, 0);
    int64_t holds;
    body b;
    if (!condition) return liana__import_fail(own, node, LIANA_INVALID_DATA, "its condition is missing");
    LIANA_TRY(known_number(own, node, condition, "condition", &holds));
    LIANA_TRY(find_body(own, node, holds ? "then_branch" : "else_branch", &b));
    if (b.graph->n_output < node->num_outputs || b.graph->n_input) return fail_body(own, &b);
    LIANA_TRY(open_body(own, &b, NULL, 0));
    liana__import_scope *rest; /* nodes with bodies of their own */
    LIANA_TRY(take_step(own, &b, NULL, 0, &rest));
    for (size_t i = 0; i < node->num_outputs; i++) {
        liana__import_value *value;
        LIANA_TRY(output_of(own, &b, rest, i, &value));
        if (node->outputs[i]) set_output(node->outputs[i], value);
    }
    return LIANA_OK;
}

const liana__import_op liana__import_loops[] = {
    {"If", read_if},
    {"Loop", read_loop},
    {"Scan", read_scan},
    {0},
};
