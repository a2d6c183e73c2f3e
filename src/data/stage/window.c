/* Windows of elements that may overlap, each as one element or as a dataset. */
#include "base/named.h"
#include "data/dataset/made.h"
#include "data/dataset/stacked.h"

enum { MAX_SPAN = 1 << 20 };

typedef struct window {
    uint64_t size;
    uint64_t shift;
    uint64_t stride;
    uint64_t target_offset;
    bool drops;
    bool has_targets;
    bool is_target[LIANA_MAX_COMPONENTS];
    liana_dataset *(*reduce)(void *user, liana_dataset *window); /* NULL: windows are elements */
    void *user;
} window;

/* Elements from the first to the last one of a window. */
static uint64_t span_of(const window *own)
{
    return (own->size - 1) * own->stride + 1;
}

/* The elements that a window needs, from its first one on. */
static uint64_t reach_of(const window *own)
{
    const uint64_t span = span_of(own);
    return own->has_targets && own->target_offset >= span ? own->target_offset + 1 : span;
}

/* Adds row `row` of the components that have one. */
static liana_status put_row(const window *own, liana__holder *store, int64_t row, const liana_element *element,
                            liana__error *error)
{
    if (row == 0) store->element.record = element->record;
    for (size_t i = 0; i < element->spec->count; i++) {
        if (own->is_target[i]) continue;
        LIANA_TRY(liana__holder_put(store, i, row * liana__element_count(element, i), element, i, error));
    }
    return LIANA_OK;
}

static liana_status put_targets(const window *own, liana__holder *store, const liana_element *element,
                                liana__error *error)
{
    for (size_t i = 0; i < element->spec->count; i++) {
        if (own->is_target[i]) LIANA_TRY(liana__holder_take(store, i, element, i, error));
    }
    return LIANA_OK;
}

static liana_status read_input(liana__reader *reader, const liana__at *at, uint64_t index, liana_element *element,
                               liana__error *error)
{
    const liana__at inner = {at->seed, at->epoch, index};
    return liana__reader_read(reader->inputs[0], &inner, element, error);
}

static liana_status read_window(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const window *own = reader->dataset->own;
    liana__holder *store = &reader->store;
    const uint64_t length = (uint64_t)reader->inputs[0]->dataset->length, start = at->index * own->shift;
    uint64_t count = 0;
    liana_element one;
    LIANA_TRY(liana__holder_begin(store, &reader->dataset->spec, (int64_t)own->size, error));
    for (; count < own->size && start + count * own->stride < length; count++) {
        LIANA_TRY(read_input(reader, at, start + count * own->stride, &one, error));
        LIANA_TRY(put_row(own, store, (int64_t)count, &one, error));
    }
    if (own->has_targets) {
        LIANA_TRY(read_input(reader, at, start + own->target_offset, &one, error));
        LIANA_TRY(put_targets(own, store, &one, error));
    }
    liana__stacked_finish(store, (int64_t)count, element);
    return LIANA_OK;
}

/* The elements from the window's first one on. */
typedef struct window_cursor {
    liana__kept_list list;
    bool drained;
    /* Of windows that are datasets: */
    uint64_t window; /* the number of the next one */
    liana__kept_list one;
    liana__made made;
} window_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    const window *own = cursor->dataset->own;
    cursor->index = start;
    ((window_cursor *)cursor->own)->list.budget = cursor->pace.budget;
    return liana__cursor_open_input(cursor, 0, cursor->epoch, start * own->shift, error);
}

static void free_cursor(liana__cursor *cursor)
{
    liana__kept_list_free(&((window_cursor *)cursor->own)->list);
}

