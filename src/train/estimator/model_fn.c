/* Calls of a model function: features and labels by name, the models that it calls, and the spec that it returns. */
#include "train/estimator/model_fn.h"

#include "base/scoped.h"
#include "ir/device_scope.h"
#include "ir/given.h"
#include "models/preprocessing.h"
#include "train/estimator/model_fn_internal.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

/* ---- features and labels ---- */

/* The state of liana_features. */
typedef struct side {
    liana__fn_call *call;
    bool labels;
} side;

static const char *kind_name(liana_mode_kind kind)
{
    return kind == LIANA_MODE_TRAIN ? "training" : kind == LIANA_MODE_EVALUATE ? "evaluating" : "predicting";
}

/* The names that this side has. */
static void list_names(const side *own, liana__text *text)
{
    const liana__fn_data *data = own->call->data;
    for (size_t i = 0; i < data->count; i++) {
        if (data->items[i].is_label != own->labels) continue;
        liana__text_add(text, "%s'%s'", text->length ? ", " : "", data->items[i].data.name);
    }
    if (!text->length) liana__text_add(text, "none");
}

static liana_tensor fail_unknown(const side *own, liana_location here, const char *name)
{
    const liana__fn_call *call = own->call;
    const char *what = own->labels ? "label" : "feature", *hint = "";
    liana__text known = {0};
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < call->data->count; i++) {
        const liana__fn_component *one = &call->data->items[i];
        if (one->is_label == own->labels) {
            liana__nearest_add(&search, one->data.name);
        } else if (strcmp(one->data.name, name) == 0) {
            hint = own->labels ? "; it is a feature: name the labels in the estimator's options"
                               : "; it is a label: ask the labels for it";
        }
    }
    list_names(own, &known);
    liana__graph_fail(call->graph, here, LIANA_NOT_FOUND, "%s: there is no %s '%.100s' when %s; there are: %s%s%s",
                      call->fn->name, what, name, kind_name(call->kind), known.data ? known.data : "?", hint,
                      *hint ? "" : liana__hint(search.nearest).text);
    liana__text_free(&known);
    return (liana_tensor){call->graph, 0};
}

/* The input for a component; made at its first use. */
static liana_tensor input_of(liana__fn_call *call, liana_location here, size_t index)
{
    const liana__fn_component *component = &call->data->items[index];
    liana_shape shape = component->shape;
    if (component->refusal) {
        return liana__graph_fail(call->graph, here, LIANA_INVALID_ARGUMENT, "%s: the component '%s' %s", call->fn->name,
                                 component->data.name, component->refusal);
    }
    call->built.used[index] = true;
    if (call->inputs[index].id) return call->inputs[index];
    if (call->given) {
        return liana__graph_fail(call->graph, here, LIANA_INVALID_ARGUMENT,
                                 "%s: the model function asks for '%s' only in some of its calls; it must build the "
                                 "same each time",
                                 call->fn->name, component->data.name);
    }
    shape.dims[0] = call->size;
    liana_tensor input = liana_graph_input_at(here, call->graph, component->data.name, component->dtype, shape);
    call->inputs[index] = component->is_image ? liana__preprocess(input, call->data->scale) : input;
    return call->inputs[index];
}

liana_tensor liana_feature_at(liana_location here, const liana_features *features, const char *name)
{
    liana_graph *graph = features ? features->graph : NULL;
    if (!graph || !LIANA__GRAPH_REQUIRE(graph, here, name)) return (liana_tensor){graph, 0};
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const side *own = features->state;
    liana__fn_call *call = own->call;
    if (own->labels && call->kind == LIANA_MODE_PREDICT) {
        return liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                                 "%s: there is no label '%.100s' when predicting (LIANA_MODE_PREDICT); return the "
                                 "predictions before",
                                 call->fn->name, name);
    }
    for (size_t i = 0; i < call->data->count; i++) {
        const liana__fn_component *one = &call->data->items[i];
        if (one->is_label == own->labels && strcmp(one->data.name, name) == 0) return input_of(call, here, i);
    }
    return fail_unknown(own, here, name);
}

/* ---- called models ---- */

enum { MOST_MODELS = 32 };

typedef struct recorder {
    liana_call_record record; /* first: the functions get its address */
    liana__fn_call *call;
    const liana_model *models[MOST_MODELS];
    size_t num_models;
    size_t update_capacity;
} recorder;

/* Two models must not mean one variable without knowing. */
static void check_names(recorder *own, const liana_model *model)
{
    for (size_t k = 0; k < own->num_models; k++) {
        for (size_t i = 0; i < model->num_weights; i++) {
            if (liana__model_find_weight(own->models[k], model->weights[i].name) < 0) continue;
            liana__fn_fail(own->call, (liana_tensor){0},
                           "the models '%s' and '%s' both have a weight '%s', which would be one variable; give their "
                           "layers names of their own",
                           liana__model_name(own->models[k]), liana__model_name(model), model->weights[i].name);
            return;
        }
    }
}

