/* Numbers as text and back, in the C locale. */
#include "base/format.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

int liana__format_list(char *buffer, size_t size, const char *format, va_list arguments)
{
    /* For this thread only. The C library has this locale ready, so nothing is allocated. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    int length = vsnprintf(buffer, size, format, arguments);
    if (plain) uselocale(before);
    if (plain) freelocale(plain);
    return length;
}

int liana__format(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = liana__format_list(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}

double liana__parse_double(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = plain ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain) freelocale(plain);
    return number;
}
