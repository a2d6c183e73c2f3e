/* Makes rows of batches of texts. */
#include "data/loader/batch_texts.h"

#include "base/scoped.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool liana__dtype_has_texts(int dtype)
{
    switch (dtype) {
    case LIANA_STRING:
    case LIANA_S8:
    case LIANA_S16:
    case LIANA_S32:
    case LIANA_S64:
    case LIANA_U8:
    case LIANA_U16:
    case LIANA_U32: return true;
    default: return false;
    }
}

static int64_t whole_number(int dtype, const void *values, int64_t i)
{
    switch (dtype) {
    case LIANA_S32: return ((const int32_t *)values)[i];
    case LIANA_S64: return ((const int64_t *)values)[i];
    case LIANA_U8: return ((const uint8_t *)values)[i];
    case LIANA_S8: return ((const int8_t *)values)[i];
    case LIANA_S16: return ((const int16_t *)values)[i];
    case LIANA_U16: return ((const uint16_t *)values)[i];
    default: return ((const uint32_t *)values)[i];
    }
}

void liana__texts_of(const liana__given_texts *given, int64_t count, liana_bytes *texts, char *digits)
{
    for (int64_t i = 0; i < count; i++) {
        if (given->dtype == LIANA_STRING) {
            texts[i] = ((const liana_bytes *)given->values)[i];
            continue;
        }
        char *text = digits + i * LIANA__LONGEST_NUMBER;
        const int64_t number = whole_number(given->dtype, given->values, i);
        texts[i] = (liana_bytes){text, (size_t)snprintf(text, LIANA__LONGEST_NUMBER, "%" PRId64, number)};
    }
}

liana_status liana__row_from_texts(const liana__row_of_texts *how, const liana__given_texts *given, void *row,
                                   size_t size, liana__error *error)
{
    const size_t parts = how->num_components ? how->num_components : 1, each = (size_t)how->count;
    memset(row, 0, size);
    if (parts == 1 && given->dtype == LIANA_STRING) return how->run(how->state, given->values, row, error);
    LIANA__SCOPED_MEMORY liana_bytes *texts = malloc(parts * each * sizeof *texts + 1);
    LIANA__SCOPED_MEMORY char *digits = malloc(parts * each * LIANA__LONGEST_NUMBER + 1);
    if (!texts || !digits) return liana__fail_memory(error, "texts of numbers");
    for (size_t i = 0; i < parts; i++) {
        liana__texts_of(&given[i], how->count, texts + i * each, digits + i * each * LIANA__LONGEST_NUMBER);
    }
    return how->run(how->state, texts, row, error);
}
