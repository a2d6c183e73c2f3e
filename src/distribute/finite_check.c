/* Counts the numbers that are not finite, on the device. */
#include "distribute/finite_check.h"

#include "ops/reduce/count_non_finite.h"

#include <stdio.h>
#include <stdlib.h>

void liana__finite_check_free(liana__finite_check *check)
{
    liana__program_destroy(check->program);
    free(check->counts);
    *check = (liana__finite_check){0};
}

/* One output for each group of tensors. */
static liana_status build(liana_graph *graph, liana__node *const *nodes, size_t count, bool of_variables)
{
    liana_tensor tensors[LIANA__MAX_FINITE_INPUTS];
    size_t num_tensors = 0;
    for (size_t i = 0; i < count; i++) {
        const liana__node *node = nodes[i];
        if (liana__dtype_computes(node->dtype)) {
            tensors[num_tensors++] = of_variables ? liana_graph_variable(graph, node->name, node->dtype, node->shape)
                                                  : liana_graph_input(graph, node->name, node->dtype, node->shape);
        }
        const bool full = num_tensors == LIANA__MAX_FINITE_INPUTS || i + 1 == count;
        if (!full || num_tensors == 0) continue;
        char name[32];
        snprintf(name, sizeof name, "counts/%zu", graph->num_outputs);
        liana_graph_output(graph, name, liana__count_non_finite_at(LIANA_HERE, tensors, num_tensors));
        num_tensors = 0;
    }
    return liana_graph_status(graph);
}

/* The memory of the largest output. */
static int32_t *allocate_counts(const liana_graph *graph)
{
    size_t largest = 1;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        const size_t size = liana__byte_size(node->dtype, &node->shape);
        if (size > largest) largest = size;
    }
    return malloc(largest);
}

liana_status liana__finite_check_create(liana__device *device, liana__node *const *nodes, size_t count,
                                        liana__variables *variables, liana__finite_check *check, liana__error *error)
{
    liana_graph *graph = NULL;
    *check = (liana__finite_check){0};
    liana_status status = liana_graph_create(device->context, &graph);
    if (status == LIANA_OK) status = build(graph, nodes, count, variables != NULL);
    if (status != LIANA_OK || graph->num_outputs == 0) {
        liana_graph_destroy(graph);
        if (status != LIANA_OK && error && error != &device->context->error) *error = device->context->error;
        return status;
    }
    check->counts = allocate_counts(graph);
    status = liana__program_create(device, graph, "finite", variables, &check->program, error);
    if (status == LIANA_OK && !check->counts) status = liana__fail_memory(error, "the check of numbers");
    if (status == LIANA_OK) status = liana__program_prepare(check->program, error);
    if (status != LIANA_OK) liana__finite_check_free(check);
    return status;
}

/* Adds the counts of one output. */
static void read_counts(const liana__node *node, const int32_t *counts, liana__non_finite *found)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        for (int64_t chunks = liana__finite_chunks(liana__input_shape(node, i)); chunks > 0; chunks--) {
            if (*counts && !found->name) found->name = node->inputs[i]->name;
            found->count += *counts++;
        }
    }
}

liana_status liana__finite_check_run(liana__finite_check *check, liana__non_finite *found, liana__error *error)
{
    *found = (liana__non_finite){0};
    if (!check->program) return LIANA_OK;
    LIANA_TRY(liana__program_run(check->program, error));
    const liana_graph *graph = check->program->graph;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        LIANA_TRY(liana__program_fetch(check->program, i, check->counts, error));
        read_counts(graph->outputs[i].node, check->counts, found);
    }
    return LIANA_OK;
}
