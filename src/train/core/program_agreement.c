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

/* `facts`, the graph, and its ops. */
static liana_status agree_on_ops(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                                 liana__error *error)
{
    liana__facts ops = {0};
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    liana__facts_add_graph(facts, own->name, graph);
    liana__facts_add_ops(&ops, own->name, graph);
    liana_status status = liana__facts_agree(facts, own->cluster, error);
    if (status == LIANA_OK) status = liana__facts_agree_shortly(&ops, own->cluster, error);
    liana__facts_free(&ops);
    return status;
}

static liana_status agree_on_values(const liana__graph_agreement *own, const liana_graph *graph, liana__error *error)
{
    liana__facts facts = {0};
    liana_status status = add_values(own, graph, &facts, error);
    status = liana__cluster_agree_status(own->cluster, status, error);
    if (status == LIANA_OK) status = liana__facts_agree(&facts, own->cluster, error);
    liana__facts_free(&facts);
    return status;
}

liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error)
{
    liana_status status = agree_on_ops(own, graph, facts, error);
    if (status == LIANA_OK) status = agree_on_values(own, graph, error);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    return liana__agree_on_sums(own->device, own->variables, own->cluster, graph, error);
}

/* Its options and those of the learning rate. */
static void add_optimizer(const liana__training *training, liana__facts *facts)
{
    const liana_optimizer_type *optimizer = training->compiled.optimizer;
    const liana_schedule_type *schedule = optimizer ? training->learning_rate.schedule : NULL;
    liana__arena *arena = &facts->arena;
    liana__facts_add(facts, "optimizer", optimizer ? optimizer->part.name : NULL);
    liana__facts_add(facts, "schedule", schedule ? schedule->part.name : NULL);
    const void *options = training->compiled.optimizer_options, *rate_options = training->learning_rate.options;
    const liana__value *own = NULL, *rate = NULL;
    if (optimizer && options) own = liana__fields_write(&optimizer->part.options, arena, options);
    if (schedule && rate_options) rate = liana__fields_write(&schedule->part.options, arena, rate_options);
    if (own) liana__facts_add_tree(facts, "optimizer", own);
    if (rate) liana__facts_add_tree(facts, "learning_rate", rate);
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
    add_optimizer(training, facts);
}

/* Variables are shared when all have the same of them; their values need no comparing then. */
static liana_status agree_on_training(liana__training *training, liana__facts *facts, liana__error *error)
{
    liana_graph *graph = NULL;
    liana__cluster *cluster = training->cluster;
    const liana__graph_agreement own = {training->device, &training->variables, cluster, "a shard"};
    liana_status status = liana__agreement_graph(training, &graph, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = agree_on_ops(&own, graph, facts, error);
    if (status == LIANA_OK) status = liana__training_share_variables(training, error);
    if (status == LIANA_OK) return liana__agree_on_sums(training->device, &training->variables, cluster, graph, error);
    if (graph) liana_graph_destroy(graph);
    return status;
}

liana_status liana__agree_on_training(liana__training *training, liana__error *error)
{
    liana__cluster *cluster = training->cluster;
    bool is_new = !training->has_agreed;
    if (!cluster) return LIANA_OK;
    LIANA_TRY(liana__cluster_agree(cluster, &is_new, error));
    if (!is_new) return LIANA_OK;
    liana__facts facts = {0};
    add_training(training, &facts);
    const liana_status status = agree_on_training(training, &facts, error);
    liana__facts_free(&facts);
    training->has_agreed = status == LIANA_OK;
    return status;
}
