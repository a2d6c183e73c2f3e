/* Lists the examples that a batch lacks. */
#include "data/loader/gaps.h"

#include <stdlib.h>
#include <string.h>

void liana__gaps_clear(liana__gaps *gaps)
{
    for (size_t i = 0; i < gaps->count; i++) {
        free(gaps->items[i].id);
        free(gaps->items[i].reason);
    }
    gaps->count = 0;
}

void liana__gaps_free(liana__gaps *gaps)
{
    liana__gaps_clear(gaps);
    free(gaps->items);
    *gaps = (liana__gaps){0};
}

bool liana__gaps_append(liana__gaps *gaps, int64_t example, uint64_t index, const char *id, const char *reason)
{
    liana__gap made = {example, index, id ? strdup(id) : NULL, strdup(reason)};
    if (made.reason && (!id || made.id) && liana__grow(&gaps->items, gaps->count, &gaps->capacity, sizeof made)) {
        gaps->items[gaps->count++] = made;
        return true;
    }
    free(made.id);
    free(made.reason);
    return false;
}

bool liana__gaps_add(liana__gaps *gaps, int64_t example, uint64_t index, const liana_source_record *record,
                     const char *reason)
{
    char text[96];
    return liana__gaps_append(gaps, example, index, liana__source_id(record, text, sizeof text), reason);
}

static int compare(const void *a, const void *b)
{
    const liana__gap *first = a, *second = b;
    return (first->example > second->example) - (first->example < second->example);
}

void liana__gaps_sort(liana__gaps *gaps)
{
    if (gaps->count) qsort(gaps->items, gaps->count, sizeof *gaps->items, compare);
}

liana_status liana__gaps_report(const liana__gaps *gaps, const liana__source *source, const char *part,
                                liana__bad_records *list, liana__error *error)
{
    for (size_t i = 0; i < gaps->count; i++) {
        const liana__gap *missing = &gaps->items[i];
        liana_record_address where = liana__source_address(source, missing->record);
        liana__bad_record record = {.part = part,
                                    .file = where.file,
                                    .record = where.record,
                                    .offset = liana__source_offset(source, missing->record),
                                    .id = where.record >= 0 ? missing->id : NULL,
                                    .reason = missing->reason};
        LIANA_TRY(liana__bad_records_meet(list, &record, error));
    }
    return LIANA_OK;
}
