/* name.h - compares the names of weights and data sets. */
#ifndef LIANA_KNOWN_NAME_H
#define LIANA_KNOWN_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `length` bytes of a text are a name. Case, '-' and '_' do not count. */
bool liana__known_name_is(const char *name, const char *text, size_t length);

#endif
