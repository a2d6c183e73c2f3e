/* Collects names of classes, finds, shows and compares them. */
#include "data/source/class_list.h"

#include "base/format.h"
#include "base/scoped.h"
#include "data/source/name_key.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of names ---- */

liana__strings liana__names_copy(const liana__strings *names, liana__arena *arena)
{
    const char **copies = liana__arena_allocate(arena, (names->count + 1) * sizeof *copies);
    for (size_t i = 0; copies && i < names->count; i++) copies[i] = liana__arena_string(arena, names->items[i]);
    return (liana__strings){names->count, copies};
}

/* The order of a NUL-terminated name and one that is not, as strcmp. */
static int compare_name(const char *item, const char *name, size_t size)
{
    int order = strncmp(item, name, size);
    return order ? order : item[size] != 0;
}

int64_t liana__names_find(const liana__strings *names, bool ascending, const char *name, size_t size)
{
    size_t low = 0, high = names->count;
    for (size_t i = 0; !ascending && i < names->count; i++) {
        if (compare_name(names->items[i], name, size) == 0) return (int64_t)i;
    }
    while (ascending && low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_name(names->items[middle], name, size);
        if (order == 0) return (int64_t)middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(liana__name_set *set)
{
    if (set->count) qsort(set->items, set->count, sizeof *set->items, compare_strings);
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (kept == 0 || strcmp(set->items[kept - 1], set->items[i]) != 0) set->items[kept++] = set->items[i];
    }
    set->count = set->sorted = kept;
}

/* The array is sorted now and then, so a name may be in it several times in between. */
void liana__name_set_add(liana__name_set *set, const char *name, size_t size)
{
    const liana__strings known = {set->sorted, set->items};
    if (set->arena->failed || liana__names_find(&known, true, name, size) >= 0) return;
    char *copy = liana__arena_allocate(set->arena, size + 1);
    if (!copy || !liana__grow(&set->items, set->count, &set->capacity, sizeof *set->items)) {
        set->arena->failed = true;
        return;
    }
    memcpy(copy, name, size);
    set->items[set->count++] = copy;
    if (set->count >= 2 * set->sorted + 64) sort_names(set);
}

liana__strings liana__name_set_take(liana__name_set *set)
{
    sort_names(set);
    const liana__strings names = {set->count,
                                  liana__arena_copy(set->arena, set->items, set->count * sizeof *set->items)};
    free(set->items);
    *set = (liana__name_set){.arena = set->arena};
    return names;
}

/* ---- lists in messages ---- */

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

/* ---- names that are alike ---- */

/* A name with its key. */
typedef struct keyed {
    const char *name;
    char *key;
} keyed;

static char *key_of(const char *name, liana__name_rule rule)
{
    int64_t number;
    char text[24];
    bool by_value = rule == LIANA__NAMES_READ_ALIKE;
    if (!by_value || liana__class_number_read(name, &number) != LIANA__CLASS_WHOLE_NUMBER) {
        return liana__name_key(name, rule);
    }
    snprintf(text, sizeof text, "%" PRId64, number);
    return strdup(text);
}

static int compare_keys(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : strcmp(x->name, y->name);
}

static bool looks_same(const char *a, const char *b)
{
    char *x = key_of(a, LIANA__NAMES_LOOK_ALIKE), *y = key_of(b, LIANA__NAMES_LOOK_ALIKE);
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

liana_status liana__class_list_find_alike(const liana__strings *names, bool listed, liana__alike *alike,
                                          liana__error *error)
{
    const liana__name_rule rule = listed ? LIANA__NAMES_LOOK_ALIKE : LIANA__NAMES_READ_ALIKE;
    *alike = (liana__alike){0};
    keyed *sorted = calloc(names->count + 1, sizeof *sorted);
    bool enough = sorted != NULL;
    for (size_t i = 0; enough && i < names->count; i++) {
        sorted[i] = (keyed){names->items[i], key_of(names->items[i], rule)};
        enough = sorted[i].key != NULL;
    }
    if (enough && names->count) qsort(sorted, names->count, sizeof *sorted, compare_keys);
    for (size_t i = 1; enough && i < names->count && !alike->one; i++) {
        if (strcmp(sorted[i - 1].key, sorted[i].key) != 0 || strcmp(sorted[i - 1].name, sorted[i].name) == 0) continue;
        alike->one = sorted[i - 1].name;
        alike->other = sorted[i].name;
        alike->looks_same = looks_same(alike->one, alike->other);
    }
    for (size_t i = 0; sorted && i < names->count; i++) free(sorted[i].key);
    free(sorted);
    return enough ? LIANA_OK : liana__fail_memory(error, "a list of classes");
}

liana_status liana__class_list_check(const liana__strings *names, liana__error *error)
{
    liana__alike alike;
    LIANA_TRY(liana__class_list_find_alike(names, true, &alike, error));
    if (!alike.one) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "found %s and %s, which look the same, but are written with different bytes; keep the one that "
                       "the data have",
                       liana__class_name_show(alike.one, true).text, liana__class_name_show(alike.other, true).text);
}

/* ---- two classes of one name ---- */

static int compare_places(const void *a, const void *b)
{
    const char *const *first = *(const char *const *const *)a, *const *second = *(const char *const *const *)b;
    int order = strcmp(*first, *second);
    return order ? order : (first > second) - (first < second);
}

liana_status liana__class_list_find_twins(const liana__strings *names, liana__twins *twins, liana__error *error)
{
    *twins = (liana__twins){-1, -1};
    LIANA__SCOPED_MEMORY const char *const **sorted = malloc((names->count + 1) * sizeof *sorted);
    if (!sorted) return liana__fail_memory(error, "a list of classes");
    for (size_t i = 0; i < names->count; i++) sorted[i] = &names->items[i];
    if (names->count) qsort(sorted, names->count, sizeof *sorted, compare_places);
    for (size_t i = 1; i < names->count; i++) {
        const int64_t one = sorted[i - 1] - names->items;
        if (strcmp(*sorted[i - 1], *sorted[i]) != 0 || (twins->one >= 0 && twins->one < one)) continue;
        *twins = (liana__twins){one, sorted[i] - names->items};
    }
    return LIANA_OK;
}

liana__twins liana__class_twins(const liana__strings *names, int64_t one)
{
    for (size_t i = (size_t)one + 1; i < names->count; i++) {
        if (strcmp(names->items[i], names->items[one]) == 0) return (liana__twins){one, (int64_t)i};
    }
    return (liana__twins){-1, -1};
}

liana__twins_text liana__twins_show(const liana__strings *names, const liana__twins *twins)
{
    liana__twins_text shown;
    snprintf(shown.text, sizeof shown.text,
             "the classes %" PRId64 " and %" PRId64 " (counted from 0; lines %" PRId64 " and %" PRId64
             " of their list) are both called '%.100s'",
             twins->one, twins->other, twins->one + 1, twins->other + 1, names->items[twins->one]);
    return shown;
}

/* ---- how they are shown ---- */

/* The bytes of a name in hexadecimal; of a long one, its first. */
static liana__class_name_text show_bytes(const char *name)
{
    enum { BYTES_SHOWN = 40 };
    liana__class_name_text shown = {""};
    size_t used = 0, length = strlen(name);
    for (size_t i = 0; i < length && i < BYTES_SHOWN; i++) {
        used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "%s%02x", i ? " " : "",
                                 (unsigned)(unsigned char)name[i]);
    }
    if (length > BYTES_SHOWN) snprintf(shown.text + used, sizeof shown.text - used, " ...");
    return shown;
}

