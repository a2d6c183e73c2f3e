/* NASNetMobile and NASNetLarge: Zoph et al. 2018, figure 4 (NASNet-A); layer names as in keras.applications.
 *
 * A network is a row of cells. Each cell reads the results of the two cells before it. A normal cell keeps height and
 * width, a reduction cell halves them. */
#include "layers/option_rows.h"
#include "models/models.h"

enum { NUM_STAGES = 3 };
typedef struct variant {
    int64_t filters;      /* of the first normal cells */
    int64_t stem_filters; /* of the first convolution */
    int repeats;          /* normal cells in a row */
    bool skips_reduction; /* the cell after a reduction cell reads what that one reads as the cell before the last */
} variant;

static const char he_normal[] = "he_normal";

/* The cell whose layers are added: their names end in `id`, such as "stem_1", "7" or "reduce_4". */
typedef struct cell {
    liana_model *m;
    const char *id;
    int64_t filters;
} cell;

/* The results of the last two cells. */
typedef struct results {
    liana_layer last, before;
} results;

#define NAMED(own, place) liana__print_layer_name("%s_%s", place, (own)->id).text

static liana_layer add_relu(liana_model *m, liana_layer input)
{
    return liana_activation(m, .activation = "relu", .input = input);
}

static liana_layer add_batch_norm(liana_model *m, const char *name)
{
    return liana_batch_normalization(m, .epsilon = 1e-3, .momentum = 0.9997, .name = name);
}

/* A convolution of single pixels, after the model's last layer. */
static liana_layer add_pointwise(const cell *own, int64_t filters, const char *place)
{
    return liana_conv2d(own->m, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .use_bias = false,
                        .kernel_initializer = he_normal, .name = NAMED(own, place));
}

/* ---- the parts of a cell ---- */

/* Two separable convolutions; the first may have strides. */
static liana_layer add_separable(const cell *own, liana_layer input, int64_t kernel_size, int64_t strides,
                                 const char *place)
{
    liana_model *m = own->m;
    const bool strided = strides > 1;
    const liana_layer x = add_relu(m, input);
    if (strided) {
        liana_zero_padding2d(m, .padding = liana__strided_padding(x, kernel_size),
                             .name = liana__print_layer_name("separable_conv_1_pad_%s_%s", place, own->id).text);
    }
    liana_separable_conv2d(m, .filters = own->filters, .kernel_size = kernel_size, .strides = strides,
                           .padding = strided ? LIANA_PADDING_VALID : LIANA_PADDING_SAME, .use_bias = false,
                           .name = liana__print_layer_name("separable_conv_1_%s_%s", place, own->id).text);
    add_relu(m, add_batch_norm(m, liana__print_layer_name("separable_conv_1_bn_%s_%s", place, own->id).text));
    liana_separable_conv2d(m, .filters = own->filters, .kernel_size = kernel_size, .padding = LIANA_PADDING_SAME,
                           .use_bias = false,
                           .name = liana__print_layer_name("separable_conv_2_%s_%s", place, own->id).text);
    return add_batch_norm(m, liana__print_layer_name("separable_conv_2_bn_%s_%s", place, own->id).text);
}

static liana_layer add_mean(const cell *own, liana_layer input, const char *place)
{
    return liana_average_pooling2d(own->m, .pool_size = 3, .strides = 1, .padding = LIANA_PADDING_SAME, .input = input,
                                   .name = NAMED(own, place));
}

static liana_layer add_sum(const cell *own, liana_layer a, liana_layer b, const char *place)
{
    return liana_add(own->m, .inputs = {a, b}, .name = NAMED(own, place));
}

