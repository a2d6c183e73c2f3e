/* Computes nodes whose inputs are constants: the arithmetic of shapes that exporters write, and constants. */
#include "onnx/import_internal.h"

#include <math.h>
#include <string.h>

typedef liana__import_constant constant;

/* An input that must be there; all are constants. */
static constant *input(const liana__import_node *node, size_t index)
{
    const liana__import_value *value = liana__import_input(node, index);
    return liana__import_is_constant(value) ? value->constant : NULL;
}

static liana_status set(liana__import *own, liana__import_node *node, size_t index, constant *made)
{
    if (!made) return own->error->status;
    if (index >= node->num_outputs || !node->outputs[index]) return LIANA_OK;
    node->outputs[index]->kind = LIANA__IMPORT_CONSTANT;
    node->outputs[index]->constant = made;
    node->outputs[index]->rank = made->rank;
    return LIANA_OK;
}

static liana_status fail_input(const liana__import *own, const liana__import_node *node)
{
    return liana__import_fail(own, node, LIANA_INVALID_DATA, "its constant inputs do not fit it, or one is missing");
}

/* Another view of the same numbers. */
static constant *reshaped(liana__import *own, const constant *from, int rank, const int64_t *dims)
{
    constant *made = liana__arena_copy(&own->arena, from, sizeof *from);
    if (!made) {
        (void)liana__fail_memory(own->error, own->path);
        return NULL;
    }
    made->rank = rank;
    for (int i = 0; i < rank; i++) made->dims[i] = dims[i];
    return made;
}

/* One number, whatever its dtype. The numbers of the constant must have been read. */
static double number_at(const constant *from, int64_t place)
{
    return from->floats ? (double)from->floats[place] : (double)from->ints[place];
}

static void set_number(constant *to, int64_t place, double number)
{
    if (to->is_float) {
        liana__import_new_floats(to)[place] = (float)number;
    } else {
        const bool fits = number > -9.2e18 && number < 9.2e18;
        liana__import_new_ints(to)[place] = fits ? (int64_t)number : number > 0 ? INT64_MAX : INT64_MIN;
    }
}

static bool read(liana__import *own, constant *from)
{
    return from && (from->is_float ? liana__import_floats(own, from) != NULL : liana__import_ints(own, from) != NULL);
}

/* ---- constants ---- */

static liana_status fold_constant(liana__import *own, liana__import_node *node)
{
    const Liana__Onnx__Attribute *value = liana__import_attribute(node, "value");
    const Liana__Onnx__Attribute *number = liana__import_attribute(node, "value_float");
    const Liana__Onnx__Attribute *numbers = liana__import_attribute(node, "value_floats");
    const Liana__Onnx__Attribute *whole = liana__import_attribute(node, "value_int");
    const Liana__Onnx__Attribute *wholes = liana__import_attribute(node, "value_ints");
    constant *made;
    if (value && value->t) {
        LIANA_TRY(liana__import_tensor(own, value->t, &made));
        if (!made->name || !*made->name)
            made->name = node->num_outputs && node->outputs[0] ? node->outputs[0]->name : NULL;
        return set(own, node, 0, made);
    }
    const bool is_float = number || numbers;
    const int64_t count = numbers ? (int64_t)numbers->n_floats : wholes ? (int64_t)wholes->n_ints : 1;
    if (!is_float && !whole && !wholes) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "a constant that is no tensor and no list of numbers");
    }
    made = liana__import_new(own, is_float, numbers || wholes, &count);
    if (!made) return own->error->status;
    for (int64_t i = 0; i < count; i++) {
        if (is_float) liana__import_new_floats(made)[i] = numbers ? numbers->floats[i] : number->f;
        if (!is_float) liana__import_new_ints(made)[i] = wholes ? wholes->ints[i] : whole->i;
    }
    return set(own, node, 0, made);
}

