/* Learns handwritten digits: cc mnist.c -o mnist $(pkg-config --cflags --libs liana). Run ./mnist [EPOCHS] in a folder
 * with MNIST's four files (train-images-idx3-ubyte.gz, ...). It writes mnist-model/. */
#define LIANA_STICKY_ERRORS /* the context keeps the first error, and is asked once, at the end */
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    (void)user;
    return printf("epoch %d: loss %.4f, %.1f s\n", (int)epoch->epoch, epoch->training.loss, epoch->seconds) > 0;
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana_dataset *training, *test;
    liana_model *m;
    liana_results results = {0};
    liana_context_create(&(liana_context_options){.sticky_errors = true}, &context);
    liana_dataset_open(context, "train-images-idx3-ubyte.gz", NULL, &training);
    liana_dataset_open(context, "t10k-images-idx3-ubyte.gz", NULL, &test);
    liana_model_create(context, "mnist", &m);
    liana_input(m, .shape = LIANA_INTS(28, 28, 1));
    liana_conv2d(m, .filters = 32, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(m);
    liana_conv2d(m, .filters = 64, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(m);
    liana_flatten(m);
    liana_dropout(m, .rate = 0.5);
    liana_dense(m, .units = 10, .activation = "softmax");
    int epochs = argc > 1 ? atoi(argv[1]) : 5;
    liana_fit(m, &(liana_fit_options){.training = training, .epochs = epochs, .batch_size = 128, .on_epoch = on_epoch});
    liana_evaluate(m, test, NULL, &results);
    liana_model_save(m, "mnist-model");
    liana_status status = liana_context_status(context);
    if (status == LIANA_OK) printf("test accuracy %.4f\n", results.metrics[0]);
    if (status != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
    liana_model_destroy(m);
    liana_dataset_close(test);
    liana_dataset_close(training);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
