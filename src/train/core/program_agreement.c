/* Compares what the processes of a C program have compiled. */
#include "train/core/program_agreement.h"

#include "base/crc32c.h"
#include "distribute/cluster/held.h"

#include <stdlib.h>

void liana__facts_add_number(liana__facts *facts, const char *key, double value)
{
    const char *text = liana__arena_format(&facts->arena, "%.17g", value);
    if (text) liana__facts_add(facts, key, text);
}

void liana__facts_add_seed(liana__facts *facts, uint64_t seed)
{
    const char *text = liana__arena_format(&facts->arena, "%llu", (unsigned long long)seed);
    if (text) liana__facts_add(facts, "seed", text);
}

static void add_shape(liana__text *text, const liana__node *node)
{
    liana__text_add(text, "%s[", liana_dtype_name(node->dtype));
    for (int i = 0; i < node->shape.rank; i++) {
        liana__text_add(text, "%s%lld", i ? ", " : "", (long long)node->shape.dims[i]);
    }
    liana__text_add(text, "]");
}

static void add_named(liana__facts *facts, const char *key, const char *kind, const liana__node *node)
{
    liana__text text = {0};
    const char *whole = liana__arena_format(&facts->arena, "%s '%s' of %s", kind, node->name, key);
    add_shape(&text, node);
    if (text.failed) facts->message.failed = true;
    if (whole) liana__facts_add(facts, whole, text.data);
    liana__text_free(&text);
}

/* Which ops, of which shapes, in which order. */
static uint32_t digest_of(const liana_graph *graph, bool *failed)
{
    liana__text text = {0};
    for (size_t i = 1; i < graph->num_nodes; i++) {
        const liana__node *node = graph->nodes[i];
        liana__text_add(&text, "%s ", node->op->name);
        add_shape(&text, node);
        for (uint32_t k = 0; k < node->num_inputs; k++) liana__text_add(&text, " %u", node->inputs[k]->id);
        liana__text_add(&text, "\n");
    }
    const uint32_t digest = text.failed ? 0 : liana__crc32c_extend(0, text.data, text.length);
    *failed = *failed || text.failed;
    liana__text_free(&text);
    return digest;
}

void liana__facts_add_graph(liana__facts *facts, const char *key, const liana_graph *graph)
{
    for (size_t i = 0; i < graph->num_inputs; i++) add_named(facts, key, "the input", graph->inputs[i]);
    for (size_t i = 0; i < graph->num_variables; i++) add_named(facts, key, "the variable", graph->variables[i]);
    const char *ops = liana__arena_format(&facts->arena, "the graph of %s", key);
    const char *text = liana__arena_format(&facts->arena, "%zu ops (%08x)", graph->num_nodes - 1,
                                           digest_of(graph, &facts->message.failed));
    if (ops && text) liana__facts_add(facts, ops, text);
}

/* ---- comparing ---- */

static liana_status add_value(liana__facts *facts, const liana__variable *variable, liana__error *error)
{
    const size_t size = variable->buffer->size;
    void *values = malloc(size + 1);
    if (!values) return liana__fail_memory(error, variable->name);
    liana_status status = liana__variable_read(variable, values, error);
    const uint32_t digest = status == LIANA_OK ? liana__crc32c_extend(0, values, size) : 0;
    const char *key = liana__arena_format(&facts->arena, "the values of the variable '%s'", variable->name);
    const char *text = liana__arena_format(&facts->arena, "%08x", digest);
    if (key && text) liana__facts_add(facts, key, text);
    free(values);
    return status;
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

static liana_status agree_on_facts(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                                   liana__error *error)
{
    liana__facts none = {0}, *all = facts ? facts : &none;
    liana__facts_add(all, "the version of liana", LIANA_VERSION);
    liana__facts_add_graph(all, own->name, graph);
    liana_status status = add_values(own, graph, all, error);
    status = liana__cluster_agree_status(own->cluster, status, error);
    if (status == LIANA_OK) status = liana__facts_agree(all, own->cluster, error);
    liana__facts_free(&none);
    return status;
}

liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error)
{
    const liana_status status = agree_on_facts(own, graph, facts, error);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    return liana__agree_on_sums(own->device, own->variables, own->cluster, graph, error);
}

static void add_training(const liana__training *training, liana__facts *facts)
{
    const liana__trainer_options *options = &training->compiled;
    liana__facts_add_number(facts, "batch_size", (double)options->batch_size);
    liana__facts_add_number(facts, "the batch size of evaluations", (double)options->evaluation_batch_size);
    liana__facts_add_number(facts, "microbatch", (double)liana__trainer_microbatch(training->trainer));
    liana__facts_add_number(facts, "steps_per_execution", (double)options->steps_per_execution);
    liana__facts_add_seed(facts, training->seed);
    liana__facts_add(facts, "precision", liana__precision_names[training->precision]);
    liana__facts_add(facts, "deterministic", options->deterministic ? "true" : "false");
    liana__facts_add(facts, "optimizer", options->optimizer ? options->optimizer->name : NULL);
}

liana_status liana__agree_on_training(liana__training *training, liana__error *error)
{
    liana__cluster *cluster = training->cluster;
    bool is_new = !training->has_agreed;
    if (!cluster) return LIANA_OK;
    LIANA_TRY(liana__cluster_agree(cluster, &is_new, error));
    if (!is_new) return LIANA_OK;
    liana_graph *graph = NULL;
    liana__facts facts = {0};
    const liana__graph_agreement own = {training->device, &training->variables, cluster, "a shard"};
    add_training(training, &facts);
    liana_status status = liana__agreement_graph(training, &graph, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__training_share_variables(training, error);
    if (status == LIANA_OK) {
        status = liana__agree_on_graph(&own, graph, &facts, error);
    } else if (graph) {
        liana_graph_destroy(graph);
    }
    liana__facts_free(&facts);
    training->has_agreed = status == LIANA_OK;
    return status;
}
