/* Describes one record of a file for liana inspect --record. */
#include "base/format.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/utf8.h"
#include "cli/inspect/inspect.h"
#include "data/source/cast.h"
#include "data/source/source_open.h"
#include "formats/event.h"
#include "formats/example.h"
#include "formats/idx.h"
#include "formats/image.h"
#include "formats/npy.h"

#include <inttypes.h>
#include <string.h>

/* Bytes that are no text and no image are shown up to here; pixels that stand in the file itself, too. */
enum { MOST_HEX = 32, MOST_PIXELS = 1 << 16 };

typedef struct describing {
    liana__arena *arena;
    liana__value *report, *rows;
    liana__error *error;
} describing;

static liana_status refuse_number(const char *path, int64_t number, uint64_t count, liana__error *error)
{
    if (!count) return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has no records", path);
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s': there is no record %" PRId64 "; it has %" PRIu64 ", from 0 to %" PRIu64, path, number,
                       count, count - 1);
}

/* ---- values ---- */

static liana__value *add_row(const describing *own, const char *name, const char *kind)
{
    liana__value *row = liana__value_map(own->arena);
    liana__findings_text(own->arena, row, "feature", name);
    liana__findings_text(own->arena, row, "kind", kind);
    liana__value_add(own->arena, own->rows, row);
    return row;
}

/* The shortest number that reads as the same float. */
static liana__value *float_value(liana__arena *arena, double number, bool is_single)
{
    char text[40], *end;
    if (!is_single || number != number || number - number != 0) return liana__value_float(arena, number);
    for (int digits = 6; digits <= 9; digits++) {
        liana__format(text, sizeof text, "%.*g", digits, number);
        if ((float)liana__parse_double(text, &end) == (float)number) break;
    }
    return liana__value_float(arena, liana__parse_double(text, &end));
}

static const char *image_kind_name(liana__image_kind kind)
{
    static const char *const names[] = {"unknown", "JPEG", "PNG", "BMP", "GIF", "WebP", "TIFF"};
    return names[kind];
}

static liana__value *image_value(const describing *own, const void *bytes, size_t size, liana__image_kind kind)
{
    liana__arena *arena = own->arena;
    liana__value *map = liana__value_map(arena);
    LIANA__SCOPED(liana__image) image = {0};
    liana__error why = {0};
    liana__findings_text(arena, map, "image", image_kind_name(kind));
    if (liana__image_probe(bytes, size, NULL, &image, &why) == LIANA_OK) {
        liana__findings_int(arena, map, "height", image.height);
        liana__findings_int(arena, map, "width", image.width);
        liana__findings_int(arena, map, "channels", image.channels);
    } else {
        liana__findings_text(arena, map, "damaged", why.message);
    }
    liana__findings_int(arena, map, "bytes", (int64_t)size);
    return map;
}

static bool is_text(const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint32_t code;
        const size_t step = liana__utf8_character(bytes + at, size - at, &code);
        if (!step || !code) return false;
        at += step;
    }
    return true;
}

/* A text, an image by its format and size, or the first bytes in hexadecimal. */
static liana__value *bytes_value(const describing *own, const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    liana__arena *arena = own->arena;
    const liana__image_kind kind = liana__image_sniff(bytes, size);
    if (kind != LIANA__IMAGE_UNKNOWN) return image_value(own, bytes, size, kind);
    if (is_text(bytes, size)) {
        const char *text = liana__arena_format(arena, "%.*s", (int)size, size ? (const char *)bytes : "");
        return text ? liana__value_string(arena, text) : NULL;
    }
    char hex[3 * MOST_HEX + 4] = "";
    const size_t shown = size < MOST_HEX ? size : MOST_HEX;
    for (size_t i = 0; i < shown; i++) {
        const uint8_t byte = ((const uint8_t *)bytes)[i];
        const char two[] = {i ? ' ' : 0, digits[byte >> 4], digits[byte & 15], 0};
        strcat(hex, i ? two : two + 1);
    }
    if (shown < size) strcat(hex, "...");
    liana__value *map = liana__value_map(arena);
    liana__findings_int(arena, map, "bytes", (int64_t)size);
    liana__findings_text(arena, map, "hex", hex);
    return map;
}

