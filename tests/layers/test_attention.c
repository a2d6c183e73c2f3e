/* Attention, EinsumDense and ReversibleEmbedding against Keras.
 *
 * The numbers are those of Keras 3.15.1 with TensorFlow 2.21. Element n of weight number i is 0.5 sin(0.7 n + i + 1);
 * element n of input number i is cos(0.3 n + i). The models are made in C. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "harness/model_run.h"
#include "layers/model.h"

#include <liana/layers.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 64 };

static liana_context *context;
static liana__device *cpu;
static liana_model *model;

static int set_up_devices(void **state)
{
    (void)state;
    return liana__test_open_devices(2, &context, &cpu, NULL);
}

static int tear_down_devices(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, NULL);
}

/* ---- running ---- */

static void begin(void)
{
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

/* The numbers of an int32 input. */
static const void *given(const char *name)
{
    static const int32_t ids[] = {1, 4}, attention_mask[] = {1, 0, 0, 0, 1, 1}, query_mask[] = {1, 1, 0},
                         value_mask[] = {1, 0};
    if (strcmp(name, "ids") == 0) return ids;
    if (strcmp(name, "attention_mask") == 0) return attention_mask;
    return strcmp(name, "query_mask") == 0 ? query_mask : value_mask;
}

/* Runs the model on its inputs: x0, x1, ... are number 0, 1, ... */
static float **run(void)
{
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor inputs[LIANA_MAX_LAYER_INPUTS], outputs[LIANA_MAX_MODEL_OUTPUTS];
    const void *data[LIANA_MAX_LAYER_INPUTS];
    float numbers[LIANA_MAX_LAYER_INPUTS][MOST_NUMBERS];
    for (size_t i = 0; i < model->num_inputs; i++) {
        const liana__model_port port = liana__model_input(model, i);
        inputs[i] = liana_graph_input(graph, port.name, port.dtype, port.shape);
        for (int k = 0; k < liana_shape_size(&port.shape); k++) {
            numbers[i][k] = (float)cos(0.3 * k + (double)(port.name[1] - '0'));
        }
        data[i] = port.dtype == LIANA_S32 ? given(port.name) : numbers[i];
    }
    liana_model_call(model, inputs, model->num_inputs, NULL, outputs, NULL);
    const size_t count = liana__model_num_outputs(model);
    for (size_t i = 0; i < count; i++) liana_graph_output(graph, liana__model_output(model, i).name, outputs[i]);
    assert_ok(liana_graph_status(graph), &context->error);
    float **weights = liana__test_weights(model, 1);
    for (size_t i = 0; i < model->num_weights; i++) {
        const int64_t size = liana_shape_size(&model->weights[i].shape);
        for (int64_t k = 0; k < size; k++) {
            weights[i][k] = (float)(0.5 * sin(0.7 * (double)k + (double)i + 1));
        }
    }
    float **results = liana__test_graph_run(cpu, graph, model, weights, data);
    liana__test_free_arrays(weights, model->num_weights);
    liana_graph_destroy(graph);
    return results;
}

static void end(float **results)
{
    liana__test_free_arrays(results, liana__model_num_outputs(model));
    liana_model_destroy(model);
}

static void assert_numbers(const float *found, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_near(found[i], expected[i], 3e-6);
}

static liana_layer input(const char *name, int64_t steps, int64_t features)
{
    return liana_input(model, .name = name, .shape = LIANA_INTS(steps, features));
}

/* ---- several heads ---- */

static void test_self_attention(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .inputs = {x, x});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.413785, 0.2487755, -0.03323708, -0.2996177, 0.4090516, 0.2453106, -0.03380384,
                                   -0.2970198, 0.4046635, 0.2406917, -0.03648115, -0.2964964},
                   12);
    end(results);
}