/* Shape and Size, also of results: the batch has the size that the file says, or 1. */
static liana_status fold_shape(liana__import *own, liana__import_node *node)
{
    const liana__import_value *x = liana__import_input(node, 0);
    if (!x) return fail_input(own, node);
    int64_t first = liana__import_int(node, "start", 0), last = liana__import_int(node, "end", x->rank), product = 1;
    const bool is_size = strcmp(node->op, "Size") == 0;
    first = first < 0 ? first + x->rank : first;
    last = last < 0 ? last + x->rank : last > x->rank ? x->rank : last;
    if (first < 0 || first > last) return fail_input(own, node);
    const int64_t count = last - first;
    for (int i = 0; i < x->rank; i++) product *= liana__import_size(own, x, i);
    constant *made = liana__import_new(own, false, !is_size, &count);
    if (!made) return own->error->status;
    if (is_size) liana__import_new_ints(made)[0] = product;
    for (int64_t i = 0; !is_size && i < count; i++)
        liana__import_new_ints(made)[i] = liana__import_size(own, x, (int)(first + i));
    return set(own, node, 0, made);
}

static liana_status fold_fill(liana__import *own, liana__import_node *node)
{
    constant *shape = input(node, 0), *value = NULL;
    const int64_t *dims = shape && shape->count <= LIANA_MAX_RANK ? liana__import_ints(own, shape) : NULL;
    const Liana__Onnx__Attribute *given = liana__import_attribute(node, "value");
    if (!dims) return fail_input(own, node);
    if (given && given->t) {
        LIANA_TRY(liana__import_tensor(own, given->t, &value));
        if (!read(own, value) || value->count != 1) return fail_input(own, node);
    }
    constant *made = liana__import_new(own, !value || value->is_float, (int)shape->count, dims);
    if (!made) return own->error->status;
    made->is_bool = value && value->is_bool;
    for (int64_t i = 0; value && i < made->count; i++) set_number(made, i, number_at(value, 0));
    return set(own, node, 0, made);
}

static liana_status fold_range(liana__import *own, liana__import_node *node)
{
    constant *parts[] = {input(node, 0), input(node, 1), input(node, 2)};
    for (size_t i = 0; i < 3; i++) {
        if (!read(own, parts[i]) || parts[i]->count != 1) return fail_input(own, node);
    }
    const double start = number_at(parts[0], 0), step = number_at(parts[2], 0);
    const double length = step != 0 ? ceil((number_at(parts[1], 0) - start) / step) : 0;
    const int64_t count = length > 0 && length < 1e9 ? (int64_t)length : 0;
    constant *made = liana__import_new(own, parts[0]->is_float, 1, &count);
    for (int64_t i = 0; made && i < count; i++) set_number(made, i, start + (double)i * step);
    return set(own, node, 0, made);
}

/* ---- element by element ---- */

typedef double (*binary)(double a, double b);

static double add(double a, double b)
{
    return a + b;
}
static double subtract(double a, double b)
{
    return a - b;
}
static double multiply(double a, double b)
{
    return a * b;
}
static double divide(double a, double b)
{
    return a / b;
}
static double least(double a, double b)
{
    return a < b ? a : b;
}
static double greatest(double a, double b)
{
    return a > b ? a : b;
}
static double remainder_of(double a, double b)
{
    return b != 0 ? a - floor(a / b) * b : 0;
}
static double equal(double a, double b)
{
    return a == b;
}
static double less(double a, double b)
{
    return a < b;
}
static double less_equal(double a, double b)
{
    return a <= b;
}
static double greater(double a, double b)
{
    return a > b;
}
static double greater_equal(double a, double b)
{
    return a >= b;
}
static double both(double a, double b)
{
    return a != 0 && b != 0;
}
static double either(double a, double b)
{
    return a != 0 || b != 0;
}

static const struct {
    const char *op;
    binary compute;
    bool is_truth;
} binaries[] = {
    {"Add", add, false},
    {"Sub", subtract, false},
    {"Mul", multiply, false},
    {"Div", divide, false},
    {"Pow", pow, false},
    {"Min", least, false},
    {"Max", greatest, false},
    {"Mod", remainder_of, false},
    {"Equal", equal, true},
    {"Less", less, true},
    {"LessOrEqual", less_equal, true},
    {"Greater", greater, true},
    {"GreaterOrEqual", greater_equal, true},
    {"And", both, true},
    {"Or", either, true},
};

static double negate(double a)
{
    return -a;
}
static double not(double a)
{
    return a == 0;
}
static double invert(double a)
{
    return 1 / a;
}
static double same(double a)
{
    return a;
}

