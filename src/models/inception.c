/* InceptionV3 (Szegedy et al. 2015, "Rethinking the Inception Architecture") and InceptionResNetV2 (Szegedy et al.
 * 2016); numbers and names of layers as in keras.applications. Most layers have automatic names, so layers are added in
 * the order in which Keras makes them. */
#include "layers/option_rows.h"
#include "models/models.h"

enum { DEFAULT_SIZE = 299, MINIMUM_SIZE = 75 };

/* A convolution with its batch normalisation and activation. */
typedef struct unit {
    int filters, rows, columns;           /* of the kernel */
    enum { SAME, VALID, REDUCE } windows; /* REDUCE: valid windows, two pixels apart */
} unit;

static liana_layer add_conv(liana_model *m, const unit *of, const char *name, bool use_bias, liana_layer input)
{
    return liana_conv2d(m, .filters = of->filters, .kernel_size = {of->rows, of->columns},
                        .strides = of->windows == REDUCE ? 2 : 1, .use_bias = use_bias, .name = name, .input = input,
                        .padding = of->windows == SAME ? LIANA_PADDING_SAME : LIANA_PADDING_VALID);
}

/* Adds units one after the other, up to one without filters. */
static liana_layer add_units(liana_model *m, liana_layer x, const unit *units)
{
    for (; units->filters; units++) {
        add_conv(m, units, NULL, false, x);
        liana_batch_normalization(m, .scale = false);
        x = liana_activation(m, .activation = "relu");
    }
    return x;
}
#define ADD_UNITS(m, x, ...) add_units(m, x, (const unit[]){__VA_ARGS__, {0}})

static liana_layer add_average(liana_model *m, liana_layer x)
{
    return liana_average_pooling2d(m, .pool_size = 3, .strides = 1, .padding = LIANA_PADDING_SAME, .input = x);
}

static liana_layer add_reduction(liana_model *m, liana_layer x)
{
    return liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .input = x);
}

/* The same in both networks. */
static liana_layer add_stem(liana_model *m)
{
    const liana_layer before = {0};
    ADD_UNITS(m, before, {32, 3, 3, REDUCE}, {32, 3, 3, VALID}, {64, 3, 3, SAME});
    liana_layer x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2);
    x = ADD_UNITS(m, x, {80, 1, 1, VALID}, {192, 3, 3, VALID});
    return add_reduction(m, x);
}

static void add_top(liana_model *m, const liana__architecture_options *options)
{
    if (options->include_top) {
        liana__top_add(m, options, 0, "glorot_uniform");
    } else {
        liana__pooling_add(m, options->pooling);
    }
}

static liana__layer_name mixed(int number)
{
    return liana__print_layer_name("mixed%d", number);
}

/* ---- InceptionV3 ---- */

