/* A model from an ONNX file: inputs, nodes in order, outputs, values of weights. */
#include "onnx/import_internal.h"

#include <liana/onnx.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OLDEST_OPSET = 7,
    NEWEST_OPSET = 24,
    /* Stands for a batch of any size while shapes are computed: a prime, so that a Reshape shows where it goes. */
    ANY_BATCH = 127,
};

liana_status liana__import_fail(const liana__import *own, const liana__import_node *node, liana_status status,
                                const char *format, ...)
{
    char message[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return liana__fail(own->error, status, "'%s': %.80s '%.160s': %s", own->path, node->op, node->name, message);
}

/* ---- what is there ---- */

static const liana__import_op *const tables[] = {
    liana__import_convolutions, liana__import_products,   liana__import_elements,       liana__import_shapes,
    liana__import_sequences,    liana__import_reductions, liana__import_normalizations, liana__import_loops,
};

static liana__import_reader find_reader(const char *op)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const liana__import_op *row = tables[i]; row->name; row++) {
            if (strcmp(row->name, op) == 0) return row->read;
        }
    }
    return NULL;
}

bool liana__onnx_has_operator(const char *op)
{
    return find_reader(op) || liana__import_folds(op);
}

static liana_status check_opset(liana__import *own)
{
    for (size_t i = 0; i < own->file->n_opset_import; i++) {
        const Liana__Onnx__OperatorSet *set = own->file->opset_import[i];
        const bool is_own = !set->domain || !*set->domain || strcmp(set->domain, "ai.onnx") == 0;
        if (is_own) own->opset = set->version;
    }
    if (own->opset >= OLDEST_OPSET && own->opset <= NEWEST_OPSET) return LIANA_OK;
    return liana__fail(own->error, LIANA_UNIMPLEMENTED,
                       "'%s': found opset %" PRIi64 ", expected %d to %d: export with another opset_version", own->path,
                       own->opset, OLDEST_OPSET, NEWEST_OPSET);
}

enum { MOST_LACKS = 12 };

/* Operators that liana does not have, each once. */
typedef struct lacks {
    struct {
        const char *op, *node;
        size_t count;
    } kinds[MOST_LACKS + 1];
    size_t num_kinds;
} lacks;

static void look_up(lacks *found, const char *op, const char *node)
{
    if (liana__onnx_has_operator(op)) return;
    size_t kind = 0;
    while (kind < found->num_kinds && strcmp(found->kinds[kind].op, op) != 0) kind++;
    if (kind > MOST_LACKS) return;
    if (kind == found->num_kinds) {
        found->kinds[found->num_kinds++].op = op;
        found->kinds[kind].node = node;
    }
    found->kinds[kind].count++;
}

/* Nodes of bodies are read when the loop is. */
static liana_status look_up_bodies(liana__import *own, lacks *found, const Liana__Onnx__Node *node)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Liana__Onnx__Graph *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_node; k++) {
            const char *op;
            LIANA_TRY(liana__import_operator(own, body->node[k], &op));
            if (op) look_up(found, op, body->node[k]->name ? body->node[k]->name : "");
            LIANA_TRY(look_up_bodies(own, found, body->node[k]));
        }
    }
    return LIANA_OK;
}

/* All of them at once. */
static liana_status check_operators(liana__import *own)
{
    lacks found = {.num_kinds = 0};
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < own->num_nodes; i++) {
        look_up(&found, own->nodes[i]->op, own->nodes[i]->name);
        LIANA_TRY(look_up_bodies(own, &found, own->nodes[i]->from));
    }
    const size_t kinds = found.num_kinds;
    if (!kinds) return LIANA_OK;
    for (size_t i = 0; i < kinds && i < MOST_LACKS; i++) {
        liana__text_add(&text, "%s%.80s (%zu, such as '%.80s')", i ? ", " : "", found.kinds[i].op, found.kinds[i].count,
                        found.kinds[i].node);
    }
    return liana__fail(own->error, LIANA_UNIMPLEMENTED,
                       "'%s': liana does not have %s%s%s; replace them in the network before it is exported. "
                       "docs/guides/onnx.md lists the operators",
                       own->path, kinds == 1 ? "the operator " : "these operators: ", text.data ? text.data : "",
                       kinds > MOST_LACKS ? ", and others" : "");
}

