/* Ops that move elements. */
#include "onnx/op_table.h"
#include "ops/shape/slice_pad.h"

void liana__onnx_to_same(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    (void)type;
    liana__onnx_give(scope, node, liana__onnx_name(scope, node->inputs[0], layout), layout);
}

/* The sizes of a node in the order of a layout. */
static void sizes_in(const liana__onnx_scope *scope, const liana__node *node, liana__onnx_layout layout,
                     liana__onnx_size sizes[LIANA_MAX_RANK])
{
    for (int i = 0; i < node->shape.rank; i++) {
        sizes[liana__onnx_axis(layout, node->shape.rank, i)] = liana__onnx_dim(scope, node, i);
    }
}

/* [batch, 1, 1, channels] of a mean over images is what ONNX's pooling gives. */
static bool is_pooled(const liana__onnx_scope *scope, const liana__node *node)
{
    const liana__node *mean = node->inputs[0];
    const int rank = node->shape.rank;
    return liana__onnx_value_of(scope, mean)->pooled && mean->shape.rank == 2 &&
           liana__onnx_value_of(scope, node)->layout == LIANA__ONNX_CHANNELS_FIRST &&
           rank == mean->inputs[0]->shape.rank && node->shape.dims[rank - 1] == mean->shape.dims[1] &&
           liana__onnx_size_equal(liana__onnx_dim(scope, node, 0), liana__onnx_dim(scope, mean, 0));
}

/* With channels first: either the axes between the ends change, or the result is thin, and all layouts are the same row
 * of elements. */
void liana__onnx_to_reshape(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__node *input = node->inputs[0];
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const liana__onnx_layout from = liana__onnx_keeps_ends(scope, node) ? layout : LIANA__ONNX_NATURAL;
    liana__onnx_size sizes[LIANA_MAX_RANK];
    bool is_same = input->shape.rank == node->shape.rank;
    (void)type;
    sizes_in(scope, node, layout, sizes);
    for (int i = 0; is_same && i < node->shape.rank; i++) {
        is_same = liana__onnx_size_equal(liana__onnx_dim(scope, node, i), liana__onnx_dim(scope, input, i));
    }
    if (is_pooled(scope, node)) {
        liana__onnx_give(scope, node, liana__onnx_value_of(scope, input)->pooled, layout);
        return;
    }
    /* A thin input is the same row of elements in the layout that it has. */
    const liana__onnx_value *value = liana__onnx_value_of(scope, input);
    bool is_thin = input->shape.rank >= 3 && !value->same_as && !value->around;
    for (int i = 1; i < input->shape.rank - 1; i++) is_thin = is_thin && input->shape.dims[i] == 1;
    const char *first = value->names[LIANA__ONNX_CHANNELS_FIRST];
    const char *x = is_thin && !is_same && first ? first : liana__onnx_name(scope, input, from);
    if (!is_same) x = liana__onnx_reshape(scope, node, x, sizes, (size_t)node->shape.rank);
    liana__onnx_give(scope, node, x, is_same ? from : layout);
}

void liana__onnx_to_expand(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const liana__node *input = node->inputs[0];
    const int rank = node->shape.rank, missing = rank - input->shape.rank;
    liana__onnx_size sizes[LIANA_MAX_RANK];
    (void)type;
    sizes_in(scope, node, layout, sizes);
    /* An axis that the input has already is repeated once. */
    for (int i = missing; i < rank; i++) {
        const liana__onnx_size own = liana__onnx_dim(scope, input, i - missing);
        if (liana__onnx_size_equal(own, liana__onnx_dim(scope, node, i))) {
            sizes[liana__onnx_axis(layout, rank, i)] = (liana__onnx_size){.constant = 1};
        }
    }
    const char *x = liana__onnx_operand(scope, node, 0, layout);
    const char *shape = liana__onnx_sizes(scope, node, sizes, (size_t)rank);
    liana__onnx_give(scope, node, liana__onnx_say(scope, node, "Expand", LIANA__ONNX_OF(x, shape), NULL), layout);
}

