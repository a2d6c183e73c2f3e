/* Elements are collected by a key; a function makes a dataset of each window of elements with one key. Buckets of
 * lengths are such keys. */
#include "data/dataset/made.h"
#include "data/dataset/padding.h"

#include <stdlib.h>
#include <string.h>

/* The lengths and batches of buckets. */
typedef struct buckets {
    int64_t (*length)(void *user, const liana_example_address *address, const liana_element *element);
    void *user;
    int component;
    size_t count; /* boundaries */
    int64_t *boundaries;
    int64_t *batch_sizes;
    bool to_boundary;
    bool drops;
    size_t num_paddings;
    liana_component_padding *paddings;
} buckets;

typedef struct group {
    liana_group_by_window_options options;
    buckets *buckets; /* NULL: the functions are the program's */
} group;

/* The elements of one key. */
typedef struct window {
    int64_t key;
    int64_t size;
    liana__kept_list list;
} window;

typedef struct group_cursor {
    window *windows; /* in ascending order of the keys */
    size_t count;
    size_t capacity;
    bool drained;
    liana__made made;
} group_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    LIANA_TRY(liana__made_begin(&((group_cursor *)cursor->own)->made, cursor, error));
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void free_cursor(liana__cursor *cursor)
{
    group_cursor *at = cursor->own;
    liana__made_free(&at->made);
    for (size_t i = 0; i < at->count; i++) liana__kept_list_free(&at->windows[i].list);
    free(at->windows);
}

/* ---- windows ---- */

static liana_status fail_size(const liana__cursor *cursor, int64_t key, int64_t size, liana__error *error)
{
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s: the window of key %lld has the size %lld, expected at least 1",
                       cursor->dataset->name, (long long)key, (long long)size);
}

/* The window of a key, which is made if there is none. */
static liana_status find_window(liana__cursor *cursor, int64_t key, window **out, liana__error *error)
{
    const liana_group_by_window_options *options = &((const group *)cursor->dataset->own)->options;
    group_cursor *at = cursor->own;
    size_t place = 0, end = at->count;
    while (place < end) {
        const size_t middle = (place + end) / 2;
        if (at->windows[middle].key < key) place = middle + 1;
        if (at->windows[middle].key >= key) end = middle;
    }
    if (place == at->count || at->windows[place].key != key) {
        const int64_t size =
            options->window_size_of ? options->window_size_of(options->user, key) : options->window_size;
        if (size < 1) return fail_size(cursor, key, size, error);
        if (!liana__grow(&at->windows, at->count, &at->capacity, sizeof *at->windows)) {
            return liana__fail_memory(error, cursor->dataset->name);
        }
        memmove(&at->windows[place + 1], &at->windows[place], (at->count - place) * sizeof *at->windows);
        at->windows[place] = (window){.key = key, .size = size, .list = {.budget = cursor->pace.budget}};
        at->count++;
    }
    *out = &at->windows[place];
    return LIANA_OK;
}

/* Opens the dataset that the function makes of a window, whose elements it gets. */
static liana_status open_window(liana__cursor *cursor, window *from, liana__error *error)
{
    const liana_group_by_window_options *options = &((const group *)cursor->dataset->own)->options;
    liana__made *made = &((group_cursor *)cursor->own)->made;
    const int64_t key = from->key;
    liana_dataset *elements = liana__made_window(made, cursor, &from->list);
    liana_dataset *dataset = elements ? options->reduce(options->user, key, elements) : NULL;
    const liana_status status = liana__made_open(made, cursor, dataset, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__fail_within(error, "%s: the window of key %lld after %llu elements of epoch %llu", cursor->dataset->name,
                       (long long)key, (unsigned long long)cursor->inputs[0]->index, (unsigned long long)cursor->epoch);
    return status;
}

/* Takes the next element of the input; opens its window if it is full. */
static liana_status take_next(liana__cursor *cursor, liana__error *error)
{
    const liana_group_by_window_options *options = &((const group *)cursor->dataset->own)->options;
    liana__cursor *input = cursor->inputs[0];
    const liana__at where = {cursor->seed, cursor->epoch, input->index};
    liana_element one;
    LIANA_TRY(liana__cursor_next(input, &one, error));
    const liana_example_address address = liana__example_address(&where, &one);
    window *found = NULL;
    LIANA_TRY(find_window(cursor, options->key(options->user, &address, &one), &found, error));
    if (liana__kept_list_add(&found->list, &one, error) != LIANA_OK) {
        return liana__fail_within(error, "%s", cursor->dataset->name);
    }
    return found->list.count < (uint64_t)found->size ? LIANA_OK : open_window(cursor, found, error);
}

/* At the end of the input: the windows that are not full, those of the lowest keys first. */
static liana_status open_rest(liana__cursor *cursor, liana__error *error)
{
    group_cursor *at = cursor->own;
    for (size_t i = 0; i < at->count; i++) {
        if (at->windows[i].list.count) return open_window(cursor, &at->windows[i], error);
    }
    return LIANA_END_OF_DATA;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    group_cursor *at = cursor->own;
    for (;;) {
        const liana_status made = liana__made_next(&at->made, element, error);
        if (made != LIANA_END_OF_DATA) return made;
        if (at->drained) {
            LIANA_TRY(open_rest(cursor, error));
            continue;
        }
        const liana_status status = take_next(cursor, error);
        at->drained = status == LIANA_END_OF_DATA;
        if (status != LIANA_OK && !at->drained) return status;
    }
}

static void change_facts(liana_dataset *dataset)
{
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    dataset->random_access = false;
}

liana_dataset *liana_dataset_group_by_window(liana_dataset *input, const liana_group_by_window_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_group_by_window, input, sizeof(group));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    ((group *)dataset->own)->options = *options;
    dataset->varies = true;
    change_facts(dataset);
    liana__dataset_call(dataset, options->name);
    liana_status status = LIANA_OK;
    if (options->components) {
        status = liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error);
    }
    if (status == LIANA_OK && (!options->key || !options->reduce)) {
        status =
            liana__fail(error, LIANA_INVALID_ARGUMENT, "the function '%s' is NULL", options->key ? "reduce" : "key");
    }
    if (status == LIANA_OK && !options->window_size_of && options->window_size < 1) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "window_size is %lld, expected at least 1",
                             (long long)options->window_size);
    }
    return liana__dataset_finish(dataset, status);
}

