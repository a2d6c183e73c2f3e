/* ResNet50, ResNet101 and ResNet152: He et al. 2015, table 1, with the strides in the first convolution of a block.
 * Their second versions: He et al. 2016, "Identity Mappings in Deep Residual Networks", with the strides in the last
 * block of a stage. Layer names and order as in keras.applications. */
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS(liana_resnet_options)};
static const liana__field rows_v2[] = {LIANA__ARCHITECTURE_ROWS(liana_resnet_v2_options)};
static const liana__fields options_table = LIANA__FIELD_TABLE("ResNet", liana_resnet_options, rows);
static const liana__fields options_v2 = LIANA__FIELD_TABLE("ResNetV2", liana_resnet_v2_options, rows_v2);

enum { NUM_STAGES = 4 };
typedef struct variant {
    int blocks[NUM_STAGES];
    bool is_v2;
} variant;

/* ---- version 1: sums are normalised ---- */

static liana_layer add_batch_norm(liana_model *m, const char *block, const char *name, liana_layer input)
{
    return liana_batch_normalization(m, .epsilon = 1.001e-5, .input = input,
                                     .name = liana__print_layer_name("%s_%s", block, name).text);
}

static liana_layer add_relu(liana_model *m, const char *block, const char *name)
{
    return liana_activation(m, .activation = "relu", .name = liana__print_layer_name("%s_%s", block, name).text);
}

/* A bottleneck: 1 x 1, 3 x 3 and 1 x 1 convolutions, added to the input, which the first block of a stage widens. */
static liana_layer add_block_v1(liana_model *m, const char *block, liana_layer input, int64_t filters, int64_t strides,
                                bool widens)
{
    liana_layer x = liana_conv2d(m, .filters = filters, .kernel_size = 1, .strides = strides, .input = input,
                                 .name = liana__print_layer_name("%s_1_conv", block).text);
    add_batch_norm(m, block, "1_bn", x);
    add_relu(m, block, "1_relu");
    x = liana_conv2d(m, .filters = filters, .kernel_size = 3, .padding = LIANA_PADDING_SAME,
                     .name = liana__print_layer_name("%s_2_conv", block).text);
    add_batch_norm(m, block, "2_bn", x);
    x = add_relu(m, block, "2_relu");
    liana_layer shortcut = input;
    if (widens) {
        shortcut = liana_conv2d(m, .filters = 4 * filters, .kernel_size = 1, .strides = strides, .input = input,
                                .name = liana__print_layer_name("%s_0_conv", block).text);
    }
    x = liana_conv2d(m, .filters = 4 * filters, .kernel_size = 1, .input = x,
                     .name = liana__print_layer_name("%s_3_conv", block).text);
    if (widens) shortcut = add_batch_norm(m, block, "0_bn", shortcut);
    x = add_batch_norm(m, block, "3_bn", x);
    liana_add(m, .inputs = {shortcut, x}, .name = liana__print_layer_name("%s_add", block).text);
    return add_relu(m, block, "out");
}

/* ---- version 2: a block normalises its input first ---- */

static liana_layer add_batch_norm_and_relu(liana_model *m, const char *prefix, liana_layer input)
{
    liana_batch_normalization(m, .epsilon = 1.001e-5, .input = input,
                              .name = liana__print_layer_name("%s_bn", prefix).text);
    return liana_activation(m, .activation = "relu", .name = liana__print_layer_name("%s_relu", prefix).text);
}

/* How the input gets past the convolutions: the first block of a stage widens it, a strided one takes every second
 * pixel. */
static liana_layer add_shortcut(liana_model *m, const char *block, liana_layer input, liana_layer activated,
                                int64_t filters, int64_t strides, bool widens)
{
    if (widens) {
        return liana_conv2d(m, .filters = filters, .kernel_size = 1, .strides = strides, .input = activated,
                            .name = liana__print_layer_name("%s_0_conv", block).text);
    }
    return strides > 1 ? liana_max_pooling2d(m, .pool_size = 1, .strides = strides, .input = input) : input;
}