static void test_causal_attention_gives_its_scores(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer y = liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .inputs = {x, x},
                                               .use_causal_mask = true, .return_attention_scores = true);
    liana_model_outputs(model, y, liana_layer_output(y, 1));
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.3744173, 0.1695202, -0.1151049, -0.3455944, 0.3977634, 0.211951, -0.07354534,
                                   -0.3244521, 0.4046635, 0.2406918, -0.03648115, -0.2964964},
                   12);
    assert_numbers(results[1],
                   (const float[]){1, 0, 0, 0.493205, 0.506795, 0, 0.3663974, 0.3297721, 0.3038305, 1, 0, 0, 0.5118614,
                                   0.4881386, 0, 0.3660302, 0.3345976, 0.2993723},
                   18);
    end(results);
}

static void test_keys_and_values_of_other_sizes(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer value = input("x3", 2, 3), key = input("x2", 2, 5);
    liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .value_dim = 2, .output_shape = LIANA_INTS(2, 2),
                               .use_bias = false, .inputs = {x, value, key});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.01464181, 0.07075246, 0.09358714, 0.07240631, 0.01551026, 0.07149265, 0.09385095,
                                   0.07206967, 0.0163603, 0.07266907, 0.09480046, 0.0723457},
                   12);
    end(results);
}

/* Attention of three steps to two, with a mask of their pairs. */
static liana_layer masked_attention(bool scores)
{
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer value = input("x1", 2, 4);
    liana_layer mask = liana_input(model, .name = "attention_mask", .shape = LIANA_INTS(3, 2), .dtype = LIANA_S32);
    return liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .return_attention_scores = scores,
                                      .inputs = {x, value, [LIANA_ATTENTION_MASK] = mask});
}

/* A row of the mask leaves out all steps: Keras reads them alike without scores of its own, and none with them. */
static void test_attention_mask(void **state)
{
    (void)state;
    masked_attention(false);
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.4129636, 0.2383128, -0.04842016, -0.3123804, 0.4203309, 0.2734774, -0.00199681,
                                   -0.2765319, 0.4203685, 0.2718646, -0.004501441, -0.2787504},
                   12);
    end(results);
}

static void test_attention_mask_with_scores(void **state)
{
    (void)state;
    liana_layer y = masked_attention(true);
    liana_model_outputs(model, y, liana_layer_output(y, 1));
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.4129636, 0.2383128, -0.04842016, -0.3123804, 0.4946791, 0.3314846, 0.01238771,
                                   -0.3125353, 0.4203685, 0.2718646, -0.004501441, -0.2787504},
                   12);
    assert_numbers(results[1], (const float[]){1, 0, 0, 0, 0.5240862, 0.4759139, 1, 0, 0, 0, 0.5298569, 0.470143}, 12);
    end(results);
}

static void test_gate_and_sliding_window(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .use_gate = true, .sliding_window = 2,
                               .inputs = {x, x});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){-0.2201248, -0.4329495, -0.4421514, -0.2434026, -0.236198, -0.4618879, -0.4703447,
                                   -0.2575911, -0.2526173, -0.4866217, -0.4917603, -0.2656164},
                   12);
    end(results);
}

static void test_attention_over_one_axis_of_two(void **state)
{
    (void)state;
    begin();
    liana_layer x = liana_input(model, .name = "x0", .shape = LIANA_INTS(2, 3, 4));
    liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .attention_axes = LIANA_INTS(2), .inputs = {x, x});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.413785,    0.2487755,  -0.0332371,  -0.2996177, 0.4090516,   0.2453106,
                                   -0.03380382, -0.2970198, 0.4046635,   0.2406918,  -0.03648115, -0.2964964,
                                   0.3676856,   0.200489,   -0.06100074, -0.2938008, 0.3717045,   0.2036445,
                                   -0.06019269, -0.2957204, 0.3731254,   0.2058203,  -0.05828537, -0.2949785},
                   24);
    end(results);
}