/* Takes off the elements before a window, and reads up to its end. */
static liana_status fill(liana__cursor *cursor, uint64_t number, liana__error *error)
{
    const window *own = cursor->dataset->own;
    window_cursor *at = cursor->own;
    liana__kept_list *list = &at->list;
    const uint64_t start = number * own->shift, end = start + reach_of(own);
    const uint64_t first = cursor->inputs[0]->index - list->count; /* of the list */
    if (start > first) liana__kept_list_drop(list, start - first < list->count ? start - first : list->count);
    while (!at->drained && cursor->inputs[0]->index < end) {
        const bool wanted = cursor->inputs[0]->index >= start;
        liana_element one;
        liana_status status = liana__cursor_next(cursor->inputs[0], &one, error);
        at->drained = status == LIANA_END_OF_DATA;
        if (at->drained) break;
        if (status != LIANA_OK) return status;
        if (wanted && liana__kept_list_add(list, &one, error) != LIANA_OK) {
            return liana__fail_within(error, "%s", cursor->dataset->name);
        }
    }
    return LIANA_OK;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const window *own = cursor->dataset->own;
    const liana__kept_list *list = &((const window_cursor *)cursor->own)->list;
    LIANA_TRY(fill(cursor, cursor->index, error));
    if (list->count == 0 || (own->drops && list->count < span_of(own))) return LIANA_END_OF_DATA;
    if (own->has_targets && list->count <= own->target_offset) return LIANA_END_OF_DATA;
    int64_t count = 0;
    LIANA_TRY(liana__holder_begin(&cursor->store, &cursor->dataset->spec, (int64_t)own->size, error));
    for (uint64_t k = 0; k < list->count && k < span_of(own); k += own->stride) {
        LIANA_TRY(put_row(own, &cursor->store, count++, &list->items[k].element, error));
    }
    if (own->has_targets) {
        LIANA_TRY(put_targets(own, &cursor->store, &list->items[own->target_offset].element, error));
    }
    liana__stacked_finish(&cursor->store, count, element);
    return LIANA_OK;
}

/* ---- windows as datasets ---- */

static liana_status begin_datasets(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    window_cursor *at = cursor->own;
    at->list.budget = at->one.budget = cursor->pace.budget;
    LIANA_TRY(liana__made_begin(&at->made, cursor, error));
    return liana__cursor_open_input(cursor, 0, cursor->epoch, 0, error);
}

static void free_datasets(liana__cursor *cursor)
{
    window_cursor *at = cursor->own;
    liana__made_free(&at->made);
    liana__kept_list_free(&at->one);
    liana__kept_list_free(&at->list);
}

/* Opens what the function makes of the next window. LIANA_END_OF_DATA: there is no window. */
static liana_status open_window(liana__cursor *cursor, liana__error *error)
{
    const window *own = cursor->dataset->own;
    window_cursor *at = cursor->own;
    const uint64_t number = at->window++;
    const liana__kept_list *list = &at->list;
    LIANA_TRY(fill(cursor, number, error));
    if (list->count == 0 || (own->drops && list->count < span_of(own))) return LIANA_END_OF_DATA;
    at->one.count = 0;
    for (uint64_t k = 0; k < list->count && k < span_of(own); k += own->stride) {
        LIANA_TRY(liana__kept_list_add(&at->one, &list->items[k].element, error));
    }
    liana_dataset *elements = liana__made_window(&at->made, cursor, &at->one);
    liana_dataset *dataset = elements ? own->reduce(own->user, elements) : NULL;
    return liana__made_open(&at->made, cursor, dataset, error);
}

static liana_status next_of_datasets(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    window_cursor *at = cursor->own;
    for (;;) {
        liana_status status = liana__made_next(&at->made, element, error);
        if (status != LIANA_END_OF_DATA) return status;
        const uint64_t number = at->window;
        status = open_window(cursor, error);
        if (status == LIANA_END_OF_DATA) return status;
        if (status == LIANA_OK) continue;
        return liana__fail_within(error, "%s: window %llu of epoch %llu", cursor->dataset->name,
                                  (unsigned long long)number, (unsigned long long)cursor->epoch);
    }
}

/* ---- making one ---- */

static liana_status check(const window *own, const liana_window_options *options, liana__error *error)
{
    const bool fits = options->size >= 1 && options->shift >= 0 && options->stride >= 0 && options->size <= MAX_SPAN &&
                      own->stride <= MAX_SPAN && own->shift <= INT32_MAX && options->target_offset >= 0 &&
                      options->target_offset < MAX_SPAN && span_of(own) <= MAX_SPAN;
    if (fits) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "size is %lld, shift %lld, stride %lld and target_offset %lld, expected at least 1 (0: the "
                       "default), at least 0, and at most %d elements from the first to the last one of a window",
                       (long long)options->size, (long long)options->shift, (long long)options->stride,
                       (long long)options->target_offset, MAX_SPAN);
}

