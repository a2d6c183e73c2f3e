/* Plans the walk through tensors with strides of their own. */
#include "kernels/strided_walk.h"

static bool joins(const liana__walk *walk, int axis, const liana__walk *joined)
{
    int last = joined->rank - 1;
    for (int i = 0; i < walk->num_operands; i++) {
        if (joined->strides[i][last] != walk->dims[axis] * walk->strides[i][axis]) return false;
    }
    return true;
}

void liana__walk_join(liana__walk *walk)
{
    liana__walk joined = {.num_operands = walk->num_operands};
    for (int axis = 0; axis < walk->rank; axis++) {
        if (walk->dims[axis] == 1) continue;
        if (joined.rank > 0 && joins(walk, axis, &joined)) {
            joined.dims[joined.rank - 1] *= walk->dims[axis];
        } else {
            joined.dims[joined.rank++] = walk->dims[axis];
        }
        for (int i = 0; i < walk->num_operands; i++) joined.strides[i][joined.rank - 1] = walk->strides[i][axis];
    }
    for (; joined.rank < 2; joined.rank++) {
        liana__walk_move_axis(&joined, 0, joined.rank);
        joined.dims[0] = 1;
        for (int i = 0; i < joined.num_operands; i++) joined.strides[i][0] = 0;
    }
    *walk = joined;
}

static void move_element(int64_t *values, int from, int to)
{
    int64_t moved = values[from];
    int step = from < to ? 1 : -1;
    for (int i = from; i != to; i += step) values[i] = values[i + step];
    values[to] = moved;
}

void liana__walk_move_axis(liana__walk *walk, int from, int to)
{
    move_element(walk->dims, from, to);
    for (int i = 0; i < walk->num_operands; i++) move_element(walk->strides[i], from, to);
}

liana__walk liana__walk_broadcast(const liana_shape *wide, const liana_shape *const *shapes, int num_operands)
{
    liana__walk walk = {.num_operands = num_operands, .rank = wide->rank};
    for (int axis = 0; axis < wide->rank; axis++) walk.dims[axis] = wide->dims[axis];
    liana__shape_strides(wide, walk.strides[0]);
    for (int i = 1; i < num_operands; i++) liana__broadcast_strides(shapes[i], wide, walk.strides[i]);
    liana__walk_join(&walk);
    return walk;
}
