/* Patterns of names: matching them, and writing the name that a map means. */
#include "train/checkpoint/warm_start.h"

#include "base/scoped.h"
#include "base/text.h"

#include <string.h>

size_t liana__warm_count_stars(const char *pattern)
{
    size_t count = 0;
    for (; *pattern; pattern++) count += *pattern == '*';
    return count;
}

/* Matches the first `length` bytes of a name. Only the last star met so far ever takes more: the stars before it have
 * matched as early as they could. */
static bool match(const char *pattern, const char *name, size_t length, liana__warm_stars *stars)
{
    const char *at = name, *end = name + length, *behind_star = NULL;
    stars->count = 0;
    for (;;) {
        if (*pattern == '*' && stars->count < LIANA__WARM_MAX_STARS) {
            behind_star = ++pattern;
            stars->begin[stars->count] = at;
            stars->length[stars->count++] = 0;
        } else if (at < end && *pattern && (*pattern == '?' || *pattern == *at)) {
            pattern++;
            at++;
        } else if (at == end && !*pattern) {
            return true;
        } else {
            size_t last = stars->count - 1;
            if (!behind_star || stars->begin[last] + stars->length[last] >= end) return false;
            at = stars->begin[last] + ++stars->length[last];
            pattern = behind_star;
        }
    }
}

bool liana__warm_matches(const char *pattern, const char *name, liana__warm_stars *stars, const char **rest)
{
    liana__warm_stars ignored;
    size_t length = strlen(name);
    if (!stars) stars = &ignored;
    while (!match(pattern, name, length, stars)) {
        while (length && name[length - 1] != '/') length--;
        if (!length) return false;
        length--;
    }
    if (rest) *rest = name + length;
    return true;
}

const char *liana__warm_rename(const char *to, const liana__warm_stars *stars, const char *rest, liana__arena *arena)
{
    LIANA__SCOPED(liana__text) text = {0};
    size_t star = 0;
    for (; *to; to++) {
        if (*to != '*') {
            liana__text_add_bytes(&text, to, 1);
        } else if (star < stars->count) {
            liana__text_add_bytes(&text, stars->begin[star], stars->length[star]);
            star++;
        }
    }
    liana__text_add(&text, "%s", rest);
    return text.failed ? NULL : liana__arena_string(arena, text.data ? text.data : "");
}
