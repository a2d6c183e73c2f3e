/* class_list.h - the classes of a run as a list of names: how messages show it, and which lists are equal. */
#ifndef LIANA_DATA_CLASS_LIST_H
#define LIANA_DATA_CLASS_LIST_H

#include "base/field.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* "3 classes: daisy, rose, tulip". A long list is shown by its first names and its last one. */
typedef struct liana__class_list_text {
    char text[480];
} liana__class_list_text;
liana__class_list_text liana__class_list_show(const liana__strings *names);

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
    bool looks_same; /* they differ only in invisible characters */
} liana__alike;

/* Finds two names that are written differently but mean the same (name_key.h; numbers are compared by value). `listed`:
 * somebody has written the list, so names that differ in visible characters are two classes: "a" and "A". Errors:
 * OUT_OF_MEMORY. */
liana_status liana__class_list_find_alike(const liana__strings *names, bool listed, liana__alike *alike,
                                          liana__error *error) LIANA_MUST_USE;
/* Refuses a list that was written with two such names, or with one name twice. Errors, without a place: INVALID_CONFIG,
 * OUT_OF_MEMORY. */
liana_status liana__class_list_check(const liana__strings *names, liana__error *error) LIANA_MUST_USE;

/* "'cafe'", or, where the names look the same, "'cafe' (bytes 63 61 66 65)". */
typedef struct liana__class_name_text {
    char text[260];
} liana__class_name_text;
liana__class_name_text liana__class_name_show(const char *name, bool with_bytes);

/* The end of a message about a name that is not in the list: the one that it is alike, or nearest to; empty without
 * such a name. */
typedef struct liana__class_hint_text {
    char text[640];
} liana__class_hint_text;
liana__class_hint_text liana__class_hint(const char *name, const liana__strings *names);

#endif
