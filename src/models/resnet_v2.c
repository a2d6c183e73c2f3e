/* ResNet50V2, ResNet101V2 and ResNet152V2: He et al. 2016, "Identity Mappings in Deep Residual Networks", with the
 * strides in the last block of a stage; layer names and order as in keras.applications. */
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS(liana_resnet_v2_options)};
static const liana__fields options_table = LIANA__FIELD_TABLE("ResNetV2", liana_resnet_v2_options, rows);

enum { NUM_STAGES = 4 };
typedef struct depth {
    int blocks[NUM_STAGES];
} depth;
static const depth depth50 = {{3, 4, 6, 3}}, depth101 = {{3, 4, 23, 3}}, depth152 = {{3, 8, 36, 3}};

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

static liana_layer add_block(liana_model *m, const char *block, liana_layer input, int64_t filters, int64_t strides,
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

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const depth *depths = self->variant;
    liana_zero_padding2d(m, .padding = LIANA_INTS(3), .name = "conv1_pad");
    liana_conv2d(m, .filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv");
    liana_zero_padding2d(m, .padding = LIANA_INTS(1), .name = "pool1_pad");
    liana_layer x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .name = "pool1_pool");
    for (int stage = 0; stage < NUM_STAGES; stage++) {
        int last = depths->blocks[stage] - 1;
        for (int block = 0; block <= last; block++) {
            int64_t strides = stage < NUM_STAGES - 1 && block == last ? 2 : 1;
            x = add_block(m, liana__print_layer_name("conv%d_block%d", stage + 2, block + 1).text, x,
                          (int64_t)64 << stage, strides, block == 0);
        }
    }
    add_batch_norm_and_relu(m, "post", x);
    liana__top_add(m, chosen, 0, "glorot_uniform");
}

#define ARCHITECTURE(layers)                                                                     \
    const liana__architecture liana__architecture_resnet##layers##_v2 = {                        \
        .name = "ResNet" #layers "V2",                                                           \
        .doc = "residual bottlenecks, normalised first, in " #layers " layers (He et al. 2016)", \
        .options = &options_table,                                                               \
        .default_size = 224,                                                                     \
        .scale = LIANA_SCALE_MINUS_ONE_ONE,                                                      \
        .variant = &depth##layers,                                                               \
        .build = build,                                                                          \
        .keras_name = "resnet" #layers "v2",                                                     \
    }
ARCHITECTURE(50);
ARCHITECTURE(101);
ARCHITECTURE(152);
