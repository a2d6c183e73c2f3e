/* Which axes of a result are which axes of ONNX. See import_internal.h. */
#include "onnx/import_internal.h"

#include <inttypes.h>
#include <string.h>

const liana_shape *liana__import_shape(const liana__import *own, size_t result)
{
    return &own->model->nodes[result].shape;
}

/* A size of a result as the file counts it: its batch may be fixed. */
static int64_t result_size(const liana__import *own, size_t result, int axis)
{
    return axis == 0 ? own->batch : liana__import_shape(own, result)->dims[axis];
}

int64_t liana__import_size(const liana__import *own, const liana__import_value *value, int axis)
{
    if (value->kind == LIANA__IMPORT_CONSTANT) return value->constant->dims[axis];
    int64_t size = 1;
    for (int k = 0; k < value->axes[axis].count; k++) size *= result_size(own, value->result, value->axes[axis].at[k]);
    return size;
}

bool liana__import_has_batch(const liana__import_value *value, int axis)
{
    for (int k = 0; k < value->axes[axis].count; k++) {
        if (value->axes[axis].at[k] == 0) return true;
    }
    return false;
}

static liana_status fail_batch(const liana__import *own, const liana__import_node *node)
{
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                              "it needs examples of a batch to meet, or the batch joined with another axis; in liana "
                              "the examples of a batch do not meet");
}

/* ---- results in another order ---- */

/* Permutes the axes of a result (axis i of the new one is sequence[i]), and gives it another shape of as many elements.
 * Axes of one element move without a layer. */
static liana_status reorder(liana__import *own, const liana__import_node *node, size_t *result, const int *sequence,
                            int count, const liana_shape *shape)
{
    const liana_shape before = *liana__import_shape(own, *result);
    bool is_sorted = true;
    int last = -1;
    for (int i = 0; i < count; i++) {
        if (before.dims[sequence[i]] == 1 && sequence[i] != 0) continue;
        is_sorted = is_sorted && sequence[i] > last;
        last = sequence[i];
    }
    if (count && sequence[0] != 0) return fail_batch(own, node);
    liana_shape now = before;
    if (!is_sorted) {
        int64_t dims[LIANA_MAX_RANK] = {0};
        for (int i = 1; i < count; i++) {
            dims[i - 1] = sequence[i];
            now.dims[i] = before.dims[sequence[i]];
        }
        const liana__import_options options = liana__import_options_new(own);
        liana__import_set_ints(&options, "dims", dims, count - 1);
        LIANA_TRY(liana__import_add(own, node, "Permute", "", &options, result, 1, result));
    }
    bool is_same = now.rank == shape->rank;
    for (int i = 1; is_same && i < shape->rank; i++) is_same = now.dims[i] == shape->dims[i];
    if (is_same) return LIANA_OK;
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "target_shape", shape->dims + 1, shape->rank - 1);
    return liana__import_add(own, node, "Reshape", "", &options, result, 1, result);
}

static liana_status fail_rank(const liana__import *own, const liana__import_node *node)
{
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it needs more than %d axes", LIANA_MAX_RANK);
}

liana_status liana__import_arrange(liana__import *own, liana__import_node *node, liana__import_value *value,
                                   const int *order, int count, size_t *result)
{
    const int rank = liana__import_shape(own, value->result)->rank;
    int sequence[LIANA_MAX_RANK], length = 0;
    bool used[LIANA_MAX_RANK] = {false};
    liana_shape shape = {.rank = count};
    *result = value->result;
    if (value->has_arranged && value->order_count == count &&
        !memcmp(order, value->order, (size_t)count * sizeof *order)) {
        *result = value->arranged;
        return LIANA_OK;
    }
    for (int i = 0; i < count; i++) {
        const liana__import_axis *axis = &value->axes[order[i]];
        shape.dims[i] = 1;
        for (int k = 0; k < axis->count; k++) {
            if (axis->at[k] == 0 && (i > 0 || k > 0)) return fail_batch(own, node);
            sequence[length++] = axis->at[k];
            used[axis->at[k]] = true;
            shape.dims[i] *= liana__import_shape(own, value->result)->dims[axis->at[k]];
        }
    }
    if (!used[0] || shape.dims[0] != 1) return fail_batch(own, node);
    for (int i = 0; i < rank; i++) {
        if (used[i]) continue;
        if (liana__import_shape(own, value->result)->dims[i] != 1) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "an axis of its input has more than one element");
        }
        sequence[length++] = i;
    }
    LIANA_TRY(reorder(own, node, result, sequence, length, &shape));
    value->has_arranged = true;
    value->order_count = count;
    memcpy(value->order, order, (size_t)count * sizeof *order);
    value->arranged = *result;
    return LIANA_OK;
}

