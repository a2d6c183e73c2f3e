/* The list of architectures, adding one to a model, and layers that several of them add. */
#include "models/models.h"

#include "base/format.h"
#include "base/named.h"
#include "base/scoped.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const liana__architecture *const liana__architectures[] = {
#define LIANA__MODEL(stem, name) &liana__architecture_##name,
#include "models/models.def"
#undef LIANA__MODEL
    NULL,
};

enum { NUM_ARCHITECTURES = sizeof liana__architectures / sizeof *liana__architectures - 1 };

const char *const liana__pooling_names[] = {"none", "avg", "max", NULL};

const liana__architecture *liana__architecture_find(const char *name, const char **nearest)
{
    const liana__named list = LIANA__NAMED_POINTERS(liana__architecture, liana__architectures, NUM_ARCHITECTURES);
    return liana__architectures[liana__named_find(list, name, nearest)];
}

static liana_status check_options(const liana__architecture *architecture, const liana__architecture_options *options,
                                  const liana__value *map, const char *where, liana__error *error)
{
    const long long least = (long long)architecture->minimum_size;
    liana_check check = {.map = map, .where = where, .error = error};
    if (options->input_shape.count != 3) {
        return liana_option_refuse(&check, "input_shape", "found %lld numbers, expected height, width and channels",
                                   (long long)options->input_shape.count);
    }
    const int64_t *shape = options->input_shape.values;
    if (shape[0] < least || shape[1] < least) {
        return liana_option_refuse(&check, "input_shape",
                                   "found images of %lld x %lld, expected at least %lld x %lld for %s; enlarge them "
                                   "(data.image_size), or choose another model",
                                   (long long)shape[0], (long long)shape[1], least, least, architecture->name);
    }
    return liana__check_activation(&check, "classifier_activation", options->classifier_activation);
}

/* Keras lists layers by their distance from the output, whatever the order in which they were made. */
static void sort_added(liana_model *model, size_t first_layer, size_t first_node)
{
    liana__error error = {0};
    if (model->error.status != LIANA_OK) return;
    if (liana__keras_sort(model, first_layer, first_node, &error) != LIANA_OK) {
        liana__model_fail(model, *model->blamed, error.status, "%s", error.message);
    }
}

static void add_layers(liana_model *model, const liana__architecture *architecture, const void *options)
{
    const liana__architecture_options *common = options;
    if (model->num_layers == 0) {
        liana_input(model, .shape = common->input_shape);
        model->functional = true;
        if (!model->name) {
            char name[64];
            if (architecture->print_name) architecture->print_name(options, name, sizeof name);
            model->name =
                liana__arena_string(&model->arena, architecture->keras_name ? architecture->keras_name : name);
        }
    }
    const bool is_first = !model->architecture;
    const size_t first_layer = model->num_layers, first_node = model->num_nodes;
    architecture->build(architecture, model, options);
    sort_added(model, first_layer, first_node);
    if (!is_first) return;
    model->architecture = architecture->name;
    model->architecture_options = liana__fields_write(architecture->options, &model->arena, options);
    model->architecture_end = model->num_layers;
}

liana_status liana__architecture_add(liana_model *model, liana_location here, const liana__architecture *architecture,
                                     const liana__value *map, const char *where)
{
    if (model->error.status != LIANA_OK) return model->error.status;
    liana__error error = {0};
    void *options = liana__arena_allocate(&model->arena, architecture->options->size);
    liana_status status =
        options ? liana__fields_read(architecture->options, map, where, NULL, &model->arena, options, &error)
                : liana__fail_memory(&error, "a model");
    if (status == LIANA_OK) status = check_options(architecture, options, map, where, &error);
    if (status != LIANA_OK) {
        liana__model_fail(model, here, status, "%s", error.message);
        return status;
    }
    const liana_location *outer = model->blamed;
    model->blamed = &here;
    add_layers(model, architecture, options);
    model->blamed = outer;
    return model->error.status;
}

