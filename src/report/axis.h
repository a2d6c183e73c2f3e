/* axis.h - the axis of a picture: the range of its values, and its marks. */
#ifndef LIANA_REPORT_AXIS_H
#define LIANA_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct liana__axis {
    double low, high, step;
    bool logarithmic; /* low, high and step are decades */
} liana__axis;

/* An axis with no values yet. */
liana__axis liana__axis_begin(bool logarithmic);
/* Widens the axis for a value; one that is not finite is left out. */
void liana__axis_take(liana__axis *axis, double value);
/* No value, one value, or values that a double can hardly tell apart still get a range around them. */
void liana__axis_make_room(liana__axis *axis);
/* The axis ends at marks just outside of the values; there are about `wanted` marks. */
void liana__axis_round(liana__axis *axis, int wanted);
/* How many steps the axis has. */
int liana__axis_steps(const liana__axis *axis);
/* The place of a value: 0 at the low end, 1 at the high one. */
double liana__axis_place(const liana__axis *axis, double value);
/* Writes the number at a mark, with at most `most_decimals`. */
void liana__axis_mark(const liana__axis *axis, double value, int most_decimals, char *text, size_t size);

/* A step of 1, 2 or 5 times a power of 10, for about `wanted` marks between two values. */
double liana__axis_step(double low, double high, int wanted);

#endif
