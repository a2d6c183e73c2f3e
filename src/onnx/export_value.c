/* Values of an ONNX file: their names in both layouts, initializers, and sizes that depend on the batch. */
#include "onnx/export.h"

#include <liana/ops.h>
#include <string.h>

int32_t liana__onnx_dtype(liana_dtype dtype)
{
    static const int32_t numbers[LIANA_NUM_DTYPES] = {
        [LIANA_F32] = LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT,   [LIANA_F64] = LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE,
        [LIANA_F16] = LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16, [LIANA_BF16] = LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16,
        [LIANA_S8] = LIANA__ONNX__TENSOR__DATA_TYPE__INT8,     [LIANA_S16] = LIANA__ONNX__TENSOR__DATA_TYPE__INT16,
        [LIANA_S32] = LIANA__ONNX__TENSOR__DATA_TYPE__INT32,   [LIANA_S64] = LIANA__ONNX__TENSOR__DATA_TYPE__INT64,
        [LIANA_U8] = LIANA__ONNX__TENSOR__DATA_TYPE__UINT8,    [LIANA_U16] = LIANA__ONNX__TENSOR__DATA_TYPE__UINT16,
        [LIANA_U32] = LIANA__ONNX__TENSOR__DATA_TYPE__UINT32,  [LIANA_U64] = LIANA__ONNX__TENSOR__DATA_TYPE__UINT64,
        [LIANA_BOOL] = LIANA__ONNX__TENSOR__DATA_TYPE__BOOL,
    };
    return (unsigned)dtype < LIANA_NUM_DTYPES ? numbers[dtype] : 0;
}

liana__onnx_value *liana__onnx_value_of(const liana__onnx_scope *scope, const liana__node *node)
{
    return &scope->values[node->id];
}

/* ---- sizes ---- */

liana__onnx_size liana__onnx_size_of(const liana__onnx_scope *scope, int64_t number, int64_t of_twin)
{
    const int64_t *batches = scope->file->batches;
    if (number == of_twin) return (liana__onnx_size){.constant = number};
    const int64_t each = (of_twin - number) / (batches[1] - batches[0]);
    return (liana__onnx_size){.constant = number - each * batches[0], .per_example = each};
}

bool liana__onnx_size_equal(liana__onnx_size a, liana__onnx_size b)
{
    return a.constant == b.constant && a.per_example == b.per_example;
}

const liana__node *liana__onnx_twin(const liana__onnx_scope *scope, const liana__node *node)
{
    return scope->twin->nodes[node->id];
}

liana__onnx_size liana__onnx_dim(const liana__onnx_scope *scope, const liana__node *node, int axis)
{
    return liana__onnx_size_of(scope, node->shape.dims[axis], liana__onnx_twin(scope, node)->shape.dims[axis]);
}

liana__onnx_type liana__onnx_type_of(const liana__onnx_scope *scope, const liana__node *node)
{
    liana__onnx_type type = {.dtype = node->dtype, .rank = node->shape.rank};
    for (int i = 0; i < type.rank; i++) type.sizes[i] = liana__onnx_dim(scope, node, i);
    return type;
}

bool liana__onnx_is_fixed(const liana__onnx_scope *scope, const liana__node *node)
{
    return liana_shape_equal(&node->shape, &liana__onnx_twin(scope, node)->shape);
}

static liana_attribute find_attribute(const liana__node *node, const char *name)
{
    liana_attribute found = {0};
    const liana__fields *fields = node->op->attributes;
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const char *member = (const char *)node->attributes + field->offset;
        if (strcmp(field->name, name) != 0) continue;
        if (field->kind == LIANA__FIELD_BOOL) found.integer = *(const bool *)member;
        if (field->kind == LIANA__FIELD_INT) found.integer = *(const int64_t *)member;
        if (field->kind == LIANA__FIELD_FLOAT) found.number = *(const double *)member;
        if (field->kind == LIANA__FIELD_INTS) found.ints = ((const liana__ints *)member)->values;
    }
    return found;
}

const int64_t *liana__onnx_ints(const liana__node *node, const char *name)
{
    return find_attribute(node, name).ints;
}

int64_t liana__onnx_int(const liana__node *node, const char *name)
{
    return find_attribute(node, name).integer;
}

double liana__onnx_float(const liana__node *node, const char *name)
{
    return find_attribute(node, name).number;
}

/* ---- initializers ---- */

