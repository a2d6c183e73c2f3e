/* Describes a batch. */
#include "report/reports.h"

#include "base/format.h"
#include "data/source/cast.h"

#include <inttypes.h>
#include <math.h>

enum { FIRST_VALUES = 8, PIECE = 1024, SHOWN_BYTES = 60 };

typedef struct describing {
    liana__run *run;
    const liana__run_data *data;
    const liana__batch *batch;
    liana__arena *arena;
    liana__value *rows;
    liana__error *error;
} describing;

/* ---- values ---- */

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static void set_int(liana__arena *arena, liana__value *map, const char *key, int64_t number)
{
    liana__value_set(arena, map, key, liana__value_int(arena, number));
}

/* With the digits of a float; a whole number stays one. */
static liana__value *number_value(liana__arena *arena, double number)
{
    char text[40], *end;
    if (number == floor(number) && fabs(number) < 0x1p53) return liana__value_int(arena, (int64_t)number);
    liana__format(text, sizeof text, "%.7g", number);
    return liana__value_float(arena, liana__parse_double(text, &end));
}

/* The batch, then the shape of an example. */
static liana__value *shape_value(const describing *own, const liana_shape *shape)
{
    liana__value *list = liana__value_list(own->arena);
    liana__value_add(own->arena, list, liana__value_int(own->arena, own->batch->count));
    for (int i = 0; i < shape->rank; i++) {
        liana__value_add(own->arena, list, liana__value_int(own->arena, shape->dims[i]));
    }
    return list;
}

static liana__value *begin_row(const describing *own, const char *name, const char *dtype, const liana_shape *shape)
{
    liana__value *row = liana__value_map(own->arena);
    set_text(own->arena, row, "component", name);
    set_text(own->arena, row, "dtype", dtype);
    liana__value_set(own->arena, row, "shape", shape_value(own, shape));
    liana__value_add(own->arena, own->rows, row);
    return row;
}

/* ---- components ---- */

typedef struct summary {
    double smallest, largest, sum;
    int64_t finite, others;
} summary;

static void add_values(summary *all, const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        all->others += !isfinite(values[i]);
        if (!isfinite(values[i])) continue;
        all->smallest = all->finite ? fmin(all->smallest, values[i]) : values[i];
        all->largest = all->finite ? fmax(all->largest, values[i]) : values[i];
        all->sum += values[i];
        all->finite++;
    }
}

static void describe(const describing *own, const liana__batch_component *component)
{
    liana__arena *arena = own->arena;
    const int64_t total = own->batch->count * liana_shape_size(&component->shape);
    const char *values = component->rows;
    liana__value *row = begin_row(own, component->name, liana_dtype_name(component->dtype), &component->shape);
    liana__value *first = liana__value_list(arena);
    summary all = {0};
    double piece[PIECE];
    for (int64_t at = 0; at < total; at += PIECE) {
        const int64_t count = total - at < PIECE ? total - at : PIECE;
        const char *from = values + (size_t)at * liana_dtype_size(component->dtype);
        (void)liana__cast_values(component->dtype, from, LIANA_F64, piece, count);
        add_values(&all, piece, count);
        for (int64_t i = 0; !at && i < count && i < FIRST_VALUES; i++) {
            liana__value_add(arena, first, number_value(arena, piece[i]));
        }
    }
    if (all.finite) liana__value_set(arena, row, "smallest", number_value(arena, all.smallest));
    if (all.finite) liana__value_set(arena, row, "mean", number_value(arena, all.sum / (double)all.finite));
    if (all.finite) liana__value_set(arena, row, "largest", number_value(arena, all.largest));
    if (all.others) set_int(arena, row, "not_finite", all.others);
    liana__value_set(arena, row, "first", first);
}

/* Ids and texts have no smallest value. */
static void describe_ids(const describing *own)
{
    bool has_ids = false;
    for (int64_t i = 0; i < own->batch->count; i++) has_ids |= own->batch->ids[i] != NULL;
    if (!has_ids) return;
    liana__value *row = begin_row(own, "id", "string", &LIANA_SCALAR), *first = liana__value_list(own->arena);
    for (int64_t i = 0; i < own->batch->count && i < FIRST_VALUES; i++) {
        const char *id = own->batch->ids[i];
        liana__value_add(own->arena, first, id ? liana__value_string(own->arena, id) : liana__value_null(own->arena));
    }
    liana__value_set(own->arena, row, "first", first);
}

/* The host makes numbers of texts; the batch has none of them, so records are read once more. */
static liana_status describe_texts(const describing *own, size_t component, void *scratch)
{
    const liana__source *source = own->data->source;
    const liana_component *text = &source->components[component];
    liana__value *row = begin_row(own, text->name, "string", &text->shape), *first = liana__value_list(own->arena);
    for (int64_t i = 0; i < own->batch->count && i < FIRST_VALUES; i++) {
        liana_source_record record;
        LIANA_TRY(liana__source_read(source, own->batch->records[i], scratch, &record, own->error));
        const liana_bytes *bytes = record.values[component];
        const int shown = bytes->size < SHOWN_BYTES ? (int)bytes->size : SHOWN_BYTES;
        const char *const end = bytes->size > SHOWN_BYTES ? "..." : "";
        const char *shown_text =
            liana__arena_format(own->arena, "%.*s%s", shown, shown ? (const char *)bytes->data : "", end);
        if (shown_text) liana__value_add(own->arena, first, liana__value_string(own->arena, shown_text));
    }
    liana__value_set(own->arena, row, "first", first);
    return LIANA_OK;
}

static liana_status describe_all(const describing *own)
{
    const liana__batch *batch = own->batch;
    const liana__source *source = own->data->source;
    for (size_t i = 0; i < batch->num_components && batch->count; i++) describe(own, &batch->components[i]);
    if (batch->ids && batch->count) describe_ids(own);
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(own->error, "reading records");
    for (size_t i = 0; i < source->num_components && status == LIANA_OK && batch->count; i++) {
        if (source->components[i].dtype == LIANA_STRING && !source->streams) status = describe_texts(own, i, scratch);
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    return status;
}

/* ---- the batch ---- */

liana_status liana__report_batch(liana__run *run, liana__report_part part, uint64_t number, liana__arena *arena,
                                 liana__value *report, liana__error *error)
{
    liana__run_data *data = liana__run_part(run, part);
    LIANA_TRY(liana__run_open_batches(run, data, error));
    const uint64_t steps = liana__loader_steps_per_epoch(data->loader, 0);
    if (number >= steps) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "batch %" PRIu64 " of the %s data: an epoch has %" PRIu64 " batches of %lld, from 0 to %lld",
                           number, liana__report_part_names[part], steps,
                           (long long)liana__loader_batch_size(data->loader), (long long)steps - 1);
    }
    describing own = {.run = run, .data = data, .arena = arena, .rows = liana__value_list(arena), .error = error};
    liana__batch *batch;
    LIANA_TRY(liana__loader_begin(data->loader, 0, number, error));
    LIANA_TRY(liana__loader_next(data->loader, &batch, error));
    own.batch = batch;
    set_text(arena, report, "part", liana__report_part_names[part]);
    set_int(arena, report, "epoch", 1);
    set_int(arena, report, "batch", (int64_t)number);
    set_int(arena, report, "examples", batch->count);
    liana_status status = describe_all(&own);
    liana__value_set(arena, report, "components", own.rows);
    liana__loader_release(data->loader, batch);
    if (status == LIANA_OK && arena->failed) status = liana__fail_memory(error, "a batch");
    return status;
}
