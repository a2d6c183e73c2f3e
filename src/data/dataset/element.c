/* Specs of components, and memory that holds elements. */
#include "data/dataset/element.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((int64_t)1 << 40)

static const size_t SIZES[] = {
#define SIZE(name, text, size) size,
    LIANA_DTYPE_MAP(SIZE)
#undef SIZE
        sizeof(liana_bytes)};

static const char *const NAMES[] = {
#define NAME(name, text, size) text,
    LIANA_DTYPE_MAP(NAME)
#undef NAME
        "string"};

/* ---- specs of elements ---- */

liana__component_text liana__component_describe(const liana_component *component)
{
    liana__component_text made;
    int length = snprintf(made.text, sizeof made.text, "%s [", NAMES[component->dtype]);
    for (int i = 0; i < component->shape.rank; i++) {
        int64_t dim = component->shape.dims[i];
        const char *comma = i ? ", " : "";
        size_t left = sizeof made.text - (size_t)length;
        length += dim < 0 ? snprintf(made.text + length, left, "%s?", comma)
                          : snprintf(made.text + length, left, "%s%" PRId64, comma, dim);
        if ((size_t)length >= sizeof made.text - 2) length = sizeof made.text - 2;
    }
    memcpy(made.text + length, "]", 2);
    return made;
}

int64_t liana__component_rows(const liana_component *component)
{
    return component->shape.rank ? component->shape.dims[0] : 1;
}

int64_t liana__component_width(const liana_component *component)
{
    return component->shape.rank > 1 ? component->shape.dims[1] : 0;
}

bool liana__component_is_static(const liana_component *component)
{
    return liana__component_rows(component) != LIANA_UNKNOWN_DIM &&
           liana__component_width(component) != LIANA_UNKNOWN_DIM;
}

int64_t liana__component_count(const liana_component *component, int64_t rows, int64_t width)
{
    int64_t count = component->shape.rank ? rows : 1;
    for (int i = 1; i < component->shape.rank; i++) {
        count *= component->shape.dims[i] == LIANA_UNKNOWN_DIM ? width : component->shape.dims[i];
    }
    return count;
}

size_t liana__component_value_size(const liana_component *component)
{
    return SIZES[component->dtype];
}

size_t liana__component_size(const liana_component *component, int64_t rows, int64_t width)
{
    return (size_t)liana__component_count(component, rows, width) * SIZES[component->dtype];
}

int liana__spec_find(const liana__spec *spec, const char *name)
{
    if (!name) return -1;
    for (size_t i = 0; i < spec->count; i++) {
        if (strcmp(spec->components[i].name, name) == 0) return (int)i;
    }
    return -1;
}

static liana_status check_component(const liana_component *component, liana__error *error)
{
    if (!component->name || !*component->name || strlen(component->name) > 100) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a component needs a name of at most 100 bytes");
    }
    if (component->dtype < 0 || component->dtype > LIANA_STRING || component->shape.rank < 0 ||
        component->shape.rank > LIANA_MAX_RANK) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' has dtype %d and rank %d, expected a "
                           "liana_dtype or LIANA_STRING, and a rank of 0 to %d",
                           component->name, component->dtype, component->shape.rank, LIANA_MAX_RANK);
    }
    int64_t bytes = (int64_t)SIZES[component->dtype];
    for (int i = 0; i < component->shape.rank; i++) {
        int64_t dim = component->shape.dims[i];
        if (i < LIANA__MOST_UNKNOWN && dim == LIANA_UNKNOWN_DIM) continue;
        if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes) || bytes > MAX_BYTES) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the component '%s' is %s, expected dimensions of at least 0 (only the first two may be "
                               "unknown) and less than 2^40 bytes together",
                               component->name, liana__component_describe(component).text);
        }
    }
    return LIANA_OK;
}

