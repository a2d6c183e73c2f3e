/* liana summary: the layers of a model, or the contents of a file of weights. */
#include "base/file.h"
#include "base/scoped.h"
#include "cli/session.h"
#include "formats/sniff.h"
#include "formats/tensorflow/foreign_model.h"
#include "layers/model.h"
#include "onnx/export_model.h"
#include "report/pictures.h"
#include "train/model/model_file.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)
LIANA__SCOPED_POINTER(liana_model_destroy, liana_model)

static const liana__option options[] = {
    {"picture", "FILE", "also draw the layers as boxes and arrows, .svg or .png"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* Layers of nested models are listed like others. The shape is that of the first call, inputs are those of all. */
static liana__value *layer_value(const liana_model *model, size_t index, liana__arena *arena)
{
    const liana__layer *layer = &model->layers[index];
    const liana_shape *of_result = NULL;
    liana__value *map = liana__value_map(arena), *shape = liana__value_list(arena), *inputs = liana__value_list(arena);
    int64_t parameters = 0;
    for (size_t i = 0; i < layer->num_weights; i++) {
        parameters += liana_shape_size(&model->weights[layer->first_weight + i].shape);
    }
    liana__value_add(arena, shape, liana__value_null(arena));
    for (size_t i = 0; i < model->num_nodes; i++) {
        const liana__layer_node *node = &model->nodes[i];
        if (node->layer != index || node->output) continue;
        if (!of_result) of_result = &node->shape;
        for (size_t k = 0; k < node->num_inputs; k++) {
            const char *name = model->layers[model->nodes[node->inputs[k]].layer].name;
            liana__value_add(arena, inputs, liana__value_string(arena, name));
        }
    }
    for (int i = 1; i < of_result->rank; i++) {
        liana__value_add(arena, shape, liana__value_int(arena, of_result->dims[i]));
    }
    liana__value_set(arena, map, "name", liana__value_string(arena, layer->name));
    liana__value_set(arena, map, "class", liana__value_string(arena, layer->type->part.name));
    liana__value_set(arena, map, "output_shape", shape);
    liana__value_set(arena, map, "parameters", liana__value_int(arena, parameters));
    liana__value_set(arena, map, "trainable", liana__value_bool(arena, layer->trainable));
    liana__value_set(arena, map, "inputs", inputs);
    return map;
}

static liana_status print_table(liana__invocation *invocation, const liana_model *model)
{
    if (liana__invocation_has(invocation, "json")) {
        double flops = 0;
        liana__arena *arena = &invocation->arena;
        /* A model that is not whole yet, whose layers are adapted to data later, has no operations to count. */
        const bool has_flops = liana_model_count_flops(model, &flops) == LIANA_OK;
        liana__value *event = liana__session_event(invocation, "summary"), *layers = liana__value_list(arena);
        for (size_t i = 0; i < model->num_layers; i++) {
            liana__value_add(arena, layers, layer_value(model, i, arena));
        }
        liana__value_set(arena, event, "model", liana__value_string(arena, liana__model_name(model)));
        liana__value_set(arena, event, "parameters",
                         liana__value_int(arena, liana__model_num_parameters(model, false)));
        liana__value_set(arena, event, "trainable_parameters",
                         liana__value_int(arena, liana__model_num_parameters(model, true)));
        if (has_flops) liana__value_set(arena, event, "flops", liana__value_int(arena, (int64_t)flops));
        liana__value_set(arena, event, "layers", layers);
        liana__invocation_print_json(invocation, event);
        return LIANA_OK;
    }
    liana__text text = {0};
    liana__model_summary(model, &text);
    return liana__session_print(invocation, &text, "the summary");
}

static liana_status print(liana__invocation *invocation, const liana_model *model)
{
    const char *path = liana__invocation_text(invocation, "picture");
    LIANA_TRY(print_table(invocation, model));
    if (!path) return LIANA_OK;
    LIANA_TRY(liana__model_picture_write(path, model, &invocation->error));
    liana__session_picture(invocation, path);
    return LIANA_OK;
}

/* Before the data and the model are opened. */
static liana_status check_picture(liana__invocation *invocation)
{
    const char *path = liana__invocation_text(invocation, "picture");
    if (!path || liana__ends_with(path, ".svg") || liana__ends_with(path, ".png")) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "summary: --picture: found '%.200s', expected a name ending in .svg or .png", path);
}

static liana_status read_architecture(liana__invocation *invocation, const char *path, liana_model *model)
{
    liana__model_file file;
    const liana__notes nobody = {0};
    LIANA_TRY(liana__model_file_open(path, &invocation->arena, &file, &invocation->error));
    return liana__model_file_fill(&file, model, &nobody, &invocation->error);
}

static liana_status summarise_architecture(liana__invocation *invocation, const char *path)
{
    if (invocation->num_overrides) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "summary: '%s' changes a configuration, but '%s' is an architecture",
                           invocation->overrides[0], path);
    }
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED_BY(liana_model_destroy_scoped) liana_model *model = NULL;
    liana_status status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (status == LIANA_OK) status = liana_model_create(context, NULL, &model);
    if (status != LIANA_OK && context) invocation->error = context->error;
    LIANA_TRY(status);
    LIANA_TRY(read_architecture(invocation, path, model));
    return print(invocation, model);
}

