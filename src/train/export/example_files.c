/* The files of an export's examples. */
#include "base/file.h"
#include "base/value_read.h"
#include "formats/image.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "train/export/export.h"

#include <string.h>

/* "input" and "output"; of several "input_NAME", in which characters that a file may not have are '_'. In the arena. */
static const char *make_name(const char *kind, const char *port, size_t count, const char *ending, liana__arena *arena)
{
    char *name = count == 1 ? liana__arena_format(arena, "%s.%s", kind, ending)
                            : liana__arena_format(arena, "%s_%s.%s", kind, port, ending);
    for (char *at = name; at && *at; at++) {
        if (*at == '/' || *at == ':' || (unsigned char)*at <= ' ') *at = '_';
    }
    return name;
}

/* ---- writing ---- */

typedef struct writing {
    const liana_predictor *predictor;
    const liana__export_examples *examples;
    const char *folder;
    liana__arena *arena;
    liana__error *error;
} writing;

static liana_status write_array(const writing *own, const char *name, liana_dtype dtype, const liana_shape *shape,
                                const void *rows, int64_t row_stride)
{
    const char *path = liana__path_join(own->arena, own->folder, name);
    liana__npy npy;
    if (!path) return liana__fail_memory(own->error, "the examples");
    LIANA_TRY(liana__npy_begin_of(&npy, path, dtype, shape->dims + 1, shape->rank - 1, own->error));
    for (size_t i = 0; i < own->examples->count; i++) {
        const float *row = (const float *)rows + (int64_t)i * row_stride;
        const liana_status status = liana__npy_write(&npy, row, 1, own->error);
        if (status == LIANA_OK) continue;
        liana__npy_abandon(&npy);
        return status;
    }
    return liana__npy_finish(&npy, own->error);
}

static liana_status write_texts(const writing *own, const char *name, const liana_array *array, int64_t each)
{
    const char *path = liana__path_join(own->arena, own->folder, name);
    liana__value *list = liana__value_list(own->arena);
    for (size_t i = 0; i < own->examples->count; i++) {
        liana__value *row = liana__value_list(own->arena);
        for (int64_t k = 0; k < each; k++) {
            const liana_bytes *text = (const liana_bytes *)array->data + (int64_t)i * each + k;
            const char *copy =
                liana__arena_format(own->arena, "%.*s", (int)text->size, text->size ? (const char *)text->data : "");
            liana__value_add(own->arena, row, liana__value_string(own->arena, copy ? copy : ""));
        }
        liana__value_add(own->arena, list, row);
    }
    if (!path || own->arena->failed) return liana__fail_memory(own->error, "the examples");
    return liana__json_write(path, list, own->error);
}

static liana_status write_inputs(const writing *own, liana__value *map)
{
    const size_t count = own->examples->num_inputs;
    for (size_t i = 0; i < count; i++) {
        const liana_array *array = &own->examples->inputs[i];
        const int64_t each = liana_predictor_input(own->predictor, i).num_values;
        const bool is_text = array->dtype == LIANA_STRING;
        const char *name = make_name("input", array->name, count, is_text ? "json" : "npy", own->arena);
        if (!name) return liana__fail_memory(own->error, "the examples");
        LIANA_TRY(is_text ? write_texts(own, name, array, each)
                          : write_array(own, name, (liana_dtype)array->dtype, &array->shape, array->data, each));
        liana__value_set(own->arena, map, array->name, liana__value_string(own->arena, name));
    }
    return LIANA_OK;
}

static liana_status write_outputs(const writing *own, liana__value *map)
{
    const liana_predictor_facts facts = liana_predictor_info(own->predictor);
    for (size_t i = 0; i < facts.num_outputs; i++) {
        const liana_predictor_port port = liana_predictor_output(own->predictor, i);
        const char *name = make_name("output", port.name, facts.num_outputs, "npy", own->arena);
        if (!name) return liana__fail_memory(own->error, "the examples");
        LIANA_TRY(
            write_array(own, name, LIANA_F32, &port.shape, own->examples->outputs + port.offset, facts.num_values));
        liana__value_set(own->arena, map, port.name, liana__value_string(own->arena, name));
    }
    return LIANA_OK;
}

