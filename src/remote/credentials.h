/* credentials.h - the places where credentials of both clouds are found. */
#ifndef LIANA_REMOTE_CREDENTIALS_H
#define LIANA_REMOTE_CREDENTIALS_H

#include "base/value.h"

#include <stdbool.h>

/* The value of an environment variable; NULL: it is not set, or empty. */
const char *liana__credentials_variable(const char *name);
/* The text of a member of a JSON mapping; NULL: it is no text, or empty. */
const char *liana__credentials_text(const liana__value *map, const char *key);
/* Whether a file of the system begins so: it says whose machine this is. */
bool liana__machine_says(const char *path, const char *start);

#endif
