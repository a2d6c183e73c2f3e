/* findings.h - findings of commands about files, as a tree of values: printed for people, scalars as lines and lists of
 * maps as tables; or as one line of JSON. */
#ifndef LIANA_CLI_FINDINGS_H
#define LIANA_CLI_FINDINGS_H

#include "cli/command.h"

/* Sets a value of a map: a text; a whole number; a number with 7 digits; a list of whole numbers (a shape). */
void liana__findings_text(liana__arena *arena, liana__value *map, const char *key, const char *text);
void liana__findings_int(liana__arena *arena, liana__value *map, const char *key, int64_t number);
void liana__findings_number(liana__arena *arena, liana__value *map, const char *key, double number);
void liana__findings_shape(liana__arena *arena, liana__value *map, const char *key, const int64_t *dims, int rank);

void liana__findings_print(const liana__value *report, FILE *out);

#endif
