/* data_agreement.h - whether all processes of a cluster have the same data. */
#ifndef LIANA_TRAIN_DATA_AGREEMENT_H
#define LIANA_TRAIN_DATA_AGREEMENT_H

#include "data/source/source.h"
#include "step/agreement.h"

enum { LIANA__MOST_DATA_PARTS = 3 };

/* Training, validation and test data, by the names that messages give them. */
typedef struct liana__data_parts {
    const liana__source *sources[LIANA__MOST_DATA_PARTS]; /* NULL: there is none */
    const char *names[LIANA__MOST_DATA_PARTS];
    size_t count;
} liana__data_parts;

/* Files are compared by names, sizes and times; where any of them differ, by their contents. Of data that are in no
 * files, such as arrays of a program, only the number of examples is known. `cluster` NULL: nothing. Errors:
 * INVALID_CONFIG with the first file that differs, alike on all processes. */
liana_status liana__agree_on_data(const liana__data_parts *parts, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;

#endif
