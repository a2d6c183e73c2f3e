/* The nodes of a graph that belong together, and the inputs of a function of them. */
#include "stablehlo/parts.h"

/* ---- which nodes belong together ---- */

/* While parts are found, of[id] is a node of the same part: with a smaller id, or the node itself. */
static int32_t first_of(const liana__graph_parts *parts, uint32_t id)
{
    while (parts->of[id] != (int32_t)id) {
        parts->of[id] = parts->of[parts->of[id]];
        id = (uint32_t)parts->of[id];
    }
    return (int32_t)id;
}

static bool is_own(const liana__graph_parts *parts, const liana__node *node)
{
    return parts->of[node->id] > LIANA__PART_SHARED;
}

static void join(const liana__graph_parts *parts, const liana__node *a, const liana__node *b)
{
    const int32_t first = first_of(parts, a->id), second = first_of(parts, b->id);
    if (first < second) parts->of[second] = first;
    if (second < first) parts->of[first] = second;
}

static bool is_argument(const liana__node *node)
{
    return liana__is_input(node) || liana__is_variable(node);
}

static int32_t kind_of(const liana__graph_parts *parts, const liana__node *node)
{
    int32_t kind = LIANA__PART_ANY;
    if (is_argument(node)) kind = LIANA__PART_SHARED;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (is_own(parts, node->inputs[i])) return (int32_t)node->id;
        if (parts->of[node->inputs[i]->id] == LIANA__PART_SHARED) kind = LIANA__PART_SHARED;
    }
    return kind == LIANA__PART_SHARED && node->shape.rank ? (int32_t)node->id : kind;
}

static void join_all(liana__graph_parts *parts, const bool *needed)
{
    const liana_graph *graph = parts->graph;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!needed[id] && !is_argument(node)) continue;
        parts->of[id] = kind_of(parts, node);
        for (uint32_t i = 0; is_own(parts, node) && i < node->num_inputs; i++) {
            if (is_own(parts, node->inputs[i])) join(parts, node, node->inputs[i]);
        }
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *each = &graph->assignments[i];
        if (is_own(parts, each->value) && is_own(parts, each->variable)) join(parts, each->value, each->variable);
    }
}

/* Neighbours that compute vectors of one size, as a layer's are, become one part: there are half as many then. */
static void join_vectors(liana__graph_parts *parts)
{
    const liana_graph *graph = parts->graph;
    const liana__node *last = NULL;
    for (uint32_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        if (!is_own(parts, node) || !liana__is_variable(node)) continue;
        const bool is_vector = node->shape.rank == 1;
        if (is_vector && last && liana_shape_equal(&node->shape, &last->shape)) join(parts, node, last);
        last = is_vector ? node : NULL;
    }
}

/* Parts are numbered by their first nodes. */
static void number(liana__graph_parts *parts)
{
    const liana_graph *graph = parts->graph;
    for (uint32_t id = 1; id < graph->num_nodes; id++) {
        if (is_own(parts, graph->nodes[id])) parts->of[id] = first_of(parts, id);
    }
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (!is_own(parts, graph->nodes[id])) continue;
        parts->of[id] = parts->of[id] == (int32_t)id ? ++parts->count : parts->of[parts->of[id]];
    }
}

static bool is_listed(const liana__graph_parts *parts, const bool *needed, size_t id)
{
    return needed[id] && !is_argument(parts->graph->nodes[id]) && parts->of[id] != LIANA__PART_ANY;
}

static liana_status sort_nodes(liana__graph_parts *parts, const bool *needed, liana__arena *arena, liana__error *error)
{
    const liana_graph *graph = parts->graph;
    parts->begin = liana__arena_allocate(arena, ((size_t)parts->count + 3) * sizeof *parts->begin);
    parts->nodes = liana__arena_allocate(arena, graph->num_nodes * sizeof *parts->nodes);
    if (arena->failed) return liana__fail_memory(error, "the parts of a graph");
    size_t *next = parts->begin + 1; /* by part: where its next node goes; in the end where the next part begins */
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (is_listed(parts, needed, id)) next[parts->of[id] + 1]++;
    }
    for (int32_t part = 0; part <= parts->count; part++) next[part + 1] += next[part];
    for (size_t id = 1; id < graph->num_nodes; id++) {
        if (is_listed(parts, needed, id)) parts->nodes[next[parts->of[id]]++] = graph->nodes[id];
    }
    return LIANA_OK;
}

/* ---- given values ---- */

