/* cast.h - converts numbers from one dtype to another, and finds those that the other cannot hold. */
#ifndef LIANA_DATA_CAST_H
#define LIANA_DATA_CAST_H

#include <liana/graph.h>

/* Converts src[count] to dst[count]. Returns the index of the first value that does not fit, or -1. These fit:
 * - a whole number to a dtype of whole numbers that has it in its range (bool: 0 and 1);
 * - a whole number to a float dtype that has exactly this number: f32 up to 2^24, f64 up to 2^53, and some above;
 * - a float to a dtype of whole numbers if it is whole and in its range;
 * - a float to another float dtype, rounded to the nearest, unless a finite one would become infinite. */
int64_t liana__cast_values(liana_dtype from, const void *src, liana_dtype to, void *dst, int64_t count);

/* Writes value `index` of an array for messages: "3", "0.5". */
void liana__cast_describe(liana_dtype dtype, const void *values, int64_t index, char *text, size_t size);

#endif
