/* Rows of numbers and estimators on them. */
#include "harness/number_rows.h"

enum { ROWS = LIANA__ROWS, WIDTH = LIANA__ROW_WIDTH };

static void fill_numbers(liana__number_rows *own)
{
    uint32_t state = 7;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        state = state * 1664525u + 1013904223u;
        own->xs[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5F;
    }
    for (int i = 0; i < ROWS; i++) {
        const float *x = &own->xs[i * WIDTH];
        own->ys[i] = 2 * x[0] - 3 * x[1] + 0.5F * x[2] + 1;
        own->labels[i] = (x[0] > 0) + 2 * (x[1] > 0);
    }
}

void liana__number_rows_open(liana__number_rows *own)
{
    *own = (liana__number_rows){.context = NULL};
    liana__test_folder();
    fill_numbers(own);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context), LIANA_OK);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, WIDTH), own->xs},
                                  {"y", LIANA_F32, liana_shape_of(ROWS), own->ys},
                                  {"label", LIANA_S64, liana_shape_of(ROWS), own->labels}};
    own->data = liana_dataset_from_tensor_slices(own->context, arrays, 3);
    assert_non_null(own->data);
}

void liana__number_rows_close(liana__number_rows *own)
{
    liana_model_destroy(own->model);
    liana_model_destroy(own->other);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

liana_estimator *liana__rows_estimator(const liana__number_rows *given, liana_estimator_options options)
{
    const liana__number_rows own = *given;
    liana_estimator *estimator;
    options.params = (void *)(uintptr_t)given;
    if (!options.config.batch_size) options.config.batch_size = LIANA__ROW_BATCH;
    options.name = "numbers";
    done(liana_estimator_create(own.context, &options, &estimator));
    return estimator;
}

liana_train_spec liana__rows_train(const liana__number_rows *own, int64_t max_steps)
{
    return (liana_train_spec){.input = {own->data, .keep_order = true}, .max_steps = max_steps};
}

liana_estimator_spec liana__line_fn(const liana_features *features, const liana_features *targets,
                                    const liana_estimator_mode *mode, void *params)
{
    const liana__number_rows *own = params;
    liana_tensor x = liana_feature(features, "x");
    liana_tensor w = liana_graph_variable(features->graph, "line/w", LIANA_F32, liana_shape_of(WIDTH));
    liana_tensor b = liana_graph_variable(features->graph, "line/b", LIANA_F32, LIANA_SCALAR);
    liana_graph_initializer(w, "constant(0.25)");
    liana_graph_initializer(b, "zeros");
    liana_tensor predicted = liana_op_add(liana_op_reduce_sum(liana_op_multiply(x, w), LIANA_AXES(-1), false), b);
    liana_estimator_spec spec = {.predictions = {{"y", predicted}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor error = liana_op_subtract(predicted, liana_feature(targets, "y"));
    spec.loss = liana_op_square(error);
    spec.metrics[0] = (liana_estimator_metric){"distance", .values = liana_op_abs(error)};
    spec.optimizer =
        (liana_optimizer_options){.optimizer = own->optimizer ? own->optimizer : "SGD", .learning_rate = 0.1};
    spec.update = own->update;
    return spec;
}

liana_estimator_options liana__line_options(void)
{
    return (liana_estimator_options){.model_fn = liana__line_fn, .labels = {"y"}};
}
