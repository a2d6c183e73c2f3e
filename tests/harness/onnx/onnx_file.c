/* ONNX files that tests make. */
#include "harness/onnx/onnx_file.h"

#include <string.h>

static void *get(liana__onnx_file *file, size_t size)
{
    void *memory = liana__arena_allocate(&file->arena, size);
    assert_non_null(memory);
    return memory;
}

static char *copy(liana__onnx_file *file, const char *text)
{
    return liana__arena_string(&file->arena, text);
}

/* Appends a pointer to a list of protobuf-c. */
static void append(liana__onnx_file *file, void *list_address, size_t *count, void *item)
{
    void **before, **wider = get(file, (*count + 1) * sizeof *wider);
    memcpy(&before, list_address, sizeof before);
    if (*count) memcpy(wider, before, *count * sizeof *wider);
    wider[(*count)++] = item;
    memcpy(list_address, &wider, sizeof wider);
}

static size_t count_dims(const int64_t *dims)
{
    size_t count = 0;
    while (dims[count] != LIANA__ONNX_END) count++;
    return count;
}

void liana__test_onnx_begin(liana__onnx_file *file, int64_t opset)
{
    *file = (liana__onnx_file){.opset = opset,
                               .model = LIANA__ONNX__MODEL__INIT,
                               .graph = LIANA__ONNX__GRAPH__INIT,
                               .sets = {LIANA__ONNX__OPERATOR_SET__INIT}};
    file->sets[0].has_version = 1;
    file->sets[0].version = opset;
    append(file, &file->model.opset_import, &file->model.n_opset_import, &file->sets[0]);
    file->model.has_ir_version = 1;
    file->model.ir_version = 8;
    file->model.graph = &file->graph;
}

static Liana__Onnx__ValueInfo *make_value(liana__onnx_file *file, const char *name, int dtype, const int64_t *dims)
{
    Liana__Onnx__ValueInfo *value = get(file, sizeof *value);
    Liana__Onnx__Type *type = get(file, sizeof *type);
    Liana__Onnx__TensorType *tensor = get(file, sizeof *tensor);
    Liana__Onnx__Shape *shape = get(file, sizeof *shape);
    liana__onnx__value_info__init(value);
    liana__onnx__type__init(type);
    liana__onnx__tensor_type__init(tensor);
    liana__onnx__shape__init(shape);
    value->name = copy(file, name);
    value->type = type;
    type->tensor_type = tensor;
    tensor->shape = shape;
    tensor->has_elem_type = 1;
    tensor->elem_type = dtype;
    for (size_t i = 0; dims && dims[i] != LIANA__ONNX_END; i++) {
        Liana__Onnx__Dimension *dim = get(file, sizeof *dim);
        liana__onnx__dimension__init(dim);
        dim->value_case =
            dims[i] < 0 ? LIANA__ONNX__DIMENSION__VALUE_DIM_PARAM : LIANA__ONNX__DIMENSION__VALUE_DIM_VALUE;
        if (dims[i] < 0) dim->dim_param = copy(file, dims[i] == -1 ? "batch" : "size");
        if (dims[i] >= 0) dim->dim_value = dims[i];
        append(file, &shape->dim, &shape->n_dim, dim);
    }
    return value;
}

void liana__test_onnx_input(liana__onnx_file *file, const char *name, int dtype, const int64_t *dims)
{
    append(file, &file->graph.input, &file->graph.n_input, make_value(file, name, dtype, dims));
}

void liana__test_onnx_output(liana__onnx_file *file, const char *name)
{
    append(file, &file->graph.output, &file->graph.n_output, make_value(file, name, 1, NULL));
}

static Liana__Onnx__Tensor *make_tensor(liana__onnx_file *file, const char *name, const int64_t *dims, size_t *count)
{
    Liana__Onnx__Tensor *tensor = get(file, sizeof *tensor);
    liana__onnx__tensor__init(tensor);
    tensor->name = copy(file, name);
    tensor->n_dims = count_dims(dims);
    tensor->dims = liana__arena_copy(&file->arena, dims, tensor->n_dims * sizeof *dims + 1);
    tensor->has_data_type = 1;
    *count = 1;
    for (size_t i = 0; i < tensor->n_dims; i++) *count *= (size_t)dims[i];
    append(file, &file->graph.initializer, &file->graph.n_initializer, tensor);
    return tensor;
}

