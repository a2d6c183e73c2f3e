/* Samples of concat for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values inputs[3];
    int axis;
} problem;

static const problem problems[] = {
    {"channels",
     {{"a", LIANA__DIMS(2, 3, 4, 5), -1, 1, LIANA_F32},
      {"b", LIANA__DIMS(2, 3, 4, 1), -1, 1, LIANA_F32},
      {"c", LIANA__DIMS(2, 3, 4, 7), -1, 1, LIANA_F32}},
     -1},
    {"first", {{"a", LIANA__DIMS(3, 5), -1, 1, LIANA_F32}, {"b", LIANA__DIMS(2, 5), -1, 1, LIANA_F32}}, 0},
    {"one", {{"a", LIANA__DIMS(4), -1, 1, LIANA_F32}}, 0},
    {"u64", {{"a", LIANA__DIMS(3, 2), 0, 1e15, LIANA_U64}, {"b", LIANA__DIMS(3, 3), 0, 1e15, LIANA_U64}}, 1},
    {"halves", {{"a", LIANA__DIMS(3, 2), -9, 9, LIANA_F16}, {"b", LIANA__DIMS(3, 3), -9, 9, LIANA_F16}}, 1},
    {"16 bits", {{"a", LIANA__DIMS(3, 2), -9, 9, LIANA_S16}, {"b", LIANA__DIMS(1, 2), -9, 9, LIANA_S16}}, 0},
    {"planes",
     {{"a", LIANA__DIMS(2, 5, 7, 1), 0, 255, LIANA_F32},
      {"b", LIANA__DIMS(2, 5, 7, 1), 0, 255, LIANA_F32},
      {"c", LIANA__DIMS(2, 5, 7, 1), 0, 255, LIANA_F32}},
     -1},
    {"bytes",
     {{"a", LIANA__DIMS(3, 17, 1), 0, 255, LIANA_U8},
      {"b", LIANA__DIMS(3, 17, 1), 0, 255, LIANA_U8},
      {"c", LIANA__DIMS(3, 17, 1), 0, 255, LIANA_U8}},
     -1},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    liana_tensor inputs[3];
    size_t count = 0;
    for (; count < 3 && p->inputs[count].name; count++) {
        inputs[count] = liana__sample_given(graph, dtype, &p->inputs[count]);
    }
    return liana_op_concat(inputs, count, p->axis);
}

/* The same tensor twice: its gradients add up. */
static liana_tensor build_twice(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(2, 3, 2), -1, 1);
    return liana_op_concat(((liana_tensor[]){a, a}), 2, -2);
}

static const liana__built_sample twice[] = {{"twice", build_twice, 0}};
LIANA__SAMPLE_ROWS_AND(concat, problems, LIANA__COUNT(problems), build, twice);
