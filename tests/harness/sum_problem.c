/* A problem for trainings whose numbers are made bad. */
#include "harness/sum_problem.h"

#include <stdlib.h>
#include <string.h>

void liana__sum_problem_model(liana_model *model)
{
    liana_dense(model, .units = 4, .activation = "tanh", .name = "first");
    liana_dense(model, .units = 1, .name = "second");
}

static float draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 24) * 2 - 1;
}

void liana__sum_problem_begin(liana__sum_problem *own, void (*build)(liana_model *model))
{
    uint32_t state = 7;
    memset(own, 0, sizeof *own);
    for (int i = 0; i < LIANA__SUM_EXAMPLES; i++) {
        for (int k = 0; k < LIANA__SUM_WIDTH; k++) own->y[i][0] += own->x[i][k] = draw(&state);
        own->weight[i] = 1;
    }
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context), LIANA_OK);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    liana_input(own->model, .shape = LIANA_INTS(LIANA__SUM_WIDTH));
    (build ? build : liana__sum_problem_model)(own->model);
    assert_int_equal(liana_model_status(own->model), LIANA_OK);
    own->options = (liana_fit_options){.epochs = 1,
                                       .batch_size = LIANA__SUM_BATCH,
                                       .microbatch = LIANA__SUM_SHARD,
                                       .loss = "mse",
                                       .optimizer = "{name: SGD, learning_rate: 0.01}",
                                       .keep_order = true};
}

static liana_dataset *make_data(const liana__sum_problem *own)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(LIANA__SUM_EXAMPLES, LIANA__SUM_WIDTH), own->x},
                                  {"y", LIANA_F32, liana_shape_of(LIANA__SUM_EXAMPLES, 1), own->y},
                                  {"weight", LIANA_F32, liana_shape_of(LIANA__SUM_EXAMPLES), own->weight}};
    return liana_dataset_from_tensor_slices(own->context, arrays, 3);
}

liana_status liana__sum_problem_fit(liana__sum_problem *own)
{
    liana_dataset *data = make_data(own);
    own->options.training = data;
    own->options.inputs[0].component = "x";
    own->options.targets[0].component = "y";
    liana_status status = liana_fit(own->model, &own->options);
    liana_dataset_close(data);
    return status;
}

void liana__sum_problem_end(liana__sum_problem *own)
{
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
}

void liana__sum_problem_set(liana__sum_problem *own, const char *name, int64_t element, float value)
{
    liana_array weights;
    assert_int_equal(liana_model_get_weights(own->model, name, &weights), LIANA_OK);
    const size_t size = (size_t)liana_shape_size(&weights.shape) * sizeof(float);
    float *copy = malloc(size);
    memcpy(copy, weights.data, size);
    copy[element] = value;
    weights.data = copy;
    weights.name = name;
    assert_int_equal(liana_model_set_weights(own->model, &weights, 1), LIANA_OK);
    free(copy);
}

void liana__sum_problem_fill(liana__sum_problem *own, const char *name, float value)
{
    liana_array weights;
    assert_int_equal(liana_model_get_weights(own->model, name, &weights), LIANA_OK);
    for (int64_t i = 0, count = liana_shape_size(&weights.shape); i < count; i++)
        liana__sum_problem_set(own, name, i, value);
}
