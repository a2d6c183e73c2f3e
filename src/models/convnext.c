/* ConvNeXt Tiny, Small, Base, Large and XLarge: Liu et al. 2022, section 3; layer names, order and numbers as in
 * keras.applications. The pixels 0..255 are normalised within the model. */
#include "layers/model.h"
#include "layers/option_rows.h"
#include "models/models.h"

enum { NUM_STAGES = 4 };

typedef struct variant {
    int blocks[NUM_STAGES], channels[NUM_STAGES];
} variant;

static const double epsilon = 1e-6; /* of all layer normalisations */

/* The architecture that is being built; names of its layers begin with `name`. */
typedef struct network {
    liana_model *model;
    const char *name;
    const liana_convnext_options *options;
    const variant *variant;
} network;

/* ---- models within the model ----
 *
 * As in Keras, the stem and the layers between two stages are Sequential models of two layers. */

static liana_model *begin_inner(const network *own, const char *name)
{
    liana_model *inner = NULL;
    const liana_layer before = liana__last_layer(own->model);
    if (own->model->error.status != LIANA_OK) return NULL;
    if (liana_model_create(own->model->context, name, &inner) != LIANA_OK) {
        liana__model_fail(own->model, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for a model");
        return NULL;
    }
    inner->blamed = own->model->blamed;
    const liana_shape shape = liana_layer_shape(before);
    liana_input(inner, .shape = LIANA_INTS(shape.dims[1], shape.dims[2], shape.dims[3]));
    return inner;
}

static void end_inner(const network *own, liana_model *inner)
{
    if (!inner) return;
    liana_nested(own->model, .nested = inner);
    liana_model_destroy(inner);
}

static void add_stem(const network *own)
{
    liana_model *m = begin_inner(own, liana__print_layer_name("%s_stem", own->name).text);
    liana_conv2d(m, .filters = own->variant->channels[0], .kernel_size = 4, .strides = 4,
                 .name = liana__print_layer_name("%s_stem_conv", own->name).text);
    liana_layer_normalization(m, .epsilon = epsilon,
                              .name = liana__print_layer_name("%s_stem_layernorm", own->name).text);
    end_inner(own, m);
}

/* Before stage `stage`, of which there are some before it. */
static void add_downsampling(const network *own, int stage)
{
    liana_model *m = begin_inner(own, liana__print_layer_name("%s_downsampling_block_%d", own->name, stage - 1).text);
    liana_layer_normalization(m, .epsilon = epsilon,
                              .name =
                                  liana__print_layer_name("%s_downsampling_layernorm_%d", own->name, stage - 1).text);
    liana_conv2d(m, .filters = own->variant->channels[stage], .kernel_size = 2, .strides = 2,
                 .name = liana__print_layer_name("%s_downsampling_conv_%d", own->name, stage - 1).text);
    end_inner(own, m);
}

/* ---- blocks ---- */

static void add_block(const network *own, const char *name, int64_t channels, double drop_rate)
{
    liana_model *m = own->model;
    const liana_layer input = liana__last_layer(m);
    liana_conv2d(m, .filters = channels, .kernel_size = 7, .padding = LIANA_PADDING_SAME, .groups = channels,
                 .name = liana__print_layer_name("%s_depthwise_conv", name).text);
    liana_layer_normalization(m, .epsilon = epsilon, .name = liana__print_layer_name("%s_layernorm", name).text);
    liana_dense(m, .units = 4 * channels, .name = liana__print_layer_name("%s_pointwise_conv_1", name).text);
    liana_activation(m, .activation = "gelu", .name = liana__print_layer_name("%s_gelu", name).text);
    liana_dense(m, .units = channels, .name = liana__print_layer_name("%s_pointwise_conv_2", name).text);
    liana_layer_scale(m, .init_values = own->options->layer_scale_init_value, .projection_dim = channels,
                      .name = liana__print_layer_name("%s_layer_scale", name).text);
    liana_layer x =
        drop_rate > 0
            ? liana_stochastic_depth(m, .drop_path_rate = drop_rate,
                                     .name = liana__print_layer_name("%s_stochastic_depth", name).text)
            : liana_activation(m, .activation = "linear", .name = liana__print_layer_name("%s_identity", name).text);
    liana_add(m, .inputs = {input, x});
}

/* Drop rates rise evenly from 0 in the first block to drop_path_rate in the last. */
static void add_stages(const network *own)
{
    int total = 0, done = 0;
    for (int i = 0; i < NUM_STAGES; i++) total += own->variant->blocks[i];
    for (int i = 0; i < NUM_STAGES; i++) {
        if (i == 0) add_stem(own);
        if (i > 0) add_downsampling(own, i);
        for (int j = 0; j < own->variant->blocks[i]; j++) {
            const double rate = own->options->drop_path_rate * done++ / (total - 1);
            add_block(own, liana__print_layer_name("%s_stage_%d_block_%d", own->name, i, j).text,
                      own->variant->channels[i], rate);
        }
    }
}

/* ---- the whole ---- */

static void add_preprocessing(const network *own)
{
    if (liana_layer_shape(liana__last_layer(own->model)).dims[3] != 3) return;
    const double red = 0.229 * 255, green = 0.224 * 255, blue = 0.225 * 255;
    liana_normalization(own->model, .mean = LIANA_FLOATS(0.485 * 255, 0.456 * 255, 0.406 * 255),
                        .variance = LIANA_FLOATS(red * red, green * green, blue * blue),
                        .name = liana__print_layer_name("%s_prestem_normalization", own->name).text);
}

static void add_head(const network *own)
{
    liana_model *m = own->model;
    liana_global_average_pooling2d(m, .name = liana__print_layer_name("%s_head_gap", own->name).text);
    liana_layer_normalization(m, .epsilon = epsilon,
                              .name = liana__print_layer_name("%s_head_layernorm", own->name).text);
    liana_dense(m, .units = own->options->classes, .activation = own->options->classifier_activation,
                .name = liana__print_layer_name("%s_head_dense", own->name).text);
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const liana_convnext_options *options = chosen;
    const network own = {m, self->keras_name, options, self->variant};
    if (options->include_preprocessing) add_preprocessing(&own);
    add_stages(&own);
    if (options->include_top) {
        add_head(&own);
        return;
    }
    liana__pooling_add(m, options->pooling);
    liana_layer_normalization(m, .epsilon = epsilon);
}

static const liana__field rows[] = {
    LIANA__ARCHITECTURE_ROWS(liana_convnext_options),
    LIANA__FIELD_ROW(liana_convnext_options, drop_path_rate, FLOAT, .default_text = "0", .maximum = 0.999999,
                     .doc = "probability that training skips the last block; lower for earlier blocks"),
    LIANA__FIELD_ROW(liana_convnext_options, layer_scale_init_value, FLOAT, .default_text = "1e-6", .maximum = 1,
                     .doc = "first value of the factors of residual branches"),
    LIANA__INCLUDE_PREPROCESSING_ROW(liana_convnext_options),
};

#define CHANNELS(first)                        \
    {                                          \
        first, 2 * first, 4 * first, 8 * first \
    }
#define ARCHITECTURE(symbol, size, middle, first)                                                                     \
    static const liana__fields options_##symbol = LIANA__FIELD_TABLE("ConvNeXt" #size, liana_convnext_options, rows); \
    const liana__architecture liana__architecture_convnext_##symbol = {                                               \
        .name = "ConvNeXt" #size,                                                                                     \
        .doc = "a ConvNet built like a transformer, with " #first " channels at first (Liu et al. 2022)",             \
        .options = &options_##symbol,                                                                                 \
        .default_size = 224,                                                                                          \
        .minimum_size = 32,                                                                                           \
        .scale = LIANA_SCALE_TORCH,                                                                                   \
        .variant = &(const variant){{3, 3, middle, 3}, CHANNELS(first)},                                              \
        .build = build,                                                                                               \
        .keras_name = "convnext_" #symbol,                                                                            \
        .top = "convnext_" #symbol "_head_dense",                                                                     \
    }
ARCHITECTURE(tiny, Tiny, 9, 96);
ARCHITECTURE(small, Small, 27, 96);
ARCHITECTURE(base, Base, 27, 128);
ARCHITECTURE(large, Large, 27, 192);
ARCHITECTURE(xlarge, XLarge, 27, 256);
