/* Sources that are parts of others, and how records are divided at random. */
#include "data/source/part.h"

#include "base/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How many parts are open. */
struct liana__part_owners {
    atomic_int count;
};

typedef struct part_source {
    liana__source base;
    liana_source_type kind; /* the inner one's, with functions that translate the index */
    liana__source *inner;
    liana__part_owners *owners; /* NULL: somebody else closes the inner source */
    uint64_t *records;
    size_t count;
    bool left_out;
    uint64_t *block_starts;
} part_source;

/* The index in the inner source. Of the records left out, records[k] - k remaining ones come before number k. */
static uint64_t inner_index(const part_source *source, uint64_t index)
{
    if (!source->left_out) return source->records[index];
    size_t low = 0, high = source->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source->records[middle] - middle <= index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return index + low;
}

static void expect(const void *handle, uint64_t index)
{
    const part_source *source = handle;
    liana__source_expect(source->inner, inner_index(source, index));
}

static void begin(void *handle, uint64_t position)
{
    const liana__source *inner = ((const part_source *)handle)->inner;
    inner->kind->begin(liana__source_handle(inner), position);
}

static void take_memory(void *handle, size_t bytes)
{
    const liana__source *inner = ((const part_source *)handle)->inner;
    inner->kind->take_memory(liana__source_handle(inner), bytes);
}

static void close_source(void *handle)
{
    part_source *source = handle;
    if (source->owners && atomic_fetch_sub(&source->owners->count, 1) == 1) {
        liana__source_close(source->inner);
        free(source->owners);
    }
    free(source->records);
    free(source->block_starts);
    free(source);
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const part_source *source = handle;
    record->index = inner_index(source, record->index);
    return liana__source_read_record(source->inner, record);
}

static liana_status read_record_at(void *handle, const liana_example_address *at, liana_source_record *record)
{
    const part_source *source = handle;
    liana_example_address inner = *at;
    inner.record = inner_index(source, at->record);
    return source->inner->kind->read_at(liana__source_handle(source->inner), &inner, record);
}

static int64_t known_label(const void *handle, uint64_t index)
{
    const part_source *source = handle;
    return source->inner->kind->known_label(liana__source_handle(source->inner), inner_index(source, index));
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const part_source *source = handle;
    return liana__source_local_address(source->inner, inner_index(source, index));
}

static int64_t offset(const void *handle, uint64_t index)
{
    const part_source *source = handle;
    return liana__source_offset(source->inner, inner_index(source, index));
}

static void visit_files(const void *handle, liana_file_visitor *visit, void *user)
{
    liana__source_visit_files(((const part_source *)handle)->inner, visit, user);
}

/* The blocks of the part's records, without empty blocks. */
static liana_status move_blocks(part_source *source, liana__error *error)
{
    const liana__source *inner = source->inner;
    source->base.num_blocks = 0;
    if (!inner->block_starts) return LIANA_OK;
    source->block_starts = malloc((inner->num_blocks + 1) * sizeof *source->block_starts);
    if (!source->block_starts) return liana__fail_memory(error, "a list of blocks");
    size_t count = 0, before = 0;
    for (size_t i = 0; i < inner->num_blocks; i++) {
        while (before < source->count && source->records[before] < inner->block_starts[i]) before++;
        uint64_t start = source->left_out ? inner->block_starts[i] - before : before;
        if (count && source->block_starts[count - 1] == start) count--;
        if (start < source->base.num_records) source->block_starts[count++] = start;
    }
    source->base.num_blocks = count;
    source->base.block_starts = source->block_starts;
    return LIANA_OK;
}

static liana_source_type translate(const liana_source_type *inner)
{
    liana_source_type own = *inner;
    own.close = close_source;
    own.read = read_record;
    own.read_at = inner->read_at ? read_record_at : NULL;
    own.address = address;
    own.visit_files = visit_files;
    own.known_label = inner->known_label ? known_label : NULL;
    own.offset = offset;
    own.expect = expect;
    own.begin = inner->begin ? begin : NULL;
    own.take_memory = inner->take_memory ? take_memory : NULL;
    return own;
}

static liana_status make_part(const liana__part_options *options, liana__part_owners *owners, liana__source **part,
                              liana__error *error)
{
    part_source *made = calloc(1, sizeof *made);
    if (!made) {
        free(options->records);
        return liana__fail_memory(error, "a part of the data");
    }
    const liana__source *inner = options->inner;
    made->inner = options->inner;
    made->records = options->records;
    made->count = options->count;
    made->left_out = options->left_out;
    made->base = *inner;
    made->base.num_records = options->left_out ? inner->num_records - options->count : options->count;
    made->base.memory += options->count * sizeof *options->records;
    made->base.owns_remote = false; /* the inner one does */
    made->kind = translate(inner->kind);
    made->base.kind = &made->kind;
    made->base.is_plain = false;
    liana_status status = move_blocks(made, error);
    if (status != LIANA_OK) {
        close_source(&made->base);
        return status;
    }
    made->owners = owners;
    if (owners) atomic_fetch_add(&owners->count, 1);
    *part = &made->base;
    return LIANA_OK;
}

liana_status liana__source_part(const liana__part_options *options, liana__source **part, liana__error *error)
{
    liana__part_owners *owners = options->owns ? calloc(1, sizeof *owners) : NULL;
    if (options->owns && !owners) {
        free(options->records);
        return liana__fail_memory(error, "a part of the data");
    }
    liana_status status = make_part(options, owners, part, error);
    if (status != LIANA_OK) free(owners);
    return status;
}

/* ---- training and validation ---- */

