/* class_list.h - the classes of a run as a list of names: how messages show it, and which lists mean the same. */
#ifndef LIANA_DATA_CLASS_LIST_H
#define LIANA_DATA_CLASS_LIST_H

#include "base/field.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* "3 classes: daisy, rose, tulip"; of many the first ones and the last one. */
typedef struct liana__class_list_text {
    char text[480];
} liana__class_list_text;
liana__class_list_text liana__class_list_show(const liana__strings *names);

bool liana__class_list_equal(const liana__strings *a, const liana__strings *b);
/* Whether the names are "0", "1", ... in this order: then numbers mean the same as names. */
bool liana__class_list_counts(const liana__strings *names);
/* Whether each name is a number (liana__class_number_read). */
bool liana__class_list_is_numbers(const liana__strings *names);

/* What a text is as the number of a class. */
typedef enum liana__class_number {
    LIANA__CLASS_NO_NUMBER,
    LIANA__CLASS_WHOLE_NUMBER, /* "1", " 1 ", "1.0" */
    LIANA__CLASS_FRACTION,     /* "1.5", or beyond 64 bits */
} liana__class_number;
/* Reads a decimal number with blanks around it. *number is set for a whole one. */
liana__class_number liana__class_number_read(const char *text, int64_t *number);

/* Compares two names without their blanks and without case (of ASCII letters), and numbers by their values: 0 if they
 * are alike, else the order. */
int liana__class_name_compare_loosely(const char *a, const char *b);

#endif
