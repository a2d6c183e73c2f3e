/* How nodes are computed in parts of a batch. */
#include "base/memory.h"
#include "ir/op.h"

static int64_t rows_of(const liana_shape *shape)
{
    return shape->rank > 0 ? shape->dims[0] : 0;
}

liana__parts liana__node_parts(const liana__node *node)
{
    return node->op->parts ? node->op->parts(node) : (liana__parts){0};
}

liana__parts liana__parts_all_inputs(const liana__node *node)
{
    int64_t rows = rows_of(&node->shape);
    bool same = rows > 0;
    for (uint32_t i = 0; i < node->num_inputs; i++) same = same && rows_of(liana__input_shape(node, i)) == rows;
    return (liana__parts){.kind = same ? LIANA__PART_ROWS : LIANA__PART_NONE, .rows = rows};
}

liana__parts liana__parts_first_input(const liana__node *node)
{
    int64_t rows = rows_of(&node->shape);
    bool same = rows > 0 && rows_of(liana__input_shape(node, 0)) == rows;
    return (liana__parts){.kind = same ? LIANA__PART_ROWS : LIANA__PART_NONE, .rows = rows, .whole = ~(uint64_t)1};
}

liana__parts liana__parts_element_wise(const liana__node *node)
{
    liana__parts parts = {.rows = rows_of(&node->shape)};
    if (parts.rows == 0) return parts;
    parts.kind = LIANA__PART_ROWS;
    parts.by_lines = true;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana_shape *shape = liana__input_shape(node, i);
        bool batched = shape->rank == node->shape.rank && shape->dims[0] == parts.rows;
        if (!batched) parts.whole |= (uint64_t)1 << i;
    }
    return parts;
}

liana__parts liana__node_flat_parts(const liana__node *node)
{
    liana__parts parts = {.rows = liana_shape_size(&node->shape)};
    if (node->op->parts != liana__parts_element_wise || node->shape.rank == 0) return parts;
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana_shape *shape = liana__input_shape(node, i);
        if (liana_shape_equal(shape, &node->shape)) continue;
        if (shape->rank > 0) return parts;
        parts.whole |= (uint64_t)1 << i;
    }
    parts.kind = LIANA__PART_ROWS;
    return parts;
}

liana__parts liana__node_line_parts(const liana__node *node)
{
    liana__parts rows = liana__node_parts(node), parts = {0};
    if (rows.kind != LIANA__PART_ROWS || !rows.by_lines || rows.rows != 1 || node->shape.rank < 2) return parts;
    parts.rows = node->shape.dims[1];
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        const liana_shape *shape = liana__input_shape(node, i);
        if (shape->rank == node->shape.rank && shape->dims[1] == parts.rows) continue;
        /* An operand that is read whole must be the same for each line. */
        bool repeats = shape->rank + 2 <= node->shape.rank || shape->dims[shape->rank + 1 - node->shape.rank] == 1;
        if (!repeats) return (liana__parts){0};
        parts.whole |= (uint64_t)1 << i;
    }
    parts.kind = LIANA__PART_ROWS;
    return parts;
}

size_t liana__part_size(const liana__node *node, const liana__parts *parts)
{
    liana_dtype dtype = parts->kind == LIANA__PART_MERGE ? parts->dtype : node->dtype;
    return liana__align_up(liana__byte_size(dtype, &node->shape));
}