/* A weight that is there in some order. */
typedef struct laid_out {
    const void *data;
    int rank;
    int64_t order[LIANA_MAX_RANK];
    liana_shape shape;
    const char *name;
} laid_out;

static Liana__Onnx__Tensor *make_tensor(liana__onnx_export *file, const char *name, liana_dtype dtype,
                                        const liana_shape *shape, const void *data)
{
    Liana__Onnx__Tensor *tensor = liana__onnx_allocate(file, sizeof *tensor);
    if (!tensor) return NULL;
    liana__onnx__tensor__init(tensor);
    tensor->name = (char *)name;
    tensor->has_data_type = true;
    tensor->data_type = liana__onnx_dtype(dtype);
    tensor->n_dims = (size_t)shape->rank;
    tensor->dims = liana__arena_copy(file->arena, shape->dims, (size_t)(shape->rank + 1) * sizeof *shape->dims);
    tensor->has_raw_data = true;
    tensor->raw_data.len = liana__byte_size(dtype, shape);
    tensor->raw_data.data = (uint8_t *)data;
    return tensor->dims ? tensor : NULL;
}

/* The initializer with the same bytes; only small ones are compared. */
static const char *find_equal(const liana__onnx_export *file, liana_dtype dtype, const liana_shape *shape,
                              const void *data)
{
    enum { MOST_COMPARED = 256 };
    const size_t size = liana__byte_size(dtype, shape);
    if (size > MOST_COMPARED) return NULL;
    for (size_t i = 0; i < file->initializers.count; i++) {
        const Liana__Onnx__Tensor *tensor = file->initializers.items[i];
        if (tensor->raw_data.len != size || tensor->data_type != liana__onnx_dtype(dtype)) continue;
        if (tensor->n_dims != (size_t)shape->rank || memcmp(tensor->raw_data.data, data, size) != 0) continue;
        if (!shape->rank || memcmp(tensor->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims) == 0) {
            return tensor->name;
        }
    }
    return NULL;
}

static const char *add_initializer(liana__onnx_export *file, const char *wanted, liana_dtype dtype,
                                   const liana_shape *shape, const void *data)
{
    const char *name = liana__onnx_free_name(file, wanted);
    liana__onnx_append(file, &file->initializers, make_tensor(file, name, dtype, shape, data));
    return name;
}

const char *liana__onnx_constant(liana__onnx_scope *scope, const char *name, liana_dtype dtype,
                                 const liana_shape *shape, const void *data)
{
    liana__onnx_export *file = scope->file;
    const char *equal = find_equal(file, dtype, shape, data);
    if (equal) return equal;
    void *copy = liana__arena_copy(file->arena, data, liana__byte_size(dtype, shape));
    if (!copy) liana__onnx_fail(file, LIANA_OUT_OF_MEMORY, "out of memory for the ONNX file");
    return copy ? add_initializer(file, name, dtype, shape, copy) : "";
}

const char *liana__onnx_number(liana__onnx_scope *scope, liana_dtype dtype, double value)
{
    uint64_t bits = 0;
    liana__store(&bits, dtype, 0, value);
    return liana__onnx_constant(scope, "number", dtype, &LIANA_SCALAR, &bits);
}

const char *liana__onnx_list_of(liana__onnx_scope *scope, const char *name, const int64_t *values, size_t count)
{
    const liana_shape shape = liana_shape_of((int64_t)count);
    return liana__onnx_constant(scope, name, LIANA_S64, &shape, values);
}

/* ---- data ---- */

const void *liana__onnx_data(const liana__onnx_scope *scope, const liana__node *node)
{
    const liana__onnx_value *value = liana__onnx_value_of(scope, node);
    return value->around ? liana__onnx_data(scope->outer, value->around) : value->data;
}

static const char *data_name(const liana__onnx_scope *scope, const liana__node *node)
{
    const liana__onnx_value *value = liana__onnx_value_of(scope, node);
    if (value->around) return data_name(scope->outer, value->around);
    if (value->data_name) return value->data_name;
    const char *name = liana__arena_format(scope->file->arena, "%s/constant", liana__onnx_layer_of(scope, node));
    return name ? name : "constant";
}

static bool is_in_order(const int64_t *order, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (order[i] != i) return false;
    }
    return true;
}

static liana_shape ordered_shape(const liana_shape *shape, const int64_t *order)
{
    liana_shape ordered = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) ordered.dims[i] = shape->dims[order[i]];
    return ordered;
}