liana_layer liana_model_add_architecture_at(liana_location here, liana_model *model, const char *name,
                                            const void *options)
{
    liana_layer none = {model, 0};
    if (!model || model->error.status != LIANA_OK) return none;
    if (!name) return liana__model_fail(model, here, LIANA_INVALID_ARGUMENT, "the name of the architecture is NULL");
    const char *nearest = NULL;
    const liana__architecture *architecture = liana__architecture_find(name, &nearest);
    if (!architecture) {
        return liana__model_fail(model, here, LIANA_NOT_FOUND, "there is no architecture '%.60s'%s", name,
                                 liana__hint(nearest).text);
    }
    if (!options) {
        return liana__model_fail(model, here, LIANA_INVALID_ARGUMENT, "the options of the architecture are NULL");
    }
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error error = {0};
    const liana__value *map;
    liana_status status = liana__options_to_map(architecture->options, options, &arena, &map, &error);
    if (status != LIANA_OK) {
        return liana__model_fail(model, here, status, "%s.%s", architecture->name, error.message);
    }
    status = liana__architecture_add(model, here, architecture, map, architecture->name);
    return status == LIANA_OK ? (liana_layer){model, (uint32_t)model->num_nodes} : none;
}

void liana__pooling_add(liana_model *model, liana_pooling pooling)
{
    if (pooling == LIANA_POOLING_AVG) liana_global_average_pooling2d(model);
    if (pooling == LIANA_POOLING_MAX) liana_global_max_pooling2d(model);
}

void liana__top_add(liana_model *model, const liana__architecture_options *options, double dropout,
                    const char *kernel_initializer)
{
    bool average = options->include_top || options->pooling == LIANA_POOLING_AVG;
    if (average) liana_global_average_pooling2d(model, .name = "avg_pool");
    if (!average && options->pooling == LIANA_POOLING_MAX) liana_global_max_pooling2d(model, .name = "max_pool");
    if (!options->include_top) return;
    if (dropout > 0) liana_dropout(model, .rate = dropout, .name = "top_dropout");
    liana_dense(model, .units = options->classes, .activation = options->classifier_activation,
                .kernel_initializer = kernel_initializer, .name = "predictions");
}

liana_ints liana__strided_padding(liana_layer input, int64_t kernel_size)
{
    liana_shape shape = liana_layer_shape(input);
    int64_t after = kernel_size / 2;
    return LIANA_INTS(after - (shape.dims[1] % 2 == 0), after, after - (shape.dims[2] % 2 == 0), after);
}

void liana__excitation_add(liana_model *model, const char *name, int64_t filters_in, liana_layer input)
{
    const int64_t filters = liana_layer_shape(input).dims[3], reduced = filters_in / 4;
    liana_global_average_pooling2d(model, .name = liana__print_layer_name("%sse_squeeze", name).text);
    liana_reshape(model, .target_shape = LIANA_INTS(1, 1, filters),
                  .name = liana__print_layer_name("%sse_reshape", name).text);
    liana_conv2d(model, .filters = reduced > 0 ? reduced : 1, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                 .activation = "swish", .kernel_initializer = LIANA__EFFICIENTNET_INITIALIZER,
                 .name = liana__print_layer_name("%sse_reduce", name).text);
    liana_layer gate = liana_conv2d(model, .filters = filters, .kernel_size = 1, .padding = LIANA_PADDING_SAME,
                                    .activation = "sigmoid", .kernel_initializer = LIANA__EFFICIENTNET_INITIALIZER,
                                    .name = liana__print_layer_name("%sse_expand", name).text);
    liana_multiply(model, .inputs = {input, gate}, .name = liana__print_layer_name("%sse_excite", name).text);
}

int64_t liana__round_filters(double exact)
{
    int64_t whole = (int64_t)(exact + 4) / 8 * 8;
    if (whole < 8) whole = 8;
    if ((double)whole < 0.9 * exact) whole += 8;
    return whole;
}

liana_layer liana__last_layer(liana_model *model)
{
    const size_t node = liana__model_last_node(model);
    const bool none = model->error.status != LIANA_OK || node == LIANA__NONE;
    return (liana_layer){model, none ? 0 : (uint32_t)(node + 1)};
}

liana__layer_name liana__print_layer_name(const char *format, ...)
{
    liana__layer_name name;
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(name.text, sizeof name.text, format, arguments);
    va_end(arguments);
    return name;
}

void liana__head_add(liana_model *model, liana_location here, double dropout, liana_pooling pooling, int64_t classes)
{
    const liana_location *outer = model->blamed;
    model->blamed = &here;
    if (dropout > 0) liana_dropout(model, .rate = dropout);
    liana__pooling_add(model, pooling);
    liana_dense(model, .units = classes, .activation = "softmax", .kernel_initializer = "zeros", .name = "classifier");
    model->blamed = outer;
}