liana_status liana__import_images(liana__import *own, liana__import_node *node, liana__import_value *value,
                                  size_t *result)
{
    int order[LIANA_MAX_RANK] = {0};
    if (value->rank < 2) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %d axes, expected [batch, channels, ...]",
                                  value->rank);
    }
    for (int i = 1; i < value->rank; i++) order[i] = i + 1 < value->rank ? i + 1 : 1;
    return liana__import_arrange(own, node, value, order, value->rank, result);
}

/* ---- axes of outputs ---- */

static void set(liana__import_value *output, size_t result, int rank)
{
    output->kind = LIANA__IMPORT_RESULT;
    output->result = result;
    output->rank = rank;
    output->has_arranged = false;
    for (int i = 0; i < rank; i++) output->axes[i] = (liana__import_axis){1, {i}};
}

void liana__import_set_plain(liana__import_value *output, size_t result, int rank)
{
    set(output, result, rank);
}

void liana__import_set_images(liana__import_value *output, size_t result, int rank)
{
    set(output, result, rank);
    for (int i = 1; i < rank; i++) output->axes[i].at[0] = i == 1 ? rank - 1 : i - 1;
}

void liana__import_set_like(liana__import_value *output, const liana__import_value *input, size_t result)
{
    set(output, result, input->rank);
    memcpy(output->axes, input->axes, sizeof output->axes);
}

/* ---- one axis ---- */

/* Moves the axes of the result that belong to one axis of ONNX behind those before `first`, joined into one. */
static liana_status join_at(liana__import *own, liana__import_node *node, liana__import_value *value, int axis,
                            int first)
{
    const liana_shape before = *liana__import_shape(own, value->result);
    liana__import_axis *joined = &value->axes[axis];
    int sequence[LIANA_MAX_RANK], length = 0, moved[LIANA_MAX_RANK];
    bool is_own[LIANA_MAX_RANK] = {false};
    liana_shape shape = {.rank = 0};
    for (int k = 0; k < joined->count; k++) is_own[joined->at[k]] = true;
    if (before.rank - joined->count + 1 > LIANA_MAX_RANK) return fail_rank(own, node);
    for (int i = 0; i <= before.rank; i++) {
        if (shape.rank == first) {
            shape.dims[shape.rank] = 1;
            for (int k = 0; k < joined->count; k++) {
                sequence[length++] = joined->at[k];
                shape.dims[shape.rank] *= before.dims[joined->at[k]];
            }
            shape.rank++;
            first = -1;
        }
        if (i == before.rank || is_own[i]) continue;
        moved[i] = shape.rank;
        sequence[length++] = i;
        shape.dims[shape.rank++] = before.dims[i];
    }
    for (int a = 0; a < value->rank; a++) {
        for (int k = 0; a != axis && k < value->axes[a].count; k++) value->axes[a].at[k] = moved[value->axes[a].at[k]];
    }
    return reorder(own, node, &value->result, sequence, length, &shape);
}

/* The place of the joined axis: the number of others before the first of its own. */
static int place_of(const liana__import_value *value, int axis, int rank)
{
    int first = rank;
    for (int k = 0; k < value->axes[axis].count; k++) {
        if (value->axes[axis].at[k] < first) first = value->axes[axis].at[k];
    }
    return first;
}

