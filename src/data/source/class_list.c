/* Shows lists of classes and compares them. */
#include "data/source/class_list.h"

#include "base/format.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 10, NAME_SHOWN = 32 };

static void add_name(liana__class_list_text *list, const char *separator, const char *name)
{
    size_t used = strlen(list->text);
    const char *dots = strlen(name) > NAME_SHOWN ? "..." : "";
    snprintf(list->text + used, sizeof list->text - used, "%s%.*s%s", separator, NAME_SHOWN, name, dots);
}

liana__class_list_text liana__class_list_show(const liana__strings *names)
{
    liana__class_list_text list;
    bool all = names->count <= MOST_SHOWN;
    size_t shown = all ? names->count : MOST_SHOWN - 2;
    snprintf(list.text, sizeof list.text, "%zu class%s: ", names->count, names->count == 1 ? "" : "es");
    for (size_t i = 0; i < shown; i++) add_name(&list, i ? ", " : "", names->items[i]);
    if (!all) add_name(&list, ", ..., ", names->items[names->count - 1]);
    return list;
}

bool liana__class_list_equal(const liana__strings *a, const liana__strings *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0) return false;
    }
    return true;
}

bool liana__class_list_counts(const liana__strings *names)
{
    for (size_t i = 0; i < names->count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        if (strcmp(names->items[i], number) != 0) return false;
    }
    return true;
}

bool liana__class_list_is_numbers(const liana__strings *names)
{
    for (size_t i = 0; i < names->count; i++) {
        int64_t number;
        if (liana__class_number_read(names->items[i], &number) == LIANA__CLASS_NO_NUMBER) return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

liana__class_number liana__class_number_read(const char *text, int64_t *number)
{
    char *end;
    while (is_blank(*text)) text++;
    /* strtod reads "nan", "inf" and hexadecimal numbers too, which are names here. */
    if (strspn(text, "+-.0123456789eE \t\r\n") != strlen(text)) return LIANA__CLASS_NO_NUMBER;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    bool fits = errno == 0;
    while (is_blank(*end)) end++;
    *number = whole;
    if (end != text && *end == 0) return fits ? LIANA__CLASS_WHOLE_NUMBER : LIANA__CLASS_FRACTION;
    double value = liana__parse_double(text, &end);
    if (end == text) return LIANA__CLASS_NO_NUMBER;
    while (is_blank(*end)) end++;
    if (*end) return LIANA__CLASS_NO_NUMBER;
    if (!(fabs(value) < 9e15) || value != nearbyint(value)) return LIANA__CLASS_FRACTION;
    *number = (int64_t)value;
    return LIANA__CLASS_WHOLE_NUMBER;
}

static char next_letter(const char **text)
{
    while (is_blank(**text)) ++*text;
    char c = **text;
    if (c) ++*text;
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int liana__class_name_compare_loosely(const char *a, const char *b)
{
    int64_t number, other;
    bool whole = liana__class_number_read(a, &number) == LIANA__CLASS_WHOLE_NUMBER;
    bool other_whole = liana__class_number_read(b, &other) == LIANA__CLASS_WHOLE_NUMBER;
    if (whole && other_whole) return (number > other) - (number < other);
    if (whole != other_whole) return whole ? -1 : 1;
    for (;;) {
        char x = next_letter(&a), y = next_letter(&b);
        if (x != y) return (unsigned char)x < (unsigned char)y ? -1 : 1;
        if (!x) return 0;
    }
}
