/* Reads paddings, and pads values. */
#include "data/dataset/padding.h"

#include "base/named.h"
#include "data/source/cast.h"

#include <string.h>

static liana_status fail_component(const liana__spec *spec, const char *name, liana__error *error)
{
    const char *nearest = liana__named_nearest(LIANA__NAMED(liana_component, spec->components, spec->count), name);
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "paddings: there is no component '%.100s'%s", name,
                       liana__hint(nearest).text);
}

static liana_status read_value(const liana_component_padding *from, const liana_component *component,
                               liana__arena *arena, liana__padding *padding, liana__error *error)
{
    if (component->dtype == LIANA_STRING) {
        padding->text = from->text ? liana__arena_string(arena, from->text) : "";
        return padding->text ? LIANA_OK : liana__fail_memory(error, "paddings");
    }
    if (from->text) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' is %s, and its padding a string: '%.100s'", component->name,
                           liana__component_describe(component).text, from->text);
    }
    if (liana__cast_values(LIANA_F64, &from->value, (liana_dtype)component->dtype, &padding->value, 1) < 0)
        return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%s' is padded with %g, which its dtype cannot hold (%s)", component->name,
                       from->value, liana__component_describe(component).text);
}

/* A dimension that is known can only grow. */
static bool read_length(int64_t wanted, int64_t known, int64_t *length)
{
    *length = wanted == LIANA_UNKNOWN_DIM ? known : wanted;
    return wanted >= LIANA_UNKNOWN_DIM && (known == LIANA_UNKNOWN_DIM || *length >= known);
}

static liana_status read_shape(const liana_component_padding *from, const liana_component *component,
                               liana__padding *padding, liana__error *error)
{
    const liana_shape *shape = &from->shape, *is = &component->shape;
    if (shape->rank == 0) return LIANA_OK;
    bool fits = shape->rank == is->rank;
    if (fits) fits = read_length(shape->dims[0], is->dims[0], &padding->rows);
    if (fits && is->rank > 1) fits = read_length(shape->dims[1], is->dims[1], &padding->width);
    for (int i = LIANA__MOST_UNKNOWN; fits && i < is->rank; i++) fits = shape->dims[i] == is->dims[i];
    if (fits) return LIANA_OK;
    const liana_component wanted = {component->name, component->dtype, *shape};
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%s' is %s and cannot be padded to %s: expected the same number of dimensions, "
                       "of which the first two may be longer",
                       component->name, liana__component_describe(component).text,
                       shape->rank < 0 || shape->rank > LIANA_MAX_RANK ? "this shape"
                                                                       : liana__component_describe(&wanted).text);
}

static liana_status read_one(const liana_component_padding *from, const liana__spec *spec, liana__arena *arena,
                             liana__padding *made, bool *given, liana__error *error)
{
    const int index = liana__spec_find(spec, from->component);
    if (index < 0) return fail_component(spec, from->component ? from->component : "(NULL)", error);
    const liana_component *component = &spec->components[index];
    liana__padding *padding = &made[index];
    if (given[index]) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "paddings: the component '%s' is there twice",
                           component->name);
    }
    given[index] = true;
    if ((from->lengths || from->mask) && component->shape.rank == 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' is %s, which has neither lengths nor a mask", component->name,
                           liana__component_describe(component).text);
    }
    LIANA_TRY(read_shape(from, component, padding, error));
    if (from->lengths) padding->lengths = liana__arena_string(arena, from->lengths);
    if (from->mask) padding->mask = liana__arena_string(arena, from->mask);
    if (arena->failed) return liana__fail_memory(error, "paddings");
    return read_value(from, component, arena, padding, error);
}

liana_status liana__paddings_read(const liana_component_padding *paddings, size_t num_paddings, const liana__spec *spec,
                                  liana__arena *arena, liana__padding *made, liana__error *error)
{
    bool given[LIANA_MAX_COMPONENTS] = {false};
    if (num_paddings && !paddings) return liana__fail(error, LIANA_INVALID_ARGUMENT, "paddings are NULL");
    for (size_t i = 0; i < spec->count; i++) {
        made[i] = (liana__padding){.rows = liana__component_rows(&spec->components[i]),
                                   .width = liana__component_width(&spec->components[i]),
                                   .text = ""};
    }
    for (size_t i = 0; i < num_paddings; i++) {
        LIANA_TRY(read_one(&paddings[i], spec, arena, made, given, error));
    }
    return LIANA_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill_numbers(char *to, size_t size, uint64_t value, int64_t count)
{
    if (!value) {
        memset(to, 0, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) memcpy(to + (size_t)i * size, &value, size);
}

static liana_status fill_strings(liana__holder *store, size_t to, const char *text, int64_t first, int64_t count,
                                 liana__error *error)
{
    for (int64_t i = 0; *text && i < count; i++) {
        LIANA_TRY(liana__holder_set_string(store, to, first + i, text, strlen(text), error));
    }
    return LIANA_OK;
}

/* Values [first, first + count) are those of the element from value `at` on; those up to `end` are filled up. */
static liana_status put_line(const liana__padding *padding, liana__holder *store, size_t to, int64_t first,
                             int64_t count, int64_t end, const liana_element *element, size_t from, int64_t at,
                             liana__error *error)
{
    const liana_component *component = &element->spec->components[from];
    if (component->dtype == LIANA_STRING) {
        const liana_bytes *strings = (const liana_bytes *)element->data[from] + at;
        for (int64_t i = 0; i < count; i++) {
            LIANA_TRY(liana__holder_set_string(store, to, first + i, strings[i].data, strings[i].size, error));
        }
        return fill_strings(store, to, padding->text, first + count, end - first - count, error);
    }
    const size_t size = liana__component_value_size(component);
    char *target = (char *)store->columns[to] + (size_t)first * size;
    if (count) memcpy(target, (const char *)element->data[from] + (size_t)at * size, (size_t)count * size);
    fill_numbers(target + (size_t)count * size, size, padding->value, end - first - count);
    return LIANA_OK;
}

liana_status liana__padding_put(const liana__padding *padding, liana__holder *store, size_t to, int64_t block,
                                int64_t rows, int64_t width, const liana_element *element, size_t from,
                                liana__error *error)
{
    const liana_shape shape = liana__element_shape(element, from);
    const int64_t own_rows = shape.rank ? shape.dims[0] : 1, own_width = shape.rank > 1 ? shape.dims[1] : 1;
    int64_t inner = 1;
    if (shape.rank < 2) width = 1;
    for (int i = 2; i < shape.rank; i++) inner *= shape.dims[i];
    const int64_t first = block * rows * width * inner, line = width * inner, own_line = own_width * inner;
    const int64_t kept = smaller(rows, own_rows), count = smaller(line, own_line);
    for (int64_t i = 0; i < kept; i++) {
        const int64_t begin = first + i * line;
        LIANA_TRY(put_line(padding, store, to, begin, count, begin + line, element, from, i * own_line, error));
    }
    return put_line(padding, store, to, first + kept * line, 0, first + rows * line, element, from, 0, error);
}