liana_status liana__import_single(liana__import *own, liana__import_node *node, liana__import_value *value, int axis,
                                  int *single)
{
    liana__import_axis *chosen = &value->axes[axis];
    if (chosen->count != 1) {
        const int rank = liana__import_shape(own, value->result)->rank, first = place_of(value, axis, rank);
        if (liana__import_has_batch(value, axis) && liana__import_size(own, value, axis) != own->batch) {
            return fail_batch(own, node);
        }
        LIANA_TRY(join_at(own, node, value, axis, first));
        *chosen = (liana__import_axis){1, {first}};
        value->has_arranged = false;
    }
    *single = chosen->at[0];
    return LIANA_OK;
}

liana_status liana__import_arrange_last(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                        int axis, liana__import_value *like)
{
    *like = *value;
    const int rank = liana__import_shape(own, value->result)->rank;
    if (value->axes[axis].count == 1 && value->axes[axis].at[0] == rank - 1) return LIANA_OK;
    if (liana__import_has_batch(value, axis)) return fail_batch(own, node);
    const int last = rank - value->axes[axis].count;
    LIANA_TRY(join_at(own, node, like, axis, last));
    like->axes[axis] = (liana__import_axis){1, {last}};
    like->has_arranged = false;
    return LIANA_OK;
}

/* ---- several values with one order ---- */

/* The factors of an axis of ONNX that all values get. */
typedef struct factors {
    int count;
    int64_t sizes[LIANA_MAX_RANK];
    int batch;                 /* which of them is the batch, or -1 */
    int slots[LIANA_MAX_RANK]; /* the axes of the results */
} factors;

static factors factors_of(const liana__import *own, const liana__import_value *value, int axis)
{
    factors made = {.count = value->axes[axis].count, .batch = -1};
    for (int k = 0; k < made.count; k++) {
        const int at = value->axes[axis].at[k];
        made.sizes[k] = liana__import_shape(own, value->result)->dims[at];
        if (at == 0) made.batch = k;
    }
    return made;
}

static bool is_one(const factors *given)
{
    int64_t size = 1;
    for (int k = 0; k < given->count; k++) size *= given->sizes[k];
    return size == 1 && given->batch < 0;
}

static bool same_factors(const factors *a, const factors *b)
{
    bool same = a->count == b->count && a->batch == b->batch;
    for (int k = 0; same && k < a->count; k++) same = a->sizes[k] == b->sizes[k];
    return same;
}

/* Values of fewer axes get axes of one element before theirs. */
static int pad_ranks(liana__import_value *values, size_t count)
{
    int rank = 0;
    for (size_t i = 0; i < count; i++) rank = values[i].rank > rank ? values[i].rank : rank;
    for (size_t i = 0; i < count; i++) {
        const int more = rank - values[i].rank;
        memmove(values[i].axes + more, values[i].axes, (size_t)values[i].rank * sizeof *values[i].axes);
        memset(values[i].axes, 0, (size_t)more * sizeof *values[i].axes);
        values[i].rank = rank;
    }
    return rank;
}

/* The factors of an axis. Where values have others, these are joined. */
static liana_status choose_factors(liana__import *own, liana__import_node *node, liana__import_value *values,
                                   size_t count, int axis, factors *chosen)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        bool differ = false;
        *chosen = factors_of(own, &values[0], axis);
        for (size_t i = 1; i < count; i++) {
            const factors other = factors_of(own, &values[i], axis);
            const bool is_better = is_one(chosen) && (!is_one(&other) || other.count > chosen->count);
            differ = differ || (!is_one(&other) && !is_one(chosen) && !same_factors(&other, chosen));
            if (is_better || (chosen->batch < 0 && other.batch >= 0 && other.count == chosen->count)) *chosen = other;
        }
        if (!differ) return LIANA_OK;
        for (size_t i = 0; i < count && attempt == 0; i++) {
            int single;
            LIANA_TRY(liana__import_single(own, node, &values[i], axis, &single));
        }
    }
    return liana__import_fail(own, node, LIANA_INVALID_DATA, "its inputs have different sizes along axis %d", axis);
}

