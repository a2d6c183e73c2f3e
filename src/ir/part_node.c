/* Copies of nodes for parts of a batch. */
#include "ir/part_node.h"

static liana_shape part_shape(const liana__node *node, const liana__node_cut *cut)
{
    liana_shape shape = node->shape;
    if (cut->flat) shape.rank = 1;
    shape.dims[cut->axis] = cut->rows;
    return shape;
}

/* A node with fewer rows, for its shape. */
static liana__node *take_rows(liana__arena *arena, const liana__node *node, const liana__node_cut *cut)
{
    liana__node *part = liana__arena_copy(arena, node, sizeof *node);
    if (part) part->shape = part_shape(node, cut);
    return part;
}

const liana__node *liana__part_node(liana__arena *arena, const liana__node *whole, const liana__node_cut *cut)
{
    const liana__parts *parts = &cut->parts;
    liana__node *part = liana__arena_copy(arena, whole, sizeof *whole);
    liana__node **inputs = liana__arena_allocate(arena, whole->num_inputs * sizeof *inputs);
    if (!part || !inputs) return NULL;
    for (uint32_t i = 0; i < whole->num_inputs; i++) {
        inputs[i] = whole->inputs[i];
        if (!liana__parts_is_whole(parts, i)) inputs[i] = take_rows(arena, whole->inputs[i], cut);
        /* A tensor that a node reads twice is one tensor for its part, too. */
        for (uint32_t k = 0; k < i; k++) {
            bool same = whole->inputs[k] == whole->inputs[i];
            if (same && liana__parts_is_whole(parts, k) == liana__parts_is_whole(parts, i)) inputs[i] = inputs[k];
        }
    }
    part->inputs = inputs;
    if (parts->kind == LIANA__PART_ROWS) part->shape = part_shape(whole, cut);
    if (parts->kind == LIANA__PART_MERGE) part->dtype = parts->dtype;
    if (whole->op->note_whole) {
        void *attributes = liana__arena_copy(arena, whole->attributes, whole->op->attributes->size);
        if (!attributes) return NULL;
        whole->op->note_whole(whole, attributes);
        part->attributes = attributes;
    }
    return part;
}