static const struct {
    const char *op;
    double (*compute)(double a);
} unaries[] = {
    {"Neg", negate}, {"Not", not },     {"Sqrt", sqrt}, {"Exp", exp},           {"Log", log},   {"Floor", floor},
    {"Ceil", ceil},  {"Round", rint},   {"Abs", fabs},  {"Reciprocal", invert}, {"Erf", erf},   {"Identity", same},
    {"Cast", same},  {"Dropout", same}, {"Sin", sin},   {"Cos", cos},           {"Tanh", tanh},
};

/* The place in a constant that is broadcast to `rank` axes, at an index. */
static int64_t place_of(const constant *from, int rank, const int64_t *index)
{
    int64_t place = 0;
    for (int i = 0; i < from->rank; i++) {
        place = place * from->dims[i] + (from->dims[i] == 1 ? 0 : index[i + rank - from->rank]);
    }
    return place;
}

static void step(int rank, const int64_t *dims, int64_t *index)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dims[i]) return;
        index[i] = 0;
    }
}

/* The shape of several constants that are broadcast to each other. */
static bool broadcast(constant *const *parts, size_t count, int *rank, int64_t dims[LIANA_MAX_RANK])
{
    *rank = 0;
    for (size_t i = 0; i < count; i++) *rank = parts[i]->rank > *rank ? parts[i]->rank : *rank;
    for (int a = 0; a < *rank; a++) {
        dims[a] = 1;
        for (size_t i = 0; i < count; i++) {
            const int own = a - (*rank - parts[i]->rank);
            if (own < 0 || parts[i]->dims[own] == 1) continue;
            if (dims[a] != 1 && dims[a] != parts[i]->dims[own]) return false;
            dims[a] = parts[i]->dims[own];
        }
    }
    return true;
}