liana_status liana__spec_make(liana__arena *arena, const liana_component *components, size_t count, liana__spec *spec,
                              liana__error *error)
{
    liana__spec made = {0};
    if (count == 0 || count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "elements have %zu components, expected 1 to %d", count,
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < count; i++) {
        LIANA_TRY(check_component(&components[i], error));
        if (liana__spec_find(&made, components[i].name) >= 0) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "there are two components '%s'; rename one (liana_dataset_rename)", components[i].name);
        }
        made.components[i] = components[i];
        made.components[i].name = liana__arena_string(arena, components[i].name);
        if (!made.components[i].name) return liana__fail_memory(error, "the names of components");
        made.count++;
    }
    *spec = made;
    return LIANA_OK;
}

static bool same_shape(const liana_shape *a, const liana_shape *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

liana_status liana__spec_match(const liana__spec *found, const liana__spec *expected, liana__error *error)
{
    for (size_t i = 0; i < found->count || i < expected->count; i++) {
        const liana_component *is = i < found->count ? &found->components[i] : NULL;
        const liana_component *wanted = i < expected->count ? &expected->components[i] : NULL;
        if (is && wanted && strcmp(is->name, wanted->name) == 0 && is->dtype == wanted->dtype &&
            same_shape(&is->shape, &wanted->shape)) {
            continue;
        }
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "component %zu is %s%s%s%s, expected %s%s%s%s", i,
                           is ? "'" : "missing", is ? is->name : "", is ? "' " : "",
                           is ? liana__component_describe(is).text : "", wanted ? "'" : "none",
                           wanted ? wanted->name : "", wanted ? "' " : "",
                           wanted ? liana__component_describe(wanted).text : "");
    }
    return LIANA_OK;
}

/* ---- reading elements ---- */

int64_t liana__element_rows(const liana_element *element, size_t component)
{
    const int64_t known = liana__component_rows(&element->spec->components[component]);
    return known == LIANA_UNKNOWN_DIM ? element->rows[component] : known;
}

int64_t liana__element_width(const liana_element *element, size_t component)
{
    const int64_t known = liana__component_width(&element->spec->components[component]);
    return known == LIANA_UNKNOWN_DIM ? element->widths[component] : known;
}

liana_shape liana__element_shape(const liana_element *element, size_t component)
{
    liana_shape shape = element->spec->components[component].shape;
    if (shape.rank > 0) shape.dims[0] = liana__element_rows(element, component);
    if (shape.rank > 1) shape.dims[1] = liana__element_width(element, component);
    return shape;
}

int64_t liana__element_count(const liana_element *element, size_t component)
{
    return liana__component_count(&element->spec->components[component], liana__element_rows(element, component),
                                  element->widths[component]);
}

size_t liana__element_size(const liana_element *element, size_t component)
{
    return (size_t)liana__element_count(element, component) * SIZES[element->spec->components[component].dtype];
}

void liana__element_borrow(liana_element *element, size_t to, const liana_element *other, size_t from)
{
    element->data[to] = other->data[from];
    element->rows[to] = liana__element_rows(other, from);
    element->widths[to] = liana__element_width(other, from);
}

size_t liana_element_components(const liana_element *element, const liana_component **components)
{
    if (components) *components = element ? element->spec->components : NULL;
    return element ? element->spec->count : 0;
}

liana_array liana_element_array(const liana_element *element, const char *name)
{
    const int index = element ? liana__spec_find(element->spec, name) : -1;
    if (index < 0) return (liana_array){0};
    const liana_component *component = &element->spec->components[index];
    liana_array array = {component->name, component->dtype, liana__element_shape(element, (size_t)index), NULL};
    if (component->dtype != LIANA_STRING) array.data = element->data[index];
    return array;
}

/* The place of a string in its component, or -1. */
static int find_string(const liana_element *element, const char *name, int64_t index)
{
    int found = liana__spec_find(element->spec, name);
    if (found < 0 || index < 0) return -1;
    const liana_component *component = &element->spec->components[found];
    bool there = component->dtype == LIANA_STRING && index < liana__element_count(element, (size_t)found);
    return there ? found : -1;
}

liana_bytes liana_element_string(const liana_element *element, const char *name, int64_t index)
{
    if (!element) return (liana_bytes){0};
    int found = find_string(element, name, index);
    return found < 0 ? (liana_bytes){0} : ((const liana_bytes *)element->data[found])[index];
}

