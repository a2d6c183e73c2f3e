/* Describes graphs, so that processes can compare them. */
#include "step/agreement.h"

#include "base/crc32c.h"
#include "base/scoped.h"
#include "distribute/cluster/held.h"

#include "ir/graph.h"
#include <stdlib.h>

static void add_named(liana__facts *facts, const char *key, const char *kind, const char *name, const liana__node *node)
{
    const char *whole = liana__arena_format(&facts->arena, "%s '%s' of %s", kind, name, key);
    if (whole) liana__facts_add(facts, whole, liana__type_print(node->dtype, &node->shape).text);
}

void liana__facts_add_graph(liana__facts *facts, const char *key, const liana_graph *graph)
{
    const char *precision = liana__arena_format(&facts->arena, "the precision of %s", key);
    if (precision) liana__facts_add(facts, precision, graph->mixed_precision ? "mixed" : "float32");
    for (size_t i = 0; i < graph->num_inputs; i++) {
        add_named(facts, key, "the input", graph->inputs[i]->name, graph->inputs[i]);
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        add_named(facts, key, "the variable", graph->variables[i]->name, graph->variables[i]);
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        add_named(facts, key, "the output", graph->outputs[i].name, graph->outputs[i].node);
    }
}

/* ---- ops ---- */

/* Where an op is, for people: "of a shard of mine, behind 'hidden/bias'". */
typedef struct op_place {
    liana__facts *facts;
    const liana__node *node;
    const char *graph;
    const char *behind; /* the nearest name that it computes from; NULL: missing */
} op_place;

/* The key of the fact `what` of the op; NULL: of the op itself. */
static const char *key_of(const op_place *own, const char *what)
{
    liana__arena *arena = &own->facts->arena;
    const char *op = what ? liana__arena_format(arena, "%s of op %u (%s)", what, own->node->id, own->node->op->name)
                          : liana__arena_format(arena, "op %u", own->node->id);
    if (!op) return NULL;
    if (!own->behind) return liana__arena_format(arena, "%s of %s", op, own->graph);
    return liana__arena_format(arena, "%s of %s, behind '%s',", op, own->graph, own->behind);
}

static void add_text(const op_place *own, const char *what, liana__text *text)
{
    const char *key = key_of(own, what);
    if (text->failed) own->facts->message.failed = true;
    if (key && !text->failed) liana__facts_add(own->facts, key, text->data);
    liana__text_free(text);
}

static void add_op(const op_place *own)
{
    const liana__node *node = own->node;
    liana__text text = {0};
    liana__text_add(&text, "%s", node->op->name);
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        liana__text_add(&text, "%s%u", i ? ", " : " of ", node->inputs[i]->id);
    }
    liana__text_add(&text, " : %s%s", liana__type_print(node->dtype, &node->shape).text,
                    node->keep_wide ? ", in float32" : "");
    add_text(own, NULL, &text);
}

static void add_attributes(const op_place *own)
{
    const liana__node *node = own->node;
    LIANA__SCOPED(liana__arena) arena = {0};
    if (!node->op->attributes) return;
    const liana__value *map = liana__fields_write(node->op->attributes, &arena, node->attributes);
    if (!map || arena.failed) own->facts->message.failed = true;
    for (size_t i = 0; map && i < map->count; i++) {
        const char *name = liana__arena_format(&arena, "'%s'", map->keys[i]);
        const char *key = name ? key_of(own, name) : NULL;
        if (key) liana__facts_add_tree(own->facts, key, map->items[i]);
    }
}

/* The first numbers for people, and a digest of all. */
static void add_constant(const op_place *own)
{
    enum { MOST_SHOWN = 4 };
    const liana__node *node = own->node;
    if (!liana__is_constant(node)) return;
    liana__text text = {0};
    const int64_t size = liana_shape_size(&node->shape);
    const char *data = liana__constant_data(node);
    for (int64_t i = 0; i < size && i < MOST_SHOWN; i++) {
        liana__text_add(&text, "%s%.9g", i ? ", " : "", liana__load(data, node->dtype, i));
    }
    liana__text_add(&text, " (%s%08x)", size > MOST_SHOWN ? "..., " : "",
                    liana__crc32c_extend(0, data, liana__byte_size(node->dtype, &node->shape)));
    add_text(own, "the value", &text);
}