static liana_status fold_binary(liana__import *own, liana__import_node *node)
{
    size_t row = 0;
    constant *parts[] = {input(node, 0), input(node, 1)};
    int64_t dims[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    int rank;
    while (strcmp(binaries[row].op, node->op) != 0) row++;
    if (node->num_inputs == 1) return set(own, node, 0, parts[0]);
    if (!read(own, parts[0]) || !read(own, parts[1]) || node->num_inputs != 2 || !broadcast(parts, 2, &rank, dims)) {
        return fail_input(own, node);
    }
    const bool is_float = !binaries[row].is_truth && (parts[0]->is_float || parts[1]->is_float);
    const bool has_sign = strcmp(node->op, "Mod") == 0 && liana__import_int(node, "fmod", 0); /* of the dividend */
    const binary compute = has_sign ? fmod : binaries[row].compute;
    constant *made = liana__import_new(own, is_float, rank, dims);
    for (int64_t i = 0; made && i < made->count; i++) {
        double value = compute(number_at(parts[0], place_of(parts[0], rank, index)),
                               number_at(parts[1], place_of(parts[1], rank, index)));
        if (!is_float) value = trunc(value);
        set_number(made, i, value);
        step(rank, dims, index);
    }
    if (made) made->is_bool = binaries[row].is_truth;
    return set(own, node, 0, made);
}

static liana_status fold_unary(liana__import *own, liana__import_node *node)
{
    size_t row = 0;
    constant *x = input(node, 0);
    while (strcmp(unaries[row].op, node->op) != 0) row++;
    const int64_t to = liana__import_int(node, "to", 0);
    const bool is_cast = strcmp(node->op, "Cast") == 0;
    const bool to_float = to == LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT || to == LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE ||
                          to == LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16 ||
                          to == LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16;
    if (!x) return fail_input(own, node);
    /* The name of an initializer stays with its numbers, and large ones are not read for this. */
    if (unaries[row].compute == same && (!is_cast || to_float == x->is_float)) return set(own, node, 0, x);
    if (!read(own, x)) return own->error->status;
    constant *made = liana__import_new(own, is_cast ? to_float : x->is_float, x->rank, x->dims);
    for (int64_t i = 0; made && i < x->count; i++) {
        double value = unaries[row].compute(number_at(x, i));
        if (to == LIANA__ONNX__TENSOR__DATA_TYPE__BOOL) value = value != 0;
        set_number(made, i, value);
    }
    if (made)
        made->is_bool = x->is_bool ? !is_cast || to == LIANA__ONNX__TENSOR__DATA_TYPE__BOOL
                                   : to == LIANA__ONNX__TENSOR__DATA_TYPE__BOOL;
    return set(own, node, 0, made);
}

static liana_status fold_where(liana__import *own, liana__import_node *node)
{
    constant *parts[] = {input(node, 0), input(node, 1), input(node, 2)};
    int64_t dims[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    int rank;
    const bool are_read = read(own, parts[0]) && read(own, parts[1]) && read(own, parts[2]);
    if (!are_read || !broadcast(parts, 3, &rank, dims)) return fail_input(own, node);
    constant *made = liana__import_new(own, parts[1]->is_float || parts[2]->is_float, rank, dims);
    for (int64_t i = 0; made && i < made->count; i++) {
        const size_t chosen = number_at(parts[0], place_of(parts[0], rank, index)) != 0 ? 1 : 2;
        set_number(made, i, number_at(parts[chosen], place_of(parts[chosen], rank, index)));
        step(rank, dims, index);
    }
    return set(own, node, 0, made);
}

/* Expand: the shape counts as a constant of zeros would. */
static liana_status fold_expand(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0), *shape = input(node, 1), target = {.is_float = false};
    int64_t dims[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    int rank;
    const int64_t *wanted = shape && shape->count <= LIANA_MAX_RANK ? liana__import_ints(own, shape) : NULL;
    if (!wanted || !read(own, x)) return fail_input(own, node);
    target.rank = (int)shape->count;
    for (int i = 0; i < target.rank; i++) target.dims[i] = wanted[i];
    constant *parts[] = {x, &target};
    if (!broadcast(parts, 2, &rank, dims)) return fail_input(own, node);
    constant *made = liana__import_new(own, x->is_float, rank, dims);
    for (int64_t i = 0; made && i < made->count; i++) {
        set_number(made, i, number_at(x, place_of(x, rank, index)));
        step(rank, dims, index);
    }
    if (made) made->is_bool = x->is_bool;
    return set(own, node, 0, made);
}

/* Rows of a constant times a matrix: what an initial state of zeros becomes. */
static liana_status fold_product(liana__import *own, liana__import_node *node)
{
    constant *a = input(node, 0), *b = input(node, 1);
    int64_t dims[LIANA_MAX_RANK];
    const bool fits =
        read(own, a) && read(own, b) && a->rank >= 1 && b->rank == 2 && a->dims[a->rank - 1] == b->dims[0];
    if (!fits || !a->is_float || !b->is_float) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "a product of constants that are no rows and a matrix");
    }
    memcpy(dims, a->dims, sizeof dims);
    const int64_t inner = b->dims[0], columns = dims[a->rank - 1] = b->dims[1];
    constant *made = liana__import_new(own, true, a->rank, dims);
    for (int64_t i = 0; made && i < made->count; i++) {
        const float *row = a->floats + i / columns * inner, *column = b->floats + i % columns;
        double sum = 0;
        for (int64_t k = 0; k < inner; k++) sum += (double)row[k] * (double)column[k * columns];
        liana__import_new_floats(made)[i] = (float)sum;
    }
    return set(own, node, 0, made);
}

/* ---- moved elements ---- */

/* Elements of x at starts[a] + index * steps[a] along axis order[a]. */
static liana_status pick(liana__import *own, liana__import_node *node, size_t output, constant *x, int rank,
                         const int *order, const int64_t *dims, const int64_t *starts, const int64_t *steps)
{
    int64_t strides[LIANA_MAX_RANK], stride = 1, index[LIANA_MAX_RANK] = {0};
    if (!read(own, x)) return own->error->status;
    for (int i = x->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= x->dims[i];
    }
    constant *made = liana__import_new(own, x->is_float, rank, dims);
    for (int64_t i = 0; made && i < made->count; i++) {
        int64_t place = 0;
        for (int a = 0; a < rank; a++) place += (starts[a] + index[a] * steps[a]) * strides[order[a]];
        set_number(made, i, number_at(x, place));
        step(rank, dims, index);
    }
    if (made) made->is_bool = x->is_bool;
    if (made && output == 0) made->name = x->name; /* a weight that was only turned over keeps its name */
    return set(own, node, output, made);
}

