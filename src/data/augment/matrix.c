/* Products and inverses of mappings of the plane. */
#include "data/augment/matrix.h"

liana_matrix liana__matrix_multiply(const liana_matrix *a, const liana_matrix *b)
{
    liana_matrix product;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += a->m[3 * row + k] * b->m[3 * k + column];
            product.m[3 * row + column] = sum;
        }
    }
    return product;
}

liana_matrix liana__matrix_about(double a, double b, double c, double d, double x, double y)
{
    return (liana_matrix){{a, b, x - a * x - b * y, c, d, y - c * x - d * y, 0, 0, 1}};
}

/* The unit square to a quadrilateral: Heckbert, "Fundamentals of texture mapping and image warping" (1989), 2.2.3. */
static liana_matrix square_to_corners(const liana__point *p)
{
    double dx1 = p[1].x - p[2].x, dx2 = p[3].x - p[2].x, sum_x = p[0].x - p[1].x + p[2].x - p[3].x;
    double dy1 = p[1].y - p[2].y, dy2 = p[3].y - p[2].y, sum_y = p[0].y - p[1].y + p[2].y - p[3].y;
    double det = dx1 * dy2 - dx2 * dy1;
    double g = (sum_x * dy2 - dx2 * sum_y) / det, h = (dx1 * sum_y - sum_x * dy1) / det;
    return (liana_matrix){{p[1].x - p[0].x + g * p[1].x, p[3].x - p[0].x + h * p[3].x, p[0].x,
                           p[1].y - p[0].y + g * p[1].y, p[3].y - p[0].y + h * p[3].y, p[0].y, g, h, 1}};
}

/* The transposed cofactors. */
liana_matrix liana__matrix_adjugate(const liana_matrix *matrix)
{
    const double *m = matrix->m;
    return (liana_matrix){{m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                           m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                           m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]}};
}

liana_matrix liana__matrix_from_corners(const liana__point corners[4], double width, double height)
{
    liana_matrix to_quad = square_to_corners(corners), to_square = liana__matrix_adjugate(&to_quad);
    /* The sign of the third coordinate is that of the determinant, everywhere inside. */
    double determinant = 0;
    for (int k = 0; k < 3; k++) determinant += to_quad.m[k] * to_square.m[3 * k];
    double sign = determinant < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) {
        to_square.m[k] *= sign * width;
        to_square.m[3 + k] *= sign * height;
        to_square.m[6 + k] *= sign;
    }
    return to_square;
}
