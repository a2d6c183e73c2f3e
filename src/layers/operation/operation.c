/* Operation: a function of keras.ops as a layer. */
#include "layers/operation/operation.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <liana/layers/operation.h>

#include <stdio.h>
#include <string.h>

/* ---- constants ---- */

enum { MOST_NUMBERS = 1 << 16 };

typedef struct constant {
    liana_shape shape;
    double *numbers;
    int64_t count, capacity;
    bool is_whole; /* all numbers are */
    bool is_bool;
} constant;

/* Reads a number or a list of lists of them. False: it is something else. */
static bool add_numbers(constant *to, const liana__value *value, int depth)
{
    if (value->kind == LIANA__VALUE_LIST) {
        if (depth == LIANA_MAX_RANK || value->count == 0) return false;
        if (to->shape.rank == depth) to->shape.dims[to->shape.rank++] = (int64_t)value->count;
        bool is_even = depth < to->shape.rank && to->shape.dims[depth] == (int64_t)value->count;
        for (size_t i = 0; is_even && i < value->count; i++) is_even = add_numbers(to, value->items[i], depth + 1);
        return is_even;
    }
    const bool is_bool = value->kind == LIANA__VALUE_BOOL;
    const bool is_number = is_bool || value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
    if (!is_number || to->count == to->capacity || depth != to->shape.rank) return false;
    to->numbers[to->count++] = is_bool ? value->boolean : value->number;
    to->is_whole = to->is_whole && (is_bool || value->kind == LIANA__VALUE_INT);
    to->is_bool = to->is_bool && is_bool;
    return true;
}

static int64_t count_numbers(const liana__value *value, int depth)
{
    if (value->kind != LIANA__VALUE_LIST || depth > LIANA_MAX_RANK) return 1;
    int64_t count = 0;
    for (size_t i = 0; i < value->count && count <= MOST_NUMBERS; i++) {
        count += count_numbers(value->items[i], depth + 1);
    }
    return count;
}

static bool read_constant(liana__arena *arena, const liana__value *value, constant *made)
{
    const int64_t count = count_numbers(value, 0);
    *made = (constant){.capacity = count, .is_whole = true, .is_bool = true};
    if (count > MOST_NUMBERS) return false;
    made->numbers = liana__arena_allocate(arena, (size_t)(count + 1) * sizeof(double));
    /* The depth of the first number is that of all. */
    const liana__value *first = value;
    for (; first->kind == LIANA__VALUE_LIST && first->count && made->shape.rank < LIANA_MAX_RANK;
         first = first->items[0]) {
        made->shape.dims[made->shape.rank++] = (int64_t)first->count;
    }
    return made->numbers && add_numbers(made, value, 0);
}

static liana_tensor place_constant(const liana__operation_call *call, const constant *from, liana_dtype dtype)
{
    liana_graph *graph = call->layer->inputs[0].graph;
    if (from->shape.rank == 0) return liana_graph_scalar_at(call->here, graph, dtype, from->numbers[0]);
    liana_tensor x = liana_graph_constant_at(call->here, graph, LIANA_F64, from->shape, from->numbers);
    return liana_op_cast_at(call->here, x, dtype);
}

/* ---- operands ---- */

/* The dtype of all: a float if one is a float or the function takes nothing else, else s32, else bool. */
typedef struct common {
    bool has_float, has_integer;
} common;

static void note_dtype(common *found, liana_dtype dtype)
{
    found->has_float = found->has_float || liana__dtype_is_float(dtype);
    found->has_integer = found->has_integer || (!liana__dtype_is_float(dtype) && dtype != LIANA_BOOL);
}

typedef struct operands {
    constant constants[LIANA__MOST_OPERANDS];
    bool is_constant[LIANA__MOST_OPERANDS];
    size_t used; /* inputs */
    common found;
} operands;

/* The operands by their names; false, and the graph fails, if the inputs do not fill them. */
static bool find_operands(liana__operation_call *call, liana__arena *arena, operands *own)
{
    const char *list = call->row->operands;
    char name[32];
    while (liana__operation_next(&list, name) && call->count < LIANA__MOST_OPERANDS) {
        const liana__value *given = liana__value_get(call->arguments, name);
        if (given) {
            own->is_constant[call->count] = read_constant(arena, given, &own->constants[call->count]);
            const constant *made = &own->constants[call->count];
            if (own->is_constant[call->count]) {
                note_dtype(&own->found, made->is_bool ? LIANA_BOOL : made->is_whole ? LIANA_S32 : LIANA_F32);
            }
            call->count++;
            continue;
        }
        if (own->used == call->layer->num_inputs) break;
        do {
            note_dtype(&own->found, liana_tensor_dtype(call->layer->inputs[own->used]));
            call->operands[call->count++] = call->layer->inputs[own->used++];
        } while (liana__operation_is_list(list) && own->used < call->layer->num_inputs);
    }
    if (own->used == call->layer->num_inputs) return true;
    liana__operation_fail(call, "found %zu inputs, expected %zu, for the operands '%s' that have no constant",
                          call->layer->num_inputs, own->used, call->row->operands);
    return false;
}