/* ---- inputs ---- */

static bool is_among(const char *op, const char *const *names)
{
    while (*names && strcmp(*names, op) != 0) names++;
    return *names != NULL;
}

/* Whether an operator on [batch, channels, ...] reads the value before its axes get another meaning. Nodes that were
 * asked have the mark `asked`. */
static bool is_image(const liana__import_value *value, int depth, int asked)
{
    static const char *const on_images[] = {"Conv",
                                            "ConvTranspose",
                                            "MaxPool",
                                            "AveragePool",
                                            "GlobalAveragePool",
                                            "GlobalMaxPool",
                                            "BatchNormalization",
                                            "InstanceNormalization",
                                            "Resize",
                                            "Upsample",
                                            "DepthToSpace",
                                            "SpaceToDepth",
                                            "GroupNormalization",
                                            "PRelu",
                                            NULL};
    static const char *const others[] = {"Transpose", "Reshape", "Flatten", "MatMul", "Gemm",
                                         "LSTM",      "GRU",     "RNN",     "Shape",  NULL};
    for (size_t i = 0; depth < 64 && i < value->num_users; i++) {
        liana__import_node *user = value->users[i];
        if (is_among(user->op, on_images)) return true;
        if (user->mark == asked || is_among(user->op, others)) continue;
        user->mark = asked;
        if (user->num_outputs && user->outputs[0] && is_image(user->outputs[0], depth + 1, asked)) return true;
    }
    return false;
}

static liana_status fail_input(const liana__import *own, const char *name, const char *found)
{
    return liana__fail(own->error, LIANA_UNIMPLEMENTED,
                       "'%s': input '%.100s' %s; export with fixed sizes, all but the batch", own->path, name, found);
}

/* The shape of an input, and which of its axes is the batch: the first without a fixed size, else the first. */
static liana_status read_shape(liana__import *own, const Liana__Onnx__ValueInfo *info, const char *name,
                               int64_t dims[LIANA_MAX_RANK], int *rank, int *batch)
{
    const Liana__Onnx__TensorType *type = info->type ? info->type->tensor_type : NULL;
    *batch = -1;
    if (!type || !type->shape) return fail_input(own, name, "has no shape");
    if (type->shape->n_dim < 1 || type->shape->n_dim > LIANA_MAX_RANK) {
        return fail_input(own, name, "has no axes, or more than 8");
    }
    *rank = (int)type->shape->n_dim;
    for (int i = 0; i < *rank; i++) {
        const Liana__Onnx__Dimension *dim = type->shape->dim[i];
        const bool is_fixed = dim->value_case == LIANA__ONNX__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
        dims[i] = is_fixed ? dim->dim_value : 0;
        if (!is_fixed && *batch < 0) *batch = i;
        if (dims[i] > 1 << 28) return fail_input(own, name, "has an axis that is too large");
    }
    if (*batch < 0) *batch = 0;
    for (int i = 0; i < *rank; i++) {
        if (dims[i] || i == *batch) continue;
        return fail_input(own, name, "has several axes without a fixed size");
    }
    return LIANA_OK;
}

static liana_status input_dtype(const liana__import *own, const Liana__Onnx__ValueInfo *info, const char *name,
                                const char **dtype)
{
    switch (info->type->tensor_type->elem_type) {
    case LIANA__ONNX__TENSOR__DATA_TYPE__UINT8: /* images, which enter as floats */
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT:
    case LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE:
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16:
    case LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16: *dtype = NULL; return LIANA_OK;
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT32:
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT64: *dtype = "int32"; return LIANA_OK;
    default:
        return liana__fail(own->error, LIANA_UNIMPLEMENTED,
                           "'%s': input '%.100s' has dtype %d of ONNX, expected a float, uint8, int32 or int64",
                           own->path, name, info->type->tensor_type->elem_type);
    }
}