Liana__Onnx__Tensor *liana__test_onnx_floats(liana__onnx_file *file, const char *name, const int64_t *dims,
                                             const float *numbers)
{
    size_t count;
    Liana__Onnx__Tensor *tensor = make_tensor(file, name, dims, &count);
    tensor->data_type = LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT;
    tensor->has_raw_data = 1;
    tensor->raw_data.len = count * sizeof *numbers;
    tensor->raw_data.data = liana__arena_copy(&file->arena, numbers, count * sizeof *numbers);
    return tensor;
}

Liana__Onnx__Tensor *liana__test_onnx_ints(liana__onnx_file *file, const char *name, const int64_t *dims,
                                           const int64_t *numbers)
{
    size_t count;
    Liana__Onnx__Tensor *tensor = make_tensor(file, name, dims, &count);
    tensor->data_type = LIANA__ONNX__TENSOR__DATA_TYPE__INT64;
    tensor->n_int64_data = count;
    tensor->int64_data = liana__arena_copy(&file->arena, numbers, count * sizeof *numbers);
    return tensor;
}

static void append_names(liana__onnx_file *file, const char *names, char ***list, size_t *count)
{
    while (*names) {
        const size_t length = strcspn(names, " ");
        char *name = liana__arena_format(&file->arena, "%.*s", (int)length, names);
        append(file, list, count, strcmp(name, "-") == 0 ? copy(file, "") : name);
        names += length + (names[length] == ' ');
    }
}

Liana__Onnx__Node *liana__test_onnx_node(liana__onnx_file *file, const char *op, const char *inputs,
                                         const char *outputs)
{
    Liana__Onnx__Node *node = get(file, sizeof *node);
    liana__onnx__node__init(node);
    node->op_type = copy(file, op);
    append_names(file, inputs, &node->input, &node->n_input);
    append_names(file, outputs, &node->output, &node->n_output);
    append(file, &file->graph.node, &file->graph.n_node, node);
    return node;
}

static Liana__Onnx__Attribute *add_attribute(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name)
{
    Liana__Onnx__Attribute *attribute = get(file, sizeof *attribute);
    liana__onnx__attribute__init(attribute);
    attribute->name = copy(file, name);
    append(file, &node->attribute, &node->n_attribute, attribute);
    return attribute;
}

void liana__test_onnx_set_ints(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, const int64_t *values)
{
    Liana__Onnx__Attribute *attribute = add_attribute(file, node, name);
    attribute->n_ints = count_dims(values);
    attribute->ints = liana__arena_copy(&file->arena, values, attribute->n_ints * sizeof *values + 1);
}

void liana__test_onnx_set_int(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, int64_t value)
{
    Liana__Onnx__Attribute *attribute = add_attribute(file, node, name);
    attribute->has_i = 1;
    attribute->i = value;
}

void liana__test_onnx_set_float(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, float value)
{
    Liana__Onnx__Attribute *attribute = add_attribute(file, node, name);
    attribute->has_f = 1;
    attribute->f = value;
}

void liana__test_onnx_set_text(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, const char *value)
{
    Liana__Onnx__Attribute *attribute = add_attribute(file, node, name);
    attribute->has_s = 1;
    attribute->s.len = strlen(value);
    attribute->s.data = (uint8_t *)copy(file, value);
}

static void append_values(liana__onnx_file *file, const char *names, Liana__Onnx__ValueInfo ***list, size_t *count)
{
    char **all = NULL;
    size_t num_names = 0;
    append_names(file, names, &all, &num_names);
    for (size_t i = 0; i < num_names; i++) append(file, list, count, make_value(file, all[i], 1, NULL));
}

Liana__Onnx__Graph *liana__test_onnx_body(liana__onnx_file *file, size_t count, const char *inputs, const char *outputs)
{
    Liana__Onnx__Graph *body = get(file, sizeof *body);
    liana__onnx__graph__init(body);
    file->graph.n_node -= count;
    body->node = file->graph.node + file->graph.n_node;
    body->n_node = count;
    append_values(file, inputs, &body->input, &body->n_input);
    append_values(file, outputs, &body->output, &body->n_output);
    return body;
}

void liana__test_onnx_set_graph(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name,
                                Liana__Onnx__Graph *graph)
{
    add_attribute(file, node, name)->g = graph;
}

const uint8_t *liana__test_onnx_pack(liana__onnx_file *file, size_t *size)
{
    *size = liana__onnx__model__get_packed_size(&file->model);
    uint8_t *bytes = get(file, *size + 1);
    assert_int_equal(liana__onnx__model__pack(&file->model, bytes), *size);
    return bytes;
}
