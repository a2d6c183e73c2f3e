/* Compares the fits of the processes of a cluster. Where things are, who is told what, and limits of memory may differ. */
#include "train/model/fit_agreement.h"

#include "train/checkpoint/data_agreement.h"
#include "train/core/program_agreement.h"
#include "train/model/named_objective.h"

#include <stdio.h>

static void add_numbers(const liana_fit_options *options, liana__facts *facts)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"validation_split", options->validation_split},
        {"epochs", (double)options->epochs},
        {"steps", (double)options->steps},
        {"initial_epoch", (double)options->initial_epoch},
        {"steps_per_epoch", (double)options->steps_per_epoch},
        {"batch_size", (double)options->batch_size},
        {"microbatch", (double)options->microbatch},
        {"steps_per_execution", (double)options->steps_per_execution},
        {"validation_freq", (double)options->validation_freq},
        {"validation_batch_size", (double)options->validation_batch_size},
        {"validation_steps", (double)options->validation_steps},
        {"deterministic", options->deterministic},
        {"precision", options->precision},
        {"keep_order", options->keep_order},
        {"checkpoint_steps", (double)options->checkpoint_steps},
        {"skip_bad_records", options->skip_bad_records},
        {"max_bad_records", (double)options->max_bad_records},
        {"on_bad_numbers", options->on_bad_numbers},
        {"max_bad_numbers", (double)options->max_bad_numbers},
        {"bad_numbers_factor", options->bad_numbers_factor},
        {"num_callbacks", (double)options->num_callbacks},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        liana__facts_add_number(facts, numbers[i].name, numbers[i].value);
    }
    liana__facts_add_seed(facts, options->seed);
    for (int64_t i = 0; options->class_weights && i < options->num_class_weights; i++) {
        char name[64];
        snprintf(name, sizeof name, "class_weights[%lld]", (long long)i);
        liana__facts_add_number(facts, name, options->class_weights[i]);
    }
}

static void add_texts(const liana_fit_options *options, liana__facts *facts)
{
    const struct {
        const char *name, *value;
    } texts[] = {
        {"device", options->device},
        {"optimizer", options->optimizer},
        {"stages", options->stages},
        {"augment", options->augment},
        {"example_weight", options->example_weight},
        {"named_callbacks", options->named_callbacks},
        {"control", options->control},
        {"best_checkpoint", options->best_checkpoint},
        {"checkpoints", options->checkpoints ? "some" : NULL},
        {"resume", options->resume || options->resume_from ? "true" : "false"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) liana__facts_add(facts, texts[i].name, texts[i].value);
    const liana__named_objective objective = {options->loss, options->losses, options->metrics,
                                              options->output_metrics};
    liana__text text = {0};
    liana__describe_objective(&objective, &text);
    if (text.failed) facts->message.failed = true;
    liana__facts_add(facts, "loss and metrics", text.data);
    liana__text_free(&text);
}

static liana_status add_all(const liana_model *model, const liana_fit_options *options, liana__facts *facts,
                            liana__error *error)
{
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    add_numbers(options, facts);
    add_texts(options, facts);
    const liana__value *layers = liana__model_to_keras(model, &facts->arena);
    if (!layers || facts->arena.failed) return liana__fail_memory(error, "the model");
    liana__facts_add_tree(facts, "model", layers);
    return LIANA_OK;
}

liana_status liana__fit_agree(const liana_model *model, const liana_fit_options *options, const liana__model_data *data,
                              liana__cluster *cluster, liana__error *error)
{
    if (!cluster) return LIANA_OK;
    const liana__notes notes = {options->on_note, options->user};
    const liana__data_parts parts = {{data->fitted.source, data->measured.source},
                                     {"the training data", "the validation data"},
                                     2};
    liana__facts facts = {0};
    liana_status status = add_all(model, options, &facts, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__facts_agree(&facts, cluster, error);
    liana__facts_free(&facts);
    if (status == LIANA_OK) status = liana__agree_on_data(&parts, cluster, error);
    return status == LIANA_OK ? liana__agree_on_isa(model->context, cluster, &notes, error) : status;
}
