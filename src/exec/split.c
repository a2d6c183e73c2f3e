/* Cuts a graph at the borders between devices. */
#include "exec/split.h"

#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>

/* A leaf that is wanted as it is: its device's first part gives it. */
typedef struct leaf_result {
    const liana__node *leaf;
    size_t device;
    liana__part_output *where;
} leaf_result;

typedef struct splitter {
    liana__arena arena; /* of its own lists */
    const liana_graph *old;
    const liana__wanted *wanted;
    const size_t *devices; /* by id */
    liana__split *split;
    bool *needed;        /* by id */
    size_t *stages;      /* by id of an op */
    size_t *part_of;     /* by id of an op */
    size_t *output_of;   /* by id of an op: 1 + its part's output, as far as there is one */
    size_t *crossing_of; /* by id: 1 + the crossing */
    liana_tensor *own;   /* by id of an op: the copy in its part */
    liana_tensor *map;   /* by id: its tensor in the part that is built */
    leaf_result *leaves;
    size_t num_leaves;
} splitter;

void liana__split_free(liana__split *split)
{
    for (size_t i = 0; i < split->num_parts; i++) {
        liana_graph_destroy(split->parts[i].graph);
        free(split->parts[i].inputs);
        free(split->parts[i].variables);
    }
    free(split->parts);
    free(split->crossings);
    free(split->arrivals);
    free(split->feeds);
    free(split->read);
    free(split->results);
    free(split->changes);
    *split = (liana__split){0};
}

static liana_status fail_memory(const splitter *own)
{
    return liana__fail_memory(&own->old->context->error, "the parts of a graph");
}

/* Appends to one of the split's lists. */
#define ADD(own, list, count, capacity, ...)                                                       \
    do {                                                                                           \
        liana__split *split_ = (own)->split;                                                       \
        if (!liana__grow(&split_->list, split_->count, &split_->capacity, sizeof *split_->list)) { \
            return fail_memory(own);                                                               \
        }                                                                                          \
        split_->list[split_->count++] = __VA_ARGS__;                                               \
    } while (0)

/* ---- which parts there are ---- */

static void find_stages(splitter *own)
{
    for (size_t id = 1; id < own->old->num_nodes; id++) {
        const liana__node *node = own->old->nodes[id];
        if (!own->needed[id] || liana__is_leaf(node)) continue;
        for (uint32_t i = 0; i < node->num_inputs; i++) {
            const liana__node *input = node->inputs[i];
            if (liana__is_leaf(input)) continue;
            size_t stage = own->stages[input->id] + (own->devices[input->id] != own->devices[id]);
            if (stage > own->stages[id]) own->stages[id] = stage;
        }
    }
}

static size_t find_part(const liana__split *split, size_t device, size_t stage)
{
    size_t part = 0;
    while (part < split->num_parts && (split->parts[part].device != device || split->parts[part].stage != stage))
        part++;
    return part;
}

static liana_status need_part(splitter *own, size_t device, size_t stage)
{
    if (find_part(own->split, device, stage) < own->split->num_parts) return LIANA_OK;
    ADD(own, parts, num_parts, part_capacity, (liana__part){.device = device, .stage = stage});
    return LIANA_OK;
}

