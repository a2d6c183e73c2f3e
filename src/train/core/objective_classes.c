/* Weights of classes: which output they are for, and what each element of its loss weighs. */
#include "ir/graph.h"
#include "train/core/objective.h"

liana_status liana__objective_check_class_weights(const liana__objective *objective, const liana__place *place,
                                                  const char *where, liana__error *error)
{
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (objective->outputs[i].weighs_classes) return LIANA_OK;
    }
    return liana__fail_at(error, place, where,
                          "the model has %zu outputs, and the target of none is the label, so it is not known whose "
                          "classes are weighted; weigh the examples instead (example_weight)",
                          objective->num_outputs);
}

/* Class numbers of a single value are looked up one place further on: what is no class of the table has 1, at its ends. */
static bool is_numbered(const liana__objective_output *output)
{
    return output->target == LIANA__TARGET_VALUES && output->shape.dims[output->shape.rank - 1] == 1;
}

liana_tensor liana__class_table(const liana__objective_output *output, liana_graph *graph, const double *weights,
                                int64_t count)
{
    const bool numbered = is_numbered(output);
    const int64_t size = numbered ? count + 2 : output->shape.dims[output->shape.rank - 1];
    float *table = liana__arena_allocate(&graph->arena, (size_t)size * sizeof *table);
    if (!table) return (liana_tensor){0};
    for (int64_t i = 0; i < size; i++) table[i] = 1;
    for (int64_t i = 0; i < count && i < size; i++) table[numbered ? i + 1 : i] = (float)weights[i];
    return liana_graph_constant(graph, LIANA_F32, liana_shape_of(size), table);
}

liana_tensor liana__weights_of_classes(const liana__objective_output *output, liana_tensor table, liana_tensor target)
{
    if (output->target == LIANA__TARGET_CLASSES) return liana_op_gather(table, target, 0);
    if (!is_numbered(output)) return liana_op_gather(table, liana_op_argmax(target, -1), 0);
    liana_shape shape = liana_tensor_shape(target);
    const double last = (double)liana_tensor_shape(table).dims[0] - 1;
    liana_tensor place = liana_op_add(liana_op_round(target), liana__scalar_like(target, 1));
    place = liana_op_cast(liana_op_clip(place, 0, last), LIANA_S32);
    if (shape.rank) shape.rank--;
    return liana_op_gather(table, liana_op_reshape(place, shape), 0);
}
