/* Exports of an estimator: a graph with its variables, and the variables themselves. */
#include "base/scoped.h"
#include "ir/graph.h"
#include "program/device.h"
#include "program/variables_file.h"
#include "train/estimator/estimator.h"

#include <liana/program.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__outlet_close, liana__outlet)

static const char GRAPH_FILE[] = "graph.liana";

/* ---- variables of the newest checkpoint ---- */

static liana_status declare_tensor(const liana__safetensors_tensor *tensor, liana_variables *set)
{
    liana_shape shape = {.rank = tensor->rank};
    memcpy(shape.dims, tensor->shape, sizeof shape.dims);
    for (int dtype = 0; dtype < LIANA_NUM_DTYPES; dtype++) {
        size_t place;
        if (liana__file_dtype((liana_dtype)dtype) != tensor->dtype) continue;
        return liana__variables_declare(set, tensor->name, (liana_dtype)dtype, &shape, NULL, &place);
    }
    return LIANA_OK;
}

static liana_status read_variables(const char *checkpoint, liana__arena *arena, liana_variables *set,
                                   liana__error *error)
{
    const char *path = liana__path_join(arena, checkpoint, liana__checkpoint_variables);
    LIANA__SCOPED_BY(liana__safetensors_close) liana__safetensors file = {0};
    if (!path) return liana__fail_memory(error, "the variables");
    LIANA_TRY(liana__safetensors_open(path, &file, error));
    for (size_t i = 0; i < file.contents.num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &file.contents.tensors[i];
        if (!liana__starts_with(tensor->name, "callbacks/")) LIANA_TRY(declare_tensor(tensor, set));
    }
    LIANA_TRY(liana__checkpoint_load(checkpoint, &set->values, NULL, error));
    for (size_t i = 0; i < set->values.count; i++) set->states[i].initialized = true;
    return LIANA_OK;
}

static liana_status show_variables(liana_estimator *own, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *newest;
    liana_variables_destroy(own->variables);
    own->variables = NULL;
    liana_status status = liana__estimator_newest(own, &arena, &newest, error);
    if (status == LIANA_OK) status = liana_variables_create(own->device, &own->variables);
    if (status == LIANA_OK) status = read_variables(newest, &arena, own->variables, error);

    if (status == LIANA_OK) return status;
    liana_variables_destroy(own->variables);
    own->variables = NULL;
    return status;
}

const liana_variables *liana_estimator_variables(liana_estimator *estimator)
{
    if (!estimator || liana__context_begin(estimator->context) != LIANA_OK) return NULL;
    liana_status status = show_variables(estimator, &estimator->context->error);
    (void)liana__context_end(estimator->context, status);
    return estimator->variables;
}

/* ---- exporting ---- */

/* An export that is being made. */
typedef struct export_run {
    liana_estimator *estimator;
    liana__arena arena;
    liana__fn_input input;
    liana_graph *graph;
    liana_variables *variables;
} export_run;

static liana_status build_graph(export_run *own, int64_t batch_size, liana__error *error)
{
    liana_estimator *estimator = own->estimator;
    const liana__precision_choice precision =
        liana__precision_choose(estimator->device->device, liana__estimator_precision(estimator, &own->arena));
    LIANA_TRY(liana_graph_create(estimator->context, &own->graph));
    own->graph->mixed_precision = precision.precision == LIANA_MIXED_BFLOAT16 && !precision.evaluates_in_float32;
    liana__fn_call call = {.fn = &estimator->fn,
                           .kind = LIANA_MODE_PREDICT,
                           .data = &own->input.offered,
                           .graph = own->graph,
                           .size = batch_size,
                           .arena = &own->arena};
    LIANA_TRY(liana__fn_run(&call, error));
    for (size_t i = 0; i < call.built.num_predictions; i++) {
        liana_graph_output(own->graph, call.built.predictions[i].name, call.outputs[i]);
    }
    if (own->graph->status != LIANA_OK) return own->graph->status;
    size_t place;
    LIANA_TRY(liana_variables_create(estimator->device, &own->variables));
    for (size_t i = 0; i < call.built.num_variables; i++) {
        const liana__fn_variable *variable = &call.built.variables[i];
        LIANA_TRY(liana__variables_declare(own->variables, variable->name, LIANA_F32, &variable->shape, NULL, &place));
    }
    return LIANA_OK;
}

static liana_status load_weights(export_run *own, liana__error *error)
{
    const char *newest;
    LIANA_TRY(liana__estimator_newest(own->estimator, &own->arena, &newest, error));
    liana_status status = liana__checkpoint_load(newest, &own->variables->values, NULL, error);
    if (status == LIANA_INVALID_DATA) return liana__estimator_blame(own->estimator, error);
    for (size_t i = 0; i < own->variables->values.count; i++) own->variables->states[i].initialized = true;
    return status;
}

static liana_status write_files(export_run *own, const char *folder, liana__error *error)
{
    const char *graph = liana__path_join(&own->arena, folder, GRAPH_FILE),
               *weights = liana__path_join(&own->arena, folder, liana__checkpoint_variables);
    if (own->arena.failed) return liana__fail_memory(error, "an export");
    LIANA_TRY(liana__folder_make(folder, error));
    LIANA_TRY(liana_graph_save(own->graph, graph));
    return liana_variables_save(own->variables, weights);
}

/* The graph is sent last: a reader that finds it finds its variables too. */
static liana_status send_files(export_run *own, const char *url, liana__error *error)
{
    LIANA__SCOPED_BY(liana__outlet_close_scoped) liana__outlet *outlet = NULL;
    LIANA_TRY(
        liana__outlet_open(&(liana__outlet_options){.url = url, .last = GRAPH_FILE, .fresh = true}, &outlet, error));
    LIANA_TRY(write_files(own, liana__outlet_folder(outlet), error));
    return liana__outlet_flush(outlet, error);
}

static liana_status export_to(export_run *own, const char *folder, const liana_export_spec *spec, liana__error *error)
{
    if (spec->batch_size < 0 || spec->batch_size > INT32_MAX) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: batch_size is %lld, expected 0 to %d",
                           own->estimator->options.name, (long long)spec->batch_size, INT32_MAX);
    }
    LIANA_TRY(liana__fn_input_describe(&spec->input, own->estimator->options.labels, "export", &own->input, error));
    LIANA_TRY(liana__estimator_fetch(own->estimator, error));
    LIANA_TRY(build_graph(own, spec->batch_size ? spec->batch_size : 1, error));
    LIANA_TRY(load_weights(own, error));
    return (liana__path_is_remote(folder) ? send_files : write_files)(own, folder, error);
}

static liana_status export_model(liana_estimator *estimator, const char *folder, const liana_export_spec *spec)
{
    export_run own = {.estimator = estimator};
    liana_status status = export_to(&own, folder, spec, &estimator->context->error);
    liana_variables_destroy(own.variables);
    liana_graph_destroy(own.graph);
    liana__arena_free(&own.arena);
    return status;
}

liana_status liana_estimator_export(liana_estimator *estimator, const char *folder, const liana_export_spec *spec)
{
    LIANA__REQUIRE(NULL, estimator);
    LIANA__REQUIRE(&estimator->context->error, folder);
    LIANA__REQUIRE(&estimator->context->error, spec);
    LIANA__CONTEXT_CALL(estimator->context, export_model(estimator, folder, spec));
}
