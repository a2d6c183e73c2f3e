/* DenseNet121, DenseNet169 and DenseNet201: Huang et al. 2017, table 1; layer names and order as in keras.applications
 * of Keras 2 (Keras 3 writes '_' for '/'). */
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS(liana_densenet_options)};
static const liana__fields options_table = LIANA__FIELD_TABLE("DenseNet", liana_densenet_options, rows);

enum { NUM_STAGES = 4, GROWTH = 32 };
typedef struct depth {
    int blocks[NUM_STAGES];
} depth;
static const depth depth121 = {{6, 12, 24, 16}}, depth169 = {{6, 12, 32, 32}}, depth201 = {{6, 12, 48, 32}};

/* The names of a stage's layers differ in the text before "bn" and "relu". */
static void add_batch_norm_and_relu(liana_model *m, const char *prefix)
{
    liana_batch_normalization(m, .epsilon = 1.001e-5, .name = liana__print_layer_name("%sbn", prefix).text);
    liana_activation(m, .activation = "relu", .name = liana__print_layer_name("%srelu", prefix).text);
}

/* Adds GROWTH new channels to those of the input. */
static liana_layer add_block(liana_model *m, const char *block, liana_layer input)
{
    add_batch_norm_and_relu(m, liana__print_layer_name("%s_0_", block).text);
    liana_conv2d(m, .filters = 4 * GROWTH, .kernel_size = 1, .use_bias = false,
                 .name = liana__print_layer_name("%s_1_conv", block).text);
    add_batch_norm_and_relu(m, liana__print_layer_name("%s_1_", block).text);
    liana_layer x = liana_conv2d(m, .filters = GROWTH, .kernel_size = 3, .padding = LIANA_PADDING_SAME,
                                 .use_bias = false, .name = liana__print_layer_name("%s_2_conv", block).text);
    return liana_concatenate(m, .inputs = {input, x}, .name = liana__print_layer_name("%s_concat", block).text);
}

/* Half the channels, half the height and width. */
static liana_layer add_transition(liana_model *m, int stage, liana_layer input)
{
    int64_t channels = liana_layer_shape(input).dims[3];
    const liana__layer_name prefix = liana__print_layer_name("pool%d_", stage);
    add_batch_norm_and_relu(m, prefix.text);
    liana_conv2d(m, .filters = channels / 2, .kernel_size = 1, .use_bias = false,
                 .name = liana__print_layer_name("%sconv", prefix.text).text);
    return liana_average_pooling2d(m, .pool_size = 2, .name = liana__print_layer_name("%spool", prefix.text).text);
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const depth *depths = self->variant;
    liana_zero_padding2d(m, .padding = LIANA_INTS(3));
    liana_conv2d(m, .filters = 64, .kernel_size = 7, .strides = 2, .use_bias = false, .name = "conv1/conv");
    add_batch_norm_and_relu(m, "conv1/");
    liana_zero_padding2d(m, .padding = LIANA_INTS(1));
    liana_layer x = liana_max_pooling2d(m, .pool_size = 3, .strides = 2, .name = "pool1");
    for (int stage = 0; stage < NUM_STAGES; stage++) {
        if (stage > 0) x = add_transition(m, stage + 1, x);
        for (int block = 0; block < depths->blocks[stage]; block++) {
            x = add_block(m, liana__print_layer_name("conv%d_block%d", stage + 2, block + 1).text, x);
        }
    }
    add_batch_norm_and_relu(m, "");
    liana__top_add(m, chosen, 0, "glorot_uniform");
}

#define ARCHITECTURE(layers)                                                       \
    const liana__architecture liana__architecture_densenet##layers = {             \
        .name = "DenseNet" #layers,                                                \
        .doc = "each layer reads the results of all layers before it, in " #layers \
               " weighted layers (Huang et al. 2017)",                             \
        .options = &options_table,                                                 \
        .default_size = 224,                                                       \
        .scale = LIANA_SCALE_TORCH,                                                \
        .variant = &depth##layers,                                                 \
        .build = build,                                                            \
        .keras_name = "densenet" #layers,                                          \
    }
ARCHITECTURE(121);
ARCHITECTURE(169);
ARCHITECTURE(201);