/* ---- buckets ---- */

static int64_t find_bucket(void *user, const liana_example_address *address, const liana_element *element)
{
    const buckets *own = user;
    const int64_t length =
        own->length ? own->length(own->user, address, element) : liana__element_rows(element, (size_t)own->component);
    int64_t bucket = 0;
    while ((size_t)bucket < own->count && length >= own->boundaries[bucket]) bucket++;
    return bucket;
}

static int64_t size_of_bucket(void *user, int64_t bucket)
{
    return ((const buckets *)user)->batch_sizes[bucket];
}

/* Sets the unknown first dimensions to the longest length of a bucket. */
static void pad_to_boundary(const buckets *own, const liana__spec *spec, int64_t bucket,
                            liana_component_padding *paddings, size_t *count)
{
    memcpy(paddings, own->paddings, own->num_paddings * sizeof *paddings);
    *count = own->num_paddings;
    if (!own->to_boundary || (size_t)bucket >= own->count) return;
    for (size_t i = 0; i < spec->count; i++) {
        if (liana__component_rows(&spec->components[i]) != LIANA_UNKNOWN_DIM) continue;
        size_t k = 0;
        while (k < *count && strcmp(paddings[k].component, spec->components[i].name) != 0) k++;
        if (k == *count) paddings[(*count)++] = (liana_component_padding){.component = spec->components[i].name};
        if (!paddings[k].shape.rank) paddings[k].shape = spec->components[i].shape;
        if (paddings[k].shape.dims[0] == LIANA_UNKNOWN_DIM) paddings[k].shape.dims[0] = own->boundaries[bucket] - 1;
    }
}

static liana_dataset *batch_bucket(void *user, int64_t bucket, liana_dataset *elements)
{
    const buckets *own = user;
    liana_component_padding paddings[2 * LIANA_MAX_COMPONENTS];
    size_t count;
    if (own->to_boundary && (size_t)bucket >= own->count) {
        liana__fail(
            &elements->context->error, LIANA_OUT_OF_RANGE,
            "an element is as long as the last boundary, %lld, or longer, which pad_to_bucket_boundary does not "
            "allow; add a boundary, or leave out such elements with a filter",
            (long long)own->boundaries[own->count - 1]);
        liana_dataset_close(elements);
        return NULL;
    }
    pad_to_boundary(own, &elements->spec, bucket, paddings, &count);
    const liana_padded_batch_options options = {own->batch_sizes[bucket], own->drops, paddings, count};
    return liana_dataset_padded_batch(elements, &options);
}

static liana_status check_buckets(const liana__spec *spec, const liana_bucket_options *options, liana__error *error)
{
    if (!options->boundaries || !options->batch_sizes || options->num_boundaries < 1 ||
        options->num_paddings > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "expected at least one boundary, one batch size more than boundaries, and at most %d "
                           "paddings",
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i <= options->num_boundaries; i++) {
        if (options->batch_sizes[i] < 1) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "batch_sizes[%zu] is %lld, expected at least 1", i,
                               (long long)options->batch_sizes[i]);
        }
        if (i == 0 || i == options->num_boundaries || options->boundaries[i] > options->boundaries[i - 1]) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "boundaries[%zu] is %lld, expected more than %lld before it",
                           i, (long long)options->boundaries[i], (long long)options->boundaries[i - 1]);
    }
    if (options->length) return LIANA_OK;
    const int component = liana__spec_find(spec, options->component);
    if (component >= 0 && spec->components[component].shape.rank > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%.100s' is %s, expected one whose first dimension is the length, or the "
                       "function 'length'",
                       options->component ? options->component : "(NULL)",
                       component < 0 ? "missing" : liana__component_describe(&spec->components[component]).text);
}