/* A number of any dtype. */
static liana__value *element_value(const describing *own, liana_dtype dtype, const void *values, int64_t index)
{
    const char *at = (const char *)values + (size_t)index * liana_dtype_size(dtype);
    const bool is_real = dtype == LIANA_F32 || dtype == LIANA_F64 || dtype == LIANA_BF16 || dtype == LIANA_F16;
    int64_t whole;
    double real = 0;
    uint64_t large = 0;
    if (dtype == LIANA_U64) memcpy(&large, at, sizeof large);
    /* No whole number of a report is so large. */
    if (large > INT64_MAX) return liana__value_float(own->arena, (double)large);
    if (!is_real && liana__cast_values(dtype, at, LIANA_S64, &whole, 1) < 0) return liana__value_int(own->arena, whole);
    (void)liana__cast_values(dtype, at, LIANA_F64, &real, 1);
    return float_value(own->arena, real, is_real && dtype != LIANA_F64);
}

/* Values of any dtype; texts are liana_bytes. */
static liana__value *list_values(const describing *own, int dtype, const void *values, int64_t count)
{
    liana__value *list = liana__value_list(own->arena);
    for (int64_t i = 0; i < count; i++) {
        liana__value *value;
        if (dtype == LIANA_STRING) {
            const liana_bytes *text = &((const liana_bytes *)values)[i];
            value = bytes_value(own, text->data, text->size);
        } else {
            value = element_value(own, (liana_dtype)dtype, values, i);
        }
        liana__value_add(own->arena, list, value);
    }
    return list;
}

/* ---- tf.Examples ---- */

static void add_feature(const describing *own, const liana__feature *feature, const char *name)
{
    liana__value *row = add_row(own, name, liana__feature_kind_name(feature->kind));
    liana__value *values = liana__value_list(own->arena);
    for (size_t i = 0; i < feature->count; i++) {
        liana__value *value = NULL;
        if (feature->kind == LIANA__FEATURE_BYTES) {
            value = bytes_value(own, feature->bytes[i].data, feature->bytes[i].len);
        } else if (feature->kind == LIANA__FEATURE_FLOAT) {
            value = float_value(own->arena, (double)feature->floats[i], true);
        } else if (feature->kind == LIANA__FEATURE_INT64) {
            value = liana__value_int(own->arena, feature->int64s[i]);
        }
        liana__value_add(own->arena, values, value);
    }
    liana__value_set(own->arena, row, "values", values);
}

static void add_lists(const describing *own, const liana__example *example)
{
    for (size_t i = 0; i < liana__example_num_lists(example); i++) {
        const liana__feature_list list = liana__example_list_at(example, i);
        for (size_t step = 0; step < list.count; step++) {
            const liana__feature feature = liana__feature_list_step(&list, step);
            const char *name = liana__arena_format(own->arena, "%s[%zu]", list.name, step);
            if (name) add_feature(own, &feature, name);
        }
    }
}

static liana_status add_example(const describing *own, const char *path, int64_t number, const uint8_t *bytes,
                                size_t size)
{
    LIANA__SCOPED(liana__example) example = {0};
    liana__error why = {0};
    if (liana__example_parse(&example, path, (size_t)number, bytes, size, &why) != LIANA_OK) {
        liana__findings_text(own->arena, own->report, "no_example", why.message);
        liana__value *values = liana__value_list(own->arena), *row = add_row(own, "record", "bytes");
        liana__value_add(own->arena, values, bytes_value(own, bytes, size));
        liana__value_set(own->arena, row, "values", values);
        return LIANA_OK;
    }
    for (size_t i = 0; i < liana__example_num_features(&example); i++) {
        const liana__feature feature = liana__example_feature(&example, i);
        add_feature(own, &feature, feature.name);
    }
    add_lists(own, &example);
    return LIANA_OK;
}

