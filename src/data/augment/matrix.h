/* matrix.h - mappings of the plane: 3 x 3 matrices on (x, y, 1). */
#ifndef LIANA_DATA_AUGMENT_MATRIX_H
#define LIANA_DATA_AUGMENT_MATRIX_H

/* Row by row. (x, y) goes to ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w), w = m6 x + m7 y + m8. */
typedef struct liana__matrix {
    double m[9];
} liana__matrix;

typedef struct liana__point {
    double x;
    double y;
} liana__point;

static inline liana__matrix liana__matrix_identity(void)
{
    return (liana__matrix){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

/* First b, then a. */
liana__matrix liana__matrix_multiply(const liana__matrix *a, const liana__matrix *b);

/* A linear mapping [a b; c d] about a centre, which stays where it is. */
liana__matrix liana__matrix_about(double a, double b, double c, double d, double centre_x, double centre_y);

liana__point liana__matrix_apply(const liana__matrix *matrix, double x, double y);

/* The perspective that maps four points to the corners (0, 0), (width, 0), (width, height), (0, height). The points
 * must be the corners of a convex quadrilateral, in order. The third coordinate is positive inside it. */
liana__matrix liana__matrix_from_corners(const liana__point corners[4], double width, double height);

#endif
