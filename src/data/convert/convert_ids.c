/* Makes ids of files' names. */
#include "data/convert/convert_ids.h"

#include <stdlib.h>
#include <string.h>

liana_status liana__convert_ids_create(liana__convert_ids *ids, uint64_t count, liana__error *error)
{
    ids->count = count;
    ids->names = calloc(count, sizeof *ids->names);
    ids->numbers = calloc(count, sizeof *ids->numbers);
    return ids->names && ids->numbers ? LIANA_OK : liana__fail_memory(error, "the names of the images");
}

/* "rose.jpg" and 2 -> "rose-2.jpg". */
static const char *add_number(liana__text *text, const char *name, uint32_t number)
{
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    text->length = 0;
    liana__text_add(text, "%.*s-%u%s", (int)stem, name, number, name + stem);
    return text->failed ? NULL : text->data;
}

/* A place in the list of names: sorting places by name, then by position, leaves the names where they are. */
static int compare_places(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a, *const *y = *(const char *const *const *)b;
    int order = strcmp(*x, *y);
    return order ? order : (x > y) - (x < y);
}

static int compare_name(const void *name, const void *place)
{
    return strcmp(name, **(const char *const *const *)place);
}

static liana_status number_sorted(liana__convert_ids *ids, const char **const *places, liana__error *error)
{
    uint32_t number = 1;
    for (uint64_t i = 1; i < ids->count; i++) {
        const char *name = *places[i];
        if (strcmp(name, *places[i - 1]) != 0) {
            number = 1;
            continue;
        }
        const char *candidate;
        do {
            candidate = add_number(&ids->text, name, ++number);
            if (!candidate) return liana__fail_memory(error, "the names of the images");
        } while (bsearch(candidate, places, ids->count, sizeof *places, compare_name));
        ids->numbers[places[i] - ids->names] = number;
    }
    return LIANA_OK;
}

liana_status liana__convert_ids_number(liana__convert_ids *ids, liana__error *error)
{
    const char ***places = calloc(ids->count, sizeof *places);
    if (!places) return liana__fail_memory(error, "the names of the images");
    for (uint64_t i = 0; i < ids->count; i++) places[i] = &ids->names[i];
    qsort(places, ids->count, sizeof *places, compare_places);
    liana_status status = number_sorted(ids, places, error);
    free(places);
    return status;
}

const char *liana__convert_ids_get(liana__convert_ids *ids, uint64_t position)
{
    const char *name = ids->names[position];
    return ids->numbers[position] ? add_number(&ids->text, name, ids->numbers[position]) : name;
}

void liana__convert_ids_free(liana__convert_ids *ids)
{
    free(ids->names);
    free(ids->numbers);
    liana__text_free(&ids->text);
    *ids = (liana__convert_ids){0};
}
