/* A run adapts its Normalizations to the training data. */
#include "harness/command_run.h"

#include "base/file.h"

#include <liana/liana.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* More rows than are computed together. */
enum { ROWS = 300, COLUMNS = 2 };

static double cell(int row, int column)
{
    return column ? 100 + 7 * (row % 11) : 0.25 * (row % 6);
}

static const char *write_table(void)
{
    char text[8192] = "a,b,y\n";
    for (int i = 0; i < ROWS; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%g,%g,%g\n", cell(i, 0), cell(i, 1), cell(i, 0));
    }
    liana__test_write("t.csv", text, strlen(text));
    static const char config[] = "data: {train: t.csv, columns: {x: [a, b], y: y}, inputs: x, targets: y}\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - Normalization: {name: scaled}\n"
                                 "    - Dense: {units: 1}\n"
                                 "train: {epochs: 1, loss: mse}\n"
                                 "output: run\n";
    return liana__test_write("config.yaml", config, strlen(config));
}

/* The numbers of a weight of the trained model. */
static void read_weight(liana_model *model, const char *name, float *values, size_t count)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, name, &array), LIANA_OK);
    memcpy(values, array.data, count * sizeof *values);
}

/* Holds the weights of the run's Normalization to the moments of `scale` * cell + `offset`, in double. */
static void hold_to_data(double scale, double offset)
{
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_load(context, liana__test_path("run"), &model), LIANA_OK);
    float mean[COLUMNS], variance[COLUMNS], count;
    read_weight(model, "scaled/mean", mean, COLUMNS);
    read_weight(model, "scaled/variance", variance, COLUMNS);
    read_weight(model, "scaled/count", &count, 1);
    for (int c = 0; c < COLUMNS; c++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < ROWS; i++) sum += scale * cell(i, c) + offset;
        for (int i = 0; i < ROWS; i++) squares += pow(scale * cell(i, c) + offset - sum / ROWS, 2);
        assert_near(mean[c], sum / ROWS, 1e-5 * (1 + sum / ROWS), c);
        assert_near(variance[c], squares / ROWS, 1e-5 * (1 + squares / ROWS), c);
    }
    assert_compare(count, ==, ROWS);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

static void test_a_run_adapts_to_its_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got = liana__test_command("train", write_table());
    assert_says(got.out, "layer 'scaled' (Normalization) is adapted to 'x' of 300 training examples");
    assert_code(got, 0);
    hold_to_data(1, 0);
}

/* Layers that are not trained may stand between: here they join two inputs, and rescale them. */
static void test_it_adapts_behind_other_layers(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got =
        liana__test_command("train", write_table(), "data.columns={a: a, b: b, y: y}", "data.inputs={a: a, b: b}",
                            "model.layers=[InputLayer: {name: a, shape: [1]}, InputLayer: {name: b, shape: [1]}, "
                            "Concatenate: {inputs: [a, b]}, Rescaling: {name: twice, scale: 2.0, offset: 1.0}, "
                            "Normalization: {name: scaled}, Dense: {units: 1}]");
    assert_says(got.out, "layer 'scaled' (Normalization) is adapted to 'twice' of 300 training examples");
    assert_code(got, 0);
    hold_to_data(2, 1);
    /* One behind the other: the second reads the outputs of the first, which have mean 0 and variance 1. */
    got = liana__test_command("train", write_table(), "--out", liana__test_path("two"),
                              "model.layers=[Normalization: {name: first}, Normalization: {name: second}, Dense: "
                              "{units: 1}]");
    assert_says(got.out, "layer 'second' (Normalization) is adapted to 'first' of 300 training examples");
    assert_code(got, 0);
}

