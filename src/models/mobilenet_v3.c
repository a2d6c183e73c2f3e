/* MobileNetV3Small and MobileNetV3Large: Howard et al. 2019, tables 1 and 2; layer names as in keras.applications. */
#include "layers/model.h"
#include "layers/option_rows.h"
#include "models/origin.h"

static const liana__field rows[] = {
    LIANA__ARCHITECTURE_ROWS(liana_mobilenet_v3_options),
    LIANA__FIELD_ROW(liana_mobilenet_v3_options, alpha, FLOAT, .default_text = "1.0", .minimum = 0.01, .maximum = 10,
                     .doc = "width multiplier: the number of filters of every block"),
    LIANA__FIELD_ROW(liana_mobilenet_v3_options, minimalistic, BOOL, .default_text = "false",
                     .doc = "ReLU, 3 x 3 kernels and no squeeze and excitation: faster where these are slow"),
    LIANA__FIELD_ROW(liana_mobilenet_v3_options, dropout_rate, FLOAT, .default_text = "0.2", .maximum = 0.999999,
                     .doc = "dropout rate in its own classifier"),
    LIANA__INCLUDE_PREPROCESSING_ROW(liana_mobilenet_v3_options),
};
static const liana__fields options_small = LIANA__FIELD_TABLE("MobileNetV3Small", liana_mobilenet_v3_options, rows);
static const liana__fields options_large = LIANA__FIELD_TABLE("MobileNetV3Large", liana_mobilenet_v3_options, rows);

/* An inverted residual of the paper's tables. The first one of a network does not expand. */
typedef struct stage {
    double expansion;
    int filters, kernel_size, strides;
    bool has_excitation, has_hard_swish; /* unless minimalistic */
} stage;

static const stage small_stages[] = {
    {1, 16, 3, 2, true, false}, {72.0 / 16, 24, 3, 2, false, false}, {88.0 / 24, 24, 3, 1, false, false},
    {4, 40, 5, 2, true, true},  {6, 40, 5, 1, true, true},           {6, 40, 5, 1, true, true},
    {3, 48, 5, 1, true, true},  {3, 48, 5, 1, true, true},           {6, 96, 5, 2, true, true},
    {6, 96, 5, 1, true, true},  {6, 96, 5, 1, true, true},
};
static const stage large_stages[] = {
    {1, 16, 3, 1, false, false},  {4, 24, 3, 2, false, false},  {3, 24, 3, 1, false, false},
    {3, 40, 5, 2, true, false},   {3, 40, 5, 1, true, false},   {3, 40, 5, 1, true, false},
    {6, 80, 3, 2, false, true},   {2.5, 80, 3, 1, false, true}, {2.3, 80, 3, 1, false, true},
    {2.3, 80, 3, 1, false, true}, {6, 112, 3, 1, true, true},   {6, 112, 3, 1, true, true},
    {6, 160, 5, 2, true, true},   {6, 160, 5, 1, true, true},   {6, 160, 5, 1, true, true},
};

typedef struct variant {
    const stage *stages;
    int num_stages;
    int features; /* of the layer before the classifier */
} variant;

/* A network that is being built. */
typedef struct building {
    liana_model *m;
    const liana_mobilenet_v3_options *options;
} building;

static liana_layer add_batch_norm(const building *own, const char *name)
{
    return liana_batch_normalization(own->m, .epsilon = 1e-3, .momentum = 0.999, .name = name);
}

static liana_layer add_activation(const building *own, bool has_hard_swish)
{
    if (!has_hard_swish || own->options->minimalistic) return liana_relu(own->m);
    return liana_activation(own->m, .activation = "hard_swish");
}

/* The hard sigmoid ReLU6(x + 3) / 6 in Keras's pieces, two of them functions with the names that Keras gives them. */
static liana_layer add_hard_sigmoid(const building *own, liana_layer x)
{
    liana_model *m = own->m;
    x = liana_operation(m, .function = "add(x2=3.0)", .inputs = {x}, .name = liana__model_free_name(m, "add", false));
    x = liana_relu(m, .max_value = 6);
    return liana_operation(m, .function = "multiply(x2=0.16666666666666666)", .inputs = {x},
                           .name = liana__model_free_name(m, "multiply", false));
}

/* Squeeze and excitation (Hu et al. 2018). The names of its layers begin with `name`. */
static liana_layer add_excitation(const building *own, const char *name, liana_layer input)
{
    liana_model *m = own->m;
    const int64_t filters = liana_layer_shape(input).dims[3];
    liana_global_average_pooling2d(m, .keepdims = true,
                                   .name = liana__print_layer_name("%ssqueeze_excite_avg_pool", name).text);
    liana_conv2d(m, .filters = liana__round_filters((double)filters * 0.25), .kernel_size = 1,
                 .padding = LIANA_PADDING_SAME, .name = liana__print_layer_name("%ssqueeze_excite_conv", name).text);
    liana_relu(m, .name = liana__print_layer_name("%ssqueeze_excite_relu", name).text);
    liana_layer x = liana_conv2d(m, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                                 .name = liana__print_layer_name("%ssqueeze_excite_conv_1", name).text);
    x = add_hard_sigmoid(own, x);
    return liana_multiply(m, .inputs = {input, x}, .name = liana__print_layer_name("%ssqueeze_excite_mul", name).text);
}

