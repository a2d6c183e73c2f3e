/* array_text.h - a program's arrays, in messages. */
#ifndef LIANA_PROGRAM_ARRAY_TEXT_H
#define LIANA_PROGRAM_ARRAY_TEXT_H

#include <liana/array.h>

typedef struct liana__array_text {
    char text[200];
} liana__array_text;

/* "u8[8, 12, 12, 1]", whatever the program has put into dtype and shape. */
liana__array_text liana__array_show(const liana_array *array);

#endif