static bool is_known(const recorder *own, const liana_model *model)
{
    for (size_t i = 0; i < own->num_models; i++) {
        if (own->models[i] == model) return true;
    }
    return false;
}

/* A variable that already has an update: the model was called twice, and trained both times. */
static bool is_updated_twice(const liana__fn_call *call, const liana_variable_update *update)
{
    for (size_t i = 0; i < call->num_updates; i++) {
        if (call->updates[i].variable.id == update->variable.id) return true;
    }
    return false;
}

static void add_updates(recorder *own, const liana_model *model, const liana_call_effects *effects)
{
    liana__fn_call *call = own->call;
    const size_t count = call->num_updates + effects->num_updates;
    liana_variable_update *updates = liana__arena_allocate(&call->graph->arena, (count + 1) * sizeof *updates);
    if (!updates) {
        liana__graph_fail(call->graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for a model function");
        return;
    }
    if (call->num_updates) memcpy(updates, call->updates, call->num_updates * sizeof *updates);
    for (size_t i = 0; i < effects->num_updates; i++) {
        if (is_updated_twice(call, &effects->updates[i])) {
            liana__fn_fail(
                call, effects->updates[i].variable,
                "the model '%s' is called twice in training, and its moving average '%s' cannot follow both; "
                "call it once, or freeze its batch normalisations",
                liana__model_name(model), liana_tensor_name(effects->updates[i].variable));
            return;
        }
        updates[call->num_updates + i] = effects->updates[i];
    }
    call->updates = updates;
    call->num_updates = count;
}

/* The penalties of results, and that there is a place for penalties of weights. */
static void add_penalties(liana__fn_call *call, const liana_model *model, liana_tensor penalties)
{
    call->built.is_regularized |= liana__model_is_regularized(model);
    if (!penalties.id) return;
    call->penalties = call->penalties.id ? liana_op_add(call->penalties, penalties) : penalties;
}

static void on_call(liana_call_record *record, const liana_model *model, const liana_call_effects *effects,
                    liana_tensor penalties)
{
    recorder *own = (recorder *)record;
    const liana__layer *stateful = liana__model_stateful_layer(model);
    if (own->call->graph->status != LIANA_OK) return;
    if (stateful) {
        liana__fn_fail(own->call, (liana_tensor){0},
                       "layer '%s' (%s): stateful: an estimator keeps no states from batch to batch; train the model "
                       "with liana_fit, or leave stateful out",
                       stateful->name, stateful->type->part.name);
        return;
    }
    if (!is_known(own, model)) {
        check_names(own, model);
        if (own->num_models == MOST_MODELS) {
            liana__fn_fail(own->call, (liana_tensor){0}, "it calls more than %d models", MOST_MODELS);
            return;
        }
        own->models[own->num_models++] = model;
    }
    add_updates(own, model, effects);
    add_penalties(own->call, model, penalties);
}

/* ---- the call ---- */

static liana_status call_function(liana__fn_call *call, recorder *models)
{
    side own_features = {call, false}, own_labels = {call, true};
    const liana_features features = {call->graph, call->size, &own_features};
    const liana_features labels = {call->graph, call->size, &own_labels};
    const liana_estimator_mode mode = {.kind = call->kind,
                                       .call = {.training = call->kind == LIANA_MODE_TRAIN,
                                                .positions = call->positions,
                                                .present = call->present,
                                                .seed = call->fn->seed,
                                                .record = &models->record}};
    call->spec = call->fn->function(&features, &labels, &mode, call->fn->params);
    return call->graph->status;
}

static liana_status finish(liana__fn_call *call, const recorder *models)
{
    LIANA_TRY(liana__fn_build_sums(call));
    LIANA_TRY(liana__fn_build_rows(call));
    return liana__fn_find_variables(call, models->models, models->num_models);
}

liana_status liana__fn_run(liana__fn_call *call, liana__error *error)
{
    recorder models = {.record = {on_call}, .call = call};
    liana_context *context = call->graph->context;
    call->built = (liana__fn_built){.kind = call->kind};
    liana__scopes_forbid(call->graph, LIANA__SCOPES_OF_STRATEGY);
    liana_status status = call_function(call, &models);
    if (status == LIANA_OK) status = finish(call, &models);
    if (status != LIANA_OK && error && error != &context->error) *error = context->error;
    return status;
}

liana_status liana__fn_trace(liana_context *context, const liana__fn *fn, liana_mode_kind kind,
                             const liana__fn_data *data, liana__arena *arena, liana__fn_built *built,
                             liana__error *error)
{
    enum { SIZE = 2 };
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *graph = NULL;
    LIANA_TRY(liana_graph_create(context, &graph));
    liana__fn_call call = {.fn = fn, .kind = kind, .data = data, .graph = graph, .size = SIZE, .arena = arena};
    call.positions = liana_graph_input(graph, "positions of examples", LIANA_U64, liana_shape_of(SIZE));
    const liana_status status = liana__fn_run(&call, error);
    *built = call.built;

    return status;
}
