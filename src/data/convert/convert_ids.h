/* convert_ids.h - ids for images that are files: the files' names, made unique. */
#ifndef LIANA_DATA_CONVERT_IDS_H
#define LIANA_DATA_CONVERT_IDS_H

#include "base/text.h"

/* Zero-initialise; free with liana__convert_ids_free. */
typedef struct liana__convert_ids {
    uint64_t count;
    const char **names; /* by position, borrowed */
    uint32_t *numbers;  /* by position: 2 or more for a repeated name; else 0 */
    liana__text text;
} liana__convert_ids;

/* Makes room for `count` names, which the caller then sets, in the order of the output. */
liana_status liana__convert_ids_create(liana__convert_ids *ids, uint64_t count, liana__error *error) LIANA_MUST_USE;
/* Numbers repeated names, in their order. */
liana_status liana__convert_ids_number(liana__convert_ids *ids, liana__error *error) LIANA_MUST_USE;
/* The id at a position, valid until the next call; NULL: out of memory. */
const char *liana__convert_ids_get(liana__convert_ids *ids, uint64_t position);
void liana__convert_ids_free(liana__convert_ids *ids);

#endif
