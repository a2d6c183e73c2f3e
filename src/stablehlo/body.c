/* Bodies in regions; lists of numbers; branches. */
#include "stablehlo/body.h"

#include "stablehlo/function_text.h"

liana__hlo *liana__hlo_room(liana__lowering *l, size_t count)
{
    return liana__arena_allocate(&l->scratch, (count + 1) * sizeof(liana__hlo));
}

static liana_status lower_nodes(liana__lowering *l, const liana_graph *body, const bool *needed)
{
    for (size_t id = 1; id < body->num_nodes; id++) {
        const liana__node *node = body->nodes[id];
        if (needed[id] && !liana__is_input(node)) LIANA_TRY(liana__function_lower_node(l, node));
    }
    return LIANA_OK;
}

liana_status liana__hlo_body(liana__lowering *l, const liana_graph *body, const liana__hlo *inputs, liana__hlo *outputs)
{
    liana__hlo *values = liana__hlo_room(l, body->num_nodes), *around = l->values;
    bool *needed = liana__arena_allocate(&l->scratch, body->num_nodes * sizeof *needed);
    const liana_location where = l->where;
    if (!values || !needed) return liana__hlo_fail_memory(l);
    liana__graph_mark_needed(body, needed);
    for (size_t i = 0; i < body->num_inputs; i++) values[body->inputs[i]->id] = inputs[i];
    l->values = values;
    liana_status status = lower_nodes(l, body, needed);
    l->values = around;
    l->where = where;
    for (size_t i = 0; i < body->num_outputs; i++) outputs[i] = values[body->outputs[i].node->id];
    return status;
}

liana__hlo liana__hlo_flat(liana__lowering *l, const liana__hlo *values, size_t count, liana_dtype dtype)
{
    liana__hlo *lists = liana__hlo_room(l, count);
    if (!lists) {
        l->text.failed = true;
        return values[0];
    }
    for (size_t i = 0; i < count; i++) {
        liana__hlo value = liana__hlo_convert(l, values[i], dtype);
        lists[i] = liana__hlo_reshape(l, value, liana_shape_of(liana_shape_size(&value.shape)));
    }
    return count == 1 ? lists[0] : liana__hlo_concatenate(l, lists, count, 0);
}

/* ---- branches ---- */

void liana__hlo_if_begin(liana__lowering *l, liana__hlo predicate, liana__hlo *results, size_t count)
{
    liana__hlo_indent(l);
    for (size_t i = 0; i < count; i++) {
        results[i].id = l->next++;
        liana__text_add(&l->text, "%s%%%u", i ? ", " : "", results[i].id);
    }
    liana__text_add(&l->text, " = \"stablehlo.if\"(");
    liana__hlo_add_values(l, &predicate, 1);
    liana__text_add(&l->text, ") ({\n");
    l->depth++;
}

void liana__hlo_if_between(liana__lowering *l, const liana__hlo *values, size_t count)
{
    liana__hlo_end_block(l, values, count);
    liana__text_add(&l->text, ", {\n");
    l->depth++;
}

void liana__hlo_if_end(liana__lowering *l, liana__hlo predicate, const liana__hlo *values, const liana__hlo *results,
                       size_t count)
{
    liana__hlo_end_block(l, values, count);
    liana__text_add(&l->text, ") : ");
    liana__hlo_add_types(l, &predicate, 1);
    liana__text_add(&l->text, " -> ");
    liana__hlo_add_types(l, results, count);
    liana__hlo_end_line(l);
}
