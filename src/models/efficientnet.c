/* EfficientNetB0 to B7: Tan and Le 2019, tables 1 and 2 of their code's scaling; layer names, order and numbers as in
 * keras.applications. The pixels 0..255 are scaled within the model. */
#include "layers/model.h"
#include "layers/option_rows.h"
#include "models/models.h"

#include <math.h>

enum { NUM_STAGES = 7 };
static const struct stage {
    int kernel_size, repeats, filters, strides, expansion;
} stages[NUM_STAGES] = {
    {3, 1, 16, 1, 1},  {3, 2, 24, 2, 6},  {5, 2, 40, 2, 6},  {3, 3, 80, 2, 6},
    {5, 3, 112, 1, 6}, {5, 4, 192, 2, 6}, {3, 1, 320, 1, 6},
};

typedef struct variant {
    double width, depth;
} variant;

static const char kernel_initializer[] = LIANA__EFFICIENTNET_INITIALIZER;
static const char dense_initializer[] = "variance_scaling(scale=0.333333333333, mode=fan_out, distribution=uniform)";

static int round_repeats(const variant *scaled, int repeats)
{
    return (int)ceil(scaled->depth * repeats);
}

/* The Normalization of Keras's ImageNet weights has the deviations in place of their squares, so it divides by their
 * square roots. Keras from 2.9 on divides by the other half here, when it loads these weights. */
static liana_layer add_imagenet_rescaling(liana_model *m)
{
    static const double deviations[] = {0.229, 0.224, 0.225};
    liana__value *scales = liana__value_list(&m->arena);
    for (int i = 0; i < 3; i++) {
        liana__value_add(&m->arena, scales, liana__value_float(&m->arena, 1 / sqrt(deviations[i])));
    }
    return liana_rescaling(m, .scale = 1, .scales = scales);
}

static liana_layer add_stem(liana_model *m, bool imagenet_rescaling, int64_t filters)
{
    liana_rescaling(m, .scale = 1 / 255.0);
    liana_layer x = liana_normalization(m);
    if (imagenet_rescaling) x = add_imagenet_rescaling(m);
    liana_zero_padding2d(m, .padding = liana__strided_padding(x, 3), .name = "stem_conv_pad");
    liana_conv2d(m, .filters = filters, .kernel_size = 3, .strides = 2, .use_bias = false,
                 .kernel_initializer = kernel_initializer, .name = "stem_conv");
    liana_batch_normalization(m, .name = "stem_bn");
    return liana_activation(m, .activation = "swish", .name = "stem_activation");
}

/* The parameters of one block; its names begin with `name`, such as "block2a_". */
typedef struct block {
    const char *name;
    int64_t kernel_size, strides, expansion, filters_in, filters_out;
    double drop_rate; /* of the whole block, for an example */
} block;

static liana_layer add_batch_norm_and_swish(liana_model *m, const block *made, const char *prefix)
{
    liana_batch_normalization(m, .name = liana__print_layer_name("%s%sbn", made->name, prefix).text);
    return liana_activation(m, .activation = "swish",
                            .name = liana__print_layer_name("%s%sactivation", made->name, prefix).text);
}

static liana_layer add_depthwise(liana_model *m, const block *made, liana_layer input)
{
    bool strided = made->strides > 1;
    if (strided) {
        liana_zero_padding2d(m, .padding = liana__strided_padding(input, made->kernel_size),
                             .name = liana__print_layer_name("%sdwconv_pad", made->name).text);
    }
    liana_depthwise_conv2d(m, .kernel_size = made->kernel_size, .strides = made->strides, .use_bias = false,
                           .padding = strided ? LIANA_PADDING_VALID : LIANA_PADDING_SAME,
                           .depthwise_initializer = kernel_initializer,
                           .name = liana__print_layer_name("%sdwconv", made->name).text);
    return add_batch_norm_and_swish(m, made, "");
}

static liana_layer add_block(liana_model *m, const block *made, liana_layer input)
{
    liana_layer x = input;
    if (made->expansion > 1) {
        liana_conv2d(m, .filters = made->filters_in * made->expansion, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                     .use_bias = false, .kernel_initializer = kernel_initializer,
                     .name = liana__print_layer_name("%sexpand_conv", made->name).text);
        x = add_batch_norm_and_swish(m, made, "expand_");
    }
    liana__excitation_add(m, made->name, made->filters_in, add_depthwise(m, made, x));
    liana_conv2d(m, .filters = made->filters_out, .kernel_size = 1, .padding = LIANA_PADDING_SAME, .use_bias = false,
                 .kernel_initializer = kernel_initializer,
                 .name = liana__print_layer_name("%sproject_conv", made->name).text);
    x = liana_batch_normalization(m, .name = liana__print_layer_name("%sproject_bn", made->name).text);
    if (made->strides > 1 || made->filters_in != made->filters_out) return x;
    if (made->drop_rate > 0) {
        x = liana_dropout(m, .rate = made->drop_rate, .noise_shape = LIANA_INTS(-1, 1, 1, 1),
                          .name = liana__print_layer_name("%sdrop", made->name).text);
    }
    return liana_add(m, .inputs = {x, input}, .name = liana__print_layer_name("%sadd", made->name).text);
}

