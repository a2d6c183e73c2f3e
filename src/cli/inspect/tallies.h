/* tallies.h - how often names occur, and how many bytes they have, for the tables of liana inspect. */
#ifndef LIANA_CLI_INSPECT_TALLIES_H
#define LIANA_CLI_INSPECT_TALLIES_H

#include "cli/command.h"

/* There may be any number of names; a report does not have them all. */
enum { LIANA__MOST_TALLIES = 1000 };

typedef struct liana__tally {
    const char *name;
    int64_t count;
    int64_t bytes;
} liana__tally;

/* Zero-initialise. */
typedef struct liana__tallies {
    liana__tally items[LIANA__MOST_TALLIES];
    size_t count;
} liana__tallies;

/* The name is borrowed. */
void liana__tallies_add(liana__tallies *all, const char *name, int64_t bytes);
/* Sets a table under `key` with the columns `name`, `count` and perhaps "bytes"; none if there is nothing in it. */
void liana__tallies_report(liana__tallies *all, const char *name, const char *count, bool bytes, const char *key,
                           liana__value *report, liana__arena *arena);

#endif
