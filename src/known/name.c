/* Compares names. */
#include "known/name.h"

#include <ctype.h>
#include <string.h>

static char next_letter(const char **text, const char *end)
{
    while (*text < end && (**text == '-' || **text == '_')) ++*text;
    return *text < end ? (char)tolower((unsigned char)*(*text)++) : '\0';
}

bool liana__known_name_is(const char *name, const char *text, size_t length)
{
    const char *end = name + strlen(name), *text_end = text + length;
    for (;;) {
        const char one = next_letter(&name, end), other = next_letter(&text, text_end);
        if (one != other) return false;
        if (!one) return true;
    }
}
