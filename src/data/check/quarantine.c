/* A source without the records of a list. */
#include "data/check/quarantine.h"

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

/* The entries of one file; a file of the source is called as the list calls it, which is by its real path. */
typedef struct file_entries {
    const char *file; /* the source's own string */
    size_t begin, end;
} file_entries;

static size_t first_at_or_after(const liana__bad_record *const *entries, size_t count, const liana__bad_record *place)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_places(&entries[middle], &place) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static file_entries entries_of(const liana__bad_record *const *entries, size_t count, const char *file)
{
    char *real = realpath(file, NULL);
    liana__bad_record first = {.file = real ? real : file, .record = INT64_MIN};
    file_entries found = {.file = file, .begin = first_at_or_after(entries, count, &first)};
    first.record = INT64_MAX;
    found.end = first_at_or_after(entries, count, &first);
    free(real);
    return found;
}

static liana_status find_records(found_records *found, const liana__bad_record *const *entries, size_t count,
                                 liana__error *error)
{
    size_t capacity = 0;
    file_entries in_file = {0};
    for (uint64_t index = 0; index < found->source->num_records; index++) {
        liana_record_address where = liana__source_address(found->source, index);
        if (where.file != in_file.file) in_file = entries_of(entries, count, where.file);
        bool listed = false;
        for (size_t low = in_file.begin, high = in_file.end; low < high && !listed;) {
            size_t middle = low + (high - low) / 2;
            listed = entries[middle]->record == where.record;
            if (entries[middle]->record < where.record) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
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