void liana__onnx_to_slice(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__slice_attributes *own = node->attributes, *twin = liana__onnx_twin(scope, node)->attributes;
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const int rank = node->shape.rank;
    liana__onnx_size starts[LIANA_MAX_RANK], ends[LIANA_MAX_RANK];
    int64_t axes[LIANA_MAX_RANK], steps[LIANA_MAX_RANK];
    size_t count = 0;
    (void)type;
    for (int i = 0; i < rank; i++) {
        const liana__onnx_size start = liana__onnx_size_of(scope, own->start.values[i], twin->start.values[i]);
        const liana__onnx_size end = liana__onnx_size_of(scope, own->limit.values[i], twin->limit.values[i]);
        const int64_t step = own->strides.values[i];
        const bool is_whole = !start.constant && !start.per_example && step == 1 &&
                              liana__onnx_size_equal(end, liana__onnx_dim(scope, node->inputs[0], i));
        if (is_whole) continue;
        starts[count] = start, ends[count] = end, steps[count] = step;
        axes[count++] = liana__onnx_axis(layout, rank, i);
    }
    const char *x = liana__onnx_operand(scope, node, 0, layout);
    if (count) {
        const char *start = liana__onnx_sizes(scope, node, starts, count);
        const char *end = liana__onnx_sizes(scope, node, ends, count);
        const char *axis = liana__onnx_list_of(scope, "axes", axes, count);
        const char *step = liana__onnx_list_of(scope, "steps", steps, count);
        x = liana__onnx_say(scope, node, "Slice", LIANA__ONNX_OF(x, start, end, axis, step), NULL);
    }
    liana__onnx_give(scope, node, x, layout);
}

/* Cells between the elements of an axis: a new axis behind it gets them, and both become one. */
static const char *spread(liana__onnx_scope *scope, const liana__node *node, const char *x, int axis, int64_t cells,
                          liana__onnx_size sizes[LIANA_MAX_RANK], const char *value)
{
    const int rank = node->shape.rank;
    liana__onnx_size wide[LIANA_MAX_RANK + 1];
    int64_t pads[2 * LIANA_MAX_RANK + 2] = {0};
    for (int i = 0; i <= rank; i++) {
        wide[i] = i == axis + 1 ? (liana__onnx_size){.constant = 1} : sizes[i <= axis ? i : i - 1];
    }
    pads[rank + 1 + axis + 1] = cells;
    x = liana__onnx_reshape(scope, node, x, wide, (size_t)rank + 1);
    const char *list = liana__onnx_list_of(scope, "pads", pads, 2 * (size_t)rank + 2);
    x = liana__onnx_say(scope, node, "Pad", LIANA__ONNX_OF(x, list, value), NULL);
    sizes[axis].constant *= cells + 1;
    sizes[axis].per_example *= cells + 1;
    x = liana__onnx_reshape(scope, node, x, sizes, (size_t)rank);
    /* Behind the last element there are none. */
    sizes[axis].constant -= cells;
    const int64_t zero = 0, end = -cells, at = axis;
    return liana__onnx_say(scope, node, "Slice",
                           LIANA__ONNX_OF(x, liana__onnx_list_of(scope, "starts", &zero, 1),
                                          liana__onnx_list_of(scope, "ends", &end, 1),
                                          liana__onnx_list_of(scope, "axes", &at, 1)),
                           NULL);
}

void liana__onnx_to_pad(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__pad_attributes *own = node->attributes, *twin = liana__onnx_twin(scope, node)->attributes;
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const int rank = node->shape.rank;
    const char *value = own->value != 0 ? liana__onnx_number(scope, node->dtype, own->value) : "";
    const char *x = liana__onnx_operand(scope, node, 0, layout);
    int64_t pads[2 * LIANA_MAX_RANK] = {0};
    bool is_padded = false;
    liana__onnx_size sizes[LIANA_MAX_RANK];
    (void)type;
    sizes_in(scope, node->inputs[0], layout, sizes);
    for (int i = 0; i < rank; i++) {
        const int axis = liana__onnx_axis(layout, rank, i);
        if (own->low.values[i] != twin->low.values[i] || own->high.values[i] != twin->high.values[i]) {
            liana__onnx_refuse(scope, node, "padding that depends on the batch");
        }
        if (own->interior.values[i]) x = spread(scope, node, x, axis, own->interior.values[i], sizes, value);
        pads[axis] = own->low.values[i];
        pads[rank + axis] = own->high.values[i];
        is_padded = is_padded || pads[axis] || pads[rank + axis];
    }
    if (is_padded) {
        const char *list = liana__onnx_list_of(scope, "pads", pads, 2 * (size_t)rank);
        x = liana__onnx_say(scope, node, "Pad", LIANA__ONNX_OF(x, list, value), NULL);
    }
    liana__onnx_give(scope, node, x, layout);
}