static liana_status add_input(liana__import *own, const Liana__Onnx__ValueInfo *info, liana__import_value *value)
{
    int64_t dims[LIANA_MAX_RANK], example[LIANA_MAX_RANK];
    int rank = 0, batch, order[LIANA_MAX_RANK], count = 0;
    const char *dtype = NULL;
    LIANA_TRY(read_shape(own, info, value->name, dims, &rank, &batch));
    LIANA_TRY(input_dtype(own, info, value->name, &dtype));
    const int64_t size = dims[batch] ? dims[batch] : ANY_BATCH;
    if (own->batch && own->batch != size) return fail_input(own, value->name, "has another batch than an input before");
    own->batch = size;
    const bool is_first_channels =
        rank >= 3 && rank <= 5 && batch == 0 && is_image(value, 0, -1 - (int)own->model->num_inputs);
    order[count++] = batch;
    for (int i = 0; i < rank; i++) {
        if (i != batch && !(is_first_channels && i == 1)) order[count++] = i;
    }
    if (is_first_channels) order[count++] = 1;
    for (int i = 1; i < rank; i++) example[i - 1] = dims[order[i]];
    const liana__import_options options = liana__import_options_new(own);
    const liana__import_node none = {.op = "input", .name = value->name};
    liana__import_set_ints(&options, "shape", example, rank - 1);
    if (dtype) liana__import_set_text(&options, "dtype", dtype);
    size_t result;
    LIANA_TRY(liana__import_add(own, &none, "InputLayer", value->name, &options, NULL, 0, &result));
    liana__import_set_plain(value, result, rank);
    for (int i = 0; i < rank; i++) value->axes[order[i]] = (liana__import_axis){1, {i}};
    return LIANA_OK;
}

static liana_status add_inputs(liana__import *own)
{
    const Liana__Onnx__Graph *graph = own->file->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name ? graph->input[i]->name : "";
        liana__import_value *value = liana__import_value_named(own, name, false);
        if (!value || value->kind != LIANA__IMPORT_RESULT) continue; /* an initializer is no input of the model */
        if (value->rank)
            return liana__fail(own->error, LIANA_INVALID_DATA, "'%s' has two inputs '%.100s'", own->path, name);
        if (++count > LIANA_MAX_LAYER_INPUTS) {
            return liana__fail(own->error, LIANA_UNIMPLEMENTED, "'%s' has more than %d inputs", own->path,
                               LIANA_MAX_LAYER_INPUTS);
        }
        LIANA_TRY(add_input(own, graph->input[i], value));
    }
    if (count) return LIANA_OK;
    return liana__fail(own->error, LIANA_INVALID_DATA, "'%s' has no inputs", own->path);
}

/* ---- nodes and outputs ---- */

static liana_status read_node(liana__import *own, liana__import_node *node)
{
    bool is_done = node->is_done;
    if (is_done || !node->num_outputs) return LIANA_OK;
    LIANA_TRY(liana__import_fold(own, node, &is_done));
    if (!is_done) LIANA_TRY(liana__import_layer_normalization(own, node, &is_done));
    if (!is_done) LIANA_TRY(liana__import_group_normalization(own, node, &is_done));
    if (is_done) return LIANA_OK;
    const liana__import_reader read = find_reader(node->op);
    if (!node->outputs[0] && strcmp(node->op, "LSTM") && strcmp(node->op, "GRU") && strcmp(node->op, "RNN")) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "its first output has no name");
    }
    for (size_t i = 0; i < node->num_inputs; i++) {
        if (!node->inputs[i] || node->inputs[i]->kind != LIANA__IMPORT_NOTHING) continue;
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its input '%.100s' is an output that liana does not compute", node->inputs[i]->name);
    }
    return read ? read(own, node)
                : liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "liana has it for constants alone");
}

liana_status liana__import_read_node(liana__import *own, liana__import_node *node)
{
    LIANA_TRY(read_node(own, node));
    node->is_done = true;
    return LIANA_OK;
}

/* Images stay as they are, channels last; other results get ONNX's order, with the batch first. */
static liana_status output_result(liana__import *own, liana__import_value *value, size_t *result)
{
    liana__import_node none = {.op = "output", .name = value->name};
    int order[LIANA_MAX_RANK], count = 0;
    const int rank = liana__import_shape(own, value->result)->rank;
    bool is_image = value->rank == rank && rank >= 3;
    for (int i = 0; is_image && i < rank; i++) {
        const int place = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        is_image = value->axes[i].count == 1 && value->axes[i].at[0] == place;
    }
    *result = value->result;
    if (is_image) return LIANA_OK;
    for (int i = 0; i < value->rank; i++) {
        if (liana__import_has_batch(value, i)) order[count++] = i;
    }
    for (int i = 0; i < value->rank; i++) {
        if (!liana__import_has_batch(value, i)) order[count++] = i;
    }
    return liana__import_arrange(own, &none, value, order, count, result);
}