static int compare_parts(const void *a, const void *b)
{
    const liana__part *x = a, *y = b;
    if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

static liana_status list_parts(splitter *own)
{
    liana__split *split = own->split;
    for (size_t id = 1; id < own->old->num_nodes; id++) {
        if (!own->needed[id] || liana__is_leaf(own->old->nodes[id])) continue;
        LIANA_TRY(need_part(own, own->devices[id], own->stages[id]));
    }
    for (size_t i = 0; i < own->num_leaves; i++) LIANA_TRY(need_part(own, own->leaves[i].device, 0));
    if (split->num_parts > 1) qsort(split->parts, split->num_parts, sizeof *split->parts, compare_parts);
    for (size_t id = 1; id < own->old->num_nodes; id++) {
        if (!own->needed[id] || liana__is_leaf(own->old->nodes[id])) continue;
        own->part_of[id] = find_part(split, own->devices[id], own->stages[id]);
    }
    return LIANA_OK;
}

/* ---- values between parts ---- */

static liana_status note_read(splitter *own, const liana__node *variable)
{
    for (size_t i = 0; i < own->split->num_read; i++) {
        if (own->split->read[i] == variable) return LIANA_OK;
    }
    ADD(own, read, num_read, read_capacity, variable);
    return LIANA_OK;
}

/* The output of an op's part that gives it. */
static liana__part_output op_output(splitter *own, const liana__node *node)
{
    const size_t part = own->part_of[node->id];
    liana_graph *graph = own->split->parts[part].graph;
    if (!own->output_of[node->id]) {
        char name[24];
        snprintf(name, sizeof name, "%zu", graph->num_outputs);
        liana_graph_output_at(node->where, graph, name, own->own[node->id]);
        own->output_of[node->id] = graph->num_outputs;
    }
    return (liana__part_output){part, own->output_of[node->id] - 1};
}

static liana_status find_crossing(splitter *own, const liana__node *node, size_t *index)
{
    if (!own->crossing_of[node->id]) {
        liana__crossing crossing = {.node = node, .device = own->devices[node->id]};
        crossing.is_variable = liana__is_variable(node);
        if (crossing.is_variable) {
            LIANA_TRY(note_read(own, node));
        } else {
            crossing.from = op_output(own, node);
        }
        ADD(own, crossings, num_crossings, crossing_capacity, crossing);
        own->crossing_of[node->id] = own->split->num_crossings;
    }
    *index = own->crossing_of[node->id] - 1;
    return LIANA_OK;
}

static liana_status find_feed(splitter *own, const liana__node *input, size_t *index)
{
    for (*index = 0; *index < own->split->num_feeds; ++*index) {
        if (own->split->feeds[*index] == input) return LIANA_OK;
    }
    ADD(own, feeds, num_feeds, feed_capacity, input);
    return LIANA_OK;
}

/* A value that comes to a device comes once, whichever of its parts read it; a variable's new value comes alone. */
static liana_status find_arrival(splitter *own, const liana__node *node, size_t device, bool becomes_variable,
                                 size_t *arrival)
{
    const liana__split *split = own->split;
    liana__part_arrival wanted = {.device = device,
                                  .is_feed = liana__is_input(node),
                                  .node = node,
                                  .becomes_variable = becomes_variable};
    LIANA_TRY(wanted.is_feed ? find_feed(own, node, &wanted.index) : find_crossing(own, node, &wanted.index));
    for (*arrival = 0; *arrival < split->num_arrivals; ++*arrival) {
        const liana__part_arrival *known = &split->arrivals[*arrival];
        if (known->node == node && known->device == device && !known->becomes_variable && !becomes_variable) {
            return LIANA_OK;
        }
    }
    ADD(own, arrivals, num_arrivals, arrival_capacity, wanted);
    return LIANA_OK;
}

/* ---- building a part ---- */

/* An input of a part, under a name that no other input has. */
static liana_tensor make_input(const splitter *own, const liana__part *part, const liana__node *node)
{
    char name[160];
    if (liana__is_input(node)) return liana__copy_leaf(part->graph, node);
    size_t length = (size_t)snprintf(name, sizeof name, "%.60s#%u", node->name ? node->name : node->op->name, node->id);
    while (liana__graph_find_input(own->old, name) >= 0 && length + 1 < sizeof name) {
        name[length++] = '#';
        name[length] = '\0';
    }
    return liana_graph_input_at(node->where, part->graph, name, node->dtype, node->shape);
}

static liana_status bring_variable(splitter *own, liana__part *part, const liana__node *node)
{
    size_t arrival = SIZE_MAX;
    LIANA_TRY(note_read(own, node));
    if (own->devices[node->id] != part->device) LIANA_TRY(find_arrival(own, node, part->device, false, &arrival));
    if (!liana__grow(&part->variables, part->num_variables, &part->variable_capacity, sizeof *part->variables)) {
        return fail_memory(own);
    }
    part->variables[part->num_variables++] = arrival;
    own->map[node->id] = liana__copy_leaf(part->graph, node);
    return LIANA_OK;
}

static liana_status bring_input(splitter *own, liana__part *part, const liana__node *node)
{
    liana__part_input input = {.is_arrival = liana__is_input(node) || own->devices[node->id] != part->device};
    if (input.is_arrival) {
        LIANA_TRY(find_arrival(own, node, part->device, false, &input.arrival));
    } else {
        input.from = op_output(own, node);
    }
    if (!liana__grow(&part->inputs, part->num_inputs, &part->input_capacity, sizeof *part->inputs)) {
        return fail_memory(own);
    }
    part->inputs[part->num_inputs++] = input;
    own->map[node->id] = make_input(own, part, node);
    return LIANA_OK;
}

/* Lets a part read a value of another part, a device or the caller. */
static liana_status bring(splitter *own, liana__part *part, const liana__node *node)
{
    if (own->map[node->id].id || part->graph->status != LIANA_OK) return LIANA_OK;
    if (liana__is_variable(node)) return bring_variable(own, part, node);
    if (!liana__is_constant(node)) return bring_input(own, part, node);
    own->map[node->id] = liana__copy_leaf(part->graph, node);
    return LIANA_OK;
}

static liana_status copy_op(splitter *own, liana__part *part, const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) LIANA_TRY(bring(own, part, node->inputs[i]));
    liana_graph *graph = part->graph;
    const bool is_gradient = own->old->first_gradient && node->id >= own->old->first_gradient;
    if (is_gradient && !graph->first_gradient) graph->first_gradient = graph->num_nodes;
    liana_tensor copy = liana__copy_node(graph, node, own->map);
    if (node->keep_wide) liana__keep_wide(copy);
    if (node->name) liana__graph_copy_name(graph, copy, node->name);
    own->map[node->id] = own->own[node->id] = copy;
    return graph->status;
}

