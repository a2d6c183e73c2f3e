/* Own activations, regularisers and constraints: they have the results of liana's of the same formula, bit for bit;
 * they are saved, loaded and resumed; and options that do not fit are refused with names. */
#include "harness/tiny_fit.h"

#include <math.h>

enum { COUNT = LIANA__TINY_ROWS, FEATURES = LIANA__TINY_FEATURES, UNITS = 5 };

/* ---- parts ---- */

typedef struct slope_options {
    double slope;
} slope_options;

static const liana_option slope_rows[] = {
    LIANA_OPTION_ROW(slope_options, slope, FLOAT, .default_text = "0.0", .maximum = 1, .doc = "below 0")};

/* With a slope of 0 it is liana's relu. */
static liana_tensor leaky(const liana_activation_call *call)
{
    const slope_options *options = call->options;
    liana_tensor above = liana_op_relu_at(call->here, call->x);
    if (options->slope == 0) return above;
    liana_tensor below = liana_op_subtract_at(call->here, call->x, above);
    liana_tensor slope = liana_graph_scalar(below.graph, liana_tensor_dtype(below), options->slope);
    return liana_op_add_at(call->here, above, liana_op_multiply_at(call->here, below, slope));
}

static const liana_activation_type own_leaky = {LIANA_PART(ACTIVATION, liana_activation_type, "own_leaky",
                                                           "x, or slope x below 0",
                                                           LIANA_PART_OPTIONS(slope_options, slope_rows)),
                                                .apply = leaky};

typedef struct factor_options {
    double factor;
    bool used;
} factor_options;

static const liana_option factor_rows[] = {LIANA_OPTION_ROW(factor_options, factor, FLOAT, .default_text = "0.01",
                                                            .maximum = 10),
                                           LIANA_OPTION_ROW(factor_options, used, BOOL, .default_text = "true")};

static liana_status factor_check(liana_check *check)
{
    const factor_options *options = check->options;
    return options->used ? LIANA_OK : liana_option_refuse(check, NULL, "expected one that is used");
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return liana_op_multiply(x, liana_graph_scalar(x.graph, liana_tensor_dtype(x), factor));
}

/* A factor of 1 leaves the elements as they are, so liana's l1(1) has the same bits. */
static liana_tensor absolute(const liana_regularizer_call *call)
{
    const factor_options *options = call->options;
    liana_tensor each = liana_op_abs(call->x);
    if (options->factor != 1) each = scaled(each, options->factor);
    return call->axes.count ? liana_op_reduce_sum(each, call->axes, false) : each;
}

static const liana_regularizer_type own_l1 = {LIANA_PART(REGULARIZER, liana_regularizer_type, "own_l1", "factor |x|",
                                                         LIANA_PART_OPTIONS(factor_options, factor_rows),
                                                         .check = factor_check),
                                              .is_by_element = true, .penalty = absolute};

static liana_tensor squares(const liana_regularizer_call *call)
{
    const factor_options *options = call->options;
    return scaled(liana_op_reduce_sum(liana_op_square(call->x), LIANA_ALL_AXES, false), options->factor);
}

static const char *only_matrices(const void *options, const liana_shape *shape)
{
    (void)options;
    return shape->rank == 2 ? NULL : "a matrix";
}

static const liana_regularizer_type own_l2 = {LIANA_PART(REGULARIZER, liana_regularizer_type, "own_l2",
                                                         "factor sum(x^2)",
                                                         LIANA_PART_OPTIONS(factor_options, factor_rows)),
                                              .penalty = squares, .refuse = only_matrices};

static liana_tensor not_below_zero(const liana_constraint_call *call)
{
    liana_tensor w = call->variable;
    return liana_op_maximum(w, liana_graph_scalar(w.graph, liana_tensor_dtype(w), 0));
}

static const liana_constraint_type own_positive = {LIANA_PART(CONSTRAINT, liana_constraint_type, "own_positive",
                                                              "max(w, 0)"),
                                                   .is_by_element = true, .apply = not_below_zero};

static liana_status fits_matrices(liana_check *check, const liana_shape *shape)
{
    return shape->rank == 2 ? LIANA_OK : liana_option_refuse(check, NULL, "expected a matrix");
}

typedef struct axis_options {
    liana_ints axis;
} axis_options;

static const liana_option axis_rows[] = {LIANA_OPTION_ROW(axis_options, axis, INTS, .default_text = "[0]")};

/* Keras's unit_norm. */
static liana_tensor unit(const liana_constraint_call *call)
{
    const axis_options *options = call->options;
    liana_axes axes = {.count = options->axis.count};
    for (int64_t i = 0; i < axes.count; i++) axes.values[i] = options->axis.values[i];
    liana_tensor w = call->variable;
    liana_tensor norms = liana_op_sqrt(liana_op_reduce_sum(liana_op_square(w), axes, true));
    return liana_op_divide(w, liana_op_add(norms, liana_graph_scalar(w.graph, liana_tensor_dtype(w), 1e-7)));
}

