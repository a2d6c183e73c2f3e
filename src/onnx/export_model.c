/* A model as an ONNX file: what can be written, the graph of its inference, its inputs, outputs and metadata. */
#include "onnx/export_model.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "models/preprocessing.h"
#include "onnx/export.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_graph_destroy, liana_graph)

enum {
    OPSET = 17,
    IR_VERSION = 8,
    /* Any two batches that no other size of a model follows. */
    FIRST_BATCH = 5,
    SECOND_BATCH = 7,
};

const char *const liana__onnx_pixels_names[] = {"scaled", "float32", "uint8", NULL};

bool liana__onnx_is_named(const char *path)
{
    return liana__ends_with(path, ".onnx");
}

/* ---- what can be written ---- */

static liana_status check_options(const liana_model *model, const liana_onnx_options *options, liana__error *error)
{
    const int64_t batch = liana__model_batch_size(model);
    if (options->batch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the batch is %lld, expected at least 1, or 0 for any number of examples",
                           (long long)options->batch);
    }
    if ((unsigned)options->pixels > LIANA_ONNX_UINT8) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "pixels is %d, expected one of liana_onnx_pixels",
                           (int)options->pixels);
    }
    if (batch && options->batch && batch != options->batch) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the batch is %lld, and the model's inputs have a batch_size of %lld: leave the batch out",
                           (long long)options->batch, (long long)batch);
    }
    if (options->pixels != LIANA_ONNX_SCALED && liana__image_input(model) == liana__model_num_inputs(model)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model has no input of images [batch, height, width, channels]: only '%s' pixels are "
                           "possible",
                           liana__onnx_pixels_names[LIANA_ONNX_SCALED]);
    }
    return LIANA_OK;
}

static liana_status check_inputs(const liana_model *model, liana__error *error)
{
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        const liana__model_port port = liana__model_input(model, i);
        if (port.free && !model->has_chosen_sizes) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the sizes of input '%s' are given by the data, and an ONNX file of liana has fixed "
                               "ones: set them with liana_model_set_input_shape, or with `shape` of the InputLayer",
                               port.name);
        }
        if (port.texts) {
            const size_t reader = model->nodes[model->inputs[i]].reader;
            const liana__layer *layer = &model->layers[model->nodes[reader].layer];
            return liana__fail(error, LIANA_UNIMPLEMENTED,
                               "input '%s' is read by layer '%s' (%s), which is computed on the host; ONNX has no such "
                               "layers: write the model that begins behind it",
                               port.name, layer->name, layer->type->part.name);
        }
    }
    const liana__layer *layer = liana__model_stateful_layer(model);
    if (!layer) return LIANA_OK;
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "layer '%s' keeps states from batch to batch (stateful), and an ONNX file keeps nothing: build the "
        "model without `stateful`, and load the weights",
        layer->name);
}

/* ---- the graph of its inference ---- */

typedef struct built {
    liana_graph *graph;
    const char *const *layers; /* by node id: the layer that made it */
} built;

static liana_tensor add_input(const liana_model *model, liana_graph *graph, size_t index, int64_t batch,
                              liana_onnx_pixels pixels)
{
    liana__model_port port = liana__model_input(model, index);
    port.shape.dims[0] = batch;
    if (pixels == LIANA_ONNX_SCALED || index != liana__image_input(model)) {
        return liana_graph_input(graph, port.name, port.dtype, port.shape);
    }
    const liana_dtype dtype = pixels == LIANA_ONNX_UINT8 ? LIANA_U8 : LIANA_F32;
    liana_scale scale = model->preprocessing.scale;
    if (scale == LIANA_SCALE_AUTO) scale = liana__scale_assumed(model);
    return liana__preprocess(liana_graph_input(graph, port.name, dtype, port.shape), scale);
}

/* Nodes lie in the order of the layers that made them. */
static const char *const *find_layers(const liana_model *model, const liana_graph *graph,
                                      const liana__model_results *results, size_t first, liana__arena *arena)
{
    const char **layers = liana__arena_allocate(arena, graph->num_nodes * sizeof *layers);
    size_t at = 1;
    for (; layers && at < first && at < graph->num_nodes; at++) {
        const liana__node *node = graph->nodes[at];
        layers[at] = liana__is_input(node) ? node->name : "preprocessing";
    }
    for (size_t i = 0; layers && i < model->num_nodes; i++) {
        const size_t end = results->nodes[i].id;
        for (; at <= end && at < graph->num_nodes; at++) layers[at] = model->layers[model->nodes[i].layer].name;
    }
    return layers;
}

