/* Runs passes over a graph. */
#include "passes/pass.h"

#include "base/named.h"
#include "base/scoped.h"
#include "ir/body.h"

#include <stdio.h>
#include <stdlib.h>

const liana__pass *const liana__passes[] = {
#define LIANA__PASS(stem, name) &liana__pass_##name,
#include "passes/passes.def"
#undef LIANA__PASS
    NULL,
};

enum { NUM_PASSES = sizeof liana__passes / sizeof *liana__passes - 1 };

static void count_uses(const liana_graph *graph, uint32_t *num_uses)
{
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; i < node->num_inputs; i++) num_uses[node->inputs[i]->id]++;
    }
    for (size_t i = 0; i < liana__graph_num_results(graph); i++) num_uses[liana__graph_result(graph, i)->id]++;
}

liana_tensor liana__pass_fail_memory(liana_graph *graph, const liana__node *node)
{
    return liana__graph_fail(graph, node->where, LIANA_OUT_OF_MEMORY, "out of memory for a pass");
}

/* A result keeps its dtype, whatever became of the node. */
static liana_tensor as_before(const liana__rewriter *rewriter, const liana__node *node)
{
    return liana_op_cast_at(node->where, rewriter->map[node->id], node->dtype);
}

static liana_tensor rewrite_node(const liana__rewriter *rewriter, const liana__pass *pass, const liana__node *node)
{
    liana_tensor made = liana__is_leaf(node) ? (liana_tensor){0} : pass->rewrite(rewriter, node);
    return made.id ? made : liana__copy_node(rewriter->graph, node, rewriter->map);
}

/* A node whose bodies the pass has rewritten as well. */
static liana_tensor rewrite_bodies(const liana__rewriter *rewriter, const liana__pass *pass, const liana__node *node)
{
    liana_graph *graph = rewriter->graph;
    const size_t num_bodies = node->op->num_bodies;
    liana__error *error = &graph->context->error;
    LIANA__SCOPED_MEMORY void *attributes = malloc(node->op->attributes->size);
    if (!attributes) return liana__pass_fail_memory(graph, node);
    memcpy(attributes, node->attributes, node->op->attributes->size);
    liana__bodies *bodies = attributes, made = {0};
    for (size_t i = 0; i < num_bodies && graph->status == LIANA_OK; i++) {
        graph->status = liana__pass_run(pass, bodies->items[i], &made.items[i], error);
        bodies->items[i] = made.items[i];
    }
    liana__node copy = *node;
    copy.attributes = attributes;
    liana_tensor result = {graph, 0};
    if (graph->status == LIANA_OK) result = rewrite_node(rewriter, pass, &copy);
    for (size_t i = 0; i < num_bodies; i++) liana_graph_destroy(made.items[i]);
    return result;
}

static void rebuild(liana__rewriter *rewriter, const liana__pass *pass)
{
    const liana_graph *old = rewriter->old;
    liana_graph *graph = rewriter->graph;
    for (size_t id = 1; id < old->num_nodes && graph->status == LIANA_OK; id++) {
        const liana__node *node = old->nodes[id];
        if (id == old->first_gradient) graph->first_gradient = graph->num_nodes;
        rewriter->map[id] =
            node->op->num_bodies ? rewrite_bodies(rewriter, pass, node) : rewrite_node(rewriter, pass, node);
        if (node->keep_wide) liana__keep_wide(rewriter->map[id]);
        if (node->name) liana__graph_copy_name(graph, rewriter->map[id], node->name);
    }
    for (size_t i = 0; i < old->num_outputs && graph->status == LIANA_OK; i++) {
        const liana__output *output = &old->outputs[i];
        liana_graph_output_at(output->node->where, graph, output->name, as_before(rewriter, output->node));
    }
    for (size_t i = 0; i < old->num_assignments && graph->status == LIANA_OK; i++) {
        const liana__assignment *assignment = &old->assignments[i];
        liana_graph_assign_at(assignment->value->where, rewriter->map[assignment->variable->id],
                              as_before(rewriter, assignment->value));
    }
}

static void liana__rewriter_free(liana__rewriter *rewriter)
{
    liana__arena_free(&rewriter->arena);
    liana_graph_destroy(rewriter->graph);
}

liana_status liana__pass_run(const liana__pass *pass, const liana_graph *graph, liana_graph **result,
                             liana__error *error)
{
    *result = NULL;
    LIANA__SCOPED(liana__rewriter) rewriter = {.old = graph};
    uint32_t *num_uses = liana__arena_allocate(&rewriter.arena, graph->num_nodes * sizeof *num_uses);
    rewriter.num_uses = num_uses;
    rewriter.map = liana__arena_allocate(&rewriter.arena, graph->num_nodes * sizeof *rewriter.map);
    if (rewriter.arena.failed) return liana__fail_memory(error, "a pass");
    LIANA_TRY(liana_graph_create(graph->context, &rewriter.graph));
    count_uses(graph, num_uses);
    if (pass->analyse) LIANA_TRY(pass->analyse(&rewriter, error));
    rewriter.graph->mixed_precision = graph->mixed_precision && !pass->asked_for;
    rebuild(&rewriter, pass);
    if (rewriter.graph->status != LIANA_OK) {
        if (error != &graph->context->error) *error = graph->context->error;
        liana__fail_within(error, "pass %s", pass->name);
        return rewriter.graph->status;
    }
    liana__log(graph->context, LIANA__LOG_GRAPH, "pass %s: %zu nodes, then %zu", pass->name, graph->num_nodes - 1,
               rewriter.graph->num_nodes - 1);
    *result = rewriter.graph;
    rewriter.graph = NULL;
    return LIANA_OK;
}

/* Whether a comma-separated list of words has this one. */
static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || !list[length])) return true;
    }
    return false;
}

static liana_status check_names(const char *list, liana__error *error)
{
    const liana__named passes = LIANA__NAMED_POINTERS(liana__pass, liana__passes, NUM_PASSES);
    for (; list && *list; list += strcspn(list, ","), list += *list == ',') {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(list, ","), list);
        const char *nearest;
        if (liana__named_find(passes, word, &nearest) < passes.count) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "LIANA_SKIP_PASSES names '%s', which is not a pass; 'liana list passes' shows them%s", word,
                           liana__hint(nearest).text);
    }
    return LIANA_OK;
}

bool liana__pass_is_on(const liana_context *context, const liana__pass *pass)
{
    return !is_listed(context->skipped_passes, pass->name);
}

static liana_status run_passes(const liana_graph *graph, bool optimize, liana_graph **result, liana__error *error)
{
    *result = NULL;
    const char *skipped = graph->context->skipped_passes;
    LIANA_TRY(check_names(skipped, error));
    const liana_graph *current = graph;
    for (int i = 0; i < NUM_PASSES; i++) {
        const liana__pass *pass = liana__passes[i];
        bool runs = pass->asked_for ? pass->asked_for(graph) : optimize;
        if (!pass->rewrite || !runs || !liana__pass_is_on(graph->context, pass)) continue;
        liana_graph *next;
        liana_status status = liana__pass_run(pass, current, &next, error);
        if (*result) liana_graph_destroy(*result);
        *result = NULL;
        LIANA_TRY(status);
        current = *result = next;
    }
    return LIANA_OK;
}

liana_status liana__passes_run(const liana_graph *graph, liana_graph **result, liana__error *error)
{
    return run_passes(graph, true, result, error);
}

liana_status liana__passes_run_asked_for(const liana_graph *graph, liana_graph **result, liana__error *error)
{
    return run_passes(graph, false, result, error);
}
