/* L1, L2 and L1L2: sums over elements. */
#include "layers/rules/regularizers.h"

#include <math.h>

typedef struct factors {
    double l1, l2;
} factors;

#define FACTOR_ROW(member, standard, text)                                                                  \
    LIANA_OPTION_ROW(factors, member, FLOAT, .default_text = (standard), .minimum = 0, .maximum = INFINITY, \
                     .doc = (text))

static const liana_option l1_rows[] = {FACTOR_ROW(l1, "0.01", "factor of the sum of absolute values")};
static const liana_option l2_rows[] = {FACTOR_ROW(l2, "0.01", "factor of the sum of squares")};
static const liana_option both_rows[] = {FACTOR_ROW(l1, "0", "factor of the sum of absolute values"),
                                         FACTOR_ROW(l2, "0", "factor of the sum of squares")};

/* Without axes each example has one element: it is its sum. */
static liana_tensor scaled_sum(liana_tensor each, liana_axes axes, double factor)
{
    if (axes.count != 0) each = liana_op_reduce_sum(each, axes, false);
    return liana_op_multiply(each, liana_graph_scalar(each.graph, liana_tensor_dtype(each), factor));
}

static liana_tensor penalty(const liana_regularizer_call *call)
{
    const factors *chosen = call->options;
    const liana_tensor x = call->x;
    const liana_axes axes = call->axes;
    if (chosen->l1 == 0) return scaled_sum(liana_op_square(x), axes, chosen->l2);
    liana_tensor absolute = scaled_sum(liana_op_abs(x), axes, chosen->l1);
    if (chosen->l2 == 0) return absolute;
    return liana_op_add(absolute, scaled_sum(liana_op_square(x), axes, chosen->l2));
}

#define NORM(name, alias, rows, doc)                                                    \
    const liana_regularizer_type liana__regularizer_##name = {                          \
        LIANA_PART(REGULARIZER, liana_regularizer_type, #name, doc, .aliases = {alias}, \
                   LIANA_PART_OPTIONS(factors, rows)),                                  \
        .is_by_element = true,                                                          \
        .penalty = penalty,                                                             \
    };
NORM(l1, "L1", l1_rows, "l1 * sum(|x|)")
NORM(l2, "L2", l2_rows, "l2 * sum(x^2)")
NORM(l1_l2, "L1L2", both_rows, "l1 * sum(|x|) + l2 * sum(x^2)")