liana__class_name_text liana__class_name_show(const char *name, bool with_bytes)
{
    liana__class_name_text shown;
    int used = snprintf(shown.text, sizeof shown.text, "'%.100s'", name);
    if (with_bytes) {
        snprintf(shown.text + used, sizeof shown.text - (size_t)used, " (bytes %.140s)", show_bytes(name).text);
    }
    return shown;
}

/* The name of the list that is alike under a rule, or NULL. */
static const char *find_alike(const char *name, const liana__strings *names, liana__name_rule rule)
{
    const char *found = NULL;
    char *wanted = key_of(name, rule);
    for (size_t i = 0; wanted && i < names->count && !found; i++) {
        char *key = key_of(names->items[i], rule);
        if (key && strcmp(key, wanted) == 0) found = names->items[i];
        free(key);
    }
    free(wanted);
    return found;
}

liana__class_hint_text liana__class_hint(const char *name, const liana__strings *names)
{
    liana__class_hint_text hint = {""};
    const char *alike = find_alike(name, names, LIANA__NAMES_LOOK_ALIKE);
    if (alike) {
        snprintf(hint.text, sizeof hint.text, "; it looks like %s, but has the bytes %s",
                 liana__class_name_show(alike, true).text, show_bytes(name).text);
        return hint;
    }
    const char *nearest = liana__nearest(name, names->items, names->count);
    if (!nearest) nearest = find_alike(name, names, LIANA__NAMES_READ_ALIKE);
    if (nearest) snprintf(hint.text, sizeof hint.text, "%s", liana__hint(nearest).text);
    return hint;
}