static void test_attention_over_two_axes(void **state)
{
    (void)state;
    begin();
    liana_layer x = liana_input(model, .name = "x0", .shape = LIANA_INTS(2, 3, 4));
    liana_multi_head_attention(model, .num_heads = 1, .key_dim = 2, .inputs = {x, x});
    float **results = run();
    assert_numbers(results[0], (const float[]){0.415503,   0.1772731,  -0.1443312, -0.3980542, 0.4216692,  0.1889113,
                                               -0.1326945, -0.391892,  0.4187585,  0.1824459,  -0.1396738, -0.3961028,
                                               0.4105423,  0.1661812,  -0.1563375, -0.4053282, 0.4075449,  0.1609591,
                                               -0.1613283, -0.4077404, 0.4134426,  0.1731966,  -0.1485065, -0.4003646},
                   24);
    end(results);
}

static void test_heads_that_share_keys_and_values(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_group_query_attention(model, .head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2,
                                .inputs = {x, input("x1", 2, 4)});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.564767, 0.4648881, 0.1463651, -0.2409956, 0.5658624, 0.4661074, 0.1471348,
                                   -0.2410376, 0.5668072, 0.4673099, 0.1480295, -0.2408715},
                   12);
    end(results);
}

static void test_scores_of_heads_that_share_keys(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer y =
        liana_group_query_attention(model, .head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2,
                                    .inputs = {x, x}, .use_causal_mask = true, .return_attention_scores = true);
    liana_model_outputs(model, y, liana_layer_output(y, 1));
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.4407724, 0.4883682, 0.3062768, -0.01986131, 0.4807088, 0.4708695, 0.2395729,
                                   -0.1043986, 0.5362286, 0.4761627, 0.1921501, -0.1822337},
                   12);
    assert_numbers(results[1], (const float[]){1, 0, 0, 0.5051813, 0.4948188, 0, 0.3718485, 0.3290909, 0.2990606,
                                               1, 0, 0, 0.5442409, 0.4557591, 0, 0.340133,  0.325884,  0.333983,
                                               1, 0, 0, 0.5053686, 0.4946314, 0, 0.3066174, 0.3234725, 0.3699101,
                                               1, 0, 0, 0.4688455, 0.5311545, 0, 0.3225469, 0.3394685, 0.3379845},
                   36);
    end(results);
}

/* ---- without projections ---- */

static void test_dot_attention(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_attention(model, .use_scale = true, .inputs = {x, input("x1", 2, 4)});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.3166955, 0.05580951, -0.2100619, -0.457169, -0.0316996, -0.2740175, -0.4918583,
                                   -0.6657628, -0.3683738, -0.5927482, -0.7641743, -0.8673389},
                   12);
    end(results);
}

static void test_masks_that_are_given(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer value = input("x1", 2, 4);
    liana_layer of_query = liana_input(model, .name = "query_mask", .shape = LIANA_INTS(3), .dtype = LIANA_S32);
    liana_layer of_value = liana_input(model, .name = "value_mask", .shape = LIANA_INTS(2), .dtype = LIANA_S32);
    liana_layer y =
        liana_attention(model, .inputs = {x, value, [LIANA_QUERY_MASK] = of_query, [LIANA_VALUE_MASK] = of_value},
                        .return_attention_scores = true);
    liana_model_outputs(model, y, liana_layer_output(y, 1));
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.5403023, 0.2674988, -0.02919952, -0.3232896, 0.5403023, 0.2674988, -0.02919952,
                                   -0.3232896, 0, 0, 0, 0},
                   12);
    assert_numbers(results[1], (const float[]){1, 0, 1, 0, 1, 0}, 6);
    end(results);
}

static void test_scores_by_sums(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer value = input("x3", 2, 3), key = input("x1", 2, 4);
    liana_attention(model, .use_scale = true, .score_mode = LIANA_SCORES_CONCAT, .inputs = {x, value, key});
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){-0.9002972, -0.8185857, -0.6637524, -0.900512, -0.8189901, -0.6643103, -0.8938413,
                                   -0.8064294, -0.6469815},
                   9);
    end(results);
}

static void test_additive_attention(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_additive_attention(model, .inputs = {x, x}, .use_causal_mask = true);
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){1, 0.9553365, 0.8253356, 0.62161, 0.7974283, 0.6743093, 0.4909562, 0.2637475,
                                   0.5543201, 0.4282743, 0.263972, 0.07608981},
                   12);
    end(results);
}