static liana_status summarise_config(liana__invocation *invocation, const char *path)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(liana__session_open(invocation, path, &session));
    LIANA_TRY(
        liana__run_open_model(session.context, &session.config, &(liana__run_options){0}, &run, &invocation->error));
    return print(invocation, run.model);
}

/* The error for a file that is neither a configuration nor an architecture: its kind, and the place of the
 * architecture. */
static liana_status refuse(liana__invocation *invocation, const char *path, const char *kind)
{
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "summary: '%s' is %s, expected a configuration (.yaml), a run folder, an architecture (.json), "
                       "a whole model of Keras (.keras, .h5) or ONNX (.onnx)",
                       path, kind);
}

static liana_status run(liana__invocation *invocation)
{
    const char *path = invocation->operands[0], *kind = NULL;
    uint8_t head[512];
    size_t size;
    LIANA_TRY(check_picture(invocation));
    LIANA_TRY(liana__refuse_foreign_model(path, &invocation->error));
    if (liana__ends_with(path, ".json") || liana__onnx_is_named(path)) return summarise_architecture(invocation, path);
    if (liana__file_exists(path)) {
        LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, &invocation->error));
        kind = liana__sniff(head, size);
    }
    if (kind && (strcmp(kind, "an HDF5 file") == 0 || strcmp(kind, "a zip archive") == 0)) {
        return summarise_architecture(invocation, path);
    }
    if (kind && strcmp(kind, "a JSON file") != 0 && strcmp(kind, "text") != 0) {
        return refuse(invocation, path, kind);
    }
    /* A URL without a suffix is a folder. */
    bool folder = liana__path_is_remote(path) ? !strchr(liana__path_name(path), '.') : liana__folder_exists(path);
    if (folder) LIANA_TRY(liana__session_find_run(invocation, false, &path));
    return summarise_config(invocation, path);
}

const liana__command liana__subcommand_summary = {
    .name = "summary",
    .operands = "CONFIG.yaml | RUN | MODEL [key=value ...]",
    .summary = "Print a model as a table of layers",
    .help = "Prints layers, output shapes and numbers of parameters, as Keras does. MODEL is a .keras file, a whole\n"
            ".h5 file, an ONNX file (.onnx) or an architecture (.json). The data are opened only if the configuration\n"
            "does not say the shape of the images or the number of classes. --json also has \"flops\", the operations\n"
            "of a prediction for one example, as 'liana list models' counts them.\n"
            "--picture draws a box for each layer with its kind, the shape of its result and its parameters. Of more\n"
            "than 60 layers, the layers of a block are one box; a block that repeats is one, with its number.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