static liana_status give_leaves(splitter *own, size_t number)
{
    liana__part *part = &own->split->parts[number];
    for (size_t i = 0; i < own->num_leaves; i++) {
        leaf_result *wanted = &own->leaves[i];
        char name[24];
        if (wanted->device != part->device) continue;
        LIANA_TRY(bring(own, part, wanted->leaf));
        snprintf(name, sizeof name, "%zu", part->graph->num_outputs);
        *wanted->where = (liana__part_output){number, part->graph->num_outputs};
        liana_graph_output_at(wanted->leaf->where, part->graph, name, own->map[wanted->leaf->id]);
    }
    return part->graph->status;
}

static liana_status build_part(splitter *own, size_t number)
{
    liana__part *part = &own->split->parts[number];
    LIANA_TRY(liana_graph_create(own->old->context, &part->graph));
    part->graph->mixed_precision = own->old->mixed_precision;
    memset(own->map, 0, own->old->num_nodes * sizeof *own->map);
    for (size_t id = 1; id < own->old->num_nodes; id++) {
        const liana__node *node = own->old->nodes[id];
        if (!own->needed[id] || liana__is_leaf(node) || own->part_of[id] != number) continue;
        LIANA_TRY(copy_op(own, part, node));
    }
    return part->stage == 0 ? give_leaves(own, number) : part->graph->status;
}

/* ---- wanted results ---- */

static const liana__assignment *assignment(const splitter *own, size_t i)
{
    return &own->old->assignments[own->wanted->assignments[i]];
}

/* Whether a variable's new value comes from another device. */
static bool comes_from_afar(const splitter *own, const liana__assignment *one)
{
    const liana__node *value = one->value;
    const bool is_anywhere = liana__is_input(value) || liana__is_constant(value);
    return !is_anywhere && own->devices[value->id] != own->devices[one->variable->id];
}

