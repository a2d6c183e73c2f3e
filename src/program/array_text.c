/* A program's arrays, in messages. */
#include "program/array_text.h"

#include "ir/shape.h"

#include <stdio.h>

liana__array_text liana__array_show(const liana_array *array)
{
    liana__array_text shown;
    const liana_shape *shape = &array->shape;
    const bool is_number = array->dtype >= 0 && array->dtype < LIANA_NUM_DTYPES;
    const char *dtype = is_number                      ? liana_dtype_name((liana_dtype)array->dtype)
                        : array->dtype == LIANA_STRING ? "string"
                                                       : "an unknown dtype";
    if (shape->rank >= 0 && shape->rank <= LIANA_MAX_RANK) {
        snprintf(shown.text, sizeof shown.text, "%s%s", dtype, liana__shape_print(shape).text);
    } else {
        snprintf(shown.text, sizeof shown.text, "%s of rank %d", dtype, shape->rank);
    }
    return shown;
}
