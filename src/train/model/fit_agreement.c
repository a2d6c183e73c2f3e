/* Compares the fits and evaluations of the processes of a cluster. Paths, callbacks that are told something, and limits
 * of memory may differ. */
#include "train/model/fit_agreement.h"

#include "train/checkpoint/data_agreement.h"
#include "train/core/training_agreement.h"
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

static void add_objective(const liana__named_objective *objective, liana__facts *facts)
{
    liana__text text = {0};
    liana__describe_objective(objective, &text);
    if (text.failed) facts->message.failed = true;
    liana__facts_add(facts, "loss and metrics", text.data);
    liana__text_free(&text);
}

/* Which component of the data is which input or output; the first one without a component ends them. */
static void add_bindings(const char *kind, const liana_binding *bindings, liana__facts *facts)
{
    for (size_t i = 0; i < LIANA_MAX_OUTPUTS && bindings[i].component; i++) {
        const char *name = bindings[i].name ? bindings[i].name : "";
        const char *key = liana__arena_format(&facts->arena, "%s[%s]", kind, name);
        if (key) liana__facts_add(facts, key, bindings[i].component);
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
    add_objective(&(liana__named_objective){options->loss, options->losses, options->metrics, options->output_metrics},
                  facts);
    add_bindings("inputs", options->inputs, facts);
    add_bindings("targets", options->targets, facts);
}

static liana_status add_model(const liana_model *model, liana__facts *facts, liana__error *error)
{
    const liana__value *layers = liana__model_to_keras(model, &facts->arena);
    if (!layers || facts->arena.failed) return liana__fail_memory(error, "the model");
    liana__facts_add_tree(facts, "model", layers);
    return LIANA_OK;
}

/* What is compared before the options: the version, and which function was called. */
static void add_call(const char *call, liana__facts *facts)
{
    liana__facts_add(facts, "the version of liana", LIANA_VERSION);
    liana__facts_add(facts, "the function that was called", call);
}

static liana_status agree(liana_context *context, liana__facts *facts, const liana__data_parts *parts,
                          liana__cluster *cluster, const liana__notes *notes, liana__error *error)
{
    LIANA_TRY(liana__facts_agree(facts, cluster, error));
    LIANA_TRY(liana__agree_on_data(parts, cluster, error));
    return liana__agree_on_isa(context, cluster, notes, error);
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
    add_call("liana_fit", &facts);
    add_numbers(options, &facts);
    add_texts(options, &facts);
    liana_status status = liana__cluster_agree_status(cluster, add_model(model, &facts, error), error);
    if (status == LIANA_OK) status = agree(model->context, &facts, &parts, cluster, &notes, error);
    liana__facts_free(&facts);
    return status;
}

/* ---- evaluations and predictions ---- */

/* Without a loss or metrics, what counts is what the model was fitted with. */
static void add_asked(const liana__compile_request *request, liana__facts *facts)
{
    const liana__named_objective *named = &request->objective;
    const bool is_named = named->loss || (named->losses && named->losses[0].name) ||
                          (named->metrics && named->metrics[0]) ||
                          (named->output_metrics && named->output_metrics[0].name);
    add_objective(named, facts);
    if (!is_named && request->model->objective) {
        liana__facts_add_tree(facts, "what the model was fitted with", request->model->objective);
    }
}

static void add_measured(const liana__measured_call *own, liana__facts *facts)
{
    const liana__compile_request *request = own->request;
    const liana_evaluate_options *options = own->options;
    liana__facts_add_number(facts, "batch_size", (double)request->batch_size);
    liana__facts_add_number(facts, "steps", (double)own->steps);
    liana__facts_add(facts, "device", request->device);
    liana__facts_add(facts, "example_weight", options->example_weight);
    add_bindings("inputs", options->inputs, facts);
    add_bindings("targets", options->targets, facts);
    add_asked(request, facts);
    liana__facts_add_number(facts, "the model's precision", request->model->precision);
    liana__facts_add_number(facts, "the scale of images", own->data->scale);
    liana__facts_add_number(facts, "antialias", own->data->antialias);
    liana__facts_add_number(facts, "fast_decode", own->data->fast_decode);
}

liana_status liana__measured_agree(const liana__measured_call *own, liana__cluster *cluster, liana__error *error)
{
    if (!cluster) return LIANA_OK;
    liana_model *model = own->request->model;
    const liana__data_parts parts = {{own->data->measured.source}, {"the data"}, 1};
    liana__facts facts = {0};
    add_call(own->predicts ? "liana_predict" : "liana_evaluate", &facts);
    add_measured(own, &facts);
    liana_status status = liana__cluster_agree_status(cluster, add_model(model, &facts, error), error);
    if (status == LIANA_OK) status = agree(model->context, &facts, &parts, cluster, &own->request->notes, error);
    liana__facts_free(&facts);
    return status;
}
