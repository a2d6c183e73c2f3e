/* list_names.h - the names of `liana list`, for others: completion offers them. */
#ifndef LIANA_CLI_LIST_LIST_NAMES_H
#define LIANA_CLI_LIST_LIST_NAMES_H

#include "base/memory.h"

/* Called for each name, with its description ("": none). */
typedef void liana__list_visit(void *user, const char *name, const char *doc);

/* The kinds: models, layers, ... */
void liana__list_visit_kinds(liana__list_visit *visit, void *user);
/* The names of a kind; none if there is no such kind. */
void liana__list_visit_names(const char *kind, liana__arena *arena, liana__list_visit *visit, void *user);
/* The kind whose names are values of a key of the configuration ("models" of "model.base"); NULL: none. */
const char *liana__list_kind_for(const char *key);

#endif
