/* Vocabularies, and numbers as rows. */
#include "layers/preprocessing/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- vocabularies ---- */

typedef struct entry {
    liana_bytes text;
    int32_t number;
} entry;

static int compare_bytes(const liana_bytes *a, const liana_bytes *b)
{
    const size_t shared = a->size < b->size ? a->size : b->size;
    const int order = shared ? memcmp(a->data, b->data, shared) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_bytes(&((const entry *)a)->text, &((const entry *)b)->text);
}

static liana_status fail_double(const entry *first, const entry *second, int64_t begin, liana__error *error)
{
    const int64_t a = first->number - begin, b = second->number - begin;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "vocabulary: '%.60s' is there twice, as text %lld and as text %lld (from 0); leave one out",
                       (const char *)first->text.data, (long long)(a < b ? a : b), (long long)(a < b ? b : a));
}

liana_status liana__vocabulary_make(const liana_strings *list, int64_t first, liana__arena *arena,
                                    liana__vocabulary *vocabulary, liana__error *error)
{
    *vocabulary = (liana__vocabulary){0};
    if (list->count > (size_t)INT32_MAX - 1024) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "vocabulary: found %zu texts, expected fewer", list->count);
    }
    entry *entries = liana__arena_allocate(arena, (list->count + 1) * sizeof *entries);
    liana_bytes *texts = liana__arena_allocate(arena, (list->count + 1) * sizeof *texts);
    int32_t *numbers = liana__arena_allocate(arena, (list->count + 1) * sizeof *numbers);
    if (!entries || !texts || !numbers) return liana__fail_memory(error, "a vocabulary");
    for (size_t i = 0; i < list->count; i++) {
        entries[i] = (entry){{list->items[i], strlen(list->items[i])}, (int32_t)(first + (int64_t)i)};
    }
    qsort(entries, list->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0 && compare_entries(&entries[i - 1], &entries[i]) == 0) {
            return fail_double(&entries[i - 1], &entries[i], first, error);
        }
        texts[i] = entries[i].text;
        numbers[i] = entries[i].number;
    }
    *vocabulary = (liana__vocabulary){texts, numbers, list->count};
    return LIANA_OK;
}

int64_t liana__vocabulary_find(const liana__vocabulary *vocabulary, liana_bytes text)
{
    size_t low = 0, high = vocabulary->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_bytes(&text, &vocabulary->texts[middle]);
        if (order == 0) return vocabulary->numbers[middle];
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return -1;
}

liana_status liana__whole_number_of(const liana_bytes *text, int64_t *number, liana__error *error)
{
    char digits[24], *end = digits;
    errno = 0;
    if (text->size && text->size < sizeof digits) {
        memcpy(digits, text->data, text->size);
        digits[text->size] = 0;
        *number = strtoll(digits, &end, 10);
    }
    if (end == digits + text->size && text->size && !errno) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "found '%.*s', expected a whole number of 64 bits",
                       text->size > 60 ? 60 : (int)text->size, (const char *)text->data);
}

/* ---- numbers as rows ---- */

const char *const liana__output_mode_names[] = {"int", "one_hot", "multi_hot", "count", "tf_idf", NULL};
_Static_assert(LIANA_OUTPUT_TF_IDF + 2 == sizeof liana__output_mode_names / sizeof *liana__output_mode_names,
               "each output mode has a name");

liana_status liana__output_shape(liana_output_mode mode, const liana_shape *numbers, int64_t depth, liana_shape *result,
                                 liana__error *error)
{
    *result = *numbers;
    if (mode == LIANA_OUTPUT_INT) return LIANA_OK;
    if (mode != LIANA_OUTPUT_ONE_HOT && result->rank > 1) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "output_mode %s makes one row of the texts of an example, [batch] or [batch, texts]; found %d axes "
            "of texts",
            liana__output_mode_names[mode], result->rank);
    }
    const bool is_one = result->rank > 0 && result->dims[result->rank - 1] == 1;
    const bool replaces = result->rank > 0 && (mode != LIANA_OUTPUT_ONE_HOT || is_one);
    if (!replaces && result->rank + 2 > LIANA_MAX_RANK) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "its result would have more than %d dimensions",
                           LIANA_MAX_RANK);
    }
    if (!replaces) result->rank++;
    result->dims[result->rank - 1] = depth;
    return LIANA_OK;
}

void liana__output_put(const liana__output_row *how, int64_t index, int64_t number, void *row)
{
    if (how->mode == LIANA_OUTPUT_INT) {
        ((int32_t *)row)[index] = (int32_t)number;
        return;
    }
    if (number < 0 || number >= how->depth) return;
    float *cell = (float *)row + index / how->group * how->depth + number;
    switch (how->mode) {
    case LIANA_OUTPUT_COUNT: *cell += 1; break;
    case LIANA_OUTPUT_TF_IDF: *cell += how->weights[number]; break;
    default: *cell = 1; break;
    }
}