/* The order of all factors: as the value has them that has the most axes, the others behind. */
static liana_status order_slots(const liana__import *own, const liana__import_node *node,
                                const liana__import_value *lead, factors *all, int rank, int *num_slots)
{
    const int num_axes = liana__import_shape(own, lead->result)->rank;
    int batches = 0;
    *num_slots = 0;
    for (int a = 0; a < rank; a++) {
        batches += all[a].batch >= 0;
        for (int k = 0; k < all[a].count; k++) all[a].slots[k] = -1;
    }
    if (batches != 1) return fail_batch(own, node);
    for (int at = 0; at < num_axes; at++) {
        for (int a = 0; a < rank; a++) {
            for (int k = 0; k < lead->axes[a].count && k < all[a].count; k++) {
                if (lead->axes[a].at[k] == at) all[a].slots[k] = (*num_slots)++;
            }
        }
    }
    for (int a = 0; a < rank; a++) {
        for (int k = 0; k < all[a].count; k++) {
            if (all[a].slots[k] < 0) all[a].slots[k] = (*num_slots)++;
        }
    }
    return *num_slots <= LIANA_MAX_RANK ? LIANA_OK : fail_rank(own, node);
}

static liana_status align_one(liana__import *own, liana__import_node *node, liana__import_value *value,
                              const factors *all, int num_slots)
{
    const liana_shape before = *liana__import_shape(own, value->result);
    int owners[LIANA_MAX_RANK], sequence[LIANA_MAX_RANK], length = 0;
    bool used[LIANA_MAX_RANK] = {false};
    liana_shape shape = {.rank = num_slots};
    for (int s = 0; s < num_slots; s++) {
        owners[s] = -1;
        shape.dims[s] = 1;
    }
    for (int a = 0; a < value->rank; a++) {
        const factors mine = factors_of(own, value, a);
        for (int k = 0; same_factors(&mine, &all[a]) && k < mine.count; k++)
            owners[all[a].slots[k]] = value->axes[a].at[k];
    }
    for (int s = 0; s < num_slots; s++) {
        if (owners[s] < 0) continue;
        sequence[length++] = owners[s];
        used[owners[s]] = true;
        shape.dims[s] = before.dims[owners[s]];
    }
    if (!length || sequence[0] != 0) return fail_batch(own, node);
    for (int i = 0; i < before.rank; i++) {
        if (!used[i]) sequence[length++] = i;
    }
    LIANA_TRY(reorder(own, node, &value->result, sequence, length, &shape));
    for (int a = 0; a < value->rank; a++) {
        value->axes[a].count = all[a].count;
        memcpy(value->axes[a].at, all[a].slots, sizeof value->axes[a].at);
    }
    value->has_arranged = false;
    return LIANA_OK;
}

liana_status liana__import_align(liana__import *own, liana__import_node *node, liana__import_value *values,
                                 size_t count)
{
    const int rank = pad_ranks(values, count);
    factors all[LIANA_MAX_RANK];
    const liana__import_value *lead = &values[0];
    int num_slots;
    for (int a = 0; a < rank; a++) LIANA_TRY(choose_factors(own, node, values, count, a, &all[a]));
    for (size_t i = 1; i < count; i++) {
        if (liana__import_shape(own, values[i].result)->rank > liana__import_shape(own, lead->result)->rank) {
            lead = &values[i];
        }
    }
    LIANA_TRY(order_slots(own, node, lead, all, rank, &num_slots));
    for (size_t i = 0; i < count; i++) LIANA_TRY(align_one(own, node, &values[i], all, num_slots));
    return LIANA_OK;
}

/* ---- Reshape ---- */

/* A part of an axis of the result: the axis is cut into such parts, in order. */
typedef struct piece {
    int axis;
    int64_t size;
} piece;

typedef struct cutting {
    piece pieces[2 * LIANA_MAX_RANK];
    int count;
    int first[LIANA_MAX_RANK], length[LIANA_MAX_RANK]; /* the pieces of each new axis */
} cutting;

/* Cuts the sequence of axes so that each new axis is several pieces in a row. False: they do not fit each other. A file
 * for a batch of 1 leaves open to which of two axes the batch belongs: to the first if axes are joined. */
