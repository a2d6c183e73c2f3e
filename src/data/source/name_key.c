/* Makes keys of names with utf8proc. */
#include "data/source/name_key.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* utf8proc makes spaces alike only together with all other compatible forms. */
static utf8proc_int32_t plain_space(utf8proc_int32_t code, void *unused)
{
    (void)unused;
    return utf8proc_category(code) == UTF8PROC_CATEGORY_ZS ? ' ' : code;
}

static char *lower_ascii(const char *name)
{
    char *copy = strdup(name);
    for (char *c = copy; copy && *c; c++) {
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    }
    return copy;
}

/* Leaves out blanks at the ends, and all others (`all`) or all but one in a row. */
static void drop_blanks(char *key, bool all)
{
    char *to = key;
    for (const char *from = key; *from; from++) {
        if (!is_blank(*from)) {
            *to++ = *from;
        } else if (!all && to > key && to[-1] != ' ') {
            *to++ = ' ';
        }
    }
    if (to > key && to[-1] == ' ') to--;
    *to = 0;
}

char *liana__name_key(const char *name, liana__name_rule rule)
{
    const bool loose = rule == LIANA__NAMES_READ_ALIKE;
    const unsigned common = UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_IGNORE;
    const unsigned options = loose ? common | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD : common;
    utf8proc_uint8_t *mapped = NULL;
    const utf8proc_ssize_t size =
        utf8proc_map_custom((const utf8proc_uint8_t *)name, 0, &mapped, (utf8proc_option_t)options, plain_space, NULL);
    char *key = (char *)mapped;
    if (size == UTF8PROC_ERROR_NOMEM) return NULL;
    if (size < 0) key = loose ? lower_ascii(name) : strdup(name);
    if (key) drop_blanks(key, loose);
    return key;
}
