/* EfficientNetV2 B0 to B3, S, M and L: Tan and Le 2021, table 4; layer names, order and numbers as in
 * keras.applications. The pixels 0..255 are scaled within the model. */
#include "layers/model.h"
#include "layers/option_rows.h"
#include "models/models.h"

#include <math.h>

/* The blocks of the early stages are fused: one convolution of 3 x 3 in place of 1 x 1 and depthwise 3 x 3, and no
 * squeeze and excitation. All windows are 3 x 3. */
typedef struct stage {
    int repeats, filters, strides, expansion;
    bool fused;
} stage;

enum { MOST_STAGES = 7 };
typedef struct network {
    int stem, num_stages;
    stage stages[MOST_STAGES];
} network;

static const network base = {
    32,
    6,
    {{1, 16, 1, 1, true},
     {2, 32, 2, 4, true},
     {2, 48, 2, 4, true},
     {3, 96, 2, 4, false},
     {5, 112, 1, 6, false},
     {8, 192, 2, 6, false}},
};
static const network small = {
    24,
    6,
    {{2, 24, 1, 1, true},
     {4, 48, 2, 4, true},
     {4, 64, 2, 4, true},
     {6, 128, 2, 4, false},
     {9, 160, 1, 6, false},
     {15, 256, 2, 6, false}},
};
static const network medium = {
    24,
    7,
    {{3, 24, 1, 1, true},
     {5, 48, 2, 4, true},
     {5, 80, 2, 4, true},
     {7, 160, 2, 4, false},
     {14, 176, 1, 6, false},
     {18, 304, 2, 6, false},
     {5, 512, 1, 6, false}},
};
static const network large = {
    32,
    7,
    {{4, 32, 1, 1, true},
     {7, 64, 2, 4, true},
     {7, 96, 2, 4, true},
     {10, 192, 2, 4, false},
     {19, 224, 1, 6, false},
     {25, 384, 2, 6, false},
     {7, 640, 1, 6, false}},
};

typedef struct variant {
    const network *network;
    double width, depth;
    bool normalises; /* colours, by ImageNet's mean and deviation; else all values are scaled to -1..1 */
} variant;

static const char kernel_initializer[] = LIANA__EFFICIENTNET_INITIALIZER;
static const char dense_initializer[] = "variance_scaling(scale=0.333333333333, mode=fan_out, distribution=uniform)";

/* The nearest multiple of 8, at least 8; unlike liana__round_filters it may be less by more than a tenth. */
static int64_t scale_filters(const variant *scaled, int filters)
{
    const int64_t whole = (int64_t)(scaled->width * filters + 4) / 8 * 8;
    return whole < 8 ? 8 : whole;
}

static liana_layer add_conv(liana_model *m, const char *name, int64_t filters, int64_t kernel_size, int64_t strides)
{
    return liana_conv2d(m, .filters = filters, .kernel_size = {kernel_size, kernel_size}, .strides = {strides, strides},
                        .padding = LIANA_PADDING_SAME, .use_bias = false, .kernel_initializer = kernel_initializer,
                        .name = name);
}

static liana_layer add_batch_norm(liana_model *m, const char *name)
{
    return liana_batch_normalization(m, .momentum = 0.9, .name = name);
}

static void add_preprocessing(liana_model *m, const variant *scaled)
{
    const int64_t channels = liana_layer_shape(liana__last_layer(m)).dims[3];
    if (!scaled->normalises || channels != 3) {
        liana_rescaling(m, .scale = 1 / 128.0, .offset = -1);
        return;
    }
    liana_rescaling(m, .scale = 1 / 255.0);
    liana_normalization(m, .mean = LIANA_FLOATS(0.485, 0.456, 0.406),
                        .variance = LIANA_FLOATS(0.229 * 0.229, 0.224 * 0.224, 0.225 * 0.225));
}

/* The parameters of one block; its names begin with `name`, such as "block2a_". */
typedef struct block {
    const char *name;
    int64_t strides, expansion, filters_in, filters_out;
    double drop_rate; /* of the whole block, for an example */
} block;

static liana_layer add_activation(liana_model *m, const block *made, const char *prefix)
{
    return liana_activation(m, .activation = "swish",
                            .name = liana__print_layer_name("%s%sactivation", made->name, prefix).text);
}

static liana_layer add_batch_norm_and_swish(liana_model *m, const block *made, const char *prefix)
{
    add_batch_norm(m, liana__print_layer_name("%s%sbn", made->name, prefix).text);
    return add_activation(m, made, prefix);
}

static liana_layer add_project(liana_model *m, const block *made, int64_t kernel_size, int64_t strides)
{
    add_conv(m, liana__print_layer_name("%sproject_conv", made->name).text, made->filters_out, kernel_size, strides);
    return add_batch_norm(m, liana__print_layer_name("%sproject_bn", made->name).text);
}

static liana_layer add_inverted(liana_model *m, const block *made)
{
    add_conv(m, liana__print_layer_name("%sexpand_conv", made->name).text, made->filters_in * made->expansion, 1, 1);
    add_batch_norm_and_swish(m, made, "expand_");
    liana_depthwise_conv2d(m, .kernel_size = 3, .strides = {made->strides, made->strides},
                           .padding = LIANA_PADDING_SAME, .use_bias = false,
                           .depthwise_initializer = kernel_initializer,
                           .name = liana__print_layer_name("%sdwconv2", made->name).text);
    liana__excitation_add(m, made->name, made->filters_in, add_batch_norm_and_swish(m, made, ""));
    return add_project(m, made, 1, 1);
}