static void *copy_array(liana__arena *arena, const void *from, size_t size)
{
    void *made = liana__arena_allocate(arena, size + 1);
    if (made && size) memcpy(made, from, size);
    return made;
}

static liana_status copy_paddings(buckets *own, const liana_bucket_options *options, liana__arena *arena,
                                  liana__error *error)
{
    own->num_paddings = options->num_paddings;
    own->paddings = copy_array(arena, options->paddings, options->num_paddings * sizeof *own->paddings);
    for (size_t i = 0; own->paddings && i < own->num_paddings; i++) {
        liana_component_padding *padding = &own->paddings[i];
        if (!padding->component) return liana__fail(error, LIANA_INVALID_ARGUMENT, "a padding names no component");
        padding->component = liana__arena_string(arena, padding->component);
        if (padding->text) padding->text = liana__arena_string(arena, padding->text);
        if (padding->lengths) padding->lengths = liana__arena_string(arena, padding->lengths);
        if (padding->mask) padding->mask = liana__arena_string(arena, padding->mask);
    }
    return arena->failed ? liana__fail_memory(error, "buckets") : LIANA_OK;
}

/* The components of all batches: those of a batch that is padded to its longest element. */
static liana_status make_bucket_spec(liana_dataset *dataset, const buckets *own, liana__error *error)
{
    liana__kept_list none = {0};
    liana_dataset *empty = liana__dataset_of_kept(dataset->context, &dataset->inputs[0]->spec, &none);
    const liana_padded_batch_options options = {1, false, own->paddings, own->num_paddings};
    liana_dataset *batches = liana_dataset_padded_batch(empty, &options);
    if (!batches) return dataset->context->error.status;
    liana_status status =
        liana__spec_make(&dataset->arena, batches->spec.components, batches->spec.count, &dataset->spec, error);
    liana_dataset_close(batches);
    return status;
}

static liana_status make_buckets(liana_dataset *dataset, const liana_bucket_options *options, liana__error *error)
{
    liana__arena *arena = &dataset->arena;
    group *whole = dataset->own;
    LIANA_TRY(check_buckets(&dataset->spec, options, error));
    buckets *own = whole->buckets = liana__arena_allocate(arena, sizeof *own);
    if (!own) return liana__fail_memory(error, "buckets");
    const size_t count = options->num_boundaries;
    *own = (buckets){.length = options->length,
                     .user = options->user,
                     .component = options->length ? -1 : liana__spec_find(&dataset->spec, options->component),
                     .count = count,
                     .boundaries = copy_array(arena, options->boundaries, count * sizeof *own->boundaries),
                     .batch_sizes = copy_array(arena, options->batch_sizes, (count + 1) * sizeof *own->batch_sizes),
                     .to_boundary = options->pad_to_bucket_boundary,
                     .drops = options->drop_remainder};
    LIANA_TRY(copy_paddings(own, options, arena, error));
    whole->options = (liana_group_by_window_options){.key = find_bucket,
                                                     .window_size_of = size_of_bucket,
                                                     .reduce = batch_bucket,
                                                     .user = own};
    return make_bucket_spec(dataset, own, error);
}

liana_dataset *liana_dataset_bucket_by_sequence_length(liana_dataset *input, const liana_bucket_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_group_by_window, input, sizeof(group));
    if (!dataset) return NULL;
    dataset->name = "bucket_by_sequence_length";
    dataset->varies = dataset->varies || options->length;
    change_facts(dataset);
    return liana__dataset_finish(dataset, make_buckets(dataset, options, &dataset->context->error));
}

static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    (void)sources;
    const group *whole = dataset->own;
    const buckets *own = whole->buckets;
    liana__fingerprint_add(settings, &whole->options.window_size, sizeof whole->options.window_size);
    if (!own) return;
    const bool facts[] = {own->to_boundary, own->drops};
    liana__fingerprint_add(settings, facts, sizeof facts);
    liana__fingerprint_add(settings, own->boundaries, own->count * sizeof *own->boundaries);
    liana__fingerprint_add(settings, own->batch_sizes, (own->count + 1) * sizeof *own->batch_sizes);
    for (size_t i = 0; i < own->num_paddings; i++) {
        const liana_component_padding *padding = &own->paddings[i];
        liana__fingerprint_add(settings, &padding->shape, sizeof padding->shape);
        liana__fingerprint_add(settings, &padding->value, sizeof padding->value);
        liana__fingerprint_add_text(settings, padding->component);
        liana__fingerprint_add_text(settings, padding->text);
    }
}

const liana_stage_type liana__stage_group_by_window = {
    LIANA_PART(STAGE, liana_stage_type, "group_by_window",
               "Collects elements by key, and makes a dataset of each window of them."),
    .describe = describe,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(group_cursor),
    .cursor_free = free_cursor,
};