static liana_layer add_block_v2(liana_model *m, const char *block, liana_layer input, int64_t filters, int64_t strides,
                                bool widens)
{
    liana_layer activated = add_batch_norm_and_relu(m, liana__print_layer_name("%s_preact", block).text, input);
    liana_layer x = liana_conv2d(m, .filters = filters, .kernel_size = 1, .use_bias = false,
                                 .name = liana__print_layer_name("%s_1_conv", block).text);
    add_batch_norm_and_relu(m, liana__print_layer_name("%s_1", block).text, x);
    liana_zero_padding2d(m, .padding = LIANA_INTS(1), .name = liana__print_layer_name("%s_2_pad", block).text);
    x = liana_conv2d(m, .filters = filters, .kernel_size = 3, .strides = strides, .use_bias = false,
                     .name = liana__print_layer_name("%s_2_conv", block).text);
    x = add_batch_norm_and_relu(m, liana__print_layer_name("%s_2", block).text, x);
    liana_layer shortcut = add_shortcut(m, block, input, activated, 4 * filters, strides, widens);
    x = liana_conv2d(m, .filters = 4 * filters, .kernel_size = 1, .input = x,
                     .name = liana__print_layer_name("%s_3_conv", block).text);
    return liana_add(m, .inputs = {shortcut, x}, .name = liana__print_layer_name("%s_out", block).text);
}

/* ---- the whole ---- */

static liana_layer add_stages(liana_model *m, const variant *own, liana_layer x)
{
    for (int stage = 0; stage < NUM_STAGES; stage++) {
        const int last = own->blocks[stage] - 1;
        for (int block = 0; block <= last; block++) {
            const bool is_strided = own->is_v2 ? stage < NUM_STAGES - 1 && block == last : stage > 0 && block == 0;
            x = (own->is_v2 ? add_block_v2
                            : add_block_v1)(m, liana__print_layer_name("conv%d_block%d", stage + 2, block + 1).text, x,
                                            (int64_t)64 << stage, is_strided ? 2 : 1, block == 0);
        }
    }
    return x;
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const variant *own = self->variant;
    liana_zero_padding2d(m, .padding = LIANA_INTS(3), .name = "conv1_pad");
    liana_layer x = liana_conv2d(m, .filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv");
    if (!own->is_v2) {
        add_batch_norm(m, "conv1", "bn", x);
        add_relu(m, "conv1", "relu");
    }
    liana_zero_padding2d(m, .padding = LIANA_INTS(1), .name = "pool1_pad");
    x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .name = "pool1_pool");
    x = add_stages(m, own, x);
    if (own->is_v2) add_batch_norm_and_relu(m, "post", x);
    liana__top_add(m, chosen, 0, "glorot_uniform");
}

#define ARCHITECTURE(layers, ...)                                                                \
    const liana__architecture liana__architecture_resnet##layers = {                             \
        .name = "ResNet" #layers,                                                                \
        .doc = "residual bottlenecks in " #layers " weighted layers (He et al. 2015)",           \
        .options = &options_table,                                                               \
        .default_size = 224,                                                                     \
        .scale = LIANA_SCALE_CAFFE,                                                              \
        .variant = &(const variant){.blocks = {__VA_ARGS__}},                                    \
        .build = build,                                                                          \
        .keras_name = "resnet" #layers,                                                          \
    };                                                                                           \
    const liana__architecture liana__architecture_resnet##layers##_v2 = {                        \
        .name = "ResNet" #layers "V2",                                                           \
        .doc = "residual bottlenecks, normalised first, in " #layers " layers (He et al. 2016)", \
        .options = &options_v2,                                                                  \
        .default_size = 224,                                                                     \
        .scale = LIANA_SCALE_MINUS_ONE_ONE,                                                      \
        .variant = &(const variant){.blocks = {__VA_ARGS__}, .is_v2 = true},                     \
        .build = build,                                                                          \
        .keras_name = "resnet" #layers "v2",                                                     \
    }
ARCHITECTURE(50, 3, 4, 6, 3);
ARCHITECTURE(101, 3, 4, 23, 3);
ARCHITECTURE(152, 3, 8, 36, 3);
