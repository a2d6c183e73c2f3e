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

/* What kind of class number a text is. */
typedef enum liana__class_number {
    LIANA__CLASS_NO_NUMBER,
    LIANA__CLASS_WHOLE_NUMBER, /* "1", " 1 ", "1.0" */
    LIANA__CLASS_FRACTION,     /* "1.5", or beyond 64 bits */
} liana__class_number;
/* Reads a decimal number with blanks around it. Sets *number if it is whole. */
liana__class_number liana__class_number_read(const char *text, int64_t *number);

/* Compares two names without blanks and case (of ASCII letters), and numbers by value. 0: they are alike; else their
 * order. */
int liana__class_name_compare_loosely(const char *a, const char *b);

#endif