static void build(const liana__architecture *self, liana_model *m, const void *chosen)
{
    const liana_efficientnet_options *options = chosen;
    const variant *scaled = self->variant;
    int total = 0, done = 0;
    for (int i = 0; i < NUM_STAGES; i++) total += round_repeats(scaled, stages[i].repeats);
    int64_t filters = liana__round_filters(scaled->width * 32);
    liana_layer x = add_stem(m, options->imagenet_rescaling, filters);
    for (int i = 0; i < NUM_STAGES; i++) {
        const struct stage *stage = &stages[i];
        for (int j = 0; j < round_repeats(scaled, stage->repeats); j++) {
            const liana__layer_name name = liana__print_layer_name("block%d%c_", i + 1, 'a' + j);
            const block made = {.name = name.text,
                                .kernel_size = stage->kernel_size,
                                .strides = j == 0 ? stage->strides : 1,
                                .expansion = stage->expansion,
                                .filters_in = filters,
                                .filters_out = liana__round_filters(scaled->width * stage->filters),
                                .drop_rate = options->drop_connect_rate * done++ / total};
            x = add_block(m, &made, x);
            filters = made.filters_out;
        }
    }
    liana_conv2d(m, .filters = liana__round_filters(scaled->width * 1280), .kernel_size = 1,
                 .padding = LIANA_PADDING_SAME, .use_bias = false, .kernel_initializer = kernel_initializer,
                 .name = "top_conv");
    liana_batch_normalization(m, .name = "top_bn");
    liana_activation(m, .activation = "swish", .name = "top_activation");
    liana__top_add(m, chosen, options->dropout_rate, dense_initializer);
}

#define ARCHITECTURE(number, side, width_factor, depth_factor, dropout)                                      \
    static const liana__field rows_b##number[] = {                                                           \
        LIANA__ARCHITECTURE_ROWS_OF(liana_efficientnet_options, "[" #side ", " #side ", 3]"),                \
        LIANA__FIELD_ROW(liana_efficientnet_options, dropout_rate, FLOAT, .default_text = #dropout,          \
                         .maximum = 0.999999, .doc = "dropout rate in its own classifier"),                  \
        LIANA__FIELD_ROW(liana_efficientnet_options, drop_connect_rate, FLOAT, .default_text = "0.2",        \
                         .maximum = 0.999999,                                                                \
                         .doc = "probability that training skips the last block; lower for earlier blocks"), \
        LIANA__FIELD_ROW(liana_efficientnet_options, imagenet_rescaling, BOOL,                               \
                         .doc = "a second Rescaling, as Keras has it with its ImageNet weights"),            \
    };                                                                                                       \
    static const liana__fields options_b##number =                                                           \
        LIANA__FIELD_TABLE("EfficientNetB" #number, liana_efficientnet_options, rows_b##number);             \
    const liana__architecture liana__architecture_efficientnet_b##number = {                                 \
        .name = "EfficientNetB" #number,                                                                     \
        .doc = "inverted residuals with squeeze and excitation, for " #side " pixels (Tan and Le 2019)",     \
        .options = &options_b##number,                                                                       \
        .default_size = side,                                                                                \
        .scale = LIANA_SCALE_NONE,                                                                           \
        .variant = &(const variant){width_factor, depth_factor},                                             \
        .build = build,                                                                                      \
        .keras_name = "efficientnetb" #number,                                                               \
    }
ARCHITECTURE(0, 224, 1.0, 1.0, 0.2);
ARCHITECTURE(1, 240, 1.0, 1.1, 0.2);
ARCHITECTURE(2, 260, 1.1, 1.2, 0.3);
ARCHITECTURE(3, 300, 1.2, 1.4, 0.3);
ARCHITECTURE(4, 380, 1.4, 1.8, 0.4);
ARCHITECTURE(5, 456, 1.6, 2.2, 0.4);
ARCHITECTURE(6, 528, 1.8, 2.6, 0.5);
ARCHITECTURE(7, 600, 2.0, 3.1, 0.5);
