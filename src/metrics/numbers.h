/* numbers.h - lists of numbers in options of metrics. */
#ifndef LIANA_METRICS_NUMBERS_H
#define LIANA_METRICS_NUMBERS_H

#include "base/part.h"

/* The numbers of a list, or the one number; NULL and null: none. */
size_t liana__num_numbers(const liana__value *value);
double liana__number_at(const liana__value *value, size_t index);

/* Refuses the option unless it is such numbers, from `minimum` to `maximum`, and not an empty list. Errors:
 * INVALID_CONFIG. */
liana_status liana__check_numbers(liana_check *check, const char *option, const liana__value *value, double minimum,
                                  double maximum) LIANA_MUST_USE;

#endif
