/* An estimator: one function builds the model for training, evaluation and prediction. The program trains and evaluates
 * in turn, predicts, exports, and runs its export. After `make install`:
 *     cc estimator.c -o estimator $(pkg-config --cflags --libs liana)
 *     ./estimator [STEPS]
 * in a folder with MNIST's four files. It writes digits-run/ and digits-export/; with more STEPS it goes on. */
#define LIANA_STICKY_ERRORS
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEN = 10, PIXELS = 28 * 28 };

typedef struct params {
    int64_t units;
    double learning_rate;
} params;
/* A dense layer from ops; variables are found again by their names. */
static liana_tensor dense(const liana_features *features, const char *kernel, const char *bias, liana_tensor x,
                          int64_t units)
{
    liana_shape shape = liana_shape_of(liana_tensor_shape(x).dims[1], units);
    liana_tensor w = liana_graph_variable(features->graph, kernel, LIANA_F32, shape);
    liana_tensor b = liana_graph_variable(features->graph, bias, LIANA_F32, liana_shape_of(units));
    liana_graph_initializer(w, "glorot_uniform");
    liana_graph_initializer(b, "zeros");
    return liana_op_add(liana_op_matmul(x, w, false, false), b);
}

static liana_estimator_spec model_fn(const liana_features *features, const liana_features *labels,
                                     const liana_estimator_mode *mode, void *user)
{
    const params *own = user;
    liana_tensor x = liana_op_reshape(liana_feature(features, "image"), liana_shape_of(features->size, PIXELS));
    x = liana_op_relu(dense(features, "hidden/kernel", "hidden/bias", x, own->units));
    liana_tensor digit = liana_op_softmax(dense(features, "digit/kernel", "digit/bias", x, TEN));
    liana_estimator_spec spec = {.predictions = {{"class", liana_op_argmax(digit, -1)}, {"probabilities", digit}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor label = liana_feature(labels, "label");
    spec.loss = liana_loss_of(digit, label, NULL); /* of each example: liana takes the mean */
    spec.metrics[0] = (liana_estimator_metric){.output = digit, .target = label};
    spec.metrics[1] = (liana_estimator_metric){"sureness", .values = liana_op_reduce_max(digit, LIANA_AXES(-1), false)};
    spec.optimizer = (liana_optimizer_options){.optimizer = "Adam", .learning_rate = own->learning_rate};
    return spec;
}

static void on_evaluation(void *user, int64_t step, const liana_results *results)
{
    (void)user;
    printf("step %d: loss %.4f, accuracy %.4f\n", (int)step, results->loss, results->metrics[0]);
}

/* The export is a graph and its variables: a program runs it. */
static void run_export(liana_context *context, const uint8_t image[PIXELS], float probabilities[TEN])
{
    liana_device *device;
    liana_graph *graph;
    liana_program *program;
    liana_device_open(context, "cpu", &device);
    liana_graph_load(context, "digits-export/graph.liana", &graph);
    liana_program_create(device, graph, NULL, &program);
    liana_variables_load(liana_program_variables(program), "digits-export/variables.safetensors", false);
    liana_run(program, .feeds = LIANA_FEEDS({"image", LIANA_U8, liana_shape_of(1, 28, 28, 1), image}),
              .fetches = LIANA_FETCHES({.name = "probabilities", .data = probabilities, .size = TEN * sizeof(float)}));
    liana_program_destroy(program);
    liana_graph_destroy(graph);
    liana_device_close(device);
}

int main(int argc, char **argv)
{
    params own = {.units = 64, .learning_rate = 0.002};
    float class = -1, probabilities[TEN] = {0};
    uint8_t black[PIXELS] = {0};
    liana_context *context;
    liana_dataset *training, *test;
    liana_estimator *estimator;
    liana_context_create(&(liana_context_options){.sticky_errors = true}, &context);
    liana_dataset_open(context, "train-images-idx3-ubyte.gz", NULL, &training);
    liana_dataset_open(context, "t10k-images-idx3-ubyte.gz", NULL, &test);
    liana_run_config config = {.model_dir = "digits-run", .batch_size = 64, .save_checkpoints_steps = 500};
    liana_estimator_create(context, &(liana_estimator_options){model_fn, &own, .config = config}, &estimator);
    liana_train_spec train = {.input.dataset = training, .max_steps = argc > 1 ? atoi(argv[1]) : 2000};
    liana_eval_spec eval = {.input.dataset = test, .every_steps = 500, .on_evaluation = on_evaluation};
    liana_estimator_train(estimator, &train, &eval);
    liana_dataset *one = liana_dataset_take(liana_dataset_retain(test), 1);
    liana_predict_spec predict = {.input.dataset = one, .predictions = {{"class", &class, 1}}};
    liana_estimator_predict(estimator, &predict);
    liana_estimator_export(estimator, "digits-export", &(liana_export_spec){.input.dataset = test});
    run_export(context, black, probabilities);
    liana_status status = liana_context_status(context);
    if (status != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
    if (status == LIANA_OK) printf("the first image is a %d; black is a 1 by %.3f\n", (int)class, probabilities[1]);
    liana_dataset_close(one);
    liana_estimator_destroy(estimator);
    liana_dataset_close(test);
    liana_dataset_close(training);
    liana_context_destroy(context);
    return status != LIANA_OK;
}