/* The elements in another order of axes, one by one: once for each weight of a file. */
static void *reorder(liana__onnx_export *file, const liana__node *node, const char *data, const int64_t *order)
{
    const size_t each = liana_dtype_size(node->dtype);
    const liana_shape shape = ordered_shape(&node->shape, order);
    int64_t strides[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    const int64_t count = liana_shape_size(&shape);
    char *to = liana__onnx_allocate(file, (size_t)count * each);
    liana__shape_strides(&node->shape, strides);
    for (int64_t i = 0, from = 0; to && i < count; i++) {
        memcpy(to + (size_t)i * each, data + (size_t)from * each, each);
        for (int axis = shape.rank - 1; axis >= 0; axis--) {
            from += strides[order[axis]];
            if (++index[axis] < shape.dims[axis]) break;
            from -= strides[order[axis]] * shape.dims[axis];
            index[axis] = 0;
        }
    }
    return to;
}

static const char *data_in(liana__onnx_scope *scope, const liana__node *node, const void *data, const int64_t *order,
                           const liana_shape *as)
{
    liana__onnx_export *file = scope->file;
    const liana_shape ordered = ordered_shape(&node->shape, order), *shape = as ? as : &ordered;
    const size_t order_size = (size_t)node->shape.rank * sizeof *order;
    for (size_t i = 0; i < file->laid_out.count; i++) {
        const laid_out *each = file->laid_out.items[i];
        if (each->data == data && each->rank == node->shape.rank && memcmp(each->order, order, order_size) == 0 &&
            liana_shape_equal(&each->shape, shape)) {
            return each->name;
        }
    }
    laid_out *made = liana__onnx_allocate(file, sizeof *made);
    const void *bytes = is_in_order(order, node->shape.rank) ? data : reorder(file, node, data, order);
    if (!made || !bytes) return "";
    *made = (laid_out){.data = data, .rank = node->shape.rank, .shape = *shape};
    memcpy(made->order, order, order_size);
    const char *equal = find_equal(file, node->dtype, shape, bytes);
    made->name = equal && !liana__is_variable(node)
                     ? equal
                     : add_initializer(file, data_name(scope, node), node->dtype, shape, bytes);
    liana__onnx_append(file, &file->laid_out, made);
    return made->name;
}

const char *liana__onnx_laid_out(liana__onnx_scope *scope, const liana__node *node, const int64_t *order,
                                 const liana_shape *as)
{
    const void *data = liana__onnx_data(scope, node);
    if (data) return data_in(scope, node, data, order, as);
    const char *x = liana__onnx_name(scope, node, LIANA__ONNX_NATURAL);
    if (!is_in_order(order, node->shape.rank)) x = liana__onnx_transpose(scope, node, x, order, node->shape.rank);
    liana__onnx_size sizes[LIANA_MAX_RANK] = {0};
    for (int i = 0; as && i < as->rank; i++) sizes[i] = (liana__onnx_size){.constant = as->dims[i]};
    return as ? liana__onnx_reshape(scope, node, x, sizes, (size_t)as->rank) : x;
}

/* ---- names in layouts ---- */

void liana__onnx_channels_first(int rank, int64_t *order)
{
    for (int i = 0; i < rank; i++) order[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
}

void liana__onnx_channels_last(int rank, int64_t *order)
{
    for (int i = 0; i < rank; i++) order[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
}

int liana__onnx_axis(liana__onnx_layout layout, int rank, int axis)
{
    if (layout == LIANA__ONNX_NATURAL || axis == 0) return axis;
    return axis == rank - 1 ? 1 : axis + 1;
}

/* Whether both layouts are the same elements in a row: all axes between the first and the last have size 1, or the last
 * one has. */
static bool is_same_in_both(const liana__node *node)
{
    bool thin = true;
    for (int i = 1; i < node->shape.rank - 1; i++) thin = thin && node->shape.dims[i] == 1;
    return thin || node->shape.dims[node->shape.rank - 1] == 1;
}

static const char *change_layout(liana__onnx_scope *scope, const liana__node *node, const char *x,
                                 liana__onnx_layout to)
{
    const int rank = node->shape.rank;
    int64_t order[LIANA_MAX_RANK];
    (to == LIANA__ONNX_CHANNELS_FIRST ? liana__onnx_channels_first : liana__onnx_channels_last)(rank, order);
    if (!is_same_in_both(node)) return liana__onnx_transpose(scope, node, x, order, rank);
    const liana__onnx_type type = liana__onnx_type_of(scope, node);
    liana__onnx_size sizes[LIANA_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        sizes[to == LIANA__ONNX_CHANNELS_FIRST ? liana__onnx_axis(to, rank, i) : i] = type.sizes[i];
    }
    return liana__onnx_reshape(scope, node, x, sizes, (size_t)rank);
}

const char *liana__onnx_name(liana__onnx_scope *scope, const liana__node *node, liana__onnx_layout layout)
{
    liana__onnx_value *value = liana__onnx_value_of(scope, node);
    int64_t order[LIANA_MAX_RANK];
    if (node->shape.rank < 3) layout = LIANA__ONNX_NATURAL;
    if (value->around) return liana__onnx_name(scope->outer, value->around, layout);
    if (value->same_as) return liana__onnx_name(scope, value->same_as, layout);
    if (value->names[layout]) return value->names[layout];
    const void *data = liana__onnx_data(scope, node);
    if (data) {
        for (int i = 0; i < node->shape.rank; i++) order[i] = i;
        if (layout == LIANA__ONNX_CHANNELS_FIRST) liana__onnx_channels_first(node->shape.rank, order);
        return value->names[layout] = data_in(scope, node, data, order, NULL);
    }
    const char *other = value->names[!layout];
    if (!other) {
        if (!scope->file->num_faults) {
            liana__onnx_fail(scope->file, LIANA_INTERNAL, "ONNX: %s of layer '%s' is read before it is written",
                             liana__node_print(node).text, liana__onnx_layer_of(scope, node));
        }
        return "";
    }
    return value->names[layout] = change_layout(scope, node, other, layout);
}

const char *liana__onnx_input(liana__onnx_scope *scope, const liana__node *node, size_t index)
{
    return liana__onnx_name(scope, node->inputs[index], LIANA__ONNX_NATURAL);
}

void liana__onnx_give(liana__onnx_scope *scope, const liana__node *node, const char *name, liana__onnx_layout layout)
{
    liana__onnx_value_of(scope, node)->names[node->shape.rank < 3 ? LIANA__ONNX_NATURAL : layout] = name;
}

/* ---- operands of element-wise nodes ---- */

/* The tensor that a broadcast repeats, if the node gives the same shape without it. */
static const liana__node *unrepeated(const liana__onnx_scope *scope, const liana__node *node, size_t index)
{
    const liana__node *input = node->inputs[index], *twin = liana__onnx_twin(scope, node);
    if (input->op != &liana__op_broadcast_to || node->num_inputs < 2) return input;
    const liana__node *source = input->inputs[0];
    liana_shape shape = source->shape, of_twin = liana__onnx_twin(scope, source)->shape;
    for (size_t i = 0; i < node->num_inputs; i++) {
        if (i == index) continue;
        /* Another one that is repeated might lose its repetition too. */
        const liana__node *other = node->inputs[i], *other_twin = twin->inputs[i];
        if (other->op == &liana__op_broadcast_to) other = other->inputs[0], other_twin = other_twin->inputs[0];
        if (!liana__shape_broadcast(&shape, &other->shape, &shape)) return input;
        if (!liana__shape_broadcast(&of_twin, &other_twin->shape, &of_twin)) return input;
    }
    return liana_shape_equal(&shape, &node->shape) && liana_shape_equal(&of_twin, &twin->shape) ? source : input;
}

/* Data with fewer axes than the node, in front of which axes of size 1 count. */
static const char *wide_data(liana__onnx_scope *scope, const liana__node *input, int rank)
{
    liana__node wide = *input;
    wide.shape = (liana_shape){.rank = rank};
    int64_t order[LIANA_MAX_RANK];
    const int missing = rank - input->shape.rank;
    for (int i = 0; i < rank; i++) wide.shape.dims[i] = i < missing ? 1 : input->shape.dims[i - missing];
    liana__onnx_channels_first(rank, order);
    liana_shape shape = ordered_shape(&wide.shape, order), cut = {0};
    int first = 0; /* axes of size 1 at the begin say nothing */
    while (first < rank - 1 && shape.dims[first] == 1) first++;
    for (int i = first; i < rank; i++) cut.dims[cut.rank++] = shape.dims[i];
    return data_in(scope, &wide, liana__onnx_data(scope, input), order, &cut);
}

const char *liana__onnx_operand(liana__onnx_scope *scope, const liana__node *node, size_t index,
                                liana__onnx_layout layout)
{
    const liana__node *input = unrepeated(scope, node, index);
    const int rank = node->shape.rank;
    if (layout == LIANA__ONNX_NATURAL || input->shape.rank == rank || liana_shape_size(&input->shape) == 1) {
        return liana__onnx_name(scope, input, input->shape.rank == rank ? layout : LIANA__ONNX_NATURAL);
    }
    if (liana__onnx_data(scope, input)) return wide_data(scope, input, rank);
    liana__onnx_size sizes[LIANA_MAX_RANK] = {{0}};
    int64_t order[LIANA_MAX_RANK];
    const int missing = rank - input->shape.rank;
    for (int i = 0; i < rank; i++) {
        sizes[i] = i < missing ? (liana__onnx_size){.constant = 1} : liana__onnx_dim(scope, input, i - missing);
    }
    const char *x = liana__onnx_name(scope, input, LIANA__ONNX_NATURAL);
    x = liana__onnx_reshape(scope, node, x, sizes, (size_t)rank);
    liana__onnx_channels_first(rank, order);
    return liana__onnx_transpose(scope, node, x, order, rank);
}

/* ---- small nodes ---- */

/* The number of examples: a list with one element. */
static const char *batch_of(liana__onnx_export *file)
{
    liana__onnx_scope *top = file->top;
    if (file->batch) return file->batch;
    const liana__node *input = top->graph->inputs[0];
    const char *x = top->values[input->id].names[LIANA__ONNX_NATURAL];
    return file->batch = liana__onnx_say(top, NULL, "Shape", LIANA__ONNX_OF(x),
                                         LIANA__ONNX_WITH(LIANA__ONNX_INT("start", 0), LIANA__ONNX_INT("end", 1)));
}

static const char *size_name(liana__onnx_scope *scope, const liana__node *node, liana__onnx_size size)
{
    if (size.per_example == 0) return liana__onnx_list_of(scope, "shape", &size.constant, 1);
    const char *name = batch_of(scope->file);
    if (size.per_example != 1) {
        const char *factor = liana__onnx_list_of(scope, "shape", &size.per_example, 1);
        name = liana__onnx_say(scope, node, "Mul", LIANA__ONNX_OF(name, factor), NULL);
    }
    if (size.constant == 0) return name;
    const char *term = liana__onnx_list_of(scope, "shape", &size.constant, 1);
    return liana__onnx_say(scope, node, "Add", LIANA__ONNX_OF(name, term), NULL);
}

const char *liana__onnx_sizes(liana__onnx_scope *scope, const liana__node *node, const liana__onnx_size *sizes,
                              size_t count)
{
    int64_t numbers[LIANA_MAX_RANK];
    const char *names[LIANA_MAX_RANK + 1] = {NULL};
    bool is_fixed = true;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = sizes[i].constant;
        is_fixed = is_fixed && sizes[i].per_example == 0;
    }
    if (is_fixed) return liana__onnx_list_of(scope, "shape", numbers, count);
    for (size_t i = 0; i < count; i++) names[i] = size_name(scope, node, sizes[i]);
    if (count == 1) return names[0];
    return liana__onnx_say(scope, node, "Concat", names, LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", 0)));
}

const char *liana__onnx_reshape(liana__onnx_scope *scope, const liana__node *node, const char *x,
                                const liana__onnx_size *sizes, size_t count)
{
    int64_t numbers[LIANA_MAX_RANK];
    size_t free = 0;
    /* The one size that depends on the batch follows from the others. */
    for (size_t i = 0; i < count; i++) {
        numbers[i] = sizes[i].per_example ? -1 : sizes[i].constant;
        free += sizes[i].per_example != 0;
    }
    const char *shape =
        free < 2 ? liana__onnx_list_of(scope, "shape", numbers, count) : liana__onnx_sizes(scope, node, sizes, count);
    return liana__onnx_say(scope, node, "Reshape", LIANA__ONNX_OF(x, shape), NULL);
}

const char *liana__onnx_cast(liana__onnx_scope *scope, const liana__node *node, const char *x, liana_dtype dtype)
{
    return liana__onnx_say(scope, node, "Cast", LIANA__ONNX_OF(x),
                           LIANA__ONNX_WITH(LIANA__ONNX_INT("to", liana__onnx_dtype(dtype))));
}

const char *liana__onnx_transpose(liana__onnx_scope *scope, const liana__node *node, const char *x,
                                  const int64_t *order, int rank)
{
    return liana__onnx_say(scope, node, "Transpose", LIANA__ONNX_OF(x),
                           LIANA__ONNX_WITH(LIANA__ONNX_INTS("perm", order, rank)));
}