static liana_status build(const liana_model *model, const liana_onnx_options *options, int64_t batch, built *made,
                          liana__arena *arena, liana__error *error)
{
    const size_t count = liana__model_num_inputs(model);
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS];
    const liana__model_mode mode = {.dtype = LIANA_F32};
    liana_status status = liana_graph_create(model->context, &made->graph);
    if (status != LIANA_OK) return liana__fail_as(error, &model->context->error);
    for (size_t i = 0; i < count; i++) inputs[i] = add_input(model, made->graph, i, batch, options->pixels);
    const size_t first = made->graph->num_nodes;
    const liana__model_results results = liana__model_call(model, inputs, &mode);
    for (size_t i = 0; i < results.num_outputs; i++) {
        liana_graph_output(made->graph, liana__model_output(model, i).name, results.outputs[i].value);
    }
    status = liana_graph_status(made->graph);
    if (status != LIANA_OK) return liana__fail_as(error, &model->context->error);
    made->layers = find_layers(model, made->graph, &results, first, arena);
    return made->layers ? LIANA_OK : liana__fail_memory(error, "the ONNX file");
}

/* ---- inputs, outputs, metadata ---- */

static void add_inputs(liana__onnx_export *file, liana__onnx_list *inputs)
{
    liana__onnx_scope *top = file->top;
    for (size_t i = 0; i < top->graph->num_inputs; i++) {
        const liana__node *node = top->graph->inputs[i];
        const liana__onnx_type type = liana__onnx_type_of(top, node);
        const char *name = liana__onnx_free_name(file, node->name);
        liana__onnx_give(top, node, name, LIANA__ONNX_NATURAL);
        liana__onnx_append(file, inputs, liana__onnx_value_info(file, name, &type));
    }
}

static bool is_written(const liana__onnx_scope *top, const char *name)
{
    for (size_t i = 0; i < top->nodes.count; i++) {
        const Liana__Onnx__Node *node = top->nodes.items[i];
        for (size_t k = 0; k < node->n_output; k++) {
            if (strcmp(node->output[k], name) == 0) return true;
        }
    }
    return false;
}

/* The results get the outputs' names; one that is an input, a weight or another output as well is copied. */
static void add_outputs(liana__onnx_export *file, const char *const *names, liana__onnx_list *outputs)
{
    liana__onnx_scope *top = file->top;
    for (size_t i = 0; i < top->graph->num_outputs && file->status == LIANA_OK; i++) {
        const liana__node *node = top->graph->outputs[i].node;
        const liana__onnx_type type = liana__onnx_type_of(top, node);
        const char *name = liana__onnx_name(top, node, LIANA__ONNX_NATURAL);
        bool is_free = is_written(top, name);
        for (size_t k = 0; k < i; k++) is_free = is_free && strcmp(names[k], name) != 0;
        if (!is_free) name = liana__onnx_say(top, node, "Identity", LIANA__ONNX_OF(name), NULL);
        liana__onnx_value *value = liana__onnx_value_of(top, node);
        while (value->same_as) value = liana__onnx_value_of(top, value->same_as);
        if (is_free && value->names[LIANA__ONNX_NATURAL]) value->names[LIANA__ONNX_NATURAL] = names[i];
        liana__onnx_rename(&top->nodes, name, names[i]);
        liana__onnx_append(file, outputs, liana__onnx_value_info(file, names[i], &type));
    }
}

static void add_entry(liana__onnx_export *file, liana__onnx_list *entries, const char *key, const char *value)
{
    Liana__Onnx__Entry *entry = liana__onnx_allocate(file, sizeof *entry);
    if (!entry || !value) return;
    liana__onnx__entry__init(entry);
    entry->key = (char *)key;
    entry->value = (char *)value;
    liana__onnx_append(file, entries, entry);
}

static void add_metadata(liana__onnx_export *file, const liana_onnx_options *options, liana__onnx_list *entries)
{
    const liana_preprocessing *known = &file->model->preprocessing;
    if (known->class_names && known->class_names[0]) {
        liana__value *names = liana__value_list(file->arena);
        for (size_t i = 0; names && known->class_names[i]; i++) {
            liana__value_add(file->arena, names, liana__value_string(file->arena, known->class_names[i]));
        }
        add_entry(file, entries, "class_names", names ? liana__json_line(names, file->arena) : NULL);
    }
    if (liana__image_input(file->model) == liana__model_num_inputs(file->model)) return;
    const bool is_scaled = options->pixels == LIANA_ONNX_SCALED;
    const liana_scale scale = known->scale;
    if (!is_scaled)
        add_entry(file, entries, "pixels", "0..255");
    else if (scale != LIANA_SCALE_AUTO)
        add_entry(file, entries, "pixels", liana__scale_names[scale]);
}