static const int64_t zeros[LIANA_MAX_RANK], ones[LIANA_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
static const int in_order[LIANA_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

static liana_status fold_transpose(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0);
    const int64_t *given;
    int64_t count, dims[LIANA_MAX_RANK];
    int order[LIANA_MAX_RANK];
    bool seen[LIANA_MAX_RANK] = {false};
    LIANA_TRY(liana__import_integers(own, node, "perm", SIZE_MAX, &given, &count));
    if (!x || (count && count != x->rank)) return fail_input(own, node);
    for (int i = 0; i < x->rank; i++) {
        order[i] = x->rank - 1 - i;
        if (count) LIANA_TRY(liana__import_axis_of(own, node, given[i], x->rank, &order[i]));
        if (seen[order[i]]) return fail_input(own, node);
        seen[order[i]] = true;
        dims[i] = x->dims[order[i]];
    }
    return pick(own, node, 0, x, x->rank, order, dims, zeros, ones);
}

static liana_status fold_slice(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0);
    const int64_t *starts, *ends, *axes, *steps;
    int64_t count, num_ends, num_axes, num_steps, dims[LIANA_MAX_RANK], first[LIANA_MAX_RANK] = {0};
    int64_t by[LIANA_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    LIANA_TRY(liana__import_integers(own, node, "starts", 1, &starts, &count));
    LIANA_TRY(liana__import_integers(own, node, "ends", 2, &ends, &num_ends));
    LIANA_TRY(liana__import_integers(own, node, "axes", 3, &axes, &num_axes));
    LIANA_TRY(liana__import_integers(own, node, "steps", 4, &steps, &num_steps));
    if (!x || count != num_ends || (num_axes && num_axes != count) || (num_steps && num_steps != count))
        return fail_input(own, node);
    for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    for (int64_t i = 0; i < count; i++) {
        int axis;
        LIANA_TRY(liana__import_axis_of(own, node, num_axes ? axes[i] : i, x->rank, &axis));
        const int64_t size = x->dims[axis], pace = num_steps ? steps[i] : 1;
        int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
        int64_t end = ends[i] < 0 && ends[i] > INT64_MIN + size ? ends[i] + size : ends[i];
        if (pace == 0 || pace == INT64_MIN) return fail_input(own, node);
        const int64_t high = pace < 0 ? size - 1 : size, low = pace < 0 ? -1 : 0;
        start = start < 0 ? 0 : start > high ? high : start;
        end = end < low ? low : end > size ? size : end;
        const int64_t span = pace > 0 ? end - start : start - end, width = pace > 0 ? pace : -pace;
        dims[axis] = span > 0 ? (span - 1) / width + 1 : 0;
        first[axis] = start;
        by[axis] = pace;
    }
    return pick(own, node, 0, x, x->rank, in_order, dims, first, by);
}

static liana_status fold_split(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0);
    const int64_t *sizes;
    int64_t count, dims[LIANA_MAX_RANK], first[LIANA_MAX_RANK] = {0};
    int axis;
    if (!x) return fail_input(own, node);
    LIANA_TRY(liana__import_integers(own, node, "split", 1, &sizes, &count));
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), x->rank, &axis));
    const int64_t parts = (int64_t)node->num_outputs, equal_size = parts ? (x->dims[axis] + parts - 1) / parts : 0;
    if (count && count != parts) return fail_input(own, node);
    memcpy(dims, x->dims, sizeof dims);
    for (int64_t i = 0; i < parts; i++) {
        const int64_t left = x->dims[axis] - first[axis];
        dims[axis] = count ? sizes[i] : equal_size < left ? equal_size : left;
        if (dims[axis] < 0 || dims[axis] > left) return fail_input(own, node);
        LIANA_TRY(pick(own, node, (size_t)i, x, x->rank, in_order, dims, first, ones));
        first[axis] += dims[axis];
    }
    return LIANA_OK;
}