/* A record and its class; all without labels are of class -1. */
typedef struct member {
    int32_t label;
    uint64_t record;
} member;

static liana_status read_labels(const liana__source *source, int64_t label_offset, int32_t *labels, liana__error *error)
{
    if (!source->kind->known_label) {
        return liana__source_labels(source, label_offset, LIANA__MAX_CLASSES, labels, error);
    }
    for (uint64_t i = 0; i < source->num_records; i++) {
        int64_t label = source->kind->known_label(liana__source_handle(source), i);
        labels[i] = label >= 0 && label < INT32_MAX ? (int32_t)label : -1;
    }
    return LIANA_OK;
}

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static int compare_records(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A seed of its own, so that the division has nothing to do with the order of the epochs. */
static uint64_t split_seed(uint64_t seed)
{
    uint32_t counter[4] = {0}, words[4];
    liana__philox(liana__philox_make_key(seed, LIANA__STREAM_SPLIT, 0), counter, words);
    return (uint64_t)words[0] << 32 | words[1];
}

/* Draws the records of the validation from each class; returns their number. Members are sorted. */
static size_t draw_records(const member *members, uint64_t count, const liana__split_options *options,
                           uint64_t *records)
{
    size_t drawn = 0;
    uint64_t seed = split_seed(options->seed);
    for (uint64_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && members[last].label == members[first].label;) last++;
        uint64_t size = last - first, wanted = (uint64_t)llround((double)size * options->validation);
        if (wanted >= size) wanted = size - 1;
        uint64_t draw = (uint64_t)((int64_t)members[first].label + 1);
        for (uint64_t i = 0; i < wanted; i++) {
            records[drawn++] = members[first + liana__permute(seed, draw, i, size)].record;
        }
    }
    if (drawn) qsort(records, drawn, sizeof *records, compare_records);
    return drawn;
}

static liana_status choose_records(const liana__source *source, const liana__split_options *options, uint64_t **records,
                                   size_t *num_records, liana__error *error)
{
    uint64_t count = source->num_records;
    member *members = malloc((size_t)count * sizeof *members);
    uint64_t *drawn = malloc((size_t)count * sizeof *drawn);
    int32_t *labels = malloc((size_t)count * sizeof *labels);
    liana_status status = members && drawn && labels ? LIANA_OK : liana__fail_memory(error, "the division of the data");
    if (status == LIANA_OK && source->has_labels) status = read_labels(source, options->label_offset, labels, error);
    if (status == LIANA_OK) {
        for (uint64_t i = 0; i < count; i++) members[i] = (member){source->has_labels ? labels[i] : -1, i};
        qsort(members, (size_t)count, sizeof *members, compare_members);
        *num_records = draw_records(members, count, options, drawn);
        *records = drawn;
        if (*num_records == 0) {
            status =
                liana__fail(error, LIANA_INVALID_CONFIG,
                            "a validation_split of %g takes none of the %" PRIu64 " examples for validation; make it "
                            "larger, or name data for validation",
                            options->validation, count);
        }
    }
    free(members);
    free(labels);
    if (status != LIANA_OK) free(drawn);
    return status;
}

static liana_status check_split(const liana__source *source, const liana__split_options *options, liana__error *error)
{
    if (!(options->validation > 0 && options->validation < 1)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "validation_split is %g, expected a share above 0 and below 1",
                           options->validation);
    }
    if (!source->streams) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "validation_split divides data whose records can be read in any order, but these are a stream; "
                       "name data for validation, or leave out stages that are replayed");
}

liana_status liana__source_split(liana__source *source, const liana__split_options *options, liana__source **training,
                                 liana__source **validation, liana__error *error)
{
    *training = *validation = NULL;
    uint64_t *drawn = NULL;
    size_t count = 0;
    LIANA_TRY(check_split(source, options, error));
    LIANA_TRY(choose_records(source, options, &drawn, &count, error));
    liana__part_owners *owners = options->owns ? calloc(1, sizeof *owners) : NULL;
    uint64_t *copy = malloc(count * sizeof *copy);
    if (!copy || (options->owns && !owners)) {
        free(copy);
        free(owners);
        free(drawn);
        return liana__fail_memory(error, "the division of the data");
    }
    memcpy(copy, drawn, count * sizeof *copy);
    liana__part_options part = {.inner = source, .records = drawn, .count = count, .left_out = true};
    liana_status status = make_part(&part, NULL, training, error);
    part = (liana__part_options){.inner = source, .records = copy, .count = count};
    if (status == LIANA_OK)
        status = make_part(&part, NULL, validation, error);
    else
        free(copy);
    if (status != LIANA_OK) {
        if (*training) liana__source_close(*training);
        *training = NULL;
        free(owners);
        return status;
    }
    if (owners) atomic_init(&owners->count, 2);
    ((part_source *)*training)->owners = owners;
    ((part_source *)*validation)->owners = owners;
    return LIANA_OK;
}

liana_status liana__split_find(const liana__source *source, const liana__split_options *options, liana__arena *arena,
                               const liana_record_address **held_out, size_t *count, liana__error *error)
{
    uint64_t *drawn = NULL;
    LIANA_TRY(check_split(source, options, error));
    LIANA_TRY(choose_records(source, options, &drawn, count, error));
    liana_record_address *made = liana__arena_allocate(arena, *count * sizeof *made);
    for (size_t i = 0; made && i < *count; i++) made[i] = liana__source_address(source, drawn[i]);
    free(drawn);
    *held_out = made;
    return made ? LIANA_OK : liana__fail_memory(error, "the division of the data");
}