static void add_place(liana__facts *facts, const char *key, const char *kind, const char *name, const liana__node *node)
{
    const char *whole = liana__arena_format(&facts->arena, "%s '%s' of %s", kind, name, key);
    const char *place = liana__arena_format(&facts->arena, "op %u", node->id);
    if (whole && place) liana__facts_add(facts, whole, place);
}

/* The last variable or named tensor that the op reads; else that of its first input, and so on up to an input of the
 * graph. */
static const char *find_name(const liana__node *node, const char *const *behind)
{
    for (uint32_t i = node->num_inputs; i > 0; i--) {
        const liana__node *input = node->inputs[i - 1];
        if (input->name && !liana__is_input(input)) return input->name;
    }
    const liana__node *first = node->num_inputs ? node->inputs[0] : NULL;
    return first && first->name ? first->name : first ? behind[first->id] : NULL;
}

void liana__facts_add_ops(liana__facts *facts, const char *key, const liana_graph *graph)
{
    const char **behind = liana__arena_allocate(&facts->arena, graph->num_nodes * sizeof *behind);
    for (size_t i = 1; behind && i < graph->num_nodes; i++) {
        const liana__node *node = graph->nodes[i];
        behind[i] = find_name(node, behind);
        const op_place place = {facts, node, key, behind[i]};
        add_op(&place);
        add_attributes(&place);
        add_constant(&place);
    }
    for (size_t i = 0; i < graph->num_outputs; i++) {
        add_place(facts, key, "the output", graph->outputs[i].name, graph->outputs[i].node);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        const liana__assignment *one = &graph->assignments[i];
        add_place(facts, key, "the new value of the variable", one->variable->name, one->value);
    }
}

/* ---- comparing ---- */

static liana_status add_value(liana__facts *facts, const liana__variable *variable, liana__error *error)
{
    const size_t size = variable->buffer->size;
    LIANA__SCOPED_MEMORY void *values = malloc(size + 1);
    if (!values) return liana__fail_memory(error, variable->name);
    LIANA_TRY(liana__variable_read(variable, values, error));
    const uint32_t digest = liana__crc32c_extend(0, values, size);
    const char *key = liana__arena_format(&facts->arena, "the values of the variable '%s'", variable->name);
    const char *text = liana__arena_format(&facts->arena, "%08x", digest);
    if (key && text) liana__facts_add(facts, key, text);
    return LIANA_OK;
}

/* Of those that a shard reads: other weights give other sums, and no processor is to blame for that. */
static liana_status add_values(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                               liana__error *error)
{
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__variable *variable = liana__variables_find(own->variables, graph->variables[i]->name);
        if (variable && !liana__is_held(variable)) LIANA_TRY(add_value(facts, variable, error));
    }
    return LIANA_OK;
}

/* `facts`, the graph, and its ops. */
liana_status liana__agree_on_ops(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                                 liana__error *error)
{
    LIANA__SCOPED(liana__facts) ops = {0};
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    liana__facts_add_graph(facts, own->name, graph);
    liana__facts_add_ops(&ops, own->name, graph);
    LIANA_TRY(liana__facts_agree(facts, own->cluster, error));
    return liana__facts_agree_shortly(&ops, own->cluster, error);
}

static liana_status agree_on_values(const liana__graph_agreement *own, const liana_graph *graph, liana__error *error)
{
    LIANA__SCOPED(liana__facts) facts = {0};
    const liana_status status = add_values(own, graph, &facts, error);
    LIANA_TRY(liana__cluster_agree_status(own->cluster, status, error));
    return liana__facts_agree(&facts, own->cluster, error);
}

liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error)
{
    liana_status status = liana__agree_on_ops(own, graph, facts, error);
    if (status == LIANA_OK) status = agree_on_values(own, graph, error);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    return liana__agree_on_sums(own->device, own->variables, own->cluster, graph, error);
}