static liana_status fold_gather(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0), *indices = input(node, 1);
    int64_t dims[LIANA_MAX_RANK], before = 1, after = 1;
    int axis, rank = 0;
    const int64_t *list = indices ? liana__import_ints(own, indices) : NULL;
    if (!list || !read(own, x) || x->rank + indices->rank - 1 > LIANA_MAX_RANK) return fail_input(own, node);
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), x->rank, &axis));
    for (int i = 0; i < axis; i++) before *= dims[rank++] = x->dims[i];
    for (int i = 0; i < indices->rank; i++) dims[rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++) after *= dims[rank++] = x->dims[i];
    constant *made = liana__import_new(own, x->is_float, rank, dims);
    for (int64_t b = 0, at = 0; made && b < before; b++) {
        for (int64_t k = 0; k < indices->count; k++) {
            const int64_t index = list[k] < 0 ? list[k] + x->dims[axis] : list[k];
            if (index < 0 || index >= x->dims[axis]) return fail_input(own, node);
            for (int64_t a = 0; a < after; a++)
                set_number(made, at++, number_at(x, (b * x->dims[axis] + index) * after + a));
        }
    }
    if (made) made->is_bool = x->is_bool;
    return set(own, node, 0, made);
}

static liana_status fold_concat(liana__import *own, liana__import_node *node)
{
    constant *first = input(node, 0);
    int axis;
    int64_t dims[LIANA_MAX_RANK], before = 1, begin = 0, after = 1;
    if (!first) return fail_input(own, node);
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", 0), first->rank, &axis));
    memcpy(dims, first->dims, sizeof dims);
    dims[axis] = 0;
    for (size_t i = 0; i < node->num_inputs; i++) {
        constant *part = input(node, i);
        bool fits = read(own, part) && part->rank == first->rank && part->is_float == first->is_float;
        for (int a = 0; fits && a < first->rank; a++) fits = a == axis || part->dims[a] == first->dims[a];
        if (!fits) return fail_input(own, node);
        dims[axis] += part->dims[axis];
    }
    for (int i = 0; i < axis; i++) before *= dims[i];
    for (int i = axis + 1; i < first->rank; i++) after *= dims[i];
    constant *made = liana__import_new(own, first->is_float, first->rank, dims);
    for (size_t i = 0; made && i < node->num_inputs; i++) {
        const constant *part = input(node, i);
        const int64_t run = part->dims[axis] * after;
        for (int64_t b = 0; b < before; b++) {
            for (int64_t k = 0; k < run; k++)
                set_number(made, b * dims[axis] * after + begin + k, number_at(part, b * run + k));
        }
        begin += run;
    }
    if (made) made->is_bool = first->is_bool;
    return set(own, node, 0, made);
}

/* ---- shapes ---- */

static liana_status fold_reshape(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0), *shape = input(node, 1);
    int64_t dims[LIANA_MAX_RANK], product = 1, open = -1;
    const int64_t *given = shape && shape->count <= LIANA_MAX_RANK ? liana__import_ints(own, shape) : NULL;
    if (!x || !given) return fail_input(own, node);
    for (int i = 0; i < shape->count; i++) {
        dims[i] = given[i] == 0 && i < x->rank && !liana__import_int(node, "allowzero", 0) ? x->dims[i] : given[i];
        if (dims[i] == -1 && open < 0) {
            open = i;
        } else if (dims[i] < 0 || __builtin_mul_overflow(product, dims[i], &product)) {
            return fail_input(own, node);
        }
    }
    if (open >= 0) dims[open] = product ? x->count / product : 0;
    if (open >= 0 ? product * dims[open] != x->count : product != x->count) return fail_input(own, node);
    return set(own, node, 0, reshaped(own, x, (int)shape->count, dims));
}

static liana_status fold_axes(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0);
    const int64_t *axes;
    int64_t count, dims[LIANA_MAX_RANK];
    bool chosen[LIANA_MAX_RANK] = {false};
    int rank = 0;
    const bool is_more = strcmp(node->op, "Unsqueeze") == 0;
    if (!x) return fail_input(own, node);
    LIANA_TRY(liana__import_integers(own, node, "axes", 1, &axes, &count));
    const int64_t whole = x->rank + (is_more ? count : 0);
    if (count > LIANA_MAX_RANK || whole > LIANA_MAX_RANK) return fail_input(own, node);
    for (int64_t i = 0; i < count; i++) {
        int axis;
        LIANA_TRY(liana__import_axis_of(own, node, axes[i], (int)whole, &axis));
        if (chosen[axis]) return fail_input(own, node);
        chosen[axis] = true;
    }
    for (int i = 0, from = 0; i < whole; i++) {
        const bool leaves = !is_more && (chosen[i] || !count) && x->dims[i] == 1;
        if (is_more) dims[rank++] = chosen[i] ? 1 : x->dims[from++];
        if (!is_more && chosen[i] && x->dims[i] != 1) return fail_input(own, node);
        if (!is_more && !leaves) dims[rank++] = x->dims[i];
    }
    return set(own, node, 0, reshaped(own, x, rank, dims));
}

