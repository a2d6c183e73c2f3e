/* VGG16 and VGG19: Simonyan and Zisserman 2014, table 1, columns D and E; layer names as in keras.applications. */
#include "layers/option_rows.h"
#include "models/models.h"

static const liana__field rows[] = {LIANA__ARCHITECTURE_ROWS(liana_vgg_options)};
static const liana__fields options_table = LIANA__FIELD_TABLE("VGG", liana_vgg_options, rows);

enum { NUM_BLOCKS = 5, FEATURES = 4096 };
typedef struct variant {
    int convolutions[NUM_BLOCKS];
} variant;
static const int64_t filters[NUM_BLOCKS] = {64, 128, 256, 512, 512};

static void add_block(liana_model *m, int block, int convolutions)
{
    for (int i = 0; i < convolutions; i++) {
        liana_conv2d(m, .filters = filters[block], .kernel_size = 3, .padding = LIANA_PADDING_SAME,
                     .activation = "relu", .name = liana__print_layer_name("block%d_conv%d", block + 1, i + 1).text);
    }
    liana_max_pooling2d(m, .pool_size = 2, .strides = 2,
                        .name = liana__print_layer_name("block%d_pool", block + 1).text);
}

/* The classifier reads all pixels of the last block, so its first kernel is for one size of images. */
static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const variant *own = self->variant;
    const liana_vgg_options *options = chosen;
    for (int block = 0; block < NUM_BLOCKS; block++) add_block(m, block, own->convolutions[block]);
    if (!options->include_top) {
        liana__pooling_add(m, options->pooling);
        return;
    }
    liana_flatten(m, .name = "flatten");
    liana_dense(m, .units = FEATURES, .activation = "relu", .name = "fc1");
    liana_dense(m, .units = FEATURES, .activation = "relu", .name = "fc2");
    liana_dense(m, .units = options->classes, .activation = options->classifier_activation, .name = "predictions");
}

#define ARCHITECTURE(layers, ...)                                                                              \
    const liana__architecture liana__architecture_vgg##layers = {                                              \
        .name = "VGG" #layers,                                                                                 \
        .doc = "3 x 3 convolutions and three dense layers, " #layers " of both (Simonyan and Zisserman 2014)", \
        .options = &options_table,                                                                             \
        .default_size = 224,                                                                                   \
        .scale = LIANA_SCALE_CAFFE,                                                                            \
        .variant = &(const variant){.convolutions = {__VA_ARGS__}},                                            \
        .build = build,                                                                                        \
        .keras_name = "vgg" #layers,                                                                           \
    }
ARCHITECTURE(16, 2, 2, 3, 3, 3);
ARCHITECTURE(19, 2, 2, 4, 4, 4);