/* The numbers or texts of an event's tensor, and its shape. */
static void add_tensor(const describing *own, const liana__event_value *from, liana__value *row, liana__value *values)
{
    liana__arena *arena = own->arena;
    liana__value *shape = liana__value_list(arena);
    for (size_t i = 0; i < liana__event_value_rank(from); i++) {
        liana__value_add(arena, shape, liana__value_int(arena, liana__event_value_dimension(from, i)));
    }
    if (liana__event_value_rank(from)) liana__value_set(arena, row, "shape", shape);
    for (size_t i = 0; i < liana__event_value_count(from); i++) {
        if (!liana__event_value_has_texts(from)) {
            liana__value_add(arena, values, float_value(arena, liana__event_value_number(from, i), false));
            continue;
        }
        size_t size;
        const uint8_t *text = liana__event_value_text(from, i, &size);
        liana__value_add(arena, values, bytes_value(own, text, size));
    }
}

static liana_status add_event(const describing *own, const char *path, int64_t number, const uint8_t *bytes,
                              size_t size)
{
    LIANA__SCOPED_BY(liana__event_free) liana__event_record event = {0};
    liana__arena *arena = own->arena;
    liana__error why = {0};
    const liana_status status = liana__event_parse(bytes, size, &event, &why);
    if (status != LIANA_OK) {
        return liana__fail(own->error, status, "'%s', record %" PRId64 ": %s", path, number, why.message);
    }
    liana__findings_text(arena, own->report, "event_of", event.what);
    liana__findings_int(arena, own->report, "step", event.step);
    liana__value_set(arena, own->report, "wall_time", liana__value_float(arena, event.wall_time));
    if (event.file_version) liana__findings_text(arena, own->report, "file_version", event.file_version);
    for (size_t i = 0; i < event.num_values; i++) {
        const liana__event_value *one = &event.values[i];
        liana__value *row = add_row(own, one->tag, one->kind), *values = liana__value_list(arena);
        if (one->has_number) liana__value_add(arena, values, float_value(arena, one->number, false));
        add_tensor(own, one, row, values);
        liana__value_set(arena, row, "values", values);
    }
    return LIANA_OK;
}

static liana_status describe_tfrecord(const describing *own, const char *path, int64_t number)
{
    liana__tfrecord *file;
    const liana__tfrecord_options start = {.keep_start = true};
    const uint8_t *bytes;
    size_t size;
    LIANA_TRY(liana__tfrecord_open(path, &start, &file, own->error));
    const uint64_t count = liana__tfrecord_count(file);
    const bool events = liana__inspect_is_event_file(file);
    liana__findings_text(own->arena, own->report, "kind", events ? "TensorBoard event file" : "TFRecord");
    liana__findings_int(own->arena, own->report, "records", (int64_t)count);
    liana_status status = (uint64_t)number < count
                              ? liana__tfrecord_get(file, (size_t)number, &bytes, &size, own->error)
                              : refuse_number(path, number, count, own->error);
    if (status == LIANA_OK) {
        liana__findings_int(own->arena, own->report, "offset", (int64_t)liana__tfrecord_offset(file, (size_t)number));
        liana__findings_int(own->arena, own->report, "bytes", (int64_t)size);
        status = events ? add_event(own, path, number, bytes, size) : add_example(own, path, number, bytes, size);
    }
    liana__tfrecord_close(file);
    return status;
}

/* ---- IDX ---- */

/* A big-endian number of the file. */
static liana__value *idx_value(liana__arena *arena, liana__idx_type type, const uint8_t *bytes, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) bits = bits << 8 | bytes[i];
    const uint32_t half = (uint32_t)bits;
    float single;
    double real;
    memcpy(&single, &half, sizeof single);
    memcpy(&real, &bits, sizeof real);
    switch (type) {
    case LIANA__IDX_U8: return liana__value_int(arena, (uint8_t)bits);
    case LIANA__IDX_S8: return liana__value_int(arena, (int8_t)bits);
    case LIANA__IDX_S16: return liana__value_int(arena, (int16_t)bits);
    case LIANA__IDX_S32: return liana__value_int(arena, (int32_t)half);
    case LIANA__IDX_F32: return float_value(arena, (double)single, true);
    case LIANA__IDX_F64: return liana__value_float(arena, real);
    }
    return liana__value_null(arena);
}