/* ReduceProd, ReduceSum, ReduceMax and ReduceMin over all of a list. */
static liana_status fold_reduction(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0);
    const int64_t size = 1;
    if (!read(own, x) || x->rank > 1 || x->count < 1) return fail_input(own, node);
    double value = number_at(x, 0);
    for (int64_t i = 1; i < x->count; i++) {
        const double next = number_at(x, i);
        const char which = node->op[6];
        if (which == 'P') value *= next;
        if (which == 'S') value += next;
        if (which == 'M') value = node->op[7] == 'a' ? greatest(value, next) : least(value, next);
    }
    constant *made =
        liana__import_new(own, x->is_float, liana__import_int(node, "keepdims", 1) && x->rank ? 1 : 0, &size);
    if (made) set_number(made, 0, value);
    return set(own, node, 0, made);
}

/* The triangles of matrices. */
static liana_status fold_triangle(liana__import *own, liana__import_node *node)
{
    constant *x = input(node, 0), *by = input(node, 1);
    const int64_t *diagonal = by ? liana__import_ints(own, by) : NULL;
    if (!read(own, x) || x->rank < 2 || (by && (!diagonal || by->count != 1))) return fail_input(own, node);
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1], k = diagonal ? diagonal[0] : 0;
    const bool is_upper = liana__import_int(node, "upper", 1) != 0;
    constant *made = liana__import_new(own, x->is_float, x->rank, x->dims);
    for (int64_t i = 0; made && i < x->count; i++) {
        const double row = (double)(i / columns % rows), column = (double)(i % columns);
        const bool stays = is_upper ? column - row >= (double)k : column - row <= (double)k;
        set_number(made, i, stays ? number_at(x, i) : 0);
    }
    if (made) made->is_bool = x->is_bool;
    return set(own, node, 0, made);
}

/* ---- the table ---- */

static const liana__import_op folds[] = {
    {"Constant", fold_constant},   {"ConstantOfShape", fold_fill},
    {"Range", fold_range},         {"Where", fold_where},
    {"Expand", fold_expand},       {"Transpose", fold_transpose},
    {"Slice", fold_slice},         {"Split", fold_split},
    {"Gather", fold_gather},       {"Concat", fold_concat},
    {"Reshape", fold_reshape},     {"Squeeze", fold_axes},
    {"Unsqueeze", fold_axes},      {"ReduceProd", fold_reduction},
    {"ReduceSum", fold_reduction}, {"ReduceMax", fold_reduction},
    {"ReduceMin", fold_reduction}, {"Trilu", fold_triangle},
    {"MatMul", fold_product},      {0},
};

static liana__import_reader find(const char *op)
{
    for (const liana__import_op *row = folds; row->name; row++) {
        if (strcmp(row->name, op) == 0) return row->read;
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (strcmp(binaries[i].op, op) == 0) return fold_binary;
    }
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        if (strcmp(unaries[i].op, op) == 0) return fold_unary;
    }
    return NULL;
}

bool liana__import_folds(const char *op)
{
    return find(op) || strcmp(op, "Shape") == 0 || strcmp(op, "Size") == 0;
}

liana_status liana__import_fold(liana__import *own, liana__import_node *node, bool *is_done)
{
    const bool is_shape = strcmp(node->op, "Shape") == 0 || strcmp(node->op, "Size") == 0;
    bool are_constant = true;
    for (size_t i = 0; i < node->num_inputs; i++) {
        are_constant = are_constant && (!node->inputs[i] || node->inputs[i]->kind == LIANA__IMPORT_CONSTANT);
    }
    /* The product of an initial state with weights stays a product: the weights learn from it. */
    if (strcmp(node->op, "MatMul") == 0 && are_constant && liana__import_is_state(own, liana__import_input(node, 0)))
        return own->error->status;
    const liana__import_reader fold = is_shape ? fold_shape : are_constant ? find(node->op) : NULL;
    *is_done = fold != NULL;
    return fold ? fold(own, node) : LIANA_OK;
}
