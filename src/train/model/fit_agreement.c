/* Compares the fits and evaluations of the processes of a cluster. Paths, callbacks that are told something, and limits
 * of memory may differ. */
#include "train/model/model_fit.h"

#include "base/scoped.h"
#include "train/checkpoint/data_state.h"

/* Which component of the data is which input or output; the first one without a component ends them. */
static void add_bindings(const char *kind, const liana_binding *bindings, liana__facts *facts)
{
    for (size_t i = 0; i < LIANA_MAX_OUTPUTS && bindings[i].component; i++) {
        const char *name = bindings[i].name ? bindings[i].name : "";
        const char *key = liana__arena_format(&facts->arena, "%s[%s]", kind, name);
        if (key) liana__facts_add(facts, key, bindings[i].component);
    }
}

/* The options of the data and of the caller. */
static void add_fit(const liana_fit_options *options, liana__facts *facts)
{
    const bool resumes = options->resume || options->resume_from;
    liana__facts_add_number(facts, "validation_split", options->validation_split);
    liana__facts_add_number(facts, "keep_order", options->keep_order);
    liana__facts_add_number(facts, "skip_bad_records", options->skip_bad_records);
    liana__facts_add_number(facts, "max_bad_records", (double)options->max_bad_records);
    liana__facts_add_number(facts, "num_callbacks", (double)options->num_callbacks);
    liana__facts_add(facts, "augment", options->augment);
    liana__facts_add(facts, "example_weight", options->example_weight);
    liana__facts_add(facts, "checkpoints", options->checkpoints ? "some" : NULL);
    liana__facts_add(facts, "resume", resumes ? "true" : "false");
    add_bindings("inputs", options->inputs, facts);
    add_bindings("targets", options->targets, facts);
}

static liana_status add_model(const liana_model *model, liana__facts *facts, liana__error *error)
{
    const liana__value *layers = liana__model_to_keras(model, LIANA__KERAS3, &facts->arena);
    if (!layers || facts->arena.failed) return liana__fail_memory(error, "the model");
    liana__facts_add_tree(facts, "model", layers);
    return LIANA_OK;
}

/* Compared before the options: the version, and the called function. */
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

liana_status liana__fit_agree(const liana__job_options *job, const liana_fit_options *options,
                              const liana__model_data *data, liana__cluster *cluster, liana__error *error)
{
    const liana_model *model = data->model;
    if (!cluster) return LIANA_OK;
    const liana__notes notes = {options->on_note, options->user};
    const liana__data_parts parts = {{data->fitted.source, data->measured.source},
                                     {"the training data", "the validation data"},
                                     2};
    LIANA__SCOPED(liana__facts) facts = {0};
    add_call("liana_fit", &facts);
    liana__job_add_facts(job, LIANA__DOOR_FIT, &facts);
    add_fit(options, &facts);
    LIANA_TRY(liana__cluster_agree_status(cluster, add_model(model, &facts, error), error));
    return agree(model->context, &facts, &parts, cluster, &notes, error);
}

/* ---- evaluations and predictions ---- */

static void add_measured(const liana__measured_call *own, liana__facts *facts)
{
    const liana__compile_request *request = own->request;
    const liana_evaluate_options *options = own->options;
    const liana__named_objective *named = &request->job->objective;
    const bool is_named = named->loss || (named->losses && named->losses[0].name) ||
                          (named->metrics && named->metrics[0]) ||
                          (named->output_metrics && named->output_metrics[0].name);
    liana__job_add_facts(request->job, LIANA__DOOR_EVALUATE, facts);
    liana__facts_add(facts, "example_weight", options->example_weight);
    add_bindings("inputs", options->inputs, facts);
    add_bindings("targets", options->targets, facts);
    /* Without a loss or metrics, those that the model was fitted with count. */
    if (!is_named && request->model->objective) {
        liana__facts_add_tree(facts, "what the model was fitted with", request->model->objective);
    }
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
    LIANA__SCOPED(liana__facts) facts = {0};
    add_call(own->predicts ? "liana_predict" : "liana_evaluate", &facts);
    add_measured(own, &facts);
    LIANA_TRY(liana__cluster_agree_status(cluster, add_model(model, &facts, error), error));
    return agree(model->context, &facts, &parts, cluster, &own->request->notes, error);
}