static liana_status write_images(const writing *own, liana__value *list)
{
    static const char *const endings[] = {
        [LIANA__IMAGE_UNKNOWN] = "bin", [LIANA__IMAGE_JPEG] = "jpg", [LIANA__IMAGE_PNG] = "png",
        [LIANA__IMAGE_BMP] = "bmp",     [LIANA__IMAGE_GIF] = "gif",  [LIANA__IMAGE_WEBP] = "webp",
        [LIANA__IMAGE_TIFF] = "tiff"};
    for (size_t i = 0; i < own->examples->count; i++) {
        const liana_bytes *image = &own->examples->items[i].image;
        if (!image->size) continue;
        const char *name =
            liana__arena_format(own->arena, "image_%zu.%s", i, endings[liana__image_sniff(image->data, image->size)]);
        const char *path = name ? liana__path_join(own->arena, own->folder, name) : NULL;
        if (!path) return liana__fail_memory(own->error, "the examples");
        LIANA_TRY(liana__file_replace(path, image->data, image->size, own->error));
        liana__value_add(own->arena, list, liana__value_string(own->arena, name));
    }
    return LIANA_OK;
}

/* What is known of each example. */
static liana__value *list_items(const writing *own)
{
    liana__value *list = liana__value_list(own->arena);
    for (size_t i = 0; i < own->examples->count; i++) {
        const liana__export_example *example = &own->examples->items[i];
        const liana_predictor_port output = liana_predictor_output(own->predictor, 0);
        liana__value *item = liana__value_map(own->arena);
        if (example->id) liana__value_set(own->arena, item, "id", liana__value_string(own->arena, example->id));
        if (example->label >= 0) {
            liana__value_set(own->arena, item, "label", liana__value_int(own->arena, example->label));
        }
        if (example->label >= 0 && (size_t)example->label < output.num_class_names) {
            const char *name = output.class_names[example->label];
            liana__value_set(own->arena, item, "class", liana__value_string(own->arena, name));
        }
        liana__value_add(own->arena, list, item);
    }
    return list;
}

liana_status liana__export_write_examples(const liana_predictor *predictor, const liana__export_examples *examples,
                                          const char *folder, liana__arena *arena, liana__error *error)
{
    const writing own = {predictor, examples, liana__path_join(arena, folder, "examples"), arena, error};
    liana__value *map = liana__value_map(arena), *inputs = liana__value_map(arena), *outputs = liana__value_map(arena);
    liana__value *images = liana__value_list(arena);
    const char *path = own.folder ? liana__path_join(arena, own.folder, "examples.json") : NULL;
    if (!path || !map) return liana__fail_memory(error, "the examples");
    LIANA_TRY(liana__folder_make(own.folder, error));
    LIANA_TRY(write_inputs(&own, inputs));
    LIANA_TRY(write_outputs(&own, outputs));
    LIANA_TRY(write_images(&own, images));
    liana__value_set(arena, map, "from", liana__value_string(arena, examples->source ? examples->source : "made up"));
    liana__value_set(arena, map, "count", liana__value_int(arena, (int64_t)examples->count));
    liana__value_set(arena, map, "inputs", inputs);
    liana__value_set(arena, map, "outputs", outputs);
    if (images->count) liana__value_set(arena, map, "images", images);
    liana__value_set(arena, map, "examples", list_items(&own));
    if (arena->failed) return liana__fail_memory(error, "the examples");
    return liana__json_write(path, map, error);
}

/* ---- reading ---- */

typedef struct reading {
    const liana_predictor *predictor;
    const char *folder;
    const liana__value *map;
    liana__arena *arena;
    liana__export_examples *examples;
    liana__error *error;
} reading;

static liana_status find_file(const reading *own, const char *kind, const char *port, const char **path)
{
    const char *name = liana__value_text_of(liana__value_get(own->map, kind), port, NULL);
    if (!name || strchr(name, '/')) {
        return liana__fail(own->error, LIANA_INVALID_DATA, "'%s/examples.json' names no file for '%s' in \"%s\"",
                           own->folder, port, kind);
    }
    *path = liana__path_join(own->arena, own->folder, name);
    return *path ? LIANA_OK : liana__fail_memory(own->error, "the examples");
}