static const liana_constraint_type own_unit = {LIANA_PART(CONSTRAINT, liana_constraint_type, "own_unit", "norms are 1",
                                                          LIANA_PART_OPTIONS(axis_options, axis_rows)),
                                               .fits = fits_matrices, .apply = unit};

/* ---- helpers ---- */

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
} fixture;

static void register_all(liana_context *context)
{
    fixture own = {context, NULL};
    done(liana_register(context, &own_leaky.part));
    done(liana_register(context, &own_l1.part));
    done(liana_register(context, &own_l2.part));
    done(liana_register(context, &own_positive.part));
    done(liana_register(context, &own_unit.part));
}

static fixture begin(int num_threads)
{
    fixture own;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &own.context),
                     LIANA_OK);
    own.data = liana__tiny_rows(own.context);
    register_all(own.context);
    return own;
}

static void end(fixture *own)
{
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

/* The rules of a layer's options. */
typedef struct rules {
    const char *activation, *kernel, *bias, *results, *kernel_limit, *bias_limit;
} rules;

static const rules own_rules = {"own_leaky", "own_l2(0.05)",       "own_l1(factor=1)",
                                "own_l1(1)", "own_unit(axis=[0])", "own_positive"};
static const rules usual_rules = {"relu", "l2(0.05)", "l1(1)", "l1(1)", "unit_norm(axis=0)", "non_neg"};

static liana_model *make_model(const fixture *own, const rules *chosen)
{
    liana_model *m;
    assert_int_equal(liana_model_create(own->context, "rules", &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    liana_dense(m, .units = UNITS, .activation = chosen->activation, .kernel_regularizer = chosen->kernel,
                .bias_regularizer = chosen->bias, .activity_regularizer = chosen->results,
                .kernel_constraint = chosen->kernel_limit, .bias_constraint = chosen->bias_limit);
    liana_activation(m, .activation = chosen->activation);
    liana_dense(m, .units = 1);
    return m;
}

static liana_fit_options options_of(const fixture *own)
{
    return (liana_fit_options){.training = own->data,
                               .epochs = 3,
                               .batch_size = 16,
                               .microbatch = 4,
                               .seed = 5,
                               .loss = "mse",
                               .optimizer = "{name: SGD, momentum: 0.8, learning_rate: 0.02}"};
}

/* ---- their results ---- */

static void test_the_same_formulas_give_the_same_bits(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        fixture own = begin(threads);
        liana_model *mine = make_model(&own, &own_rules), *usual = make_model(&own, &usual_rules);
        liana_fit_options options = options_of(&own);
        done(liana_fit(mine, &options));
        done(liana_fit(usual, &options));
        assert_true(liana__same_weights(mine, usual));
        liana_results one, two;
        done(liana_evaluate(mine, own.data, NULL, &one));
        done(liana_evaluate(usual, own.data, NULL, &two));
        assert_compare(one.loss, ==, two.loss);
        assert_true(isfinite(one.loss));
        liana_model_destroy(mine);
        liana_model_destroy(usual);
        end(&own);
    }
}

/* Slices of an update give parts of a variable to what works by element. */
static void test_replicas_give_the_same_bits(void **state)
{
    (void)state;
    fixture own = begin(2);
    liana_model *one = make_model(&own, &own_rules), *two = make_model(&own, &own_rules);
    liana_fit_options options = options_of(&own);
    done(liana_fit(one, &options));
    options.strategy = (liana_strategy){.name = "mirrored", .replicas = 2, .threads = 1};
    done(liana_fit(two, &options));
    assert_true(liana__same_weights(one, two));
    liana_model_destroy(one);
    liana_model_destroy(two);
    end(&own);
}

static void test_options_reach_an_activation(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_model *m;
    done(liana_model_create(own.context, NULL, &m));
    liana_input(m, .shape = LIANA_INTS(2));
    liana_layer layer = liana_activation(m, .activation = "own_leaky(slope=0.25)");
    liana_graph *graph;
    done(liana_graph_create(own.context, &graph));
    const float numbers[] = {-2, 3};
    float found[2];
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(1, 2), numbers);
    done(liana_value(liana_layer_call(layer, &x, 1, NULL, NULL), found, sizeof found));
    assert_compare(found[0], ==, -0.5f);
    assert_compare(found[1], ==, 3);
    liana_graph_destroy(graph);
    liana_model_destroy(m);
    end(&own);
}

static void read_file(const char *folder, char *text, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/model.json", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = 0;
}

static void test_they_are_saved_and_resumed(void **state)
{
    (void)state;
    fixture own = begin(1), other = begin(3);
    char folder[512], saved[512], text[16384];
    snprintf(folder, sizeof folder, "%s", liana__test_path("checkpoints"));
    snprintf(saved, sizeof saved, "%s", liana__test_path("saved"));
    const rules chosen = {
        "own_leaky(slope=0.125)", "own_l2(0.05)", "own_l1(used=true)", NULL, "own_unit", "own_positive"};
    liana_model *whole = make_model(&own, &chosen), *parts = make_model(&other, &chosen), *loaded;
    liana_fit_options options = options_of(&own);
    done(liana_fit(whole, &options));
    options.training = other.data;
    options.checkpoints = folder;
    options.epochs = 1;
    assert_int_equal(liana_fit(parts, &options), LIANA_OK);
    done(liana_model_save(whole, saved));
    liana_model_destroy(parts);
    /* The second part is trained by a model that was read from the file. */
    assert_int_equal(liana_model_load(other.context, saved, &parts), LIANA_OK);
    options.resume = true;
    options.epochs = 3;
    assert_int_equal(liana_fit(parts, &options), LIANA_OK);
    assert_true(liana__same_weights(whole, parts));
    read_file(saved, text, sizeof text);
    assert_says(text, "\"own_leaky(slope=0.125)\"");
    assert_says(text, "\"class_name\": \"own_l2\"");
    assert_says(text, "\"class_name\": \"own_unit\"");
    liana_context *plain;
    assert_int_equal(liana_context_create(NULL, &plain), LIANA_OK);
    liana__tiny_refused(plain, liana_model_load(plain, saved, &loaded), LIANA_UNIMPLEMENTED, "'own_l2'", __FILE__,
                        __LINE__);
    assert_int_equal(liana_register(plain, &own_l2.part), LIANA_OK);
    assert_int_equal(liana_register(plain, &own_l1.part), LIANA_OK);
    liana__tiny_refused(plain, liana_model_load(plain, saved, &loaded), LIANA_UNIMPLEMENTED, "'own_unit'", __FILE__,
                        __LINE__);
    assert_int_equal(liana_register(plain, &own_unit.part), LIANA_OK);
    assert_int_equal(liana_register(plain, &own_positive.part), LIANA_OK);
    liana__tiny_refused(plain, liana_model_load(plain, saved, &loaded), LIANA_INVALID_CONFIG,
                        "found 'own_leaky', expected an activation", __FILE__, __LINE__);
    liana_context_destroy(plain);
    liana_model_destroy(whole);
    liana_model_destroy(parts);
    end(&own);
    end(&other);
}

/* ---- refusals ---- */

static void refuse_model(const fixture *fixed, rules chosen, const char *text)
{
    const fixture own = *fixed;
    if (!chosen.activation) chosen.activation = "relu";
    liana_model *m = make_model(&own, &chosen);
    refused(liana_model_status(m), LIANA_INVALID_CONFIG, text);
    liana_model_destroy(m);
}

static void test_texts_that_are_refused(void **state)
{
    (void)state;
    fixture own = begin(1);
    refuse_model(&own, (rules){.activation = "own_leakt"}, "did you mean 'own_leaky'?");
    refuse_model(&own, (rules){.activation = "own_leaky(slope=2)"}, "slope: found the number 2");
    refuse_model(&own, (rules){.activation = "own_leaky(slop=0.5)"}, "did you mean 'slope'?");
    refuse_model(&own, (rules){.activation = "own_leaky(0.5"}, "expected ')' at its end");
    refuse_model(&own, (rules){.kernel = "own_l3"}, "did you mean 'own_l");
    refuse_model(&own, (rules){.kernel = "own_l2(1, true, 3)"}, "own_l2: found 3 arguments, expected at most 2");
    refuse_model(&own, (rules){.kernel = "own_l1(used=false)"}, "own_l1: expected one that is used");
    refuse_model(&own, (rules){.bias = "own_l2"}, "the weight 'bias' is [5], but own_l2 needs a matrix");
    refuse_model(&own, (rules){.results = "own_l2"}, "which reads several examples at once");
    refuse_model(&own, (rules){.bias_limit = "own_unit"}, "own_unit of the weight 'bias' [5]: expected a matrix");
    refuse_model(&own, (rules){.kernel_limit = "own_unit(axis=much)"}, "axis: found the text 'much'");
    end(&own);
}

static void test_what_cannot_be_registered(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_activation_type activation = own_leaky;
    refused(liana_register(own.context, &activation.part), LIANA_INVALID_ARGUMENT, "'own_leaky' already");
    activation.part.name = "relu";
    refused(liana_register(own.context, &activation.part), LIANA_INVALID_ARGUMENT, "liana has one of this name");
    activation.part.name = "a";
    activation.apply = NULL;
    refused(liana_register(own.context, &activation.part), LIANA_INVALID_ARGUMENT, "'apply' is NULL");
    activation.part.version = 9;
    refused(liana_register(own.context, &activation.part), LIANA_INVALID_ARGUMENT, "was built for version 9");
    liana_regularizer_type regularizer = own_l1;
    regularizer.part.name = "l1_l2";
    refused(liana_register(own.context, &regularizer.part), LIANA_INVALID_ARGUMENT, "one of this name");
    regularizer.part.name = "r";
    regularizer.penalty = NULL;
    refused(liana_register(own.context, &regularizer.part), LIANA_INVALID_ARGUMENT, "'penalty' is NULL");
    static const liana_option text_row[] = {{.name = "path", .kind = LIANA_OPTION_STRING}};
    regularizer = own_l1;
    regularizer.part.name = "r";
    regularizer.part.options.items = text_row;
    regularizer.part.options.count = 1;
    regularizer.part.check = NULL;
    refused(liana_register(own.context, &regularizer.part), LIANA_INVALID_ARGUMENT, "'path' is a text");
    liana_constraint_type constraint = own_unit;
    constraint.part.name = "max_norm";
    refused(liana_register(own.context, &constraint.part), LIANA_INVALID_ARGUMENT, "one of this name");
    constraint.part.name = "c";
    constraint.apply = NULL;
    refused(liana_register(own.context, &constraint.part), LIANA_INVALID_ARGUMENT, "'apply' is NULL");
    constraint.part.size = 8;
    refused(liana_register(own.context, &constraint.part), LIANA_INVALID_ARGUMENT, "its size is 8");
    end(&own);
}

static liana_tensor summed(const liana_activation_call *call)
{
    return liana_op_reduce_sum(call->x, LIANA_AXES(-1), false);
}

static liana_tensor summed_elements(const liana_regularizer_call *call)
{
    return call->x;
}

static liana_tensor nothing(const liana_constraint_call *call)
{
    return (liana_tensor){call->variable.graph, 0};
}

static liana_tensor rounded(const liana_activation_call *call)
{
    liana_tensor zero = liana_graph_scalar(call->x.graph, liana_tensor_dtype(call->x), 0);
    return liana_op_cast(liana_op_greater(call->x, zero), liana_tensor_dtype(call->x));
}

/* Nothing could be learnt behind it. */
static void test_an_activation_without_a_slope_is_refused(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_activation_type activation = own_leaky;
    activation.part.name = "step";
    activation.apply = rounded;
    done(liana_register(own.context, &activation.part));
    liana_model *m;
    done(liana_model_create(own.context, NULL, &m));
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    liana_dense(m, .units = 1, .activation = "step");
    liana_fit_options options = options_of(&own);
    refused(liana_fit(m, &options), LIANA_INVALID_ARGUMENT, "there is no gradient: the loss depends on variable");
    liana_model_destroy(m);
    end(&own);
}

static void test_what_they_build_is_looked_at(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_activation_type activation = own_leaky;
    activation.part.name = "sums";
    activation.apply = summed;
    done(liana_register(own.context, &activation.part));
    liana_regularizer_type regularizer = own_l1;
    regularizer.part.name = "sum";
    regularizer.is_by_element = false;
    regularizer.penalty = summed_elements;
    done(liana_register(own.context, &regularizer.part));
    liana_constraint_type constraint = own_positive;
    constraint.part.name = "nothing";
    constraint.apply = nothing;
    done(liana_register(own.context, &constraint.part));
    liana_model *m = make_model(&own, &(rules){.activation = "sums"});
    refused(liana_model_status(m), LIANA_INVALID_ARGUMENT,
            "the activation 'sums': its function 'apply' gave f32[1], expected f32[1, 5]");
    liana_model_destroy(m);
    liana_fit_options options = options_of(&own);
    m = make_model(&own, &(rules){.activation = "relu", .kernel = "sum"});
    refused(liana_fit(m, &options), LIANA_INVALID_ARGUMENT, "the regularizer 'sum': its function 'penalty' gave f32");
    liana_model_destroy(m);
    m = make_model(&own, &(rules){.activation = "relu", .bias_limit = "nothing"});
    refused(liana_fit(m, &options), LIANA_INVALID_ARGUMENT,
            "the constraint 'nothing': its function 'apply' gave no tensor");
    liana_model_destroy(m);
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_formulas_give_the_same_bits),
        cmocka_unit_test(test_replicas_give_the_same_bits),
        cmocka_unit_test(test_options_reach_an_activation),
        cmocka_unit_test(test_they_are_saved_and_resumed),
        cmocka_unit_test(test_texts_that_are_refused),
        cmocka_unit_test(test_what_cannot_be_registered),
        cmocka_unit_test(test_an_activation_without_a_slope_is_refused),
        cmocka_unit_test(test_what_they_build_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
