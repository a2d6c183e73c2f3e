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

liana_status liana__row_from_texts(const liana__row_of_texts *how, int dtype, const void *values, void *row,
                                   size_t size, liana__error *error)
{
    enum { LONGEST = 24 };
    memset(row, 0, size);
    if (dtype == LIANA_STRING) return how->run(how->state, values, row, error);
    LIANA__SCOPED_MEMORY liana_bytes *texts = malloc((size_t)how->count * sizeof *texts + 1);
    LIANA__SCOPED_MEMORY char *digits = malloc((size_t)how->count * LONGEST + 1);
    if (!texts || !digits) return liana__fail_memory(error, "texts of numbers");
    for (int64_t i = 0; i < how->count; i++) {
        char *text = digits + i * LONGEST;
        const int length = snprintf(text, LONGEST, "%" PRId64, whole_number(dtype, values, i));
        texts[i] = (liana_bytes){text, (size_t)length};
    }
    return how->run(how->state, texts, row, error);
}