/* Half the height and width: every second pixel, beside every second pixel of the image moved by one. */
static liana_layer add_halved(const cell *own, liana_layer input)
{
    liana_model *m = own->m;
    const liana_layer x =
        liana_activation(m, .activation = "relu", .input = input, .name = NAMED(own, "adjust_relu_1"));
    liana_average_pooling2d(m, .pool_size = 1, .strides = 2, .name = NAMED(own, "adjust_avg_pool_1"));
    const liana_layer even = add_pointwise(own, own->filters / 2, "adjust_conv_1");
    liana_zero_padding2d(m, .padding = LIANA_INTS(0, 1, 0, 1), .input = x);
    liana_cropping2d(m, .cropping = LIANA_INTS(1, 0, 1, 0));
    liana_average_pooling2d(m, .pool_size = 1, .strides = 2, .name = NAMED(own, "adjust_avg_pool_2"));
    const liana_layer odd = add_pointwise(own, own->filters / 2, "adjust_conv_2");
    liana_concatenate(m, .inputs = {even, odd});
    return add_batch_norm(m, NAMED(own, "adjust_bn"));
}

/* The result of the cell before the last, with the height, width and channels that this cell works with. */
static liana_layer add_adjusted(const cell *own, const results *x)
{
    if (!x->before.model) return x->last;
    const liana_shape shape = liana_layer_shape(x->before);
    if (shape.dims[2] != liana_layer_shape(x->last).dims[2]) return add_halved(own, x->before);
    if (shape.dims[3] == own->filters) return x->before;
    add_relu(own->m, x->before);
    add_pointwise(own, own->filters, "adjust_conv_projection");
    return add_batch_norm(own->m, NAMED(own, "adjust_bn"));
}

/* ---- cells ---- */

static results add_normal_cell(const cell *own, results x)
{
    const liana_layer p = add_adjusted(own, &x);
    add_relu(own->m, x.last);
    add_pointwise(own, own->filters, "normal_conv_1");
    const liana_layer h = add_batch_norm(own->m, NAMED(own, "normal_bn_1"));
    liana_layer left = add_separable(own, h, 5, 1, "normal_left1"),
                right = add_separable(own, p, 3, 1, "normal_right1");
    const liana_layer x1 = add_sum(own, left, right, "normal_add_1");
    left = add_separable(own, p, 5, 1, "normal_left2");
    right = add_separable(own, p, 3, 1, "normal_right2");
    const liana_layer x2 = add_sum(own, left, right, "normal_add_2");
    const liana_layer x3 = add_sum(own, add_mean(own, h, "normal_left3"), p, "normal_add_3");
    left = add_mean(own, p, "normal_left4");
    right = add_mean(own, p, "normal_right4");
    const liana_layer x4 = add_sum(own, left, right, "normal_add_4");
    const liana_layer x5 = add_sum(own, add_separable(own, h, 3, 1, "normal_left5"), h, "normal_add_5");
    const liana_layer all =
        liana_concatenate(own->m, .inputs = {p, x1, x2, x3, x4, x5}, .name = NAMED(own, "normal_concat"));
    return (results){all, x.last};
}

static liana_layer add_pooled(const cell *own, bool is_maximum, liana_layer padded, const char *place)
{
    if (is_maximum) {
        return liana_max_pooling2d(own->m, .pool_size = 3, .strides = 2, .input = padded, .name = NAMED(own, place));
    }
    return liana_average_pooling2d(own->m, .pool_size = 3, .strides = 2, .input = padded, .name = NAMED(own, place));
}