/* ---- products ---- */

static void test_einsum_dense(void **state)
{
    (void)state;
    begin();
    input("x0", 3, 4);
    liana_einsum_dense(model, .equation = "abc,cde->abde", .output_shape = LIANA_INTS(-1, 2, 3), .bias_axes = "e",
                       .activation = "tanh");
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.6234578, 0.5224332, 0.154831, 0.4799118, 0.03417625, -0.4386601, 0.3418379,
                                   0.1993541, -0.04704962, 0.5296821, 0.3271153, -0.07011559, 0.1068784, -0.1593591,
                                   -0.3391688, 0.4496838, 0.4497887, 0.2512338},
                   18);
    end(results);
}

static void test_einsum_dense_with_axes_on_the_right(void **state)
{
    (void)state;
    begin();
    input("x0", 2, 3);
    liana_einsum_dense(model, .equation = "ab...,bc->ac...", .output_shape = LIANA_INTS(5), .bias_axes = "c");
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.5715629, 0.6794848, 0.7673228, 0.4349402, 0.5273134, 0.5916715, 0.09375831,
                                   0.1271382, 0.1377479, -0.2915196, -0.3328321, -0.3809608, -0.5396913, -0.6362662,
                                   -0.7204976},
                   15);
    end(results);
}

static void test_reversible_embedding(void **state)
{
    (void)state;
    begin();
    liana_layer ids = liana_input(model, .name = "ids", .shape = LIANA_INTS(2), .dtype = LIANA_S32);
    liana_layer x = input("x0", 3, 4);
    liana_layer rows = liana_reversible_embedding(model, .input_dim = 5, .output_dim = 4, .tie_weights = false,
                                                  .logit_soft_cap = 0.5, .input = ids);
    liana_layer logits = liana_layer_again(rows, liana_reversible_embedding_options, .input = x, .reverse = true);
    liana_model_outputs(model, rows, logits);
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){-0.3059289, -0.4887651, -0.4417273, -0.1869383, -0.1791146, 0.1637372, 0.4295809,
                                   0.493386},
                   8);
    assert_numbers(results[1],
                   (const float[]){0.2442844, 0.2278008, 0.1073238, -0.0784548, -0.2150665, 0.1079879, -0.04397335,
                                   -0.1700963, -0.2125123, -0.1636822, -0.1792456, -0.2523707, -0.2210398, -0.08451371,
                                   0.1052758},
                   15);
    end(results);
}

/* ---- faults ---- */

/* What is wrong with a layer whose query is [batch, 3, 4] and whose value is [batch, 2, 4]. */
#define assert_refused(expected, ...)                                 \
    do {                                                              \
        begin();                                                      \
        liana_layer x = input("x0", 3, 4), value = input("x1", 2, 4); \
        (void)value;                                                  \
        (void)x;                                                      \
        __VA_ARGS__;                                                  \
        assert_compare(liana_model_status(model), !=, LIANA_OK);      \
        assert_says(liana_context_message(context), expected);        \
        liana_model_destroy(model);                                   \
    } while (0)

