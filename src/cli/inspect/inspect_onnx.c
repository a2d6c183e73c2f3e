/* Describes ONNX files for liana inspect: what they need, inputs and outputs, operators, numbers. */
#include "base/scoped.h"
#include "cli/inspect/inspect.h"
#include "onnx/import.h"
#include "onnx/import_file.h"

#include <stdio.h>
#include <string.h>

/* An ONNX dtype's name. */
static const char *dtype_name(int code)
{
    static const char *const names[] = {"?",      "float32", "uint8",     "int8",       "uint16",  "int16",
                                        "int32",  "int64",   "string",    "bool",       "float16", "float64",
                                        "uint32", "uint64",  "complex64", "complex128", "bfloat16"};
    return code >= 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : "?";
}

static void add_shape(const Liana__Onnx__TensorType *type, liana__text *text)
{
    liana__text_add(text, "[");
    for (size_t i = 0; type && type->shape && i < type->shape->n_dim; i++) {
        const Liana__Onnx__Dimension *dim = type->shape->dim[i];
        const bool is_number = dim->value_case == LIANA__ONNX__DIMENSION__VALUE_DIM_VALUE;
        const bool is_named = dim->value_case == LIANA__ONNX__DIMENSION__VALUE_DIM_PARAM;
        if (i) liana__text_add(text, ", ");
        if (is_number) liana__text_add(text, "%lld", (long long)dim->dim_value);
        if (!is_number) liana__text_add(text, "%.40s", is_named ? dim->dim_param : "?");
    }
    liana__text_add(text, "]");
}

static liana_status add_values(Liana__Onnx__ValueInfo *const *values, size_t count, const char *key,
                               liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; rows && i < count; i++) {
        liana__value *row = liana__value_map(arena);
        LIANA__SCOPED(liana__text) shape = {0};
        const Liana__Onnx__TensorType *type = values[i]->type ? values[i]->type->tensor_type : NULL;
        add_shape(type, &shape);
        if (!row || shape.failed) return liana__fail_memory(error, key);
        liana__findings_text(arena, row, "name", values[i]->name ? values[i]->name : "?");
        liana__findings_text(arena, row, "dtype", dtype_name(type ? type->elem_type : 0));
        liana__findings_text(arena, row, "shape", shape.data);
        liana__value_add(arena, rows, row);
    }
    if (rows) liana__value_set(arena, report, key, rows);
    return arena->failed ? liana__fail_memory(error, key) : LIANA_OK;
}

/* Counts the operators of a graph and of the bodies of its loops: all, and those that liana does not have. */
static void count_operators(const Liana__Onnx__Model *file, const Liana__Onnx__Graph *graph, liana__tallies *all,
                            liana__tallies *missing)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Liana__Onnx__Node *node = graph->node[i];
        const char *op = node->op_type ? node->op_type : "?";
        bool is_known = liana__onnx_has_operator(op);
        for (size_t k = 0; !is_known && k < file->n_functions; k++) {
            is_known = file->functions[k]->name && strcmp(file->functions[k]->name, op) == 0;
        }
        liana__tallies_add(all, op, 0);
        if (!is_known) liana__tallies_add(missing, op, 0);
        for (size_t k = 0; k < node->n_attribute; k++) {
            if (node->attribute[k]->g) count_operators(file, node->attribute[k]->g, all, missing);
        }
    }
}

static void add_operators(const Liana__Onnx__Model *file, liana__value *report, liana__arena *arena)
{
    liana__tallies *all = liana__arena_allocate(arena, sizeof *all),
                   *missing = liana__arena_allocate(arena, sizeof *all);
    if (!all || !missing) return;
    count_operators(file, file->graph, all, missing);
    liana__tallies_report(all, "operator", "nodes", false, "operators", report, arena);
    liana__tallies_report(missing, "operator", "nodes", false, "operators_that_liana_lacks", report, arena);
}

static void add_numbers(const Liana__Onnx__Graph *graph, liana__value *report, liana__arena *arena)
{
    int64_t numbers = 0, outside = 0;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Liana__Onnx__Tensor *tensor = graph->initializer[i];
        int64_t count = 1;
        for (size_t k = 0; k < tensor->n_dims; k++) {
            if (tensor->dims[k] < 0 || __builtin_mul_overflow(count, tensor->dims[k], &count)) count = 0;
        }
        if (__builtin_add_overflow(numbers, count, &numbers)) numbers = 0;
        outside += tensor->n_external_data > 0;
    }
    liana__findings_int(arena, report, "initializers", (int64_t)graph->n_initializer);
    if (outside) liana__findings_int(arena, report, "initializers_in_other_files", outside);
    liana__findings_int(arena, report, "numbers_in_initializers", numbers);
}

liana_status liana__inspect_onnx(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    Liana__Onnx__Model *file;
    LIANA_TRY(liana__import_open(arena, path, &file, error));
    const Liana__Onnx__Graph *graph = file->graph;
    liana__findings_text(arena, report, "kind", "ONNX");
    if (file->producer_name && *file->producer_name) {
        liana__findings_text(arena, report, "producer", file->producer_name);
    }
    if (file->producer_version && *file->producer_version) {
        liana__findings_text(arena, report, "producer_version", file->producer_version);
    }
    liana__findings_int(arena, report, "ir_version", file->ir_version);
    for (size_t i = 0; i < file->n_opset_import; i++) {
        const char *domain = file->opset_import[i]->domain;
        const bool is_own = !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
        if (is_own) liana__findings_int(arena, report, "opset", file->opset_import[i]->version);
    }
    LIANA_TRY(add_values(graph->input, graph->n_input, "inputs", report, arena, error));
    LIANA_TRY(add_values(graph->output, graph->n_output, "outputs", report, arena, error));
    liana__findings_int(arena, report, "nodes", (int64_t)graph->n_node);
    if (file->n_functions) liana__findings_int(arena, report, "functions", (int64_t)file->n_functions);
    add_numbers(graph, report, arena);
    add_operators(file, report, arena);
    return arena->failed ? liana__fail_memory(error, path) : LIANA_OK;
}