static void find_given(liana__graph_parts *parts, bool *is_assigned)
{
    const liana_graph *graph = parts->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) parts->is_given[graph->outputs[i].node->id] = true;
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__node *value = graph->assignments[i].value;
        const bool is_only = !is_assigned[value->id] && !is_argument(value);
        parts->is_given[value->id] = is_assigned[value->id] = true;
        parts->variable_of[value->id] = is_only ? graph->assignments[i].variable : NULL;
    }
}

liana_status liana__graph_parts_find(const liana_graph *graph, const bool *needed, liana__arena *arena,
                                     liana__graph_parts *parts, liana__error *error)
{
    const size_t n = graph->num_nodes;
    bool *is_assigned = liana__arena_allocate(arena, n * sizeof *is_assigned);
    *parts = (liana__graph_parts){.graph = graph,
                                  .of = liana__arena_allocate(arena, n * sizeof *parts->of),
                                  .is_given = liana__arena_allocate(arena, n * sizeof *parts->is_given),
                                  .variable_of = liana__arena_allocate(arena, n * sizeof *parts->variable_of)};
    if (arena->failed) return liana__fail_memory(error, "the parts of a graph");
    find_given(parts, is_assigned);
    join_all(parts, needed);
    join_vectors(parts);
    number(parts);
    return sort_nodes(parts, needed, arena, error);
}

/* ---- the nodes of a function ---- */

liana__part_nodes liana__part_nodes_create(const liana_graph *graph, liana__arena *arena)
{
    const size_t n = graph->num_nodes;
    return (liana__part_nodes){.written = liana__arena_allocate(arena, n * sizeof(liana__node *)),
                               .read = liana__arena_allocate(arena, n * sizeof(liana__node *)),
                               .seen = liana__arena_allocate(arena, n * sizeof(bool))};
}

static void forget(liana__part_nodes *nodes)
{
    for (size_t i = 0; i < nodes->num_written; i++) nodes->seen[nodes->written[i]->id] = false;
    for (size_t i = 0; i < nodes->num_read; i++) nodes->seen[nodes->read[i]->id] = false;
    nodes->num_written = nodes->num_read = 0;
}

static void read_node(liana__part_nodes *nodes, const liana__node *node)
{
    if (nodes->seen[node->id]) return;
    nodes->seen[node->id] = true;
    nodes->read[nodes->num_read++] = node;
}

/* A node that depends on constants only, behind its inputs. */
static void write_any(liana__part_nodes *nodes, const liana__node *node)
{
    if (nodes->seen[node->id]) return;
    nodes->seen[node->id] = true;
    for (uint32_t i = 0; i < node->num_inputs; i++) write_any(nodes, node->inputs[i]);
    nodes->written[nodes->num_written++] = node;
}

static void write_node(const liana__graph_parts *parts, liana__part_nodes *nodes, const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        const int32_t part = parts->of[input->id];
        if (part == LIANA__PART_ANY) write_any(nodes, input);
        if (part != LIANA__PART_ANY && (part != parts->of[node->id] || is_argument(input))) read_node(nodes, input);
    }
    nodes->written[nodes->num_written++] = node;
    if (parts->variable_of[node->id]) read_node(nodes, parts->variable_of[node->id]);
}

/* Sets seen[id] for nodes of a part, from its end, that `only` depends on. */
static void see_needed(const liana__graph_parts *parts, int32_t part, const liana__node *only, bool *seen)
{
    seen[only->id] = true;
    for (size_t i = parts->begin[part + 1]; i-- > parts->begin[part];) {
        const liana__node *node = parts->nodes[i];
        for (uint32_t k = 0; seen[node->id] && k < node->num_inputs; k++) {
            const liana__node *input = node->inputs[k];
            if (parts->of[input->id] == part && !is_argument(input)) seen[input->id] = true;
        }
    }
}

void liana__part_nodes_list(const liana__graph_parts *parts, int32_t part, const liana__node *only,
                            liana__part_nodes *nodes)
{
    forget(nodes);
    if (only) see_needed(parts, part, only, nodes->seen);
    for (size_t i = parts->begin[part]; i < parts->begin[part + 1]; i++) {
        const liana__node *node = parts->nodes[i];
        if (only && !nodes->seen[node->id]) continue;
        nodes->seen[node->id] = true;
        write_node(parts, nodes, node);
    }
    for (size_t id = 1; part == LIANA__PART_SHARED && id < parts->graph->num_nodes; id++) {
        if (parts->is_given[id] && parts->of[id] == LIANA__PART_ANY) write_any(nodes, parts->graph->nodes[id]);
    }
}