/* Inputs and outputs that the model does not have, and shapes that do not fit, are named before anything is read. */
static void test_names_and_shapes_that_do_not_fit(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = write_table();
    assert_refused(liana__test_command("train", config, "data.inputs={z: x}"), 2, "data.inputs",
                   "the model has no input 'z' for the component 'x'");
    assert_refused(liana__test_command("train", config, "data.targets={dens: y}"), 2, "data.targets",
                   "the model has no output 'dens' for the component 'y'; did you mean 'dense'?");
    assert_refused(liana__test_command("train", config,
                                       "model.layers=[InputLayer: {name: a, shape: [1]}, InputLayer: {name: b, shape: "
                                       "[1]}, Concatenate: {inputs: [a, b]}, Dense: {units: 1}]"),
                   2, "data.inputs", "the model has 2 inputs; say which one is 'x': {a: x}");
    assert_refused(liana__test_command("train", config,
                                       "model.layers=[InputLayer: {name: in, shape: [3]}, Normalization: {name: "
                                       "scaled}, Dense: {units: 1}]"),
                   1, "layer 'scaled' (Normalization): the component 'x' is [2], but the model's input 'in' is [1, 3]");
    assert_false(liana__file_exists(liana__test_path("run/model.json")));
}

/* The outputs of a trained layer have no mean that stays. */
static void test_what_is_not_adapted_is_said(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_result got =
        liana__test_command("train", write_table(),
                            "model.layers=[Dense: {units: 3}, Normalization: {name: scaled}, Dense: {units: 1}]");
    assert_says(got.out, "layer 'scaled' (Normalization) has mean 0 and variance 1: layer 'dense' before it "
                         "is trained");
    assert_code(got, 0);
}

/* Vocabularies and boundaries are found before the model is built; the run keeps them, and goes on with them. */
static void test_options_are_found_in_the_training_data(void **state)
{
    (void)state;
    char table[4096] = "words,age,y\n";
    static const char *const words[] = {"a b", "b c", "b", "d a"};
    for (int i = 0; i < 40; i++) {
        snprintf(table + strlen(table), sizeof table - strlen(table), "%s,%d,%d\n", words[i % 4], i, i % 2);
    }
    static const char config[] =
        "data: {train: t.csv, columns: {words: {from: words, dtype: string}, age: age, y: y}, targets: y}\n"
        "model:\n"
        "  layers:\n"
        "    - InputLayer: {name: words, shape: [1], dtype: string}\n"
        "    - TextVectorization: {name: tokens, max_tokens: 5, output_sequence_length: 2}\n"
        "    - Embedding: {name: table, input_dim: {vocabulary: tokens}, output_dim: 2}\n"
        "    - Flatten: {name: rows}\n"
        "    - InputLayer: {name: age, shape: [1]}\n"
        "    - Discretization: {name: bins, num_bins: 4, output_mode: one_hot}\n"
        "    - Concatenate: {inputs: [rows, bins]}\n"
        "    - Dense: {units: 1}\n"
        "train: {epochs: 1, loss: mse}\n"
        "output: run\n";
    liana__test_folder();
    liana__test_write("t.csv", table, strlen(table));
    const char *path = liana__test_write("config.yaml", config, strlen(config));
    liana__test_result got = liana__test_command("train", path);
    assert_says(got.out, "layer 'tokens' (TextVectorization): 3 texts of its vocabulary were found in 'words' of 40 "
                         "training examples");
    assert_says(got.out, "layer 'bins' (Discretization): 3 boundaries of bins were found in 'age'");
    assert_code(got, 0);
    got = liana__test_command("train", path, "train.epochs=2", "--resume");
    assert_says(got.out, "epoch 2/2");
    assert_code(got, 0);
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_load(context, liana__test_path("run"), &model), LIANA_OK);
    /* The mask, unknown words, and the three most frequent ones: b 30, a 20, and of those with 10 the greater, d. */
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, "table/embeddings", &array), LIANA_OK);
    assert_int_equal(array.shape.dims[0], 5);
    liana_model_destroy(model);
    liana_context_destroy(context);
    assert_refused(liana__test_command("train", path, "--out", liana__test_path("other"),
                                       "model.layers=[InputLayer: {name: age, shape: [1]}, Rescaling: {scale: 2.0}, "
                                       "Discretization: {num_bins: 3, output_mode: one_hot}, Dense: {units: 1}]"),
                   2, "Discretization: it reads no input of the model", "bin_boundaries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_adapts_to_its_data),
        cmocka_unit_test(test_it_adapts_behind_other_layers),
        cmocka_unit_test(test_names_and_shapes_that_do_not_fit),
        cmocka_unit_test(test_what_is_not_adapted_is_said),
        cmocka_unit_test(test_options_are_found_in_the_training_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
