/* A source without the records of a list. */
#include "data/check/quarantine.h"

#include <stdlib.h>
#include <string.h>

typedef struct remaining_source {
    liana__source base;
    liana__source_kind kind; /* the inner one's, with functions that translate the index */
    liana__source *inner;
    uint64_t *left_out; /* in ascending order */
    size_t count;
    uint64_t *block_starts;
} remaining_source;

/* The index in the inner source: of the records left out, left_out[k] - k remaining ones come before number k. */
static uint64_t inner_index(const remaining_source *source, uint64_t index)
{
    size_t low = 0, high = source->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source->left_out[middle] - middle <= index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return index + low;
}

static void expect(const liana__source *base, uint64_t index)
{
    const remaining_source *source = (const remaining_source *)base;
    liana__source_expect(source->inner, inner_index(source, index));
}

static void begin(const liana__source *base, uint64_t position)
{
    const liana__source *inner = ((const remaining_source *)base)->inner;
    inner->kind->begin(inner, position);
}

static void take_memory(const liana__source *base, size_t bytes)
{
    const liana__source *inner = ((const remaining_source *)base)->inner;
    inner->kind->take_memory(inner, bytes);
}

static void close_source(liana__source *base)
{
    remaining_source *source = (remaining_source *)base;
    liana__source_close(source->inner);
    free(source->left_out);
    free(source->block_starts);
    free(source);
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    const remaining_source *source = (const remaining_source *)base;
    return source->inner->kind->read(source->inner, inner_index(source, index), scratch, record, error);
}

static liana_status read_record_at(const liana__source *base, const liana_example_address *at, void *scratch,
                                   liana__record *record, liana__error *error)
{
    const remaining_source *source = (const remaining_source *)base;
    liana_example_address inner = *at;
    inner.record = inner_index(source, at->record);
    return source->inner->kind->read_at(source->inner, &inner, scratch, record, error);
}

static int64_t known_label(const liana__source *base, uint64_t index)
{
    const remaining_source *source = (const remaining_source *)base;
    return source->inner->kind->known_label(source->inner, inner_index(source, index));
}

static liana__record_address address(const liana__source *base, uint64_t index)
{
    const remaining_source *source = (const remaining_source *)base;
    return source->inner->kind->address(source->inner, inner_index(source, index));
}

static int64_t offset(const liana__source *base, uint64_t index)
{
    const remaining_source *source = (const remaining_source *)base;
    return liana__source_offset(source->inner, inner_index(source, index));
}

static void visit_files(const liana__source *base,
                        void (*visit)(void *user, const char *path, const char *name, bool labels), void *user)
{
    const liana__source *inner = ((const remaining_source *)base)->inner;
    inner->kind->visit_files(inner, visit, user);
}

/* ---- finding the records ---- */

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

static liana_status find_records(remaining_source *source, const liana__bad_record *const *entries, size_t count,
                                 liana__error *error)
{
    size_t capacity = 0;
    file_entries in_file = {0};
    for (uint64_t index = 0; index < source->inner->num_records; index++) {
        liana__record_address where = liana__source_address(source->inner, index);
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
        if (!liana__grow(&source->left_out, source->count, &capacity, sizeof *source->left_out)) {
            return liana__fail_memory(error, "the records left out");
        }
        source->left_out[source->count++] = index;
    }
    if (source->count < source->inner->num_records) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "data.quarantine leaves out all of the %zu records of '%s', ...",
                       source->count, liana__source_address(source->inner, 0).file);
}

/* The blocks of the remaining records, without empty blocks. */
static liana_status move_blocks(remaining_source *source, liana__error *error)
{
    const liana__source *inner = source->inner;
    source->base.num_blocks = 0;
    if (!inner->block_starts) return LIANA_OK;
    source->block_starts = malloc((inner->num_blocks + 1) * sizeof *source->block_starts);
    if (!source->block_starts) return liana__fail_memory(error, "a list of blocks");
    size_t count = 0, before = 0;
    for (size_t i = 0; i < inner->num_blocks; i++) {
        while (before < source->count && source->left_out[before] < inner->block_starts[i]) before++;
        uint64_t start = inner->block_starts[i] - before;
        if (count && source->block_starts[count - 1] == start) count--;
        if (start < source->base.num_records) source->block_starts[count++] = start;
    }
    source->base.num_blocks = count;
    source->base.block_starts = source->block_starts;
    return LIANA_OK;
}

static void free_shell(remaining_source *source)
{
    free(source->left_out);
    free(source->block_starts);
    free(source);
}

liana_status liana__source_leave_out(liana__source **source, const liana__bad_records *list, uint64_t *num_left_out,
                                     liana__error *error)
{
    if (num_left_out) *num_left_out = 0;
    if (list->count == 0) return LIANA_OK;
    remaining_source *made = calloc(1, sizeof *made);
    const liana__bad_record **entries = malloc(list->count * sizeof *entries);
    if (!made || !entries) {
        free(made);
        free(entries);
        return liana__fail_memory(error, "the records left out");
    }
    for (size_t i = 0; i < list->count; i++) entries[i] = &list->items[i];
    qsort(entries, list->count, sizeof *entries, compare_places);
    made->inner = *source;
    liana_status status = find_records(made, entries, list->count, error);
    free(entries);
    if (status == LIANA_OK) {
        made->base = *made->inner;
        made->base.num_records -= made->count;
        made->base.memory += made->count * sizeof *made->left_out;
        status = move_blocks(made, error);
    }
    if (status != LIANA_OK || made->count == 0) {
        free_shell(made);
        return status;
    }
    const liana__source_kind *inner = made->inner->kind;
    made->kind = (liana__source_kind){.name = inner->name,
                                      .doc = inner->doc,
                                      .close = close_source,
                                      .read = read_record,
                                      .read_at = inner->read_at ? read_record_at : NULL,
                                      .named_only = inner->named_only,
                                      .address = address,
                                      .visit_files = inner->visit_files ? visit_files : NULL,
                                      .known_label = inner->known_label ? known_label : NULL,
                                      .offset = offset,
                                      .expect = expect,
                                      .begin = inner->begin ? begin : NULL,
                                      .scratch_size = inner->scratch_size,
                                      .num_buffers = inner->num_buffers,
                                      .scratch_free = inner->scratch_free,
                                      .scratch_bytes = inner->scratch_bytes,
                                      .scratch_bound = inner->scratch_bound,
                                      .take_memory = inner->take_memory ? take_memory : NULL};
    made->base.kind = &made->kind;
    made->base.owns_remote = false; /* the inner one does */
    if (num_left_out) *num_left_out = made->count;
    *source = &made->base;
    return LIANA_OK;
}
