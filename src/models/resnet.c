/* ResNet50, ResNet101 and ResNet152: He et al. 2015, table 1, with the strides in the first convolution of a block;
 * layer names and order as in keras.applications. */
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS(liana_resnet_options)};
static const liana__fields options_table = LIANA__FIELD_TABLE("ResNet", liana_resnet_options, rows);

enum { NUM_STAGES = 4 };
typedef struct depth {
    int blocks[NUM_STAGES];
} depth;
static const depth depth50 = {{3, 4, 6, 3}}, depth101 = {{3, 4, 23, 3}}, depth152 = {{3, 8, 36, 3}};

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
static liana_layer add_block(liana_model *m, const char *block, liana_layer input, int64_t filters, int64_t strides,
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

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const depth *depths = self->variant;
    liana_zero_padding2d(m, .padding = LIANA_INTS(3), .name = "conv1_pad");
    liana_layer x = liana_conv2d(m, .filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv");
    add_batch_norm(m, "conv1", "bn", x);
    add_relu(m, "conv1", "relu");
    liana_zero_padding2d(m, .padding = LIANA_INTS(1), .name = "pool1_pad");
    x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .name = "pool1_pool");
    for (int stage = 0; stage < NUM_STAGES; stage++) {
        for (int block = 0; block < depths->blocks[stage]; block++) {
            int64_t strides = stage > 0 && block == 0 ? 2 : 1;
            x = add_block(m, liana__print_layer_name("conv%d_block%d", stage + 2, block + 1).text, x,
                          (int64_t)64 << stage, strides, block == 0);
        }
    }
    liana__top_add(m, chosen, 0, "glorot_uniform");
}

#define ARCHITECTURE(layers)                                                           \
    const liana__architecture liana__architecture_resnet##layers = {                   \
        .name = "ResNet" #layers,                                                      \
        .doc = "residual bottlenecks in " #layers " weighted layers (He et al. 2015)", \
        .options = &options_table,                                                     \
        .default_size = 224,                                                           \
        .scale = LIANA_SCALE_CAFFE,                                                    \
        .variant = &depth##layers,                                                     \
        .build = build,                                                                \
        .keras_name = "resnet" #layers,                                                \
    }
ARCHITECTURE(50);
ARCHITECTURE(101);
ARCHITECTURE(152);
