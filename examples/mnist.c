/* A small convolutional network that learns handwritten digits, in C. After `make install`:
 *
 *     cc mnist.c -o mnist $(pkg-config --cflags --libs liana)
 *     ./mnist FOLDER [EPOCHS]
 *
 * FOLDER holds MNIST's four files (train-images-idx3-ubyte.gz, ...). The program writes mnist-model/. */
#include <liana/liana.h>

#include <stdio.h>
#include <stdlib.h>

static bool print_epoch(void *user, const liana_epoch *epoch)
{
    (void)user;
    printf("epoch %d/%d: loss %.4f, accuracy %.4f, val_loss %.4f, val_accuracy %.4f, %.1f s\n", (int)epoch->epoch,
           (int)epoch->epochs, epoch->training.loss, epoch->training.metrics[0], epoch->validation.loss,
           epoch->validation.metrics[0], epoch->seconds);
    return true;
}

static liana_status run(liana_context *context, const char *folder, int epochs)
{
    char path[1024];
    liana_dataset *training = NULL, *test = NULL;
    liana_model *model = NULL;
    liana_results results;

    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", folder);
    liana_status status = liana_dataset_open(context, path, NULL, &training);
    snprintf(path, sizeof path, "%s/t10k-images-idx3-ubyte.gz", folder);
    if (status == LIANA_OK) status = liana_dataset_open(context, path, NULL, &test);
    if (status == LIANA_OK) status = liana_model_create(context, "mnist", &model);
    if (status == LIANA_OK) {
        liana_input(model, .shape = LIANA_INTS(28, 28, 1));
        liana_conv2d(model, .filters = 32, .kernel_size = 3, .activation = "relu");
        liana_max_pooling2d(model);
        liana_conv2d(model, .filters = 64, .kernel_size = 3, .activation = "relu");
        liana_max_pooling2d(model);
        liana_flatten(model);
        liana_dropout(model, .rate = 0.5);
        liana_dense(model, .units = 10, .activation = "softmax");
        status = liana_model_status(model);
    }
    if (status == LIANA_OK) {
        liana_fit_options options = {.training = training,
                                     .validation = test,
                                     .epochs = epochs,
                                     .batch_size = 128,
                                     .optimizer = "{name: Adam, learning_rate: 0.001}",
                                     .on_epoch = print_epoch};
        status = liana_fit(model, &options);
    }
    if (status == LIANA_OK) status = liana_evaluate(model, test, NULL, &results);
    if (status == LIANA_OK) printf("test accuracy %.4f\n", results.metrics[0]);
    if (status == LIANA_OK) status = liana_model_save(model, "mnist-model");
    liana_model_destroy(model);
    liana_dataset_close(test);
    liana_dataset_close(training);
    return status;
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = run(context, argc > 1 ? argv[1] : ".", argc > 2 ? atoi(argv[2]) : 5);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_context_destroy(context);
    return status != LIANA_OK;
}
