/* A context that keeps its first error: calls that do nothing after it, calls that go on, and how it is cleared. */
#define LIANA_STICKY_ERRORS
#include "harness/harness.h"

#include "base/context.h"

#include <liana/liana.h>
#include <unistd.h>

static liana_context *make(bool sticky)
{
    liana_context *context;
    liana_context_options options = {.num_threads = 2, .sticky_errors = sticky};
    assert_int_equal(liana_context_create(&options, &context), LIANA_OK);
    assert_int_equal(liana_context_status(context), LIANA_OK);
    assert_string_equal(liana_context_message(context), "");
    return context;
}

/* A model of one number. */
static liana_model *small(liana_context *context)
{
    liana_model *model;
    liana_model_create(context, NULL, &model);
    liana_input(model, .shape = LIANA_INTS(1));
    liana_dense(model, .units = 1);
    return model;
}

static void test_first_error_stays(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = make(true);
    liana_dataset *data;
    liana_model *model, *other;
    liana_results results = {.num_examples = 7};
    model = small(context);
    assert_int_equal(liana_dataset_open(context, liana__test_path("nothing.tfrec"), NULL, &data), LIANA_NOT_FOUND);
    assert_null(data);
    assert_int_equal(liana_fit(model, &(liana_fit_options){.training = data}), LIANA_NOT_FOUND);
    assert_int_equal(liana_evaluate(model, data, NULL, &results), LIANA_INVALID_ARGUMENT);
    assert_int_equal(results.num_examples, 7);
    assert_int_equal(liana_model_save(model, liana__test_path("model")), LIANA_NOT_FOUND);
    assert_int_equal(access(liana__test_path("model"), F_OK), -1);
    assert_int_equal(liana_model_create(context, NULL, &other), LIANA_NOT_FOUND);
    assert_null(other);
    assert_null(liana_dataset_range(context, 0, 3, 1));
    assert_null(liana_dataset_csv(context, liana__test_path("nothing.csv"), NULL));
    liana_dense(other, .units = 1);
    assert_int_equal(liana_context_status(context), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "nothing.tfrec");
    /* Questions are answered. */
    assert_int_equal(liana_model_info(model).num_weights, 2);
    assert_string_equal(liana_model_weight(model, 0).name, "dense/kernel");
    liana_context_clear(context);
    assert_int_equal(liana_context_status(context), LIANA_OK);
    assert_string_equal(liana_context_message(context), "");
    assert_int_equal(liana_model_save(model, liana__test_path("model")), LIANA_OK);
    assert_int_equal(liana_context_status(context), LIANA_OK);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

/* The errors of graphs and models are the context's as well, and the first of two is kept. */
static void test_graphs_and_models(void **state)
{
    (void)state;
    liana_context *context = make(true);
    liana_graph *graph;
    liana_graph_create(context, &graph);
    liana_model *model = small(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(2));
    liana_op_add(x, liana_graph_input(graph, "y", LIANA_F32, liana_shape_of(3)));
    liana_dense(model, .units = -1);
    liana_device *device;
    assert_int_equal(liana_device_open(context, NULL, &device), LIANA_INVALID_ARGUMENT);
    assert_null(device);
    assert_int_equal(liana_context_status(context), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "add");
    liana_context_clear(context);
    assert_int_equal(liana_device_open(context, NULL, &device), LIANA_OK);
    /* The graph keeps its error, and its users are told again. */
    liana_program *program;
    assert_int_equal(liana_program_create(device, graph, NULL, &program), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_context_status(context), LIANA_INVALID_ARGUMENT);
    liana_device_close(device);
    liana_model_destroy(model);
    liana_graph_destroy(graph);
    liana_context_destroy(context);
}

/* The errors of vain attempts on the way to a success are forgotten; an iterator's end is no error. */
static void test_no_error(void **state)
{
    (void)state;
    liana_context *context = make(true);
    liana_iterator *iterator;
    const liana_element *element;
    liana_dataset *data = liana_dataset_range(context, 0, 2, 1);
    assert_int_equal(liana_iterator_create(data, NULL, &iterator), LIANA_OK);
    while (liana_iterator_next(iterator, &element) == LIANA_OK) assert_non_null(element);
    assert_int_equal(liana_iterator_initialize(iterator, NULL, NULL), LIANA_OK);
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
    assert_int_equal(liana_context_status(context), LIANA_OK);
    liana_iterator_destroy(iterator);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

/* By default a program that handles an error goes on. */
static void test_not_sticky(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = make(false);
    liana_dataset *data;
    assert_int_equal(liana_dataset_open(context, liana__test_path("nothing.tfrec"), NULL, &data), LIANA_NOT_FOUND);
    assert_int_equal(liana_context_status(context), LIANA_NOT_FOUND);
    liana_model *model = small(context);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    assert_int_equal(liana_model_train_from(model, "dnese"), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "dnese");
    assert_int_equal(liana_model_save(model, liana__test_path("model")), LIANA_OK);
    liana_context_clear(context);
    assert_string_equal(liana_context_message(context), "");
    liana_model_destroy(model);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_graphs_and_models),
        cmocka_unit_test(test_no_error),
        cmocka_unit_test(test_not_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