static liana_layer add_depthwise(const building *own, const char *name, const stage *of, liana_layer input)
{
    const int64_t kernel_size = own->options->minimalistic ? 3 : of->kernel_size;
    if (of->strides > 1) {
        liana_zero_padding2d(own->m, .padding = liana__strided_padding(input, kernel_size),
                             .name = liana__print_layer_name("%sdepthwise_pad", name).text);
    }
    liana_depthwise_conv2d(own->m, .kernel_size = kernel_size, .strides = of->strides, .use_bias = false,
                           .padding = of->strides > 1 ? LIANA_PADDING_VALID : LIANA_PADDING_SAME,
                           .name = liana__print_layer_name("%sdepthwise", name).text);
    add_batch_norm(own, liana__print_layer_name("%sdepthwise_bn", name).text);
    return add_activation(own, of->has_hard_swish);
}

static liana_layer add_block(const building *own, const stage *of, int block, liana_layer input)
{
    const int64_t channels = liana_layer_shape(input).dims[3];
    const int64_t filters = liana__round_filters(of->filters * own->options->alpha);
    const liana__layer_name prefix =
        block ? liana__print_layer_name("expanded_conv_%d_", block) : liana__print_layer_name("expanded_conv_");
    liana_layer x = input;
    if (block > 0) {
        liana_conv2d(own->m, .filters = liana__round_filters((double)channels * of->expansion), .kernel_size = 1,
                     .padding = LIANA_PADDING_SAME, .use_bias = false,
                     .name = liana__print_layer_name("%sexpand", prefix.text).text);
        add_batch_norm(own, liana__print_layer_name("%sexpand_bn", prefix.text).text);
        x = add_activation(own, of->has_hard_swish);
    }
    x = add_depthwise(own, prefix.text, of, x);
    if (of->has_excitation && !own->options->minimalistic) add_excitation(own, prefix.text, x);
    liana_conv2d(own->m, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .name = liana__print_layer_name("%sproject", prefix.text).text);
    x = add_batch_norm(own, liana__print_layer_name("%sproject_bn", prefix.text).text);
    if (of->strides > 1 || channels != filters) return x;
    return liana_add(own->m, .inputs = {input, x}, .name = liana__print_layer_name("%sadd", prefix.text).text);
}

/* Its classifier is made of convolutions. */
static void add_top(const building *own, int64_t features)
{
    liana_model *m = own->m;
    liana_global_average_pooling2d(m, .keepdims = true);
    liana_conv2d(m, .filters = features, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .name = "conv_2");
    add_activation(own, true);
    if (own->options->dropout_rate > 0) liana_dropout(m, .rate = own->options->dropout_rate);
    liana_conv2d(m, .filters = own->options->classes, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                 .name = "logits");
    liana_flatten(m);
    liana_activation(m, .activation = own->options->classifier_activation, .name = "predictions");
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const variant *network = self->variant;
    const building own = {m, chosen};
    const double alpha = own.options->alpha;
    if (own.options->include_preprocessing) liana_rescaling(m, .scale = 1 / 127.5, .offset = -1);
    liana_conv2d(m, .filters = 16, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .name = "conv");
    add_batch_norm(&own, "conv_bn");
    liana_layer x = add_activation(&own, true);
    for (int block = 0; block < network->num_stages; block++) x = add_block(&own, &network->stages[block], block, x);
    liana_conv2d(m, .filters = liana__round_filters(6 * (double)liana_layer_shape(x).dims[3]), .kernel_size = 1,
                 .padding = LIANA_PADDING_SAME, .use_bias = false, .name = "conv_1");
    add_batch_norm(&own, "conv_1_bn");
    add_activation(&own, true);
    if (own.options->include_top) {
        /* Narrow models keep the paper's full number of features. */
        add_top(&own, alpha > 1 ? liana__round_filters(network->features * alpha) : network->features);
    } else {
        liana__top_add(m, chosen, 0, NULL);
    }
}

/* Keras's name of the model says neither the width nor the style. */
static void find_options(const liana_model *model, liana__model_origin *origin)
{
    const variant *network = liana__architecture_find(origin->architecture, NULL)->variant;
    const int kernel = liana__model_find_weight(model, "conv_1/kernel");
    const double filters = network->stages[network->num_stages - 1].filters;
    if (kernel >= 0) origin->alpha = (double)model->weights[kernel].shape.dims[2] / filters;
    origin->is_minimalistic = liana__model_find_layer(model, "expanded_conv_3_squeeze_excite_conv") < 0;
}

#define ARCHITECTURE(stem, size, last)                                                                  \
    const liana__architecture liana__architecture_mobilenet_v3_##stem = {                               \
        .name = "MobileNetV3" size,                                                                     \
        .doc = "inverted residuals found by a search, " #stem " (Howard et al. 2019)",                  \
        .options = &options_##stem,                                                                     \
        .default_size = 224,                                                                            \
        .minimum_size = 32,                                                                             \
        .scale = LIANA_SCALE_MINUS_ONE_ONE,                                                             \
        .variant = &(const variant){stem##_stages, sizeof stem##_stages / sizeof *stem##_stages, last}, \
        .build = build,                                                                                 \
        .keras_name = "MobileNetV3" size,                                                               \
        .find_options = find_options,                                                                   \
        .top = "logits",                                                                                \
    }
ARCHITECTURE(small, "Small", 1024);
ARCHITECTURE(large, "Large", 1280);
