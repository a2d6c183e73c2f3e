/* The common code of loops of a test's own. */
#include "harness/tiny_loop.h"

#include <stdlib.h>

const liana_component liana__loop_components[2] = {
    {.name = "image", .dtype = LIANA_U8, .shape = {3, {LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1}}},
    {.name = "label", .dtype = LIANA_S32},
};

liana__tiny_loop liana__tiny_loop_open(int threads, liana_model *(*make_model)(liana_context *context))
{
    liana__tiny_loop own = {.optimizer = "Adam"};
    liana__test_folder();
    liana__test_tiny_run(LIANA__LOOP_COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.data));
    done(liana_device_open(own.context, "cpu", &own.device));
    done(liana_variables_create(own.device, &own.variables));
    own.model = make_model(own.context);
    own.images = malloc((size_t)LIANA__LOOP_COUNT * LIANA__LOOP_PIXELS);
    assert_non_null(own.images);
    for (uint32_t i = 0; i < LIANA__LOOP_COUNT; i++) {
        own.labels[i] = liana__test_tiny_image(1, i, own.images + (size_t)i * LIANA__LOOP_PIXELS);
    }
    return own;
}

void liana__tiny_loop_close(liana__tiny_loop *own)
{
    free(own->images);
    liana_model_destroy(own->model);
    liana_variables_destroy(own->variables);
    liana_device_close(own->device);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

liana_step_input liana__loop_batch(const liana__tiny_loop *own, int64_t first, int64_t count, double rate)
{
    return (liana_step_input){
        .arrays = {{"image", LIANA_U8, liana_shape_of(count, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1),
                    own->images + first * LIANA__LOOP_PIXELS},
                   {"label", LIANA_S32, liana_shape_of(count), own->labels + first}},
        .scalars = {{"rate", rate}},
    };
}

liana_tensor liana__loop_image(liana_shard *shard)
{
    liana_tensor scale = liana_graph_scalar(shard->graph, LIANA_F32, 1.0 / 255);
    return liana_op_multiply(liana_op_cast(liana_shard_input(shard, "image"), LIANA_F32), scale);
}

liana_step *liana__loop_step(const liana__tiny_loop *own, const liana_step_options *options)
{
    liana_step *step;
    liana_step_options placed = *options;
    placed.variables = own->variables;
    liana__tiny_done(own->context, liana_step_create(own->context, &placed, &step), __FILE__, __LINE__);
    liana__tiny_done(own->context, liana_model_to_variables(own->model, own->variables), __FILE__, __LINE__);
    liana__tiny_done(own->context, liana_variables_initialize(own->variables, NULL), __FILE__, __LINE__);
    return step;
}