void liana__element_row(const liana__spec *spec, const liana_element *whole, int64_t row, liana_element *element)
{
    *element = (liana_element){.spec = spec, .record = whole->record};
    for (size_t i = 0; i < spec->count; i++) {
        const int64_t rows = liana__element_rows(whole, i);
        element->rows[i] = liana__element_width(whole, i);
        element->data[i] = whole->data[i];
        if (rows)
            element->data[i] =
                (const char *)whole->data[i] + (size_t)row * (liana__element_size(whole, i) / (size_t)rows);
    }
}

/* ---- making elements ---- */

static bool reserve(void *buffer_pointer, size_t *capacity, size_t size)
{
    void *old;
    memcpy(&old, buffer_pointer, sizeof old);
    if (old && size <= *capacity) return true;
    void *bigger = liana__allocate_aligned(size);
    if (!bigger) return false;
    free(old);
    memcpy(buffer_pointer, &bigger, sizeof bigger);
    *capacity = size;
    return true;
}

liana_status liana__holder_resize(liana__holder *store, size_t index, int64_t rows, int64_t width, liana__error *error)
{
    const liana_component *component = &store->element.spec->components[index];
    const size_t size = liana__component_size(component, rows, width);
    if (!reserve(&store->columns[index], &store->capacities[index], size)) {
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for the component '%s' of %zu bytes",
                           component->name, size);
    }
    if (component->dtype == LIANA_STRING) memset(store->columns[index], 0, size);
    store->element.rows[index] = rows;
    store->element.widths[index] = width;
    store->element.data[index] = store->columns[index];
    return LIANA_OK;
}

liana_status liana__holder_begin(liana__holder *store, const liana__spec *spec, int64_t rows, liana__error *error)
{
    store->element = (liana_element){.spec = spec, .store = store};
    store->heap_size = 0;
    free(store->message);
    store->message = NULL;
    for (size_t i = 0; i < spec->count; i++) {
        const liana_component *component = &spec->components[i];
        int64_t known = liana__component_rows(component);
        LIANA_TRY(liana__holder_resize(store, i, known == LIANA_UNKNOWN_DIM ? rows : known, 0, error));
    }
    return LIANA_OK;
}

void liana__holder_clear(liana__holder *store)
{
    const liana__spec *spec = store->element.spec;
    for (size_t i = 0; i < spec->count; i++) {
        memset(store->columns[i], 0, liana__element_size(&store->element, i));
    }
}

/* Until the element is finished, the heap moves as it grows: strings are their places in it. */
liana_status liana__holder_set_string(liana__holder *store, size_t component, int64_t index, const void *bytes,
                                      size_t size, liana__error *error)
{
    if (size > store->heap_capacity - store->heap_size) {
        size_t capacity = 2 * store->heap_capacity + size;
        char *bigger = realloc(store->heap, capacity);
        if (!bigger) return liana__fail_memory(error, "a string");
        store->heap = bigger;
        store->heap_capacity = capacity;
    }
    if (size) memcpy(store->heap + store->heap_size, bytes, size);
    ((liana_bytes *)store->columns[component])[index] = (liana_bytes){(const void *)store->heap_size, size};
    store->heap_size += size;
    return LIANA_OK;
}

liana_status liana__holder_put(liana__holder *store, size_t to, int64_t at, const liana_element *element, size_t from,
                               liana__error *error)
{
    const liana_component *component = &element->spec->components[from];
    int64_t count = liana__element_count(element, from);
    if (component->dtype != LIANA_STRING) {
        size_t size = SIZES[component->dtype];
        if (count) memcpy((char *)store->columns[to] + (size_t)at * size, element->data[from], (size_t)count * size);
        return LIANA_OK;
    }
    const liana_bytes *strings = element->data[from];
    for (int64_t i = 0; i < count; i++) {
        LIANA_TRY(liana__holder_set_string(store, to, at + i, strings[i].data, strings[i].size, error));
    }
    return LIANA_OK;
}

