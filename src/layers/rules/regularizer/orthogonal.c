/* OrthogonalRegularizer: rows or columns of a matrix in different directions. */
#include "layers/rules/regularizers.h"

#include <math.h>

enum { ROWS, COLUMNS };

typedef struct orthogonal {
    double factor;
    int mode;
} orthogonal;

static const char *const modes[] = {"rows", "columns", NULL};

static const liana_option rows[] = {
    LIANA_OPTION_ROW(orthogonal, factor, FLOAT, .default_text = "0.01", .minimum = 0, .maximum = INFINITY,
                     .doc = "factor of the mean of the absolute products"),
    LIANA_OPTION_ROW(orthogonal, mode, ENUM, .default_text = "rows", .names = modes,
                     .doc = "which vectors of the matrix are to be orthogonal"),
};

/* Keras's least norm, squared. */
static const double LEAST_SQUARE = 1e-14;

static const char *refuse(const void *options, const liana_shape *shape)
{
    const orthogonal *chosen = options;
    if (shape->rank != 2) return "a matrix";
    bool by_rows = chosen->mode == ROWS;
    if (shape->dims[by_rows ? 0 : 1] >= 2) return NULL;
    return by_rows ? "a matrix with 2 rows or more" : "a matrix with 2 columns or more";
}

/* f32 [size, size]: 0 on the diagonal, else 1. */
static liana_tensor off_diagonal(liana_tensor like, int64_t size)
{
    const liana_shape square = liana_shape_of(size, size);
    liana_tensor down = liana_op_iota(like.graph, LIANA_S32, square, 0);
    liana_tensor across = liana_op_iota(like.graph, LIANA_S32, square, 1);
    return liana_op_cast(liana_op_not_equal(down, across), liana_tensor_dtype(like));
}

static liana_tensor penalty(const liana_regularizer_call *call)
{
    const orthogonal *chosen = call->options;
    const liana_tensor x = call->x;
    const bool by_rows = chosen->mode == ROWS;
    const int64_t size = liana_tensor_shape(x).dims[by_rows ? 0 : 1];
    liana_tensor squares = liana_op_reduce_sum(liana_op_square(x), LIANA_AXES(by_rows ? 1 : 0), true);
    liana_tensor least = liana_graph_scalar(x.graph, liana_tensor_dtype(x), LEAST_SQUARE);
    liana_tensor unit = liana_op_multiply(x, liana_op_rsqrt(liana_op_maximum(squares, least)));
    liana_tensor products = liana_op_matmul(unit, unit, !by_rows, by_rows);
    products = liana_op_multiply(liana_op_abs(products), off_diagonal(products, size));
    double pairs = (double)size * ((double)size - 1) / 2;
    liana_tensor sum = liana_op_reduce_sum(products, LIANA_ALL_AXES, false);
    return liana_op_multiply(sum, liana_graph_scalar(x.graph, liana_tensor_dtype(x), chosen->factor * 0.5 / pairs));
}

const liana_regularizer_type liana__regularizer_orthogonal_regularizer = {
    LIANA_PART(REGULARIZER, liana_regularizer_type, "orthogonal_regularizer",
               "factor * mean of |products| of different rows (or columns) with norm 1",
               .aliases = {"OrthogonalRegularizer"}, LIANA_PART_OPTIONS(orthogonal, rows)),
    .refuse = refuse,
    .penalty = penalty,
};
