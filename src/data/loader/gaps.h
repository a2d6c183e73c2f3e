/* gaps.h - gaps: the examples of a batch that are missing, because their records cannot be used. */
#ifndef LIANA_DATA_GAPS_H
#define LIANA_DATA_GAPS_H

#include "data/check/bad_records.h"
#include "data/source/source.h"

typedef struct liana__gap {
    int64_t example; /* in the batch as it was planned */
    uint64_t record; /* index in the source */
    char *id;        /* NULL: none */
    char *reason;
} liana__gap;

/* Zero-initialise; free with liana__gaps_free. */
typedef struct liana__gaps {
    liana__gap *items;
    size_t count;
    size_t capacity;
} liana__gaps;

void liana__gaps_free(liana__gaps *gaps);
void liana__gaps_clear(liana__gaps *gaps);
/* Adds a gap. `record` is the part that could be read. False: out of memory. */
bool liana__gaps_add(liana__gaps *gaps, int64_t example, uint64_t index, const liana_source_record *record,
                     const char *reason);
/* The same, with copies of the id (NULL: none) and the reason. */
bool liana__gaps_append(liana__gaps *gaps, int64_t example, uint64_t index, const char *id, const char *reason);
/* Sorts the gaps in the order of the examples. */
void liana__gaps_sort(liana__gaps *gaps);
/* Reports each gap to the list. Errors: those of liana__bad_records_meet. */
liana_status liana__gaps_report(const liana__gaps *gaps, const liana__source *source, const char *part,
                                liana__bad_records *list, liana__error *error) LIANA_MUST_USE;

#endif
