/* column_search.h - finds a column of a table, a feature of a record or an extension of a member by its name. */
#ifndef LIANA_DATA_COLUMN_SEARCH_H
#define LIANA_DATA_COLUMN_SEARCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { LIANA__NO_COLUMN = -1 };

/* Whether two names differ at most in case and in blanks around them. */
bool liana__column_names_alike(const char *a, const char *b);

/* Gives the place of a name in names[count]: that of the same name, else that of the only one that is alike.
 * LIANA__NO_COLUMN: there is none. NULL stands for a name that is taken, and is never found. `kind` is for messages:
 * "column". Errors, without the file: INVALID_DATA (two have this name, or several are alike). */
liana_status liana__column_search(const char *kind, const char *const *names, size_t count, const char *wanted,
                                  int *place, liana__error *error) LIANA_MUST_USE;

/* The same for `wanted`, or, where that is NULL, for the first of the usual names that is there. */
liana_status liana__column_search_usual(const char *kind, const char *const *names, size_t count, const char *wanted,
                                        const char *const *usual, size_t num_usual, int *place, liana__error *error)
    LIANA_MUST_USE;

#endif
