/* InputLayer: the shape of a model's input. */
#include "layers/option_rows.h"

#include <liana/layers/core.h>
#include <string.h>

/* TensorFlow's names in the order of liana_dtype. */
static const char *const dtype_names[] = {"float32", "bfloat16", "float64", "int32",  "int64", "uint8",
                                          "uint32",  "uint64",   "bool",    "string", NULL};
_Static_assert(sizeof dtype_names / sizeof *dtype_names == LIANA_STRING + 2, "each dtype has a name");
_Static_assert(sizeof(liana_dtype) == sizeof(int), "tables of fields keep an enum as an int");

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_input_options, shape, INTS, .required = true, .minimum = LIANA_ANY_SIZE,
                     .maximum = INT32_MAX,
                     .doc = "shape of one example, without the batch: [height, width, channels]; [] for one number; "
                            "null for a size that the data give: [null, null, 3]"),
    LIANA_OPTION_ROW(
        liana_input_options, dtype, ENUM, .default_text = "float32", .names = dtype_names,
        .doc = "float32, int32 for ids, such as those that an Embedding looks up, or string for texts, which a "
               "StringLookup, TextVectorization or Hashing reads"),
};

static liana_status check_options(liana_check *check)
{
    const liana_input_options *chosen = check->options;
    if (chosen->shape.count >= LIANA_MAX_RANK) {
        return liana_option_refuse(check, "shape", "found %lld dimensions, expected at most %d",
                                   (long long)chosen->shape.count, LIANA_MAX_RANK - 1);
    }
    for (int64_t i = 0; i < chosen->shape.count; i++) {
        if (chosen->shape.values[i]) continue;
        return liana_option_refuse(check, "shape", "found the size 0, expected 1 or more, or null for any size");
    }
    const int dtype = chosen->dtype;
    if (dtype == LIANA_F32 || dtype == LIANA_S32 || dtype == LIANA_STRING) return LIANA_OK;
    return liana_option_refuse(check, "dtype", "found %s, expected float32, int32 for ids, or string for texts",
                               dtype_names[dtype]);
}

/* Ids are int32 here, whatever their width is in the file. Images of uint8 enter a model as floats. */
static void read_dtype(liana__arena *arena, const liana__value *config, liana__value *options_map)
{
    static const char *const ids[] = {"int32", "int64", "uint16", "int16", "uint32", "uint64", "int8", "bool"};
    const liana__value *dtype = liana__value_get(config, "dtype");
    for (size_t i = 0; dtype && dtype->kind == LIANA__VALUE_STRING && i < sizeof ids / sizeof *ids; i++) {
        if (strcmp(dtype->string, ids[i]) != 0) continue;
        liana__value_set(arena, options_map, "dtype", liana__value_string(arena, "int32"));
    }
    if (dtype && dtype->kind == LIANA__VALUE_STRING && strcmp(dtype->string, "string") == 0) {
        liana__value_set(arena, options_map, "dtype", liana__value_string(arena, "string"));
    }
}

/* Keras 1 and 2 write batch_input_shape, Keras 3 batch_shape: [null, 28, 28, 1]. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options_map)
{
    read_dtype(arena, config, options_map);
    const liana__value *batch = liana__value_get(config, "batch_input_shape");
    if (!batch) batch = liana__value_get(config, "batch_shape");
    liana__value *shape = batch && batch->kind == LIANA__VALUE_LIST ? liana__value_list(arena) : NULL;
    if (!shape) return;
    shape->place = batch->place;
    for (size_t i = 1; i < batch->count; i++) liana__value_add(arena, shape, batch->items[i]);
    liana__value_set(arena, options_map, "shape", shape);
}

static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_input_options *input = chosen;
    liana__value *shape = liana__value_list(arena);
    if (!shape) return;
    liana__value_add(arena, shape, liana__value_null(arena));
    for (int64_t i = 0; i < input->shape.count; i++) {
        const int64_t size = input->shape.values[i];
        liana__value_add(arena, shape,
                         size == LIANA_ANY_SIZE ? liana__value_null(arena) : liana__value_int(arena, size));
    }
    liana__value_remove(config, "shape");
    liana__value_remove(config, "trainable");
    liana__value_set(arena, config, "batch_input_shape", shape);
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
    liana__value_set(arena, config, "ragged", liana__value_bool(arena, false));
}

const liana_layer_type liana__layer_input_layer = {
    LIANA_PART(LAYER, liana_layer_type, "InputLayer", "an input of the model",
               LIANA_PART_OPTIONS(liana_input_options, rows), .check = check_options),
    .keeps_shards_apart = true,
    .sums = LIANA_SUMS_KEPT_BY_DOING_NOTHING,
    .from_keras = from_keras,
    .to_keras = to_keras,
};
