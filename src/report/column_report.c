/* Counts the values of columns. */
#include "report/reports.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "data/source/cast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PICTURES = 24, NUM_RANGES = 20, LONGEST_TITLE = 240 };

/* One number of each record. */
typedef struct series {
    const liana__source *source;
    const liana__column *column; /* NULL: not known */
    size_t component;
    int64_t index;  /* in the component */
    double *values; /* [num_records] */
    double low, high;
    uint64_t others; /* values that are not finite */
} series;

static const liana__column *find_column(const liana__source *source, size_t component)
{
    return liana__columns_get(source->columns, source->components[component].name);
}

static liana_status read_values(series *own, liana__error *error)
{
    const liana__source *source = own->source;
    const liana_dtype dtype = (liana_dtype)source->components[own->component].dtype;
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(error, "reading a table");
    own->low = INFINITY;
    own->high = -INFINITY;
    own->others = 0;
    for (uint64_t i = 0; status == LIANA_OK && i < source->num_records; i++) {
        liana_source_record record;
        own->values[i] = (double)NAN;
        status = liana__source_read(source, i, scratch, &record, error);
        if (source->skip_damage && liana__source_is_bad_record(status)) {
            status = LIANA_OK;
            continue;
        }
        if (status != LIANA_OK) break;
        const char *values = record.values[own->component];
        double *value = &own->values[i];
        (void)liana__cast_values(dtype, values + (size_t)own->index * liana_dtype_size(dtype), LIANA_F64, value, 1);
        own->others += !isfinite(*value);
        if (!isfinite(*value)) continue;
        own->low = fmin(own->low, *value);
        own->high = fmax(own->high, *value);
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

/* How often each name of a category occurs, or whole numbers and ranges of numbers. */
static liana_status count_values(const series *own, liana__arena *arena, liana__bars *bars, liana__bar_series *counts,
                                 liana__error *error)
{
    const liana__strings *names = own->column && own->column->category ? &own->column->vocabulary : NULL;
    const bool is_whole = own->source->components[own->component].dtype != LIANA_F32 &&
                          own->source->components[own->component].dtype != LIANA_F64 &&
                          own->high - own->low < NUM_RANGES;
    const size_t ranges = own->high > own->low ? NUM_RANGES : 1;
    const size_t count = names ? names->count : is_whole ? (size_t)(own->high - own->low) + 1 : ranges;
    const double width = is_whole ? 1 : (own->high - own->low) / (double)count;
    double *numbers = liana__arena_allocate(arena, count * sizeof *numbers);
    const char **labels = liana__arena_allocate(arena, count * sizeof *labels);
    if (!numbers || !labels) return liana__fail_memory(error, "the values of a column");
    for (uint64_t i = 0; i < own->source->num_records; i++) {
        if (!isfinite(own->values[i])) continue;
        const double from = names ? 0 : own->low,
                     place = width > 0 || names ? (own->values[i] - from) / (names ? 1 : width) : 0;
        size_t range = place > 0 ? (size_t)place : 0;
        numbers[range < count ? range : count - 1]++;
    }
    for (size_t i = 0; i < count; i++) {
        char text[80];
        const double start = own->low + (double)i * width;
        if (is_whole) liana__format(text, sizeof text, "%.0f", start);
        if (!is_whole) liana__format(text, sizeof text, "%.4g to %.4g", start, start + width);
        labels[i] = names ? names->items[i] : liana__arena_string(arena, text);
    }
    *counts = (liana__bar_series){"records", numbers, liana__ink_first};
    bars->labels = labels;
    bars->count = count;
    bars->series = counts;
    bars->num_series = 1;
    return arena->failed ? liana__fail_memory(error, "the values of a column") : LIANA_OK;
}

/* The column's own name, and that of the component where it is another. */
void liana__column_title(const liana__source *source, size_t component, int64_t index, char *title, size_t size)
{
    const char *of = source->components[component].name;
    const liana__column *column = find_column(source, component);
    const liana__strings *from = column ? &column->from : NULL;
    const int64_t size_of = liana_shape_size(&source->components[component].shape);
    const bool several = from && (int64_t)from->count == size_of && !column->length;
    const bool one = size_of == 1;
    const char *name = several ? from->items[index] : of;
    if (strcmp(name, of) != 0) {
        snprintf(title, size, "%.90s (in %.90s)", name, of);
    } else if (several || one) {
        snprintf(title, size, "%.90s", name);
    } else {
        snprintf(title, size, "%.90s[%lld]", name, (long long)index);
    }
}

static liana_status draw_series(series *own, size_t number, liana__on_bars on_bars, void *user, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__bar_series counts;
    char title[LONGEST_TITLE];
    liana__bars bars = {.title = title};
    liana__column_title(own->source, own->component, own->index, title, sizeof title);
    LIANA_TRY(read_values(own, error));
    if (own->others) {
        const size_t used = strlen(title);
        snprintf(title + used, sizeof title - used, ": %llu not finite", (unsigned long long)own->others);
    }
    if (own->others == own->source->num_records) own->low = own->high = 0;
    LIANA_TRY(count_values(own, &arena, &bars, &counts, error));
    return on_bars(user, number, &bars);
}

liana_status liana__report_columns(const liana__source *source, liana__on_bars on_bars, void *user, liana__error *error)
{
    series own = {.source = source, .values = calloc((size_t)source->num_records + 1, sizeof *own.values)};
    liana_status status = own.values ? LIANA_OK : liana__fail_memory(error, "the values of a column");
    size_t number = 0;
    for (; status == LIANA_OK && own.component < source->num_components; own.component++) {
        const liana_component *component = &source->components[own.component];
        own.column = find_column(source, own.component);
        const int64_t count = component->dtype == LIANA_STRING ? 0 : liana_shape_size(&component->shape);
        for (own.index = 0; status == LIANA_OK && own.index < count && number < MAX_PICTURES; own.index++) {
            status = draw_series(&own, ++number, on_bars, user, error);
        }
    }
    free(own.values);
    return status;
}
