/* value_read.h - members of maps that somebody else wrote: a member of another kind is as one that is missing. */
#ifndef LIANA_BASE_VALUE_READ_H
#define LIANA_BASE_VALUE_READ_H

#include "base/value.h"

/* A map may be NULL, or no map. */
const char *liana__value_text_of(const liana__value *map, const char *key, const char *otherwise);
int64_t liana__value_int_of(const liana__value *map, const char *key, int64_t otherwise);
double liana__value_number_of(const liana__value *map, const char *key, double otherwise);
bool liana__value_true_of(const liana__value *map, const char *key);
const liana__value *liana__value_list_of(const liana__value *map, const char *key); /* NULL: missing */

/* Whether a value (NULL: none) is a number of either kind. */
bool liana__value_is_number(const liana__value *value);

#endif