/* A record is a row along the first axis. */
static liana_status describe_idx(const describing *own, const char *path, int64_t number)
{
    LIANA__SCOPED_BY(liana__idx_close) liana__idx file = {0};
    LIANA_TRY(liana__idx_open(path, 0, false, &file, own->error));
    const size_t count = file.dimensions[0];
    liana__findings_text(own->arena, own->report, "kind", "IDX");
    liana__findings_int(own->arena, own->report, "records", (int64_t)count);
    if ((uint64_t)number >= count) return refuse_number(path, number, count, own->error);
    int64_t shape[LIANA__IDX_MAX_DIMENSIONS];
    for (int axis = 1; axis < file.num_dimensions; axis++) shape[axis - 1] = (int64_t)file.dimensions[axis];
    const size_t values = file.num_elements / count, size = values ? file.size / file.num_elements : 0;
    LIANA__SCOPED_MEMORY uint8_t *copy = malloc(values * size + 1);
    if (!copy) return liana__fail_memory(own->error, path);
    const uint8_t *from = file.data + (size_t)number * values * size;
    if (file.mapping.data) {
        const size_t begin = (size_t)(from - file.mapping.data);
        LIANA_TRY(liana__mapping_copy(&file.mapping, file.name, begin, copy, values * size, own->error));
    } else {
        memcpy(copy, from, values * size);
    }
    liana__value *row = add_row(own, "values", liana__idx_type_name(file.type)), *list = liana__value_list(own->arena);
    liana__findings_shape(own->arena, row, "shape", shape, file.num_dimensions - 1);
    for (size_t i = 0; i < values; i++) {
        liana__value_add(own->arena, list, idx_value(own->arena, file.type, copy + i * size, size));
    }
    liana__value_set(own->arena, row, "values", list);
    return LIANA_OK;
}

/* ---- numpy ---- */

/* A record is a row along the first axis. */
static liana_status describe_npy(const describing *own, const char *path, int64_t number)
{
    LIANA__SCOPED_BY(liana__npy_close) liana__npy_array array = {0};
    LIANA_TRY(liana__npy_open(path, &array, own->error));
    const uint64_t count = array.num_dims ? (uint64_t)array.dims[0] : 0;
    liana__findings_text(own->arena, own->report, "kind", "NumPy array");
    liana__findings_int(own->arena, own->report, "records", (int64_t)count);
    if ((uint64_t)number >= count) return refuse_number(path, number, count, own->error);
    LIANA__SCOPED_MEMORY void *values = malloc((size_t)array.row_values * liana_dtype_size(array.dtype) + 1);
    if (!values) return liana__fail_memory(own->error, path);
    LIANA_TRY(liana__npy_read_row(&array, number, values, own->error));
    liana__value *row = add_row(own, "values", liana_dtype_name(array.dtype));
    liana__findings_shape(own->arena, row, "shape", array.dims + 1, array.num_dims - 1);
    liana__value_set(own->arena, row, "values", list_values(own, (int)array.dtype, values, array.row_values));
    return LIANA_OK;
}

/* ---- sources: tables, folders, archives, CIFAR ---- */

static void add_image(const describing *own, const liana_source_record *record)
{
    liana__value *values = liana__value_list(own->arena);
    if (record->bytes) {
        liana__value *row = add_row(own, "image", "bytes");
        liana__value_add(own->arena, values, bytes_value(own, record->bytes, record->size));
        liana__value_set(own->arena, row, "values", values);
        return;
    }
    const int64_t shape[] = {record->height, record->width, record->channels};
    liana__value *row = add_row(own, "image", "u8");
    liana__findings_shape(own->arena, row, "shape", shape, 3);
    const int64_t count = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; i < count && count <= MOST_PIXELS; i++) {
        liana__value_add(own->arena, values, liana__value_int(own->arena, record->pixels[i]));
    }
    liana__value_set(own->arena, row, "values", values);
}