static liana_dtype common_dtype(const liana__operation_call *call, const common *found)
{
    if (found->has_float || !call->row->takes_integers) return call->layer->dtype;
    return found->has_integer ? LIANA_S32 : LIANA_BOOL;
}

/* Operands that meet element by element have the batch in one place. */
static bool check_ranks(const liana__operation_call *call, const operands *own)
{
    int rank = 0;
    for (size_t i = 0; i < call->count; i++) {
        const liana_shape shape = liana_tensor_shape(call->operands[i]);
        if (own->is_constant[i] || !call->operands[i].id) continue;
        if (rank && shape.rank != rank) {
            liana__operation_fail(call,
                                  "found inputs of %d and %d axes, whose batches do not meet; expected one number of "
                                  "axes: put expand_dims before it",
                                  rank, shape.rank);
            return false;
        }
        rank = shape.rank;
    }
    for (size_t i = 0; i < call->count; i++) {
        const liana_shape *shape = &own->constants[i].shape;
        if (!own->is_constant[i] || shape->rank < rank || (shape->rank == rank && shape->dims[0] == 1)) continue;
        liana__operation_fail(call,
                              "found a constant of shape %s and inputs of %d axes, expected one without an axis "
                              "for the batch",
                              liana__shape_print(shape).text, rank);
        return false;
    }
    return true;
}

/* The index that clauses such as a where's condition have: they keep their dtype. */
static bool is_condition(const liana__operation_call *call, size_t index)
{
    return index == 0 && strncmp(call->row->operands, "condition", 9) == 0;
}

liana_tensor liana__operation_build(liana_layer_call *layer, const liana__function_call *operation)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__operation_call call = {.layer = layer,
                                  .here = layer->here,
                                  .row = operation->row,
                                  .arguments = operation->arguments};
    operands own = {.used = 0};
    liana_tensor none = {layer->inputs[0].graph, 0};
    if (!find_operands(&call, &arena, &own)) return none;
    if (!call.row->build && !check_ranks(&call, &own)) return none;
    const liana_dtype dtype = common_dtype(&call, &own.found);
    for (size_t i = 0; i < call.count; i++) {
        liana_tensor *x = &call.operands[i];
        const liana_dtype wanted = is_condition(&call, i) ? LIANA_BOOL : dtype;
        if (own.is_constant[i]) *x = place_constant(&call, &own.constants[i], wanted);
        if (x->id && liana_tensor_dtype(*x) != wanted) *x = liana_op_cast_at(call.here, *x, wanted);
    }
    const size_t expected = call.row->of_two ? 2 : 1;
    if (!call.row->build && call.count != expected) {
        return liana__operation_fail(&call, "found %zu operands, expected %zu: %s", call.count, expected,
                                     call.row->operands);
    }
    for (size_t i = 0; i < expected; i++) {
        if (!call.row->build && !call.operands[i].id) {
            return liana__operation_fail(&call, "an operand is no number and no list of numbers");
        }
    }
    if (call.row->of_one) return call.row->of_one(call.here, call.operands[0]);
    if (call.row->of_two) return call.row->of_two(call.here, call.operands[0], call.operands[1]);
    return call.row->build(&call);
}

/* ---- the layer ---- */

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_operation_options, function, STRING, .required = true,
                     .doc = "a function of keras.ops with its constant arguments, such as mean(axis=1, keepdims=true); "
                            "the inputs are its other operands"),
};

static liana_status check_options(liana_check *check)
{
    const liana_operation_options *chosen = check->options;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__function_call operation;
    liana__error reason = {0};
    const liana_status status = liana__operation_read(chosen->function, &arena, &operation, &reason);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(check->error, "an operation");
    return status == LIANA_OK ? LIANA_OK : liana_option_refuse(check, "function", "%s", reason.message);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_operation_options *chosen = call->options;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__function_call operation;
    liana__error reason = {0};
    if (liana__operation_read(chosen->function, &arena, &operation, &reason) == LIANA_OK) {
        return liana__operation_build(call, &operation);
    }
    liana__graph_fail(call->inputs[0].graph, call->here, LIANA_INVALID_ARGUMENT, "%s", reason.message);
    return (liana_tensor){call->inputs[0].graph, 0};
}

const liana_layer_type liana__layer_operation = {
    LIANA_PART(LAYER, liana_layer_type, "Operation", "a function of keras.ops on its inputs",
               LIANA_PART_OPTIONS(liana_operation_options, rows), .check = check_options),
    LIANA__INPUTS(1, LIANA_MAX_LAYER_INPUTS),
    .takes_integers = true,
    .call = call_layer,
};
