/* A training loop of one's own: batches from an iterator, loss and gradients in a shard function, the optimizer in an
 * update function, and between them whatever the program wants. After `make install`:
 *
 *     cc custom_loop.c -o custom_loop $(pkg-config --cflags --libs liana)
 *     ./custom_loop FOLDER/train-images-idx3-ubyte.gz [EPOCHS]
 *
 * FOLDER holds MNIST's labels too. The program writes custom-model/. */
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 128, WEIGHTS = 8 };

/* A shard: up to 32 examples, computed together. liana adds up what all shards give, in one order. */
static void build_shard(liana_shard *shard, void *model)
{
    liana_tensor image = liana_shard_input(shard, "image"), label = liana_shard_input(shard, "label"), output;
    liana_tensor weights[WEIGHTS];
    liana_call_effects effects;
    image = liana_op_divide(liana_op_cast(image, LIANA_F32), liana_graph_scalar(shard->graph, LIANA_F32, 255));
    liana_model_call(model, &image, 1, &shard->mode, &output, &effects);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    /* A metric of one's own is ops: how sure the model is, right or wrong. */
    liana_shard_sum(shard, "sureness", liana_op_reduce_max(output, LIANA_AXES(-1), false));
    liana_shard_gradients(shard, loss, weights, liana_model_variables(model, shard->graph, weights));
    liana_shard_effects(shard, &effects); /* moving averages */
}

/* Once for each batch, with the gradients of the mean loss. */
static void build_update(liana_update *update, void *model)
{
    (void)model;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.rate = liana_update_scalar(update, "rate")});
}

/* One pass over the data. Sets the mean loss. */
static liana_status run_epoch(liana_step *step, liana_iterator *iterator, uint64_t epoch, double rate, double *loss)
{
    double sums[2] = {0}, count = 0;
    liana_step_batch batch = {.scalars = {{"rate", rate}}};
    liana_status status = liana_iterator_initialize(iterator, NULL, &(liana_iterator_options){.epoch = epoch});
    while (status == LIANA_OK && (status = liana_iterator_next(iterator, &batch.element)) == LIANA_OK) {
        liana_step_results results;
        status = liana_step_run(step, &batch, &results);
        for (int i = 0; i < 2; i++) sums[i] += results.sums[i];
        count += (double)results.num_examples;
    }
    *loss = sums[0] / count;
    printf("epoch %d: rate %g, loss %.4f, sureness %.4f\n", (int)epoch, rate, *loss, sums[1] / count);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

#define CHECK(call) \
    if ((call) != LIANA_OK) return fprintf(stderr, "%s\n", context ? liana_context_message(context) : ""), 1

int main(int argc, char **argv)
{
    static const liana_component components[] = {{"image", LIANA_U8, {3, {28, 28, 1}}}, {"label", LIANA_S64, {0}}};
    liana_context *context;
    liana_device *device;
    liana_dataset *images;
    liana_iterator *iterator;
    liana_model *m;
    liana_variables *variables;
    liana_step *step;
    double rate = 0.002, loss, best = 1e30;
    CHECK(liana_context_create(NULL, &context));
    CHECK(liana_device_open(context, "cpu", &device));
    CHECK(liana_dataset_open(context, argc > 1 ? argv[1] : "train-images-idx3-ubyte.gz", NULL, &images));
    images = liana_dataset_shuffle(images, &(liana_shuffle_options){.seed = 1});
    images = liana_dataset_batch(images, &(liana_batch_options){.batch_size = BATCH});
    CHECK(liana_iterator_create(images, NULL, &iterator));
    CHECK(liana_model_create(context, "custom", &m));
    liana_input(m, .shape = LIANA_INTS(28, 28, 1));
    liana_conv2d(m, .filters = 16, .kernel_size = 3, .strides = {2, 2}, .activation = "relu");
    liana_batch_normalization(m, .momentum = 0.9);
    liana_flatten(m);
    liana_dense(m, .units = 10, .activation = "softmax");
    CHECK(liana_variables_create(device, &variables));
    liana_step_options options = {build_shard, build_update, m, components, 2, {"rate"}, .batch_size = BATCH};
    CHECK(liana_step_create(device, variables, &options, &step));
    CHECK(liana_model_to_variables(m, variables));
    CHECK(liana_variables_initialize(variables, NULL)); /* the optimizer's */
    for (uint64_t epoch = 0; epoch < (argc > 2 ? strtoull(argv[2], NULL, 10) : 3); epoch++) {
        CHECK(run_epoch(step, iterator, epoch, rate, &loss));
        rate *= loss > 0.9 * best ? 0.5 : 1; /* a rule of one's own: slower after an epoch that gained little */
        best = loss < best ? loss : best;
    }
    CHECK(liana_model_from_variables(m, variables));
    CHECK(liana_model_save(m, "custom-model"));
    liana_step_destroy(step);
    liana_variables_destroy(variables);
    liana_model_destroy(m);
    liana_iterator_destroy(iterator);
    liana_dataset_close(images);
    liana_device_close(device);
    liana_context_destroy(context);
}
