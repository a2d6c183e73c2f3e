/* A training loop of one's own: a shard function makes gradients, the loop sets the rate. After `make install`:
 *     cc custom_loop.c -o custom_loop $(pkg-config --cflags --libs liana)
 *     ./custom_loop FOLDER/train-images-idx3-ubyte.gz [EPOCHS]
 * FOLDER holds MNIST's labels too. The program writes custom-model/, and custom-events/ for TensorBoard. */
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

/* A shard: up to 32 examples, computed together. liana adds the sums of all shards, in one order. */
static void build_shard(liana_shard *shard, void *model)
{
    liana_tensor image = liana_shard_input(shard, "image"), label = liana_shard_input(shard, "label"), output;
    image = liana_op_divide(liana_op_cast(image, LIANA_F32), liana_graph_scalar(shard->graph, LIANA_F32, 255));
    liana_model_call(model, &image, 1, &shard->mode, &output, NULL);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    liana_shard_sum(shard, "sureness", liana_op_reduce_max(output, LIANA_AXES(-1), false)); /* a metric of one's own */
    liana_shard_gradients(shard, loss, NULL, 0);
}

#define CHECK(call) \
    if ((call) != LIANA_OK) return fprintf(stderr, "%s\n", context ? liana_context_message(context) : ""), 1

int main(int argc, char **argv)
{
    liana_context *context;
    liana_dataset *images;
    liana_model *m;
    liana_step *step;
    liana_step_results sums;
    liana_summary *summary;
    double best = 1e30;
    CHECK(liana_context_create(NULL, &context));
    CHECK(liana_dataset_open(context, argc > 1 ? argv[1] : "train-images-idx3-ubyte.gz", NULL, &images));
    images = liana_dataset_shuffle(images, &(liana_shuffle_options){.seed = 1});
    images = liana_dataset_batch(images, &(liana_batch_options){.batch_size = 128});
    CHECK(liana_model_create(context, "custom", &m));
    liana_input(m, .shape = LIANA_INTS(28, 28, 1));
    liana_conv2d(m, .filters = 16, .kernel_size = 3, .strides = {2, 2}, .activation = "relu");
    liana_batch_normalization(m, .momentum = 0.9);
    liana_flatten(m);
    liana_dense(m, .units = 10, .activation = "softmax");
    liana_step_options adam = {build_shard, .user = m, .optimizer = "Adam", .scalars = {"learning_rate"}};
    adam.dataset = images;
    CHECK(liana_step_create(context, &adam, &step));
    CHECK(liana_model_to_variables(m, liana_step_variables(step)));
    CHECK(liana_summary_create(context, "custom-events", &summary));
    liana_step_input input = {.dataset = images, .scalars = {{"learning_rate", 0.002}}};
    for (; input.order.epoch < (argc > 2 ? strtoull(argv[2], NULL, 10) : 3); input.order.epoch++) {
        CHECK(liana_step_run(step, &input, &sums));
        CHECK(liana_summary_results(summary, (int64_t)input.order.epoch, "train", &sums));
        double loss = liana_step_mean(&sums, "loss"), *rate = &input.scalars[0].value;
        printf("epoch %d: rate %g, loss %.4f, sureness %.4f\n", (int)input.order.epoch, *rate, loss,
               liana_step_mean(&sums, "sureness"));
        CHECK(liana_summary_scalar(summary, (int64_t)input.order.epoch, "learning_rate", *rate));
        *rate *= loss > 0.9 * best ? 0.5 : 1; /* a rule of one's own: slower after an epoch that gained little */
        best = loss < best ? loss : best;
    }
    CHECK(liana_summary_destroy(summary));
    CHECK(liana_model_from_variables(m, liana_step_variables(step)));
    CHECK(liana_model_save(m, "custom-model"));
    liana_step_destroy(step);
    liana_model_destroy(m);
    liana_dataset_close(images);
    liana_context_destroy(context);
}
