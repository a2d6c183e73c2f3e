/* Compares names of columns: the same name first, then one that is alike. */
#include "data/source/column_search.h"

#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *name, size_t *length)
{
    name += strspn(name, " \t");
    *length = strlen(name);
    while (*length && strchr(" \t", name[*length - 1])) --*length;
    return name;
}

bool liana__column_names_alike(const char *a, const char *b)
{
    size_t length, other;
    a = skip_blanks(a, &length);
    b = skip_blanks(b, &other);
    return length == other && strncasecmp(a, b, length) == 0;
}

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The first from `first` on that fits. */
static size_t next_fitting(const char *const *names, size_t count, size_t first, const char *wanted,
                           bool (*fits)(const char *, const char *))
{
    while (first < count && !(names[first] && fits(names[first], wanted))) first++;
    return first;
}

liana_status liana__column_search(const char *kind, const char *const *names, size_t count, const char *wanted,
                                  int *place, liana__error *error)
{
    *place = LIANA__NO_COLUMN;
    size_t found = next_fitting(names, count, 0, wanted, same_name);
    const bool same = found < count;
    if (!same) found = next_fitting(names, count, 0, wanted, liana__column_names_alike);
    if (found == count) return LIANA_OK;
    size_t other = next_fitting(names, count, found + 1, wanted, same ? same_name : liana__column_names_alike);
    *place = (int)found;
    if (other == count) return LIANA_OK;
    if (same_name(names[found], names[other])) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "two %ss are called '%.100s', number %zu and number %zu; which one is meant is not known: "
                           "rename one of them",
                           kind, names[found], found + 1, other + 1);
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%.100s' may mean the %s '%.100s' or '%.100s'; write the name exactly as it stands in the file",
                       wanted, kind, names[found], names[other]);
}

liana_status liana__column_search_usual(const char *kind, const char *const *names, size_t count, const char *wanted,
                                        const char *const *usual, size_t num_usual, int *place, liana__error *error)
{
    if (wanted) return liana__column_search(kind, names, count, wanted, place, error);
    *place = LIANA__NO_COLUMN;
    for (size_t i = 0; i < num_usual && *place < 0; i++) {
        LIANA_TRY(liana__column_search(kind, names, count, usual[i], place, error));
    }
    return LIANA_OK;
}
