/* class_list.h - the classes of a run as a list of names: collecting, finding, comparing and showing them. */
#ifndef LIANA_DATA_CLASS_LIST_H
#define LIANA_DATA_CLASS_LIST_H

#include "base/field.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* "3 classes: daisy, rose, tulip". A long list is shown by its first names and its last one. */
typedef struct liana__class_list_text {
    char text[480];
} liana__class_list_text;
liana__class_list_text liana__class_list_show(const liana__strings *names);

/* A copy in the arena. NULL items: out of memory, which the arena records too. */
liana__strings liana__names_copy(const liana__strings *names, liana__arena *arena);
/* The index of a name of `size` bytes, or -1. `ascending`: the list is in byte order, and searched by halves. */
int64_t liana__names_find(const liana__strings *names, bool ascending, const char *name, size_t size);

/* Different names. Zero-initialise with the arena of the names, which also records if memory runs out. */
typedef struct liana__name_set {
    liana__arena *arena;
    const char **items;
    size_t count;
    size_t sorted; /* of these, the first are sorted and all different */
    size_t capacity;
} liana__name_set;
/* Adds a copy of a name, unless it is there. */
void liana__name_set_add(liana__name_set *set, const char *name, size_t size);
/* The names in byte order, in the arena. The set is empty afterwards. */
liana__strings liana__name_set_take(liana__name_set *set);

bool liana__class_list_equal(const liana__strings *a, const liana__strings *b);
/* Whether the names are "0", "1", ... in this order. Then numbers mean the same as names. */
bool liana__class_list_counts(const liana__strings *names);
/* Whether each name is a number (liana__class_number_read). */
bool liana__class_list_is_numbers(const liana__strings *names);

/* The kind of class number that a text is. */
typedef enum liana__class_number {
    LIANA__CLASS_NO_NUMBER,
    LIANA__CLASS_WHOLE_NUMBER, /* "1", " 1 ", "1.0" */
    LIANA__CLASS_FRACTION,     /* "1.5", or beyond 64 bits */
} liana__class_number;
/* Reads a decimal number with blanks around it. Sets *number if it is whole. */
liana__class_number liana__class_number_read(const char *text, int64_t *number);

/* Two names of a list that mean the same class. */
typedef struct liana__alike {
    const char *one; /* NULL: there are none */
    const char *other;
    bool looks_same; /* they differ only in characters that are not seen */
} liana__alike;

/* Finds two names that are written differently but mean the same (name_key.h; numbers are compared by value).
 * `listed`: somebody has written the list, so names that look different are two classes: "a" and "A". Errors:
 * OUT_OF_MEMORY. */
liana_status liana__class_list_find_alike(const liana__strings *names, bool listed, liana__alike *alike,
                                          liana__error *error) LIANA_MUST_USE;
/* Refuses a list that was written with two such names. One name twice is no fault: ImageNet has two classes called
 * 'crane'. Errors, without a place: INVALID_CONFIG, OUT_OF_MEMORY. */
liana_status liana__class_list_check(const liana__strings *names, liana__error *error) LIANA_MUST_USE;

/* Two classes of one name. Whoever makes a number of a name refuses theirs. */
typedef struct liana__twins {
    int64_t one; /* -1: there are none */
    int64_t other;
} liana__twins;
/* The first two of a list. Errors: OUT_OF_MEMORY. */
liana_status liana__class_list_find_twins(const liana__strings *names, liana__twins *twins, liana__error *error)
    LIANA_MUST_USE;
/* The class `one` and the next one of its name, if there is one. */
liana__twins liana__class_twins(const liana__strings *names, int64_t one);
/* "the classes 134 and 517 (counted from 0; lines 135 and 518 of their list) are both called 'crane'" */
typedef struct liana__twins_text {
    char text[300];
} liana__twins_text;
liana__twins_text liana__twins_show(const liana__strings *names, const liana__twins *twins);

/* "'cafe'", or, where the names look the same, "'cafe' (bytes 63 61 66 65)". */
typedef struct liana__class_name_text {
    char text[260];
} liana__class_name_text;
liana__class_name_text liana__class_name_show(const char *name, bool with_bytes);

/* The end of a message about a name that the list does not have: the name that is alike, or the nearest one. Empty if
 * there is no such name. */
typedef struct liana__class_hint_text {
    char text[640];
} liana__class_hint_text;
liana__class_hint_text liana__class_hint(const char *name, const liana__strings *names);

#endif
