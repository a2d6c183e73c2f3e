/* Numbers that Keras gave. */
#include "harness/keras_lists.h"

#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void liana__keras_lists_open(liana__keras_lists *own, const char *file, double tolerance)
{
    char path[512];
    liana__value *read;
    liana__error error = {0};
    *own = (liana__keras_lists){.file = file, .tolerance = tolerance};
    snprintf(path, sizeof path, "%s/tests/samples/%s", LIANA_SOURCE_DIR, file);
    assert_ok(liana__json_read(path, &own->arena, &read, &error), &error);
    own->root = read;
    own->lists = liana__value_get(read, "lists");
    assert_non_null(own->lists);
}

void liana__keras_lists_close(liana__keras_lists *own)
{
    liana__arena_free(&own->arena);
}

liana__keras_list liana__keras_said(const liana__keras_lists *own, const char *model, const char *optimizer,
                                    const char *what)
{
    liana__keras_list list = {.tolerance = own->tolerance};
    snprintf(list.name, sizeof list.name, "%s_%s_%s", model, optimizer, what);
    for (char *at = list.name; *at; at++) {
        if (*at == '/') *at = '_';
    }
    list.values = liana__value_get(own->lists, list.name);
    if (!list.values) fail_msg("%s has no list '%s'", own->file, list.name);
    return list;
}

void liana__keras_near(double found, const liana__keras_list *list, size_t index)
{
    assert_compare(index, <, list->values->count);
    double expected = list->values->items[index]->number;
    if (fabs(found - expected) <= list->tolerance * fmax(1, fabs(expected))) return;
    fail_msg("%s[%zu] is %.9g, Keras gives %.9g", list->name, index, found, expected);
}

void liana__keras_weight_near(const liana__keras_lists *own, liana_model *model, const char *name,
                              const char *optimizer, const char *weight)
{
    char what[128];
    liana_array array;
    snprintf(what, sizeof what, "weights/%s", weight);
    const liana__keras_list expected = liana__keras_said(own, name, optimizer, what);
    assert_int_equal(liana_model_get_weights(model, weight, &array), LIANA_OK);
    /* The file has at most 8 values, evenly spread: `some` of keras_lists.py. */
    size_t step = ((size_t)liana_shape_size(&array.shape) + 7) / 8;
    for (size_t k = 0; k < expected.values->count; k++) {
        liana__keras_near((double)((const float *)array.data)[k * step], &expected, k);
    }
}

int liana__keras_draw(const char *name, int index)
{
    int letters = 0;
    for (const char *letter = name; *letter; letter++) letters += *letter;
    return (index * 37 + index / 7 * 5 + 11 * letters) % 129;
}

float liana__keras_number(const char *name, int index)
{
    return (float)(liana__keras_draw(name, index) - 64) / 128;
}

void liana__keras_set_weight(liana_model *model, const char *weight, float offset)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, weight, &array), LIANA_OK);
    int count = (int)liana_shape_size(&array.shape);
    float *first = malloc((size_t)count * sizeof *first);
    assert_non_null(first);
    for (int k = 0; k < count; k++) first[k] = liana__keras_number(weight, k) + offset;
    array.data = first;
    assert_int_equal(liana_model_set_weights(model, &array, 1), LIANA_OK);
    free(first);
}
