/* perspective.h - random_perspective, asked backwards: which stage could have drawn a perspective. */
#ifndef LIANA_DATA_AUGMENT_PERSPECTIVE_H
#define LIANA_DATA_AUGMENT_PERSPECTIVE_H

#include "data/augment/matrix.h"

#include <stdbool.h>

/* The smallest factor with which random_perspective draws that the corners of an image, from the upper left one
 * clockwise, come to lie at these points of an output of width x height; *turn: whether it must also turn or reflect.
 * The stage takes factors up to 0.25. */
double liana__perspective_factor(const liana__point assigned[4], double width, double height, bool *turn);

#endif
