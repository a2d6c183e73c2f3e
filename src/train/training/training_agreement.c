/* Compares the compiled trainings of the processes. */
#include "train/training/training.h"

#include "base/scoped.h"

/* The shard that they compute with. */
static liana_status build_shard(liana__training *training, liana_graph **graph, liana__error *error)
{
    const int64_t size = liana__trainer_microbatch(training->trainer);
    const liana__step_kind kind = training->compiled.optimizer ? LIANA__STEP_TRAINING : LIANA__STEP_EVALUATION;
    return liana__step_build_shard(training->trainer->step, kind, size, false, graph, error);
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
    liana_status status = build_shard(training, &graph, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__agree_on_ops(&own, graph, facts, error);
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
    LIANA__SCOPED(liana__facts) facts = {0};
    add_training(training, &facts);
    const liana_status status = agree_on_training(training, &facts, error);

    training->has_agreed = status == LIANA_OK;
    return status;
}

liana_status liana__agree_on_arithmetic(liana__training *training, bool exact, const liana__notes *notes,
                                        liana__error *error)
{
    liana__cluster *cluster = training->cluster;
    char difference[LIANA__DIFFERENCE_SIZE];
    liana_graph *graph = NULL;
    if (!cluster) return LIANA_OK;
    LIANA_TRY(liana__cluster_agree_status(cluster, build_shard(training, &graph, error), error));
    LIANA_TRY(liana__compare_sums(training->device, &training->variables, cluster, graph, difference, error));
    if (!*difference) return LIANA_OK;
    if (!exact) {
        liana__note(notes, "%s: results depend on who computes what, and will not be reproducible", difference);
        liana__training_state_doubt(&training->state, difference);
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "%s; %s, or accept results that cannot be reproduced with "
                       "cluster.exact: false",
                       difference, liana__same_processors);
}