static liana_layer add_fused(liana_model *m, const block *made)
{
    if (made->expansion == 1) {
        add_project(m, made, 3, made->strides);
        return add_activation(m, made, "project_");
    }
    add_conv(m, liana__print_layer_name("%sexpand_conv", made->name).text, made->filters_in * made->expansion, 3,
             made->strides);
    add_batch_norm_and_swish(m, made, "expand_");
    return add_project(m, made, 1, 1);
}

static void add_block(liana_model *m, const block *made, bool fused)
{
    const liana_layer input = liana__last_layer(m);
    liana_layer x = fused ? add_fused(m, made) : add_inverted(m, made);
    if (made->strides > 1 || made->filters_in != made->filters_out) return;
    if (made->drop_rate > 0) {
        x = liana_dropout(m, .rate = made->drop_rate, .noise_shape = LIANA_INTS(-1, 1, 1, 1),
                          .name = liana__print_layer_name("%sdrop", made->name).text);
    }
    liana_add(m, .inputs = {x, input}, .name = liana__print_layer_name("%sadd", made->name).text);
}

/* Drop rates rise from block to block, by as much as if no depth was scaled: as in Keras, the last blocks of B1 to B3
 * have higher rates than drop_connect_rate. */
static void add_stages(liana_model *m, const variant *scaled, double drop_connect_rate)
{
    const network *chosen = scaled->network;
    int total = 0, done = 0;
    for (int i = 0; i < chosen->num_stages; i++) total += chosen->stages[i].repeats;
    int64_t filters = scale_filters(scaled, chosen->stem);
    for (int i = 0; i < chosen->num_stages; i++) {
        const stage *own = &chosen->stages[i];
        const int repeats = (int)ceil(scaled->depth * own->repeats);
        for (int j = 0; j < repeats; j++) {
            const liana__layer_name name = liana__print_layer_name("block%d%c_", i + 1, 'a' + j);
            const block made = {.name = name.text,
                                .strides = j == 0 ? own->strides : 1,
                                .expansion = own->expansion,
                                .filters_in = filters,
                                .filters_out = scale_filters(scaled, own->filters),
                                .drop_rate = drop_connect_rate * done++ / total};
            add_block(m, &made, own->fused);
            filters = made.filters_out;
        }
    }
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const liana_efficientnet_v2_options *options = chosen;
    const variant *scaled = self->variant;
    if (options->include_preprocessing) add_preprocessing(m, scaled);
    add_conv(m, "stem_conv", scale_filters(scaled, scaled->network->stem), 3, 2);
    add_batch_norm(m, "stem_bn");
    liana_activation(m, .activation = "swish", .name = "stem_activation");
    add_stages(m, scaled, options->drop_connect_rate);
    add_conv(m, "top_conv", scale_filters(scaled, 1280), 1, 1);
    add_batch_norm(m, "top_bn");
    liana_activation(m, .activation = "swish", .name = "top_activation");
    liana__top_add(m, chosen, options->dropout_rate, dense_initializer);
}

#define ARCHITECTURE(symbol, number, file, side, bare_scale, ...)                                            \
    static const liana__field rows_##symbol[] = {                                                            \
        LIANA__ARCHITECTURE_ROWS_OF(liana_efficientnet_v2_options, "[" #side ", " #side ", 3]"),             \
        LIANA__FIELD_ROW(liana_efficientnet_v2_options, dropout_rate, FLOAT, .default_text = "0.2",          \
                         .maximum = 0.999999, .doc = "dropout rate in its own classifier"),                  \
        LIANA__FIELD_ROW(liana_efficientnet_v2_options, drop_connect_rate, FLOAT, .default_text = "0.2",     \
                         .maximum = 0.999999,                                                                \
                         .doc = "probability that training skips the last block; lower for earlier blocks"), \
        LIANA__INCLUDE_PREPROCESSING_ROW(liana_efficientnet_v2_options),                                     \
    };                                                                                                       \
    static const liana__fields options_##symbol =                                                            \
        LIANA__FIELD_TABLE("EfficientNetV2" #number, liana_efficientnet_v2_options, rows_##symbol);          \
    const liana__architecture liana__architecture_efficientnet_v2_##symbol = {                               \
        .name = "EfficientNetV2" #number,                                                                    \
        .doc = "fused and plain inverted residuals, for " #side " pixels (Tan and Le 2021)",                 \
        .options = &options_##symbol,                                                                        \
        .default_size = side,                                                                                \
        .minimum_size = 32,                                                                                  \
        .scale = LIANA_SCALE_##bare_scale,                                                                   \
        .variant = &(const variant){__VA_ARGS__},                                                            \
        .build = build,                                                                                      \
        .keras_name = "efficientnetv2-" #file,                                                               \
    }
ARCHITECTURE(b0, B0, b0, 224, TORCH, &base, 1.0, 1.0, true);
ARCHITECTURE(b1, B1, b1, 240, TORCH, &base, 1.0, 1.1, true);
ARCHITECTURE(b2, B2, b2, 260, TORCH, &base, 1.1, 1.2, true);
ARCHITECTURE(b3, B3, b3, 300, TORCH, &base, 1.2, 1.4, true);
ARCHITECTURE(s, S, s, 384, MINUS_ONE_ONE, &small, 1.0, 1.0, false);
ARCHITECTURE(m, M, m, 480, MINUS_ONE_ONE, &medium, 1.0, 1.0, false);
ARCHITECTURE(l, L, l, 480, MINUS_ONE_ONE, &large, 1.0, 1.0, false);
