/* The optimizer, schedule, loss and metrics that a configuration names. */
#include "train/model/model_objective.h"
#include "distribute/strategies/strategies.h"
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

/* Where nothing is trained, a loss that the configuration leaves at its default is none. */
liana_status liana__run_find_objective(liana__run *run, const liana__run_options *options,
                                       const liana__objective **objective, liana__error *error)
{
    liana__job_options job = run->config->job;
    const liana__run_data *data = run->training.source ? &run->training : &run->validation;
    const liana__data_match *match = data->source ? &data->match : NULL;
    liana__objective_request request = {.model = run->model,
                                        .by_class = options->by_class,
                                        .predicts = !options->training && !options->validation};
    if (!options->training && !liana__config_gives(run->config, "train.loss")) job.loss = NULL;
    return liana__model_find_objective(&job, match, options->training, &run->arena, &request, objective, error);
}

liana_status liana__run_list_values(liana__run *run, const liana__objective **objective, liana__error *error)
{
    LIANA_TRY(liana__run_find_match(run, error));
    const liana__run_options wanted = {.training = true};
    return liana__run_find_objective(run, &wanted, objective, error);
}