static void add_label(const describing *own, const liana__source *source, int64_t label)
{
    liana__value *row = add_row(own, "label", "s64"), *values = liana__value_list(own->arena);
    liana__value_add(own->arena, values, liana__value_int(own->arena, label));
    liana__value_set(own->arena, row, "values", values);
    if (label >= 0 && (uint64_t)label < source->class_names.count) {
        liana__findings_text(own->arena, row, "class", source->class_names.items[label]);
    }
}

static void add_components(const describing *own, const liana__source *source, const liana_source_record *record)
{
    for (size_t i = 0; i < source->num_components; i++) {
        const liana_component *component = &source->components[i];
        const char *dtype = component->dtype == LIANA_STRING ? "string" : liana_dtype_name(component->dtype);
        liana__value *row = add_row(own, component->name, dtype);
        if (component->shape.rank) {
            liana__findings_shape(own->arena, row, "shape", component->shape.dims, component->shape.rank);
        }
        const int64_t count = liana_shape_size(&component->shape);
        liana__value_set(own->arena, row, "values", list_values(own, component->dtype, record->values[i], count));
        const liana__column *column = liana__columns_get(source->columns, component->name);
        const bool is_name = column && column->category && component->dtype == LIANA_S32 && count == 1;
        const int32_t name = is_name ? *(const int32_t *)record->values[i] : -1;
        if (name >= 0 && (size_t)name < column->vocabulary.count) {
            liana__findings_text(own->arena, row, "class", column->vocabulary.items[name]);
        }
    }
}

static liana_status add_record(const describing *own, const liana__source *source, int64_t number)
{
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    if (!scratch) return liana__fail_memory(own->error, "a record");
    const liana_status status = liana__source_read(source, (uint64_t)number, scratch, &record, own->error);
    if (status == LIANA_OK) {
        const liana_record_address address = liana__source_address(source, (uint64_t)number);
        liana__findings_text(own->arena, own->report, "file", liana__path_shown(own->arena, address.file));
        if (address.line > 0) liana__findings_int(own->arena, own->report, "line", address.line);
        if (record.id) {
            liana__value *row = add_row(own, "id", "string"), *values = liana__value_list(own->arena);
            const size_t size = record.id_size ? record.id_size : strlen(record.id);
            liana__value_add(own->arena, values, bytes_value(own, record.id, size));
            liana__value_set(own->arena, row, "values", values);
        }
        if (!source->lacks_images) add_image(own, &record);
        if (record.has_label) add_label(own, source, record.label);
        add_components(own, source, &record);
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

static liana_status describe_source(const describing *own, const char *path, int64_t number)
{
    liana__source *source = NULL;
    const liana__source_options options = {.or_table = true};
    LIANA_TRY(liana__source_open(&path, 1, &options, &source, own->error));
    liana__findings_text(own->arena, own->report, "kind", source->kind->part.name);
    liana__findings_int(own->arena, own->report, "records", (int64_t)source->num_records);
    const liana_status status = (uint64_t)number < source->num_records
                                    ? add_record(own, source, number)
                                    : refuse_number(path, number, source->num_records, own->error);
    liana__source_close(source);
    return status;
}

liana_status liana__inspect_record(const char *path, int64_t number, liana__record_format format, liana__value *report,
                                   liana__arena *arena, liana__error *error)
{
    const describing own = {.arena = arena, .report = report, .rows = liana__value_list(arena), .error = error};
    liana__findings_int(arena, report, "record", number);
    liana_status status = format == LIANA__RECORD_TFRECORD ? describe_tfrecord(&own, path, number)
                          : format == LIANA__RECORD_IDX    ? describe_idx(&own, path, number)
                          : format == LIANA__RECORD_NPY    ? describe_npy(&own, path, number)
                                                           : describe_source(&own, path, number);
    if (status == LIANA_OK) liana__value_set(arena, report, "features", own.rows);
    return status == LIANA_OK && arena->failed ? liana__fail_memory(error, path) : status;
}