void liana__onnx_to_concat(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const int axis = (int)liana__onnx_int(node, "axis");
    const char **inputs = liana__onnx_allocate(scope->file, (node->num_inputs + 1) * sizeof *inputs);
    (void)type;
    if (!inputs) return;
    for (uint32_t i = 0; i < node->num_inputs; i++) inputs[i] = liana__onnx_name(scope, node->inputs[i], layout);
    const char *joined =
        liana__onnx_say(scope, node, "Concat", inputs,
                        LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", liana__onnx_axis(layout, node->shape.rank, axis))));
    liana__onnx_give(scope, node, joined, layout);
}

/* Of a tensor that is there with channels first, that order and this become one. */
void liana__onnx_to_transpose(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__node *input = node->inputs[0];
    const int64_t *order = liana__onnx_ints(node, "permutation");
    const liana__onnx_value *value = liana__onnx_value_of(scope, input);
    const int rank = node->shape.rank;
    const bool is_first = rank >= 3 && !value->names[LIANA__ONNX_NATURAL] && value->names[LIANA__ONNX_CHANNELS_FIRST];
    int64_t joined[LIANA_MAX_RANK];
    bool moves = false;
    (void)type;
    for (int i = 0; i < rank; i++) {
        joined[i] = liana__onnx_axis(is_first ? LIANA__ONNX_CHANNELS_FIRST : LIANA__ONNX_NATURAL, rank, (int)order[i]);
        moves = moves || joined[i] != i;
    }
    const char *x = is_first ? value->names[LIANA__ONNX_CHANNELS_FIRST] : liana__onnx_input(scope, node, 0);
    if (moves) x = liana__onnx_transpose(scope, node, x, joined, rank);
    liana__onnx_give(scope, node, x, LIANA__ONNX_NATURAL);
}

/* Numbers along one axis, repeated along the others. */
void liana__onnx_to_iota(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const int rank = node->shape.rank, axis = (int)liana__onnx_int(node, "axis");
    liana__onnx_size sizes[LIANA_MAX_RANK], column[LIANA_MAX_RANK];
    const int64_t scalar = 0;
    (void)type;
    for (int i = 0; i < rank; i++) {
        sizes[i] = liana__onnx_dim(scope, node, i);
        column[i] = i == axis ? sizes[i] : (liana__onnx_size){.constant = 1};
    }
    const char *end = liana__onnx_sizes(scope, node, &sizes[axis], 1);
    const char *none = liana__onnx_list_of(scope, "axes", &scalar, 1);
    end = liana__onnx_say(scope, node, "Squeeze", LIANA__ONNX_OF(end, none), NULL);
    const char *start = liana__onnx_number(scope, LIANA_S64, 0), *step = liana__onnx_number(scope, LIANA_S64, 1);
    const char *x = liana__onnx_say(scope, node, "Range", LIANA__ONNX_OF(start, end, step), NULL);
    if (node->dtype != LIANA_S64) x = liana__onnx_cast(scope, node, x, node->dtype);
    if (rank > 1) {
        x = liana__onnx_reshape(scope, node, x, column, (size_t)rank);
        const char *shape = liana__onnx_sizes(scope, node, sizes, (size_t)rank);
        x = liana__onnx_say(scope, node, "Expand", LIANA__ONNX_OF(x, shape), NULL);
    }
    liana__onnx_give(scope, node, x, LIANA__ONNX_NATURAL);
}
