/* matrix.h - mappings of the plane: 3 x 3 matrices on (x, y, 1). */
#ifndef LIANA_DATA_AUGMENT_MATRIX_H
#define LIANA_DATA_AUGMENT_MATRIX_H

#include <liana/data_parts.h>

typedef struct liana__point {
    double x;
    double y;
} liana__point;

static inline liana_matrix liana__matrix_identity(void)
{
    return (liana_matrix){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

/* First b, then a. */
liana_matrix liana__matrix_multiply(const liana_matrix *a, const liana_matrix *b);

/* A linear mapping [a b; c d] about a centre, which stays where it is. */
liana_matrix liana__matrix_about(double a, double b, double c, double d, double centre_x, double centre_y);

/* The inverse, up to a factor. */
liana_matrix liana__matrix_adjugate(const liana_matrix *matrix);

/* The perspective that maps four points to the corners (0, 0), (width, 0), (width, height), (0, height). The points
 * must be the corners of a convex quadrilateral, in order. The third coordinate is positive inside it. */
liana_matrix liana__matrix_from_corners(const liana__point corners[4], double width, double height);

#endif
