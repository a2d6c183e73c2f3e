/* Shows elements as text, and compares them. */
#include "harness/element_text.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana_context *liana__test_context(void)
{
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    return context;
}

static void add_value(liana__text *text, const liana_element *element, const liana_array *array, int64_t index)
{
    liana_bytes string;
    switch (array->dtype) {
    case LIANA_S64: liana__text_add(text, "%lld", (long long)((const int64_t *)array->data)[index]); break;
    case LIANA_S32: liana__text_add(text, "%d", ((const int32_t *)array->data)[index]); break;
    case LIANA_F32: liana__text_add(text, "%g", (double)((const float *)array->data)[index]); break;
    case LIANA_BOOL: liana__text_add(text, "%d", ((const uint8_t *)array->data)[index]); break;
    default:
        string = liana_element_string(element, array->name, index);
        liana__text_add(text, "\"%.*s\"", (int)string.size, (const char *)string.data);
    }
}

static int64_t add_array(liana__text *text, const liana_element *element, const liana_array *array, int axis,
                         int64_t index)
{
    if (axis == array->shape.rank) {
        add_value(text, element, array, index);
        return index + 1;
    }
    liana__text_add(text, "[");
    for (int64_t i = 0; i < array->shape.dims[axis]; i++) {
        if (i) liana__text_add(text, " ");
        index = add_array(text, element, array, axis + 1, index);
    }
    liana__text_add(text, "]");
    return index;
}

static void add_element(liana__text *text, const liana_element *element)
{
    const liana_component *components;
    const size_t count = liana_element_components(element, &components);
    for (size_t i = 0; i < count; i++) {
        const liana_array array = liana_element_array(element, components[i].name);
        assert_int_equal(array.shape.rank, components[i].shape.rank);
        for (int k = 0; k < array.shape.rank; k++) {
            const int64_t declared = components[i].shape.dims[k];
            if (declared != LIANA_UNKNOWN_DIM) assert_int_equal(array.shape.dims[k], declared);
        }
        if (i) liana__text_add(text, ":");
        add_array(text, element, &array, 0, 0);
    }
    liana__text_add(text, " ");
}

/* The elements from `start` on. */
char *liana__test_show(liana_context *context, const liana_dataset *dataset, const liana_iterator_options *options,
                       liana_status expected)
{
    liana__text text = {0};
    liana_iterator *iterator;
    const liana_element *element;
    liana_status status = liana_iterator_create(dataset, options, &iterator);
    if (status != LIANA_OK) print_error("%s\n", liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
    liana__text_add(&text, "%s", "");
    while ((status = liana_iterator_next(iterator, &element)) == LIANA_OK) add_element(&text, element);
    if (status != expected) print_error("%s\n", liana_context_message(context));
    assert_int_equal(status, expected);
    liana_iterator_destroy(iterator);
    return text.data;
}

/* Where the elements after the first `count` begin. */
const char *liana__test_behind(const char *text, int count)
{
    for (int depth = 0; count > 0; text++) {
        depth += (*text == '[') - (*text == ']');
        count -= depth == 0 && *text == ' ';
    }
    return text;
}

int liana__test_count_elements(const char *text)
{
    int count = 0;
    for (; *liana__test_behind(text, count); count++) continue;
    return count;
}

/* Compares all elements, from each start, with several numbers of threads; closes the dataset. */
void liana__test_gives(liana_context *context, liana_dataset *dataset, const char *expected, int line)
{
    static const int threads[] = {-1, 1, 3};
    if (!dataset) print_error("line %d: %s\n", line, liana_context_message(context));
    assert_non_null(dataset);
    const int64_t length = liana_dataset_info(dataset).num_examples;
    const int count = liana__test_count_elements(expected);
    if (length >= 0) assert_int_equal(length, count);
    for (int i = 0; i < 3; i++) {
        for (int start = 0; start <= count; start++) {
            liana_iterator_options options = {.num_threads = threads[i], .start = (uint64_t)start};
            char *found = liana__test_show(context, dataset, &options, LIANA_END_OF_DATA);
            if (strcmp(found, liana__test_behind(expected, start)) != 0)
                print_error("line %d, from %d:\n", line, start);
            assert_string_equal(found, liana__test_behind(expected, start));
            free(found);
        }
    }
    liana_dataset_close(dataset);
}

/* A maker fails, or the elements do. */
void liana__test_refused(liana_context *context, liana_dataset *dataset, const char *message, int line)
{
    if (dataset) print_error("line %d: it is not refused\n", line);
    assert_null(dataset);
    assert_says(liana_context_message(context), message);
}

void liana__test_failing(liana_context *context, liana_dataset *dataset, liana_status expected, const char *before,
                         const char *message)
{
    if (!dataset) print_error("%s\n", liana_context_message(context));
    assert_non_null(dataset);
    char *found = liana__test_show(context, dataset, NULL, expected);
    assert_string_equal(found, before);
    assert_says(liana_context_message(context), message);
    free(found);
    liana_dataset_close(dataset);
}

static bool all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

/* The same elements, replayed. */
liana_dataset *liana__test_replayed(liana_dataset *dataset)
{
    return liana_dataset_filter(dataset, &(liana_filter_options){.function = all});
}

int64_t liana__test_number(const liana_element *element, const char *name)
{
    return *(const int64_t *)liana_element_array(element, name).data;
}