static results add_reduction_cell(const cell *own, results x)
{
    const liana_layer p = add_adjusted(own, &x);
    add_relu(own->m, x.last);
    add_pointwise(own, own->filters, "reduction_conv_1");
    const liana_layer h = add_batch_norm(own->m, NAMED(own, "reduction_bn_1"));
    const liana_layer padded =
        liana_zero_padding2d(own->m, .padding = liana__strided_padding(h, 3), .name = NAMED(own, "reduction_pad_1"));
    liana_layer left = add_separable(own, h, 5, 2, "reduction_left1"),
                right = add_separable(own, p, 7, 2, "reduction_right1");
    const liana_layer x1 = add_sum(own, left, right, "reduction_add_1");
    left = add_pooled(own, true, padded, "reduction_left2");
    right = add_separable(own, p, 7, 2, "reduction_right2");
    const liana_layer x2 = add_sum(own, left, right, "reduction_add_2");
    left = add_pooled(own, false, padded, "reduction_left3");
    right = add_separable(own, p, 5, 2, "reduction_right3");
    const liana_layer x3 = add_sum(own, left, right, "reduction_add3");
    const liana_layer x4 = liana_add(own->m, .inputs = {x2, add_mean(own, x1, "reduction_left4")});
    left = add_separable(own, x1, 3, 1, "reduction_left4");
    right = add_pooled(own, true, padded, "reduction_right5");
    const liana_layer x5 = add_sum(own, left, right, "reduction_add4");
    const liana_layer all =
        liana_concatenate(own->m, .inputs = {x2, x3, x4, x5}, .name = NAMED(own, "reduction_concat"));
    return (results){all, x.last};
}

/* ---- the whole ---- */

static liana_layer add_cells(const variant *own, liana_model *m, liana_layer stem)
{
    results x = add_reduction_cell(&(cell){m, "stem_1", own->filters / 4}, (results){.last = stem});
    x = add_reduction_cell(&(cell){m, "stem_2", own->filters / 2}, x);
    int64_t filters = own->filters;
    for (int stage = 0; stage < NUM_STAGES; stage++) {
        const int first = stage * own->repeats;
        if (stage > 0) {
            const liana_layer before = x.before;
            filters *= 2;
            x = add_reduction_cell(&(cell){m, liana__print_layer_name("reduce_%d", first).text, filters}, x);
            if (own->skips_reduction) x.before = before;
        }
        for (int i = 0; i < own->repeats; i++) {
            const int number = first + i + (stage > 0); /* reduction cells count, too */
            x = add_normal_cell(&(cell){m, liana__print_layer_name("%d", number).text, filters}, x);
        }
    }
    return x.last;
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const liana__architecture_options *options = chosen;
    const variant *own = self->variant;
    liana_conv2d(m, .filters = own->stem_filters, .kernel_size = 3, .strides = 2, .use_bias = false,
                 .kernel_initializer = he_normal, .name = "stem_conv1");
    add_relu(m, add_cells(own, m, add_batch_norm(m, "stem_bn1")));
    if (!options->include_top) {
        liana__pooling_add(m, options->pooling);
        return;
    }
    liana_global_average_pooling2d(m);
    liana_dense(m, .units = options->classes, .activation = options->classifier_activation, .name = "predictions");
}

#define ARCHITECTURE(stem, size_name, side, options_type, ...)                                                     \
    static const liana__field rows_##stem[] = {                                                                    \
        LIANA__ARCHITECTURE_ROWS_OF(options_type, "[" #side ", " #side ", 3]"),                                    \
    };                                                                                                             \
    static const liana__fields options_##stem = LIANA__FIELD_TABLE("NASNet" size_name, options_type, rows_##stem); \
    const liana__architecture liana__architecture_nasnet_##stem = {                                                \
        .name = "NASNet" size_name,                                                                                \
        .doc = "cells that a search found, for " #side " pixels (Zoph et al. 2018)",                               \
        .options = &options_##stem,                                                                                \
        .default_size = side,                                                                                      \
        .minimum_size = 32,                                                                                        \
        .scale = LIANA_SCALE_MINUS_ONE_ONE,                                                                        \
        .variant = &(const variant){__VA_ARGS__},                                                                  \
        .build = build,                                                                                            \
        .keras_name = "nasnet_" #stem,                                                                             \
    }
ARCHITECTURE(mobile, "Mobile", 224, liana_nasnet_mobile_options, .filters = 44, .stem_filters = 32, .repeats = 4);
ARCHITECTURE(large, "Large", 331, liana_nasnet_large_options, .filters = 168, .stem_filters = 96, .repeats = 6,
             .skips_reduction = true);
