/* Looks up names of other libraries. */
#include "base/other_names.h"

#include <ctype.h>
#include <string.h>

static const struct {
    liana__other_kind kind;
    const char *theirs, *ours;
} rows[] = {
#define LIANA__OTHER_NAME(kind, theirs, ours) {LIANA__OTHER_##kind, theirs, ours},
#include "base/other_names.def"
#undef LIANA__OTHER_NAME
};

enum { NUM_ROWS = sizeof rows / sizeof *rows };

bool liana__same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_-");
        b += strspn(b, "_-");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

/* The first row from `first` on; NUM_ROWS: there is none. */
static size_t find_row(liana__other_kind kind, const char *name, size_t first)
{
    const char *point = strrchr(name, '.');
    if (point) name = point + 1;
    while (first < NUM_ROWS && !(rows[first].kind == kind && liana__same_name(name, rows[first].theirs))) first++;
    return first;
}

const char *liana__other_name(liana__other_kind kind, const char *name)
{
    size_t row = find_row(kind, name, 0);
    return row < NUM_ROWS ? rows[row].ours : NULL;
}

liana__nearest_search liana__nearest_begin_known(const char *word)
{
    liana__nearest_search search = liana__nearest_begin(word);
    search.nearest = liana__other_name(LIANA__OTHER_PART, word);
    if (search.nearest) search.limit = 0; /* nothing is nearer */
    return search;
}

void liana__nearest_add_known(liana__nearest_search *search, const char *name)
{
    liana__nearest_add(search, name);
    for (size_t row = find_row(LIANA__OTHER_PART, search->word, 0); row < NUM_ROWS;
         row = find_row(LIANA__OTHER_PART, search->word, row + 1)) {
        if (strcmp(rows[row].ours, name) == 0) search->nearest = name;
    }
}