/* Figure 5: the 5 x 5 windows as two of 3 x 3. */
static liana_layer add_block_a(liana_model *m, int number, liana_layer x, int pooled)
{
    const liana_layer narrow = ADD_UNITS(m, x, {64, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {48, 1, 1, SAME}, {64, 5, 5, SAME});
    const liana_layer twice = ADD_UNITS(m, x, {64, 1, 1, SAME}, {96, 3, 3, SAME}, {96, 3, 3, SAME});
    const liana_layer average = ADD_UNITS(m, add_average(m, x), {pooled, 1, 1, SAME});
    return liana_concatenate(m, .inputs = {narrow, wide, twice, average}, .name = mixed(number).text);
}

/* Figure 6: windows of 7 x 7 as rows and columns. */
static liana_layer add_block_b(liana_model *m, int number, liana_layer x, int within)
{
    const liana_layer narrow = ADD_UNITS(m, x, {192, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {within, 1, 1, SAME}, {within, 1, 7, SAME}, {192, 7, 1, SAME});
    const liana_layer twice = ADD_UNITS(m, x, {within, 1, 1, SAME}, {within, 7, 1, SAME}, {within, 1, 7, SAME},
                                        {within, 7, 1, SAME}, {192, 1, 7, SAME});
    const liana_layer average = ADD_UNITS(m, add_average(m, x), {192, 1, 1, SAME});
    return liana_concatenate(m, .inputs = {narrow, wide, twice, average}, .name = mixed(number).text);
}

/* Figure 7: rows and columns beside each other. Only the first of the two inner Concatenates has a name of its own. */
static liana_layer add_block_c(liana_model *m, int number, liana_layer x)
{
    const liana_layer narrow = ADD_UNITS(m, x, {320, 1, 1, SAME});
    liana_layer wide = ADD_UNITS(m, x, {384, 1, 1, SAME});
    const liana_layer row = ADD_UNITS(m, wide, {384, 1, 3, SAME}), column = ADD_UNITS(m, wide, {384, 3, 1, SAME});
    wide = liana_concatenate(m, .inputs = {row, column}, .name = liana__print_layer_name("mixed9_%d", number - 9).text);
    liana_layer twice = ADD_UNITS(m, x, {448, 1, 1, SAME}, {384, 3, 3, SAME});
    const liana_layer second_row = ADD_UNITS(m, twice, {384, 1, 3, SAME}),
                      second_column = ADD_UNITS(m, twice, {384, 3, 1, SAME});
    twice = liana_concatenate(m, .inputs = {second_row, second_column});
    const liana_layer average = ADD_UNITS(m, add_average(m, x), {192, 1, 1, SAME});
    return liana_concatenate(m, .inputs = {narrow, wide, twice, average}, .name = mixed(number).text);
}

static void build_v3(const liana__architecture *self, liana_model *m, const void *options)
{
    (void)self;
    liana_layer x = add_stem(m);
    for (int i = 0; i < 3; i++) x = add_block_a(m, i, x, i == 0 ? 32 : 64);
    liana_layer wide = ADD_UNITS(m, x, {384, 3, 3, REDUCE});
    liana_layer twice = ADD_UNITS(m, x, {64, 1, 1, SAME}, {96, 3, 3, SAME}, {96, 3, 3, REDUCE});
    x = liana_concatenate(m, .inputs = {wide, twice, add_reduction(m, x)}, .name = "mixed3");
    static const int within[] = {128, 160, 160, 192};
    for (int i = 0; i < 4; i++) x = add_block_b(m, 4 + i, x, within[i]);
    wide = ADD_UNITS(m, x, {192, 1, 1, SAME}, {320, 3, 3, REDUCE});
    twice = ADD_UNITS(m, x, {192, 1, 1, SAME}, {192, 1, 7, SAME}, {192, 7, 1, SAME}, {192, 3, 3, REDUCE});
    x = liana_concatenate(m, .inputs = {wide, twice, add_reduction(m, x)}, .name = "mixed8");
    for (int i = 9; i < 11; i++) x = add_block_c(m, i, x);
    add_top(m, options);
}

/* ---- InceptionResNetV2 ---- */

/* The input and `scale` times a convolution of the branches, which has as many channels as the input. */
static liana_layer add_residual(liana_model *m, const char *kind, int number, liana_layer input, double scale,
                                const liana_layer branches[3])
{
    const liana__layer_name block = liana__print_layer_name("%s_%d", kind, number);
    const unit up = {(int)liana_layer_shape(input).dims[3], 1, 1, SAME};
    liana_layer x = liana_concatenate(m, .inputs = {branches[0], branches[1], branches[2]},
                                      .name = liana__print_layer_name("%s_mixed", block.text).text);
    x = add_conv(m, &up, liana__print_layer_name("%s_conv", block.text).text, true, x);
    return liana_custom_scale_layer(m, .inputs = {input, x}, .scale = scale);
}

static liana_layer add_residual_relu(liana_model *m, const char *kind, int number)
{
    return liana_activation(m, .activation = "relu", .name = liana__print_layer_name("%s_%d_ac", kind, number).text);
}

static liana_layer add_block35(liana_model *m, int number, liana_layer x)
{
    const liana_layer narrow = ADD_UNITS(m, x, {32, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {32, 1, 1, SAME}, {32, 3, 3, SAME});
    const liana_layer twice = ADD_UNITS(m, x, {32, 1, 1, SAME}, {48, 3, 3, SAME}, {64, 3, 3, SAME});
    add_residual(m, "block35", number, x, 0.17, (const liana_layer[3]){narrow, wide, twice});
    return add_residual_relu(m, "block35", number);
}

static liana_layer add_block17(liana_model *m, int number, liana_layer x)
{
    const liana_layer narrow = ADD_UNITS(m, x, {192, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {128, 1, 1, SAME}, {160, 1, 7, SAME}, {192, 7, 1, SAME});
    add_residual(m, "block17", number, x, 0.1, (const liana_layer[3]){narrow, wide});
    return add_residual_relu(m, "block17", number);
}

/* The last block adds the whole of its branches, and no activation follows. */
static liana_layer add_block8(liana_model *m, int number, liana_layer x, bool is_last)
{
    const liana_layer narrow = ADD_UNITS(m, x, {192, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {192, 1, 1, SAME}, {224, 1, 3, SAME}, {256, 3, 1, SAME});
    x = add_residual(m, "block8", number, x, is_last ? 1 : 0.2, (const liana_layer[3]){narrow, wide});
    return is_last ? x : add_residual_relu(m, "block8", number);
}

/* Mixed 5b, an Inception without a residual. */
static liana_layer add_mixed_5b(liana_model *m, liana_layer x)
{
    const liana_layer narrow = ADD_UNITS(m, x, {96, 1, 1, SAME});
    const liana_layer wide = ADD_UNITS(m, x, {48, 1, 1, SAME}, {64, 5, 5, SAME});
    const liana_layer twice = ADD_UNITS(m, x, {64, 1, 1, SAME}, {96, 3, 3, SAME}, {96, 3, 3, SAME});
    const liana_layer average = ADD_UNITS(m, add_average(m, x), {64, 1, 1, SAME});
    return liana_concatenate(m, .inputs = {narrow, wide, twice, average}, .name = "mixed_5b");
}

static liana_layer add_mixed_6a(liana_model *m, liana_layer x)
{
    const liana_layer wide = ADD_UNITS(m, x, {384, 3, 3, REDUCE});
    const liana_layer twice = ADD_UNITS(m, x, {256, 1, 1, SAME}, {256, 3, 3, SAME}, {384, 3, 3, REDUCE});
    return liana_concatenate(m, .inputs = {wide, twice, add_reduction(m, x)}, .name = "mixed_6a");
}

static liana_layer add_mixed_7a(liana_model *m, liana_layer x)
{
    const liana_layer wide = ADD_UNITS(m, x, {256, 1, 1, SAME}, {384, 3, 3, REDUCE});
    const liana_layer wider = ADD_UNITS(m, x, {256, 1, 1, SAME}, {288, 3, 3, REDUCE});
    const liana_layer twice = ADD_UNITS(m, x, {256, 1, 1, SAME}, {288, 3, 3, SAME}, {320, 3, 3, REDUCE});
    return liana_concatenate(m, .inputs = {wide, wider, twice, add_reduction(m, x)}, .name = "mixed_7a");
}

static void build_resnet_v2(const liana__architecture *self, liana_model *m, const void *options)
{
    (void)self;
    liana_layer x = add_mixed_5b(m, add_stem(m));
    for (int i = 1; i <= 10; i++) x = add_block35(m, i, x);
    x = add_mixed_6a(m, x);
    for (int i = 1; i <= 20; i++) x = add_block17(m, i, x);
    x = add_mixed_7a(m, x);
    for (int i = 1; i <= 10; i++) x = add_block8(m, i, x, i == 10);
    add_conv(m, &(const unit){1536, 1, 1, SAME}, "conv_7b", false, x);
    liana_batch_normalization(m, .scale = false, .name = "conv_7b_bn");
    liana_activation(m, .activation = "relu", .name = "conv_7b_ac");
    add_top(m, options);
}

/* ---- both ---- */

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS_OF(liana_inception_options, "[299, 299, 3]")};
#define ARCHITECTURE(stem, own_name, text, own_keras_name)                                                   \
    static const liana__fields options_##stem = LIANA__FIELD_TABLE(own_name, liana_inception_options, rows); \
    const liana__architecture liana__architecture_inception_##stem = {                                       \
        .name = own_name,                                                                                    \
        .doc = text,                                                                                         \
        .options = &options_##stem,                                                                          \
        .default_size = DEFAULT_SIZE,                                                                        \
        .minimum_size = MINIMUM_SIZE,                                                                        \
        .scale = LIANA_SCALE_MINUS_ONE_ONE,                                                                  \
        .build = build_##stem,                                                                               \
        .keras_name = own_keras_name,                                                                        \
    }
ARCHITECTURE(v3, "InceptionV3", "windows of several sizes beside each other (Szegedy et al. 2015)", "inception_v3");
ARCHITECTURE(resnet_v2, "InceptionResNetV2", "Inception modules as scaled residuals (Szegedy et al. 2016)",
             "inception_resnet_v2");