/* Layers that lead to no output: the last step of a loop computes states that nobody reads. */
static liana_status drop_unread(liana__import *own, size_t *nodes, size_t count)
{
    size_t *layers = liana__arena_allocate(&own->arena, (own->model->num_layers + 1) * sizeof *layers), kept = 0;
    if (!layers) return liana__fail_memory(own->error, own->path);
    LIANA_TRY(liana__model_drop_unread(own->model, nodes, count, layers, own->error));
    for (size_t i = 0; i < own->num_pending; i++) {
        liana__import_pending pending = own->pending[i];
        pending.layer = layers[pending.layer];
        if (pending.layer == LIANA__NONE) free(pending.values);
        if (pending.layer != LIANA__NONE) own->pending[kept++] = pending;
    }
    own->num_pending = kept;
    return LIANA_OK;
}

static liana_status set_outputs(liana__import *own)
{
    const Liana__Onnx__Graph *graph = own->file->graph;
    size_t nodes[LIANA_MAX_MODEL_OUTPUTS];
    const char *names[LIANA_MAX_MODEL_OUTPUTS];
    if (graph->n_output < 1 || graph->n_output > LIANA_MAX_MODEL_OUTPUTS) {
        return liana__fail(own->error, LIANA_UNIMPLEMENTED, "'%s' has %zu outputs, expected 1 to %d", own->path,
                           graph->n_output, LIANA_MAX_MODEL_OUTPUTS);
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name ? graph->output[i]->name : "";
        liana__import_value *value = liana__import_value_named(own, name, false);
        if (!value || value->kind != LIANA__IMPORT_RESULT) {
            return liana__fail(own->error, LIANA_INVALID_DATA,
                               "'%s': output '%.100s' is computed by no node, or is constant", own->path, name);
        }
        LIANA_TRY(output_result(own, value, &nodes[i]));
        names[i] = name;
    }
    LIANA_TRY(drop_unread(own, nodes, graph->n_output));
    liana_status status =
        liana__model_set_outputs(own->model, own->where, nodes, graph->n_output > 1 ? names : NULL, graph->n_output);
    if (status != LIANA_OK) *own->error = own->model->error;
    return status;
}

/* ---- values ---- */

static liana_status set_values(liana__import *own)
{
    liana_model *model = own->model;
    if (own->options->without_values || !model->num_weights) return LIANA_OK;
    float **values = calloc(model->num_weights, sizeof *values);
    if (!values) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < own->num_pending; i++) {
        const size_t weight = model->layers[own->pending[i].layer].first_weight + own->pending[i].index;
        if (weight < model->num_weights && !values[weight]) {
            values[weight] = own->pending[i].values;
            own->pending[i].values = NULL;
        }
    }
    bool are_all = true;
    for (size_t i = 0; i < model->num_weights; i++) are_all = are_all && values[i];
    if (!are_all) {
        for (size_t i = 0; i < model->num_weights; i++) free(values[i]);
        free(values);
        return liana__fail(own->error, LIANA_INTERNAL, "'%s': a weight of the model has no initializer", own->path);
    }
    free(model->values);
    model->values = values;
    model->num_values = model->num_weights;
    model->values_version++;
    return LIANA_OK;
}

static liana_status check_counts(const liana__import *own)
{
    for (size_t i = 0; i < own->num_pending; i++) {
        if (own->model->layers[own->pending[i].layer].num_weights > own->pending[i].index) continue;
        return liana__fail(own->error, LIANA_INTERNAL, "'%s': a layer has fewer weights than its node", own->path);
    }
    return LIANA_OK;
}