/* Rows of `each` values, `stride` values apart. */
static liana_status read_array(const reading *own, const char *path, liana_dtype dtype, int64_t each, void *values,
                               int64_t stride)
{
    liana__npy_array array;
    const int64_t count = (int64_t)own->examples->count;
    LIANA_TRY(liana__npy_open(path, &array, own->error));
    liana_status status = LIANA_OK;
    if (array.dtype != dtype || array.num_dims < 1 || array.dims[0] != count || array.row_values != each) {
        status = liana__fail(own->error, LIANA_INVALID_DATA,
                             "'%s' is %s with %lld rows of %lld values, expected %s with %lld rows of %lld: it is not "
                             "of this model",
                             path, liana_dtype_name(array.dtype), (long long)(array.num_dims ? array.dims[0] : 0),
                             (long long)array.row_values, liana_dtype_name(dtype), (long long)count, (long long)each);
    }
    for (int64_t i = 0; status == LIANA_OK && i < count; i++) {
        status = liana__npy_read_row(&array, i, (float *)values + i * stride, own->error);
    }
    liana__npy_close(&array);
    return status;
}

static liana_status read_texts(const reading *own, const char *path, int64_t each, liana_bytes *texts)
{
    liana__value *list;
    LIANA_TRY(liana__json_read(path, own->arena, &list, own->error));
    for (size_t i = 0; i < own->examples->count; i++) {
        const bool has_row = list->kind == LIANA__VALUE_LIST && i < list->count;
        const liana__value *row = has_row ? list->items[i] : NULL;
        for (int64_t k = 0; k < each; k++) {
            const bool has_text = row && row->kind == LIANA__VALUE_LIST && (size_t)k < row->count &&
                                  row->items[k]->kind == LIANA__VALUE_STRING;
            if (!has_text) {
                return liana__fail(own->error, LIANA_INVALID_DATA, "'%s': expected %zu lists of %lld texts", path,
                                   own->examples->count, (long long)each);
            }
            texts[(int64_t)i * each + k] = (liana_bytes){row->items[k]->string, strlen(row->items[k]->string)};
        }
    }
    return LIANA_OK;
}

static liana_status read_input(const reading *own, size_t index)
{
    const liana_predictor_port port = liana_predictor_input(own->predictor, index);
    const bool is_text = port.dtype == LIANA_STRING;
    const size_t size = is_text ? sizeof(liana_bytes) : sizeof(float);
    void *values = liana__arena_allocate(own->arena, own->examples->count * (size_t)port.num_values * size + 1);
    liana_array *array = &own->examples->inputs[index];
    const char *path;
    if (!values) return liana__fail_memory(own->error, "the examples");
    *array = (liana_array){port.name, port.is_image ? (int)LIANA_F32 : port.dtype, port.shape, values};
    array->shape.dims[0] = (int64_t)own->examples->count;
    LIANA_TRY(find_file(own, "inputs", port.name, &path));
    if (is_text) return read_texts(own, path, port.num_values, values);
    return read_array(own, path, (liana_dtype)array->dtype, port.num_values, values, port.num_values);
}

liana_status liana__export_read_examples(const liana_predictor *predictor, const char *folder, liana__arena *arena,
                                         liana__export_examples *examples, liana__error *error)
{
    const liana_predictor_facts facts = liana_predictor_info(predictor);
    reading own = {predictor, liana__path_join(arena, folder, "examples"), NULL, arena, examples, error};
    const char *path = own.folder ? liana__path_join(arena, own.folder, "examples.json") : NULL;
    liana__value *map;
    if (!path) return liana__fail_memory(error, "the examples");
    LIANA_TRY(liana__json_read(path, arena, &map, error));
    own.map = map;
    const int64_t count = liana__value_int_of(map, "count", 0);
    if (count < 1 || count > LIANA__MOST_EXPORT_EXAMPLES) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': \"count\" is %lld, expected 1 to %d", path,
                           (long long)count, LIANA__MOST_EXPORT_EXAMPLES);
    }
    *examples = (liana__export_examples){.count = (size_t)count, .num_inputs = facts.num_inputs};
    for (size_t i = 0; i < facts.num_inputs; i++) LIANA_TRY(read_input(&own, i));
    examples->outputs = liana__arena_allocate(arena, (size_t)(count * facts.num_values) * sizeof(float) + 1);
    if (!examples->outputs) return liana__fail_memory(error, "the examples");
    for (size_t i = 0; i < facts.num_outputs; i++) {
        const liana_predictor_port port = liana_predictor_output(predictor, i);
        LIANA_TRY(find_file(&own, "outputs", port.name, &path));
        LIANA_TRY(
            read_array(&own, path, LIANA_F32, port.num_values, examples->outputs + port.offset, facts.num_values));
    }
    return LIANA_OK;
}
