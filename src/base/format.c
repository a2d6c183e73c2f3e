/* Numbers as text and back, in the C locale. */
#include "base/format.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Bytes of the control character at `at`, and its number; 0: it is none. In UTF-8 those from 128 to 159 have two bytes. */
static size_t control_at(const unsigned char *at, unsigned *number)
{
    *number = *at;
    if (*at == 0 || *at == '\t') return 0;
    if (*at < ' ' || *at == 127) return 1;
    *number = at[1];
    return *at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? 2 : 0;
}

void liana__escape_controls(char *text, size_t size)
{
    enum { ESCAPED = 5 }; /* with the 0 */
    unsigned number;
    for (size_t at = 0; text[at]; at++) {
        const size_t taken = control_at((const unsigned char *)text + at, &number);
        if (taken == 0) continue;
        char escaped[ESCAPED + 8];
        const size_t written = (size_t)snprintf(escaped, sizeof escaped,
                                                number == '\n'   ? "\\n"
                                                : number == '\r' ? "\\r"
                                                                 : "\\x%02x",
                                                number);
        if (at + written >= size) {
            text[at] = 0;
            return;
        }
        size_t left = strlen(text + at + taken);
        if (at + written + left >= size) left = size - at - written - 1;
        memmove(text + at + written, text + at + taken, left);
        memcpy(text + at, escaped, written);
        text[at + written + left] = 0;
        at += written - 1;
    }
}

double liana__parse_double(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = plain ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain) freelocale(plain);
    return number;
}
