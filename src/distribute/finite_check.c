/* Counts what is not finite, on the device. */
#include "distribute/finite_check.h"

#include "ops/reduce/count_non_finite.h"

#include <stdlib.h>

void liana__finite_check_free(liana__finite_check *check)
{
    liana__program_destroy(check->program);
    free(check->counts);
    *check = (liana__finite_check){0};
}

static liana_tensor build(liana_graph *graph, liana__node *const *nodes, size_t count, bool of_variables)
{
    liana_tensor *tensors = liana__arena_allocate(&graph->arena, (count + 1) * sizeof *tensors);
    if (!tensors) {
        return liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the check of numbers");
    }
    size_t num_tensors = 0;
    for (size_t i = 0; i < count; i++) {
        const liana__node *node = nodes[i];
        if (!liana__dtype_is_float(node->dtype)) continue;
        tensors[num_tensors++] = of_variables ? liana_graph_variable(graph, node->name, node->dtype, node->shape)
                                              : liana_graph_input(graph, node->name, node->dtype, node->shape);
    }
    if (num_tensors == 0) return (liana_tensor){0};
    liana_tensor counts = liana__count_non_finite_at(LIANA_HERE, tensors, num_tensors);
    liana_graph_output(graph, "counts", counts);
    return counts;
}

liana_status liana__finite_check_create(liana__device *device, liana__node *const *nodes, size_t count,
                                        liana__variables *variables, liana__finite_check *check, liana__error *error)
{
    liana_graph *graph;
    *check = (liana__finite_check){0};
    liana_status status = liana_graph_create(device->context, &graph);
    if (status == LIANA_OK) {
        liana_tensor counts = build(graph, nodes, count, variables != NULL);
        status = liana_graph_status(graph);
        const int64_t num_chunks = counts.id && status == LIANA_OK ? liana_tensor_shape(counts).dims[0] : 0;
        if (status != LIANA_OK || num_chunks == 0) liana_graph_destroy(graph);
        if (status == LIANA_OK && num_chunks == 0) return LIANA_OK;
        check->counts = malloc((size_t)num_chunks * sizeof *check->counts + 1);
    }
    if (status != LIANA_OK) {
        if (error && error != &device->context->error) *error = device->context->error;
        return status;
    }
    status = liana__program_create(device, graph, "finite", variables, &check->program, error);
    if (status == LIANA_OK && !check->counts) status = liana__fail_memory(error, "the check of numbers");
    if (status == LIANA_OK) status = liana__program_prepare(check->program, error);
    if (status != LIANA_OK) liana__finite_check_free(check);
    return status;
}

static liana__non_finite read_counts(const liana__finite_check *check)
{
    const liana__node *node = check->program->graph->outputs[0].node;
    liana__non_finite found = {0};
    const int32_t *next = check->counts;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        for (int64_t chunks = liana__finite_chunks(liana__input_shape(node, i)); chunks > 0; chunks--) {
            if (*next && !found.name) found.name = node->inputs[i]->name;
            found.count += *next++;
        }
    }
    return found;
}

liana_status liana__finite_check_run(liana__finite_check *check, liana__non_finite *found, liana__error *error)
{
    *found = (liana__non_finite){0};
    if (!check->program) return LIANA_OK;
    LIANA_TRY(liana__program_run(check->program, error));
    LIANA_TRY(liana__program_fetch(check->program, 0, check->counts, error));
    *found = read_counts(check);
    return LIANA_OK;
}
