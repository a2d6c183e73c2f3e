/* L1, L2 and L1L2: sums over elements. */
#include "layers/rules/regularizers.h"

#include <math.h>

typedef struct factors {
    double l1, l2;
} factors;

#define FACTOR_ROW(member, standard, text)                                                                  \
    LIANA__FIELD_ROW(factors, member, FLOAT, .default_text = (standard), .minimum = 0, .maximum = INFINITY, \
                     .doc = (text))

static const liana__field l1_rows[] = {FACTOR_ROW(l1, "0.01", "factor of the sum of absolute values")};
static const liana__field l2_rows[] = {FACTOR_ROW(l2, "0.01", "factor of the sum of squares")};
static const liana__field both_rows[] = {FACTOR_ROW(l1, "0", "factor of the sum of absolute values"),
                                         FACTOR_ROW(l2, "0", "factor of the sum of squares")};
static const liana__fields l1_fields = LIANA__FIELD_TABLE("l1", factors, l1_rows);
static const liana__fields l2_fields = LIANA__FIELD_TABLE("l2", factors, l2_rows);
static const liana__fields both_fields = LIANA__FIELD_TABLE("l1_l2", factors, both_rows);

/* Without axes each example has one element: it is its sum. */
static liana_tensor scaled_sum(liana_tensor each, liana_axes axes, double factor)
{
    if (axes.count != 0) each = liana_op_reduce_sum(each, axes, false);
    return liana_op_multiply(each, liana_graph_scalar(each.graph, liana_tensor_dtype(each), factor));
}

static liana_tensor build(const void *arguments, liana_tensor x, liana_axes axes)
{
    const factors *chosen = arguments;
    if (chosen->l1 == 0) return scaled_sum(liana_op_square(x), axes, chosen->l2);
    liana_tensor absolute = scaled_sum(liana_op_abs(x), axes, chosen->l1);
    if (chosen->l2 == 0) return absolute;
    return liana_op_add(absolute, scaled_sum(liana_op_square(x), axes, chosen->l2));
}

const liana__regularizer_type liana__regularizer_l1 = {
    .call = {"l1", "L1", &l1_fields, NULL},
    .doc = "l1 * sum(|x|)",
    .is_by_element = true,
    .build = build,
};

const liana__regularizer_type liana__regularizer_l2 = {
    .call = {"l2", "L2", &l2_fields, NULL},
    .doc = "l2 * sum(x^2)",
    .is_by_element = true,
    .build = build,
};

const liana__regularizer_type liana__regularizer_l1_l2 = {
    .call = {"l1_l2", "L1L2", &both_fields, NULL},
    .doc = "l1 * sum(|x|) + l2 * sum(x^2)",
    .is_by_element = true,
    .build = build,
};
