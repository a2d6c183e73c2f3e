/* Numbers as text and back, in the C locale. */
#include "base/format.h"

#include "base/utf8.h"

#include <locale.h>
#include <stdbool.h>
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

/* Puts `replacement` for `taken` bytes at `at`. False: there is no room for it, and the text ends there. */
static bool replace(char *text, size_t size, size_t at, size_t taken, const char *replacement)
{
    const size_t length = strlen(replacement);
    if (at + length >= size) {
        text[at] = 0;
        return false;
    }
    size_t left = strlen(text + at + taken);
    if (at + length + left >= size) left = size - at - length - 1;
    memmove(text + at + length, text + at + taken, left);
    memcpy(text + at, replacement, length);
    text[at + length + left] = 0;
    return true;
}

void liana__escape_controls(char *text, size_t size)
{
    enum { LONGEST = 4 }; /* bytes of a character */
    for (size_t at = 0; text[at];) {
        uint32_t code;
        const size_t taken = liana__utf8_character(text + at, strnlen(text + at, LONGEST), &code);
        const bool control = code != '\t' && liana__is_control(code);
        char shown[16] = "?";
        if (taken && !control) {
            at += taken;
            continue;
        }
        if (taken && code == '\n') {
            strcpy(shown, "\\n");
        } else if (taken && code == '\r') {
            strcpy(shown, "\\r");
        } else if (taken) {
            snprintf(shown, sizeof shown, code < 256 ? "\\x%02x" : "\\u%04x", (unsigned)code);
        }
        if (!replace(text, size, at, taken ? taken : 1, shown)) return;
        at += strlen(shown);
    }
}

double liana__parse_double(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = plain ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain) freelocale(plain);
    return number;
}
