/* format.h - numbers as text and back. */
#ifndef LIANA_BASE_FORMAT_H
#define LIANA_BASE_FORMAT_H

#include "base/printf_check.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>

/* vsnprintf, snprintf and strtod of the C locale. So numbers have a point in files and messages, whatever locale the
 * program has set. */
int liana__format_list(char *buffer, size_t size, const char *format, va_list arguments) LIANA__PRINTF(3, 0);
int liana__format(char *buffer, size_t size, const char *format, ...) LIANA__PRINTF(3, 4);
/* A number to print: NaN has a sign on x86, which would be shown as "-nan". */
static inline double liana__shown(double number)
{
    return number == number ? number : (double)NAN;
}
double liana__parse_double(const char *text, char **end);

/* Writes control characters in a text as \x1b, \n, \u202e and so on, in place: names of files and names in files may
 * hold any bytes, which a terminal would obey, and an end of line would begin a line that liana has not written. The
 * text is cut off at `size` bytes. Tabs stay. Bytes that are not UTF-8 become '?'. */
void liana__escape_controls(char *text, size_t size);

#endif
