/* A user's file: every form in which the builders are called must compile without a warning (test_builders.sh). */
#include <liana/models.h>
#include <liana/optimizer.h>
#include <liana/program.h>

liana_layer build(liana_model *m);
liana_status run(liana_program *program, liana_graph *graph, float *x);
int build_in_macros(liana_model *m);

liana_layer build(liana_model *m)
{
    liana_layer image = liana_input(m, .shape = LIANA_INTS(28, 28, 1));
    liana_layer a = liana_conv2d(m, .filters = 32, .kernel_size = 3, .strides = 2, .activation = "relu");
    liana_layer b =
        liana_conv2d(m, .kernel_size = {3, 5}, .filters = 32, .padding = LIANA_PADDING_SAME, .strides = {2, 1},
                     .use_bias = false, .input = liana_zero_padding2d(m, .padding = LIANA_INTS(1, 2)));
    if (a.id == b.id) liana_batch_normalization(m, .momentum = 0.9);
    liana_flatten(m);
    for (int i = 0; i < 2; i++) liana_dense(m, .units = 10 * i, .input = i ? a : image);
    liana_mobilenet_v2(m, .alpha = 0.35, .include_top = false);
    return liana_add(m, .inputs = {a, b}, .trainable = false, .name = "sum");
}

/* Several inputs and outputs, a layer called twice, a model within a model, calls on tensors. */
void build_more(liana_model *m, const liana_model *inner, liana_tensor x);
void build_more(liana_model *m, const liana_model *inner, liana_tensor x)
{
    liana_layer a = liana_input(m, .name = "a", .shape = LIANA_INTS(4));
    liana_layer ids = liana_input(m, .dtype = LIANA_S32);
    liana_layer y = liana_layer_reuse(liana_dense(m, .units = 3, .input = a), a);
    liana_layer z = liana_nested(m, .nested = inner, .inputs = {a, y}, .trainable = false);
    liana_embedding(m, .input_dim = 5, .output_dim = 2, .mask_zero = true, .input = ids);
    liana_category_encoding(m, .num_tokens = 5, .output_mode = LIANA_COUNT, .input = ids);
    liana_model_outputs(m, y, liana_nested_output(z, 1));
    liana_tensor output, once = liana_layer_call(y, &x, 1, NULL, NULL);
    liana_call_effects effects;
    liana_model_call(m, &once, 1, &(liana_call_mode){.training = true}, &output, &effects);
    liana_effects_assign(&effects);
}

/* Builders in the arguments of macros, over several lines: pragmas are placed by the line there. */
#define RETURN_IF(condition)      \
    do {                          \
        if (condition) return -1; \
    } while (0)
#define SAME(x) x

int build_in_macros(liana_model *m)
{
    RETURN_IF(!liana_conv2d(m, .filters = 32, .kernel_size = 3, .strides = 2).id);
    RETURN_IF(liana_add(m,
                        .inputs = {liana_conv2d(m, .filters = 3, .kernel_size = {1, 1}, .strides = {2, 2}),
                                   liana_max_pooling2d(m, .pool_size = 3)},
                        .trainable = false)
                  .id == 0);
    liana_layer last = SAME(liana_dense(m, .units = 3, .use_bias = false));
    return liana_mobilenet_v2(m, .alpha = 0.5, .input_shape = LIANA_INTS(96, 96, 3)).id == SAME(SAME(last.id));
}

/* Lists of a run's feeds and fetches, and options of an optimizer. */
liana_status run(liana_program *program, liana_graph *graph, float *x)
{
    float y[2];
    liana_tensor loss = liana_graph_tensor(graph, "loss");
    liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "SGD", .settings = {{"momentum", 0.9}}});
    LIANA_TRY(liana_run(program, .assign_all = true));
    return SAME(liana_run(program,
                          .feeds = LIANA_FEEDS({"x", LIANA_F32, liana_shape_of(3, 2), x},
                                               {.name = "rate", .data = &(float){0.1f}}),
                          .fetches = LIANA_FETCHES({.name = "loss", .data = &y[0], .size = sizeof y[0]},
                                                   {.tensor = loss, .data = &y[1], .size = sizeof y[1]}),
                          .assign = LIANA_NAMES("train", "average")));
}