liana_status liana__holder_take(liana__holder *store, size_t to, const liana_element *element, size_t from,
                                liana__error *error)
{
    LIANA_TRY(liana__holder_resize(store, to, liana__element_rows(element, from), liana__element_width(element, from),
                                   error));
    return liana__holder_put(store, to, 0, element, from, error);
}

void liana__holder_finish(liana__holder *store, liana_element *element)
{
    const liana__spec *spec = store->element.spec;
    for (size_t i = 0; i < spec->count; i++) {
        if (spec->components[i].dtype != LIANA_STRING) continue;
        liana_bytes *strings = store->columns[i];
        int64_t count = liana__element_count(&store->element, i);
        for (int64_t k = 0; k < count; k++) {
            strings[k].data = strings[k].size ? store->heap + (uintptr_t)strings[k].data : "";
        }
    }
    store->element.store = NULL;
    *element = store->element;
}

liana_status liana__holder_copy(liana__holder *store, const liana_element *element, liana_element *copy,
                                liana__error *error)
{
    LIANA_TRY(liana__holder_begin(store, element->spec, 0, error));
    for (size_t i = 0; i < element->spec->count; i++) LIANA_TRY(liana__holder_take(store, i, element, i, error));
    store->element.record = element->record;
    liana__holder_finish(store, copy);
    return LIANA_OK;
}

size_t liana__holder_bytes(const liana__holder *store)
{
    size_t bytes = store->heap_capacity;
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS; i++) bytes += store->capacities[i];
    return bytes;
}

void liana__holder_free(liana__holder *store)
{
    for (size_t i = 0; i < LIANA_MAX_COMPONENTS; i++) free(store->columns[i]);
    free(store->heap);
    free(store->message);
    *store = (liana__holder){0};
}

void *liana_element_output(liana_element *element, const char *name)
{
    if (!element) return NULL;
    int index = liana__spec_find(element->spec, name);
    if (!element->store || index < 0 || element->spec->components[index].dtype == LIANA_STRING) return NULL;
    return element->store->columns[index];
}

liana_status liana_element_set_rows(liana_element *element, const char *name, int64_t rows)
{
    LIANA__REQUIRE(NULL, element);
    const int index = element->store ? liana__spec_find(element->spec, name) : -1;
    const liana_component *component = index < 0 ? NULL : &element->spec->components[index];
    if (!component || rows < 0 || liana__component_rows(component) != LIANA_UNKNOWN_DIM ||
        liana__component_width(component) == LIANA_UNKNOWN_DIM) {
        return liana_element_fail(
            element, LIANA_INVALID_ARGUMENT,
            "there is no such component whose first dimension alone is unknown, or the rows are below 0");
    }
    int64_t size = (int64_t)liana__component_size(component, 1, 0);
    if (__builtin_mul_overflow(size, rows, &size) || size > MAX_BYTES) {
        return liana_element_fail(element, LIANA_INVALID_ARGUMENT, "the rows take more than 2^40 bytes");
    }
    LIANA_TRY(liana__holder_resize(element->store, (size_t)index, rows, 0, NULL));
    memset(element->store->columns[index], 0, liana__element_size(element, (size_t)index));
    return LIANA_OK;
}

liana_status liana_element_set_string(liana_element *element, const char *name, int64_t index, const void *bytes,
                                      size_t size)
{
    LIANA__REQUIRE(NULL, element);
    if (!name) return liana_element_fail(element, LIANA_INVALID_ARGUMENT, "the name of the string to set is NULL");
    if (!bytes && size) return liana_element_fail(element, LIANA_INVALID_ARGUMENT, "the bytes of the string are NULL");
    int found = element->store ? find_string(element, name, index) : -1;
    if (found < 0) return liana_element_fail(element, LIANA_INVALID_ARGUMENT, "there is no such string to set");
    return liana__holder_set_string(element->store, (size_t)found, index, bytes, size, NULL);
}

liana_status liana_element_fail(liana_element *element, liana_status status, const char *message)
{
    if (element && element->store) {
        free(element->store->message);
        element->store->message = message ? strdup(message) : NULL;
    }
    return status;
}
