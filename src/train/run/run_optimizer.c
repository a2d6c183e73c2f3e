/* The optimizer, schedule, loss and metrics that a configuration names. */
#include "train/model/model_objective.h"
#include "train/run/run_internal.h"

liana_status liana__run_find_optimizer(liana__run *run, liana__optimizer_choice *choice, liana__error *error)
{
    LIANA_TRY(
        liana__optimizer_read(run->context, run->config->job.optimizer, "train.optimizer", &run->arena, choice, error));
    LIANA_TRY(liana__job_begin_stages(&run->job, run->model, error));
    if (run->job.stages.count) *choice = run->job.stages.items[0].optimizer;
    return LIANA_OK;
}

liana_status liana__run_find_strategy(liana__run *run, bool training, liana__strategy_choice *choice,
                                      liana__error *error)
{
    const liana__cluster *cluster = liana__cluster_of(run->context);
    LIANA_TRY(liana__strategy_read(run->config->job.strategy, "train.strategy", &run->arena, choice, error));
    /* Who trained the run does not say who measures it. */
    if (!training && (cluster || choice->strategy->needs_cluster)) {
        *choice = (liana__strategy_choice){&liana__strategy_one_device, NULL};
    }
    /* Several processes that were told nothing else work together. */
    if (cluster && choice->strategy == &liana__strategy_one_device) {
        choice->strategy =
            cluster->place.num_servers ? &liana__strategy_parameter_server : &liana__strategy_multi_worker;
    }
    return LIANA_OK;
}

/* Whether the configuration names a loss, and does not leave it at its default. */
static bool names_loss(const liana__run *run)
{
    const liana__value *root = run->config->root;
    const liana__value *train = root && root->kind == LIANA__VALUE_MAP ? liana__value_get(root, "train") : NULL;
    return train && train->kind == LIANA__VALUE_MAP && liana__value_get(train, "loss");
}

/* What is measured may be known from the model's file, and what is only predicted needs no loss for each output. */
static void find_untrained(const liana__run *run, bool measures, liana__objective_request *request)
{
    if (!names_loss(run)) request->loss = NULL;
    liana__model_recall_objective(run->model, request);
    request->predicts = !measures && !request->loss && liana__model_num_outputs(run->model) > 1;
}

liana_status liana__run_find_objective(liana__run *run, const liana__run_options *options,
                                       const liana__objective **objective, liana__error *error)
{
    const liana__job_options *train = &run->config->job;
    const liana__run_data *data = run->training.source ? &run->training : &run->validation;
    const liana_component *targets[LIANA__MAX_OUTPUTS] = {0};
    for (size_t i = 0; data->source && i < LIANA__MAX_OUTPUTS; i++) {
        if (data->match.targets[i].name) targets[i] = &data->match.targets[i];
    }
    liana__objective_request request = {.targets = targets,
                                        .model = run->model,
                                        .loss = train->loss,
                                        .loss_weights = train->loss_weights,
                                        .metrics = train->metrics,
                                        .where = "train",
                                        .by_class = options->by_class,
                                        .threshold = train->threshold};
    if (!options->training) find_untrained(run, options->validation, &request);
    liana__objective *made = liana__arena_allocate(&run->arena, sizeof *made);
    if (!made) return liana__fail_memory(error, "the loss");
    *objective = made;
    return liana__objective_create(&request, options->training, &run->arena, made, error);
}

liana_status liana__run_list_values(liana__run *run, const liana__objective **objective, liana__error *error)
{
    LIANA_TRY(liana__run_find_match(run, error));
    const liana__run_options wanted = {.training = true};
    return liana__run_find_objective(run, &wanted, objective, error);
}
