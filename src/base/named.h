/* named.h - finding a thing by its name in a list, or the nearest name for the message where none has it. */
#ifndef LIANA_BASE_NAMED_H
#define LIANA_BASE_NAMED_H

#include "base/text.h"

/* A list of structs that have a member `const char *name`: in a row, or pointers to them. */
typedef struct liana__named {
    const void *things;
    size_t count;
    size_t stride; /* from one thing to the next, in bytes; 0: `things` are pointers to them */
    size_t offset; /* of the name in a thing */
    bool any_case; /* "adam" finds "Adam" */
} liana__named;

#define LIANA__NAMED(type, list, number) \
    ((liana__named){.things = (list), .count = (number), .stride = sizeof(type), .offset = offsetof(type, name)})
#define LIANA__NAMED_POINTERS(type, list, number) \
    ((liana__named){.things = (list), .count = (number), .offset = offsetof(type, name)})

/* The thing, and its name. */
const void *liana__named_thing(liana__named list, size_t index);
const char *liana__named_at(liana__named list, size_t index);

/* The index of the thing of that name. If there is none it is `count`, and *nearest (NULL: not wanted) the name that
 * may have been meant, or NULL (liana__nearest). */
size_t liana__named_find(liana__named list, const char *name, const char **nearest);
const char *liana__named_nearest(liana__named list, const char *word);

#endif