static void list_leaves(splitter *own)
{
    for (size_t i = 0; i < own->wanted->num_results; i++) {
        const liana__node *node = own->wanted->results[i];
        if (!liana__is_leaf(node)) continue;
        const size_t device = liana__is_variable(node) ? own->devices[node->id] : 0;
        own->leaves[own->num_leaves++] = (leaf_result){node, device, &own->split->results[i]};
    }
    for (size_t i = 0; i < own->wanted->num_assignments; i++) {
        const liana__assignment *one = assignment(own, i);
        if (!liana__is_leaf(one->value) || comes_from_afar(own, one)) continue;
        own->leaves[own->num_leaves++] =
            (leaf_result){one->value, own->devices[one->variable->id], &own->split->changes[i].from};
    }
}

/* The buffer of an output that becomes a variable's is gone for others, so each variable has an output of its own. */
static liana__part_output new_value(splitter *own, const liana__node *value, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        if (assignment(own, i)->value == value && !comes_from_afar(own, assignment(own, i))) {
            own->output_of[value->id] = 0;
        }
    }
    return op_output(own, value);
}

static liana_status give_results(splitter *own)
{
    const liana__wanted *wanted = own->wanted;
    for (size_t i = 0; i < wanted->num_results; i++) {
        if (!liana__is_leaf(wanted->results[i])) own->split->results[i] = op_output(own, wanted->results[i]);
    }
    for (size_t i = 0; i < wanted->num_assignments; i++) {
        const liana__assignment *one = assignment(own, i);
        liana__placed_value *change = &own->split->changes[i];
        change->is_arrival = comes_from_afar(own, one);
        if (change->is_arrival) {
            LIANA_TRY(find_arrival(own, one->value, own->devices[one->variable->id], true, &change->arrival));
        } else if (!liana__is_leaf(one->value)) {
            change->from = new_value(own, one->value, i);
        }
    }
    return LIANA_OK;
}

/* ---- the whole ---- */

static liana_status build(splitter *own)
{
    const liana_graph *old = own->old;
    const size_t wanted = own->wanted->num_results + own->wanted->num_assignments;
    liana__arena *arena = &own->arena;
    own->needed = liana__arena_allocate(arena, old->num_nodes * sizeof *own->needed);
    own->stages = liana__arena_allocate(arena, old->num_nodes * sizeof *own->stages);
    own->part_of = liana__arena_allocate(arena, old->num_nodes * sizeof *own->part_of);
    own->output_of = liana__arena_allocate(arena, old->num_nodes * sizeof *own->output_of);
    own->crossing_of = liana__arena_allocate(arena, old->num_nodes * sizeof *own->crossing_of);
    own->own = liana__arena_allocate(arena, old->num_nodes * sizeof *own->own);
    own->map = liana__arena_allocate(arena, old->num_nodes * sizeof *own->map);
    own->leaves = liana__arena_allocate(arena, (wanted + 1) * sizeof *own->leaves);
    own->split->results = calloc(own->wanted->num_results + 1, sizeof *own->split->results);
    own->split->changes = calloc(own->wanted->num_assignments + 1, sizeof *own->split->changes);
    if (arena->failed || !own->split->results || !own->split->changes) return fail_memory(own);
    liana__wanted_mark(old, own->wanted, own->needed);
    find_stages(own);
    list_leaves(own);
    LIANA_TRY(list_parts(own));
    for (size_t i = 0; i < own->split->num_parts; i++) LIANA_TRY(build_part(own, i));
    LIANA_TRY(give_results(own));
    for (size_t i = 0; i < own->split->num_parts; i++) LIANA_TRY(own->split->parts[i].graph->status);
    return LIANA_OK;
}

liana_status liana__split_make(const liana_graph *graph, const liana__wanted *wanted, const size_t *devices,
                               liana__split *split)
{
    *split = (liana__split){0};
    LIANA_TRY(graph->status);
    splitter own = {.old = graph, .wanted = wanted, .devices = devices, .split = split};
    const liana_status status = build(&own);
    liana__arena_free(&own.arena);
    return status;
}
