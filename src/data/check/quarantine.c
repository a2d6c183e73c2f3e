/* A source without the records of a list. */
#include "data/check/quarantine.h"

#include "base/scoped.h"
#include "data/source/part.h"

#include <stdlib.h>
#include <string.h>

/* The records that are left out, in ascending order. */
typedef struct found_records {
    const liana__source *source;
    uint64_t *items;
    size_t count;
} found_records;

static int compare_places(const void *a, const void *b)
{
    const liana__bad_record *first = *(const liana__bad_record *const *)a;
    const liana__bad_record *second = *(const liana__bad_record *const *)b;
    int order = strcmp(first->file, second->file);
    return order ? order : (first->record > second->record) - (first->record < second->record);
}

/* A file of the source is called as the list calls it, which is by its real path. */
static bool is_listed(const liana__bad_record *const *entries, size_t count, const char *file, int64_t record)
{
    const liana__bad_record place = {.file = file, .record = record}, *key = &place;
    return bsearch(&key, entries, count, sizeof *entries, compare_places);
}

static liana_status find_records(found_records *found, const liana__bad_record *const *entries, size_t count,
                                 liana__error *error)
{
    size_t capacity = 0;
    const char *file = NULL;
    LIANA__SCOPED_MEMORY char *real = NULL;
    for (uint64_t index = 0; index < found->source->num_records; index++) {
        liana_record_address where = liana__source_address(found->source, index);
        if (where.file != file) {
            free(real);
            real = realpath(where.file, NULL);
            file = where.file;
        }
        const bool listed = is_listed(entries, count, real ? real : file, where.record);
        if (!listed) continue;
        if (!liana__grow(&found->items, found->count, &capacity, sizeof *found->items)) {
            return liana__fail_memory(error, "the records left out");
        }
        found->items[found->count++] = index;
    }
    if (found->count < found->source->num_records) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "data.quarantine leaves out all of the %zu records of '%s', ...",
                       found->count, liana__source_address(found->source, 0).file);
}

liana_status liana__source_leave_out(liana__source **source, const liana__bad_records *list, uint64_t *num_left_out,
                                     liana__error *error)
{
    if (num_left_out) *num_left_out = 0;
    if (list->count == 0) return LIANA_OK;
    const liana__bad_record **entries = malloc(list->count * sizeof *entries);
    if (!entries) return liana__fail_memory(error, "the records left out");
    for (size_t i = 0; i < list->count; i++) entries[i] = &list->items[i];
    qsort(entries, list->count, sizeof *entries, compare_places);
    found_records found = {.source = *source};
    liana_status status = find_records(&found, entries, list->count, error);
    free(entries);
    if (status != LIANA_OK || found.count == 0) {
        free(found.items);
        return status;
    }
    liana__part_options part = {
        .inner = *source, .records = found.items, .count = found.count, .left_out = true, .owns = true};
    LIANA_TRY(liana__source_part(&part, source, error));
    if (num_left_out) *num_left_out = found.count;
    return LIANA_OK;
}