static void test_faults_name_layer_and_option(void **state)
{
    (void)state;
    assert_refused("its input 1 ('value') is missing",
                   liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .inputs = {x}));
    assert_refused("num_heads", liana_multi_head_attention(model, .key_dim = 3, .inputs = {x, x}));
    assert_refused("num_key_value_heads: found 2, which does not divide num_query_heads: 3",
                   liana_group_query_attention(model, .head_dim = 2, .num_query_heads = 3, .num_key_value_heads = 2,
                                               .inputs = {x, x}));
    assert_refused("attention_axes: found -1, the features",
                   liana_multi_head_attention(model, .num_heads = 1, .key_dim = 3, .attention_axes = LIANA_INTS(-1),
                                              .inputs = {x, x}));
    assert_refused("expected for the attention mask [batch, 3, 2]",
                   liana_multi_head_attention(model, .num_heads = 1, .key_dim = 3,
                                              .inputs = {x, value, [LIANA_ATTENTION_MASK] = value}));
    assert_refused("expected for the key the size 2 along axis 1, as the value",
                   liana_multi_head_attention(model, .num_heads = 1, .key_dim = 3, .inputs = {x, value, x}));
    assert_refused("expected for the query mask [batch, 3]",
                   liana_attention(model, .inputs = {x, value, [LIANA_QUERY_MASK] = value}));
    assert_refused("equation: found 'abc,cd'", liana_einsum_dense(model, .equation = "abc,cd"));
    assert_refused("bias_axes: found 'x': 'x' is not in the result",
                   liana_einsum_dense(model, .equation = "abc,cd->abd", .output_shape = LIANA_INTS(-1, 5),
                                      .bias_axes = "x", .input = x));
    assert_refused("output_shape: found 1 sizes, expected 2",
                   liana_einsum_dense(model, .equation = "abc,cd->abd", .output_shape = LIANA_INTS(5), .input = x));
    assert_refused("one where 'b' has the size 7",
                   liana_einsum_dense(model, .equation = "abc,cd->abd", .output_shape = LIANA_INTS(7, 5), .input = x));
    assert_refused("as reverse reads output_dim",
                   liana_reversible_embedding(model, .input_dim = 5, .output_dim = 9, .reverse = true, .input = x));
}

/* ---- calls ---- */

/* A second call has the options that it names, and the defaults of the others. */
static void test_each_call_has_its_options(void **state)
{
    (void)state;
    begin();
    liana_layer x = input("x0", 3, 4);
    liana_layer plain = liana_multi_head_attention(model, .num_heads = 2, .key_dim = 3, .inputs = {x, x},
                                                   .return_attention_scores = true, .use_causal_mask = true);
    liana_layer again = liana_layer_reuse(plain, x, x);
    assert_compare(liana_layer_output(plain, 1).id, !=, 0);
    assert_compare(liana_layer_output(again, 1).id, ==, 0);
    liana_layer scores =
        liana_layer_again(plain, liana_multi_head_attention_options, .inputs = {x, x}, .return_attention_scores = true);
    liana_model_outputs(model, plain, again, liana_layer_output(scores, 1));
    float **results = run();
    assert_numbers(results[0],
                   (const float[]){0.3744173, 0.1695202, -0.1151049, -0.3455944, 0.3977634, 0.211951, -0.07354534,
                                   -0.3244521, 0.4046635, 0.2406918, -0.03648115, -0.2964964},
                   12);
    assert_numbers(results[1],
                   (const float[]){0.413785, 0.2487755, -0.03323708, -0.2996177, 0.4090516, 0.2453106, -0.03380384,
                                   -0.2970198, 0.4046635, 0.2406917, -0.03648115, -0.2964964},
                   12);
    assert_compare(results[2][1], >, 0); /* a step reads one after it */
    end(results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_attention),
        cmocka_unit_test(test_causal_attention_gives_its_scores),
        cmocka_unit_test(test_keys_and_values_of_other_sizes),
        cmocka_unit_test(test_attention_mask),
        cmocka_unit_test(test_attention_mask_with_scores),
        cmocka_unit_test(test_gate_and_sliding_window),
        cmocka_unit_test(test_attention_over_one_axis_of_two),
        cmocka_unit_test(test_attention_over_two_axes),
        cmocka_unit_test(test_heads_that_share_keys_and_values),
        cmocka_unit_test(test_scores_of_heads_that_share_keys),
        cmocka_unit_test(test_dot_attention),
        cmocka_unit_test(test_masks_that_are_given),
        cmocka_unit_test(test_scores_by_sums),
        cmocka_unit_test(test_additive_attention),
        cmocka_unit_test(test_einsum_dense),
        cmocka_unit_test(test_einsum_dense_with_axes_on_the_right),
        cmocka_unit_test(test_reversible_embedding),
        cmocka_unit_test(test_faults_name_layer_and_option),
        cmocka_unit_test(test_each_call_has_its_options),
    };
    return cmocka_run_group_tests(tests, set_up_devices, tear_down_devices);
}
