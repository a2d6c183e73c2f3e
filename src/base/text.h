/* text.h - strings for people: a growing builder, "did you mean", and names of any direction. */
#ifndef LIANA_BASE_TEXT_H
#define LIANA_BASE_TEXT_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string. Zero-initialise; free with liana__text_free. When out of memory, `failed` is set, later additions
 * do nothing, and `data` stays a valid string or NULL. */
typedef struct liana__text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
} liana__text;

void liana__text_add(liana__text *text, const char *format, ...) LIANA__PRINTF(2, 3);
void liana__text_add_bytes(liana__text *text, const char *bytes, size_t size);
void liana__text_free(liana__text *text);

/* Length of the shortest edit script (insert, delete, substitute, swap neighbours) between two words, ignoring
 * case: the optimal string alignment distance. */
size_t liana__edit_distance(const char *a, const char *b);

/* The name of names[0..count) that is nearest to `word`, if it is near enough to be meant (distance at most a third of
 * the word's length, or 1); else NULL. */
const char *liana__nearest(const char *word, const char *const *names, size_t count);
/* The same for names that are given one by one. */
typedef struct liana__nearest_search {
    const char *word;
    const char *nearest; /* so far, or NULL */
    size_t limit;        /* the distance that a nearer one must be below */
} liana__nearest_search;
liana__nearest_search liana__nearest_begin(const char *word);
void liana__nearest_add(liana__nearest_search *search, const char *name);

/* The end of a message about an unknown name: "; did you mean 'NEAREST'?"; empty if nearest is NULL. */
typedef struct liana__hint_text {
    char text[128];
} liana__hint_text;
liana__hint_text liana__hint(const char *nearest);

bool liana__starts_with(const char *text, const char *prefix);
bool liana__ends_with(const char *text, const char *suffix);

/* A name for the middle of a line that has more text: "is NAME", "NAME (0.93)". Hebrew and Arabic would pull the
 * numbers and brackets after them to their other side. So a name with such letters stands between U+2068 and U+2069,
 * which show it in its own direction and leave the line alone (The Unicode Standard, annex 9: isolates). Characters
 * that turn directions are '?' in it. Other names are returned as they are. NULL: out of memory, or `name` is NULL. */
const char *liana__isolate(liana__arena *arena, const char *name);

#endif