static liana_status write_file(liana__onnx_export *file, const liana_onnx_options *options, Liana__Onnx__Graph *graph,
                               const char *path, size_t most_inside)
{
    liana__onnx_list entries = {0};
    Liana__Onnx__OperatorSet set = LIANA__ONNX__OPERATOR_SET__INIT, *sets[] = {&set};
    Liana__Onnx__Model made = LIANA__ONNX__MODEL__INIT;
    set.domain = (char *)"";
    set.has_version = true;
    set.version = OPSET;
    if (file->model) add_metadata(file, options, &entries);
    made.has_ir_version = true;
    made.ir_version = IR_VERSION;
    made.producer_name = (char *)"liana";
    made.producer_version = (char *)LIANA_VERSION;
    made.n_opset_import = 1;
    made.opset_import = sets;
    made.graph = graph;
    made.n_metadata_props = entries.count;
    made.metadata_props = (Liana__Onnx__Entry **)entries.items;
    LIANA_TRY(file->status);
    return liana__onnx_write(file, &made, path, most_inside);
}

/* All faults in one message. */
static liana_status check_faults(liana__onnx_export *file)
{
    if (file->status != LIANA_OK || !file->num_faults) return file->status;
    return liana__onnx_fail(file, LIANA_UNIMPLEMENTED, "ONNX (opset %d) cannot say %zu part%s of the model:%s", OPSET,
                            file->num_faults, file->num_faults == 1 ? "" : "s",
                            file->faults.data ? file->faults.data : "");
}

static liana_status export_graphs(liana__onnx_export *file, const built made[2], const liana_onnx_options *options,
                                  const char *path, size_t most_inside)
{
    liana__onnx_scope top = {.file = file, .graph = made[0].graph, .twin = made[1].graph, .layers = made[0].layers};
    liana__onnx_list inputs = {0}, outputs = {0};
    const char *names[LIANA_MAX_MODEL_OUTPUTS];
    file->top = &top;
    top.values = liana__onnx_allocate(file, top.graph->num_nodes * sizeof *top.values);
    LIANA_TRY(file->status);
    add_inputs(file, &inputs);
    for (size_t i = 0; i < top.graph->num_outputs; i++) {
        names[i] = liana__onnx_free_name(file, top.graph->outputs[i].name);
    }
    liana__onnx_analyse(&top);
    liana__onnx_emit(&top);
    add_outputs(file, names, &outputs);
    LIANA_TRY(check_faults(file));
    const char *name = file->model ? liana__model_name(file->model) : "graph";
    Liana__Onnx__Graph *graph = liana__onnx_close(&top, name, &inputs, &outputs);
    return write_file(file, options, graph, path, most_inside);
}

liana_status liana__onnx_save(liana_model *model, const char *path, const liana_onnx_options *options,
                              size_t most_inside, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *first = NULL;
    LIANA__SCOPED_BY(liana_graph_destroy_scoped) liana_graph *second = NULL;
    built made[2] = {0};
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(liana__model_check_used(model, error));
    LIANA_TRY(check_options(model, options, error));
    LIANA_TRY(check_inputs(model, error));
    LIANA_TRY(liana__model_values_complete(model, error));
    const int64_t own = liana__model_batch_size(model), batch = options->batch ? options->batch : own;
    liana__onnx_export file = {.arena = &arena, .error = error, .model = model};
    file.batches[0] = batch ? batch : FIRST_BATCH;
    file.batches[1] = batch ? batch : SECOND_BATCH;
    liana_status status = build(model, options, file.batches[0], &made[0], &arena, error);
    first = made[0].graph;
    LIANA_TRY(status);
    if (!batch) {
        status = build(model, options, file.batches[1], &made[1], &arena, error);
        second = made[1].graph;
        LIANA_TRY(status);
    } else {
        made[1] = made[0];
    }
    status = export_graphs(&file, made, options, path, most_inside);
    liana__text_free(&file.faults);
    return status;
}

liana_status liana__onnx_save_graph(const liana_graph *graph, const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const built made = {.graph = (liana_graph *)graph};
    liana__onnx_export file = {.arena = &arena, .error = error, .batches = {1, 1}};
    const liana_status status =
        export_graphs(&file, (const built[]){made, made}, &(liana_onnx_options){0}, path, LIANA__ONNX_MOST_INSIDE);
    liana__text_free(&file.faults);
    return status;
}

/* ---- the public function ---- */

static liana_status save(liana_model *model, const char *path, const liana_onnx_options *options)
{
    const liana_onnx_options none = {0};
    return liana__onnx_save(model, path, options ? options : &none, LIANA__ONNX_MOST_INSIDE, &model->context->error);
}

liana_status liana_model_save_onnx(liana_model *model, const char *path, const liana_onnx_options *options)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, path);
    LIANA__CONTEXT_CALL(model->context, save(model, path, options));
}