static bool cut(const liana__import *own, const liana__import_value *value, const int64_t *dims, int rank,
                cutting *made)
{
    piece rest[LIANA_MAX_RANK * 2];
    int count = 0, at = 0;
    for (int a = 0; a < value->rank; a++) {
        for (int k = 0; k < value->axes[a].count; k++) {
            rest[count++] = (piece){value->axes[a].at[k], result_size(own, value->result, value->axes[a].at[k])};
        }
    }
    *made = (cutting){.count = 0};
    for (int i = 0; i < rank; i++) {
        int64_t left = dims[i];
        made->first[i] = made->count;
        while (at < count && (left != 1 || (rest[at].size == 1 && made->count == made->first[i]))) {
            if (made->count == 2 * LIANA_MAX_RANK || left == 0) return false;
            if (left == -1) { /* the batch, and no more */
                made->pieces[made->count++] = rest[at++];
                break;
            }
            if (left % rest[at].size == 0) {
                left /= rest[at].size;
                made->pieces[made->count++] = rest[at++];
                const bool takes_batch = at < count && rest[at].axis == 0 && rest[at].size == 1 && rank < value->rank;
                if (left == 1 && !(takes_batch && i + 1 < rank && dims[i + 1] != 1)) break;
                if (left == 1) left = -1;
                continue;
            }
            if (rest[at].axis == 0 || rest[at].size % left) return false;
            made->pieces[made->count++] = (piece){rest[at].axis, left};
            rest[at].size /= left;
            left = 1;
        }
        if (left != 1 && left != -1) return false;
        made->length[i] = made->count - made->first[i];
    }
    for (; at < count && rest[at].size == 1 && rank && made->count < 2 * LIANA_MAX_RANK; at++) {
        made->pieces[made->count++] = rest[at];
        made->length[rank - 1]++;
    }
    return at == count;
}

/* Cuts the axes of the result in their places, and lists which axes are then those of ONNX. */
static liana_status take_cut(liana__import *own, const liana__import_node *node, const liana__import_value *value,
                             const cutting *made, int rank, liana__import_value *output)
{
    const int before = liana__import_shape(own, value->result)->rank;
    int order[LIANA_MAX_RANK], places[2 * LIANA_MAX_RANK];
    liana_shape shape = {.rank = 0};
    for (int axis = 0; axis < before; axis++) {
        for (int p = 0; p < made->count; p++) {
            if (made->pieces[p].axis != axis) continue;
            if (shape.rank == LIANA_MAX_RANK) return fail_rank(own, node);
            places[p] = shape.rank;
            shape.dims[shape.rank++] = axis == 0 ? 1 : made->pieces[p].size;
        }
        order[axis] = axis;
    }
    size_t result = value->result;
    LIANA_TRY(reorder(own, node, &result, order, before, &shape));
    set(output, result, rank);
    for (int i = 0; i < rank; i++) {
        output->axes[i].count = made->length[i];
        if (made->length[i] > LIANA_MAX_RANK) return fail_rank(own, node);
        for (int k = 0; k < made->length[i]; k++) output->axes[i].at[k] = places[made->first[i] + k];
    }
    return LIANA_OK;
}

/* ONNX's rules for 0 and -1 were followed already. */
liana_status liana__import_reshape(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                   const int64_t *dims, int rank, liana__import_value *output)
{
    cutting made;
    if (cut(own, value, dims, rank, &made)) return take_cut(own, node, value, &made, rank, output);
    /* The axes do not fit: the elements of an example get ONNX's order. */
    int order[LIANA_MAX_RANK];
    liana_shape shape = {.rank = rank};
    liana__import_value copy = *value;
    size_t result;
    if (!rank || dims[0] != own->batch) return fail_batch(own, node);
    for (int i = 0; i < value->rank; i++) order[i] = i;
    LIANA_TRY(liana__import_arrange(own, node, &copy, order, value->rank, &result));
    for (int i = 0; i < rank; i++) shape.dims[i] = i ? dims[i] : 1;
    for (int i = 0; i < liana__import_shape(own, result)->rank; i++) order[i] = i;
    LIANA_TRY(reorder(own, node, &result, order, liana__import_shape(own, result)->rank, &shape));
    set(output, result, rank);
    return LIANA_OK;
}