static const char *metadata(const liana__import *own, const char *key)
{
    for (size_t i = 0; i < own->file->n_metadata_props; i++) {
        const Liana__Onnx__Entry *entry = own->file->metadata_props[i];
        if (entry->key && entry->value && strcmp(entry->key, key) == 0) {
            return liana__arena_string(&own->model->arena, entry->value);
        }
    }
    return NULL;
}

static liana_status find_facts(liana__import *own)
{
    liana__onnx_facts *facts = own->options->facts;
    const char *producer = own->file->producer_name;
    if (!facts || !producer || strcmp(producer, "liana") != 0) return LIANA_OK;
    *facts = (liana__onnx_facts){metadata(own, "class_names"), metadata(own, "pixels")};
    return own->model->arena.failed ? liana__fail_memory(own->error, own->path) : LIANA_OK;
}

static liana_status build(liana__import *own)
{
    LIANA_TRY(find_facts(own));
    LIANA_TRY(check_opset(own));
    LIANA_TRY(liana__import_graph(own));
    LIANA_TRY(check_operators(own));
    LIANA_TRY(add_inputs(own));
    for (size_t i = 0; i < own->num_nodes; i++) LIANA_TRY(liana__import_read_node(own, own->nodes[i]));
    LIANA_TRY(set_outputs(own));
    LIANA_TRY(check_counts(own));
    return set_values(own);
}

static void close_import(liana__import *own)
{
    for (size_t i = 0; i < own->num_values; i++) free(own->values[i]->users);
    for (size_t i = 0; i < own->num_pending; i++) free(own->pending[i].values);
    free(own->nodes);
    free(own->values);
    free(own->pending);
    free(own->shared);
    liana__arena_free(&own->arena);
}

/* With the messages in own->arena, or the error in `found`. */
static liana_status finish(liana__import *own, liana_status status, Liana__Onnx__Model *file, liana__error *error)
{
    own->file = file;
    own->where.file = liana__arena_string(&own->model->arena, own->path);
    if (status == LIANA_OK && !own->where.file) status = liana__fail_memory(own->error, own->path);
    if (status == LIANA_OK) status = build(own);
    if (status != LIANA_OK && own->error->status == LIANA_OK) (void)liana__fail_memory(own->error, own->path);
    if (status != LIANA_OK) (void)liana__fail_as(error, own->error);
    close_import(own);
    return status;
}

static liana__import begin(liana_model *model, const char *path, const liana__onnx_import_options *options,
                           liana__error *found)
{
    static const liana__onnx_import_options usual;
    return (liana__import){.model = model,
                           .path = path,
                           .options = options ? options : &usual,
                           .error = found,
                           .budget = (uint64_t)1 << 30};
}

liana_status liana__model_from_onnx_bytes(liana_model *model, const void *bytes, size_t size, const char *path,
                                          const liana__onnx_import_options *options, liana__error *error)
{
    liana__error found = {0};
    liana__import own = begin(model, path, options, &found);
    Liana__Onnx__Model *file = NULL;
    own.budget = (uint64_t)size * 64 + ((uint64_t)1 << 24);
    const liana_status status = liana__import_unpack(&own.arena, bytes, size, path, &file, &found);
    return finish(&own, status, file, error);
}

liana_status liana__model_from_onnx(liana_model *model, const char *path, const liana__onnx_import_options *options,
                                    liana__error *error)
{
    liana__error found = {0};
    liana__import own = begin(model, path, options, &found);
    Liana__Onnx__Model *file = NULL;
    const liana_status status = liana__import_open(&own.arena, path, &file, &found);
    return finish(&own, status, file, error);
}

/* ---- public ---- */

static void tell_log(void *context, const char *note)
{
    liana__log(context, LIANA__LOG_TRAIN, "%s", note);
}

static liana_status load(liana_context *context, const char *path, liana_model **out)
{
    const liana__onnx_import_options options = {.notes = {tell_log, context}};
    liana_model *model;
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_status status = liana__model_from_onnx(model, path, &options, &context->error);
    if (status == LIANA_OK) status = liana__model_check(model, &context->error);
    if (status == LIANA_OK) *out = model;
    if (status != LIANA_OK) liana_model_destroy(model);
    return status;
}

liana_status liana_model_load_onnx(liana_context *context, const char *path, liana_model **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "model");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, load(context, path, out));
}