static int64_t count_windows(const window *own, int64_t length)
{
    const int64_t shift = (int64_t)own->shift, target = (int64_t)own->target_offset;
    int64_t needed = own->drops ? (int64_t)span_of(own) : 1;
    if (own->has_targets && target + 1 > needed) needed = target + 1;
    return length < needed ? 0 : (length - needed) / shift + 1;
}

static liana_status find_targets(liana_dataset *dataset, const liana_window_options *options, liana__error *error)
{
    window *own = dataset->own;
    own->has_targets = options->num_targets > 0;
    for (size_t i = 0; i < options->num_targets; i++) {
        const char *name = options->targets ? options->targets[i] : NULL;
        const int index = liana__spec_find(&dataset->spec, name);
        if (index >= 0) own->is_target[index] = true;
        if (index >= 0) continue;
        const char *nearest =
            liana__named_nearest(LIANA__NAMED(liana_component, dataset->spec.components, dataset->spec.count),
                                 name ? name : "");
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "targets: there is no component '%.100s'%s",
                           name ? name : "(NULL)", liana__hint(nearest).text);
    }
    return LIANA_OK;
}

static liana_status make_spec(liana_dataset *dataset, liana__error *error)
{
    const window *own = dataset->own;
    liana_component made[LIANA_MAX_COMPONENTS];
    LIANA_TRY(
        liana__stacked_components(&dataset->spec, own->drops ? (int64_t)own->size : LIANA_UNKNOWN_DIM, made, error));
    for (size_t i = 0; i < dataset->spec.count; i++) {
        if (own->is_target[i]) made[i] = dataset->spec.components[i];
    }
    return liana__spec_make(&dataset->arena, made, dataset->spec.count, &dataset->spec, error);
}

static liana_status make_datasets(liana_dataset *dataset, const liana_window_options *options, liana__error *error)
{
    window *own = dataset->own;
    own->reduce = options->reduce;
    own->user = options->user;
    dataset->random_access = false;
    dataset->varies = true;
    dataset->length = dataset->length == 0 ? 0 : LIANA_UNKNOWN;
    liana__dataset_call(dataset, options->name);
    if (own->has_targets) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "targets and reduce exclude each other; a function that makes a dataset of a window can "
                           "give its targets, too");
    }
    if (!options->components) return LIANA_OK;
    return liana__spec_make(&dataset->arena, options->components, options->num_components, &dataset->spec, error);
}

static liana_status make_elements(liana_dataset *dataset, liana__error *error)
{
    LIANA_TRY(make_spec(dataset, error));
    if (dataset->length >= 0) dataset->length = count_windows(dataset->own, dataset->length);
    return LIANA_OK;
}

liana_dataset *liana_dataset_window(liana_dataset *input, const liana_window_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    const liana_stage_type *kind = options->reduce ? &liana__stage_window_datasets : &liana__stage_window;
    liana_dataset *dataset = liana__dataset_stage(kind, input, sizeof(window));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    window *own = dataset->own;
    *own = (window){.size = (uint64_t)options->size,
                    .shift = (uint64_t)(options->shift ? options->shift : options->size),
                    .stride = (uint64_t)(options->stride ? options->stride : 1),
                    .target_offset = options->num_targets ? (uint64_t)options->target_offset : 0,
                    .drops = options->drop_remainder};
    liana_status status = check(own, options, error);
    if (status == LIANA_OK) status = find_targets(dataset, options, error);
    if (status == LIANA_OK) {
        status = options->reduce ? make_datasets(dataset, options, error) : make_elements(dataset, error);
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_window = {
    LIANA_PART(STAGE, liana_stage_type, "window", "Windows of elements, each as one element."),
    .options_size = offsetof(window, is_target) + sizeof(bool[LIANA_MAX_COMPONENTS]),
    .read = read_window,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(window_cursor),
    .cursor_free = free_cursor,
};

const liana_stage_type liana__stage_window_datasets = {
    LIANA_PART(STAGE, liana_stage_type, "window_datasets",
               "The datasets that a function makes of windows of elements."),
    .options_size = offsetof(window, target_offset),
    .begin = begin_datasets,
    .next = next_of_datasets,
    .cursor_size = sizeof(window_cursor),
    .cursor_free = free_datasets,
};
