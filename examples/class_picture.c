/* A class as a model sees it: an image that is changed, by gradients, until the model is sure of it. After `make
 * install`:
 *
 *     cc class_picture.c -o class_picture $(pkg-config --cflags --libs liana)
 *     ./class_picture MODEL CLASS [UPDATES]
 *
 * MODEL is a folder that liana_model_save has written, such as mnist-model, for images with one channel and a scale of
 * 0 to 1. CLASS is a number from 0. The program writes class.pgm. */
#include <liana/liana.h>

#include <stdio.h>
#include <stdlib.h>

/* The image is the only variable that is trained; the model's weights are read. */
static void build(liana_graph *graph, const liana_model *model, liana_shape shape, int class)
{
    const int32_t wanted = class;
    liana_tensor image = liana_graph_variable(graph, "image", LIANA_F32, shape), output;
    liana_graph_initializer(image, "random_uniform(minval=0.4, maxval=0.6)");
    liana_tensor pixels = liana_op_clip(image, 0, 1);
    liana_model_call(model, &pixels, 1, NULL, &output, NULL);
    liana_tensor label = liana_graph_constant(graph, LIANA_S32, liana_shape_of(1), &wanted);
    liana_tensor loss = liana_op_reduce_sum(liana_loss_of(output, label, NULL), LIANA_ALL_AXES, false);
    /* Pixels that say nothing become black. */
    liana_tensor light = liana_op_reduce_mean(liana_op_square(image), LIANA_ALL_AXES, false);
    loss = liana_op_add(loss, light);
    liana_minimize(loss, &image, 1, &(liana_optimizer_options){.optimizer = "Adam", .learning_rate = 0.02});
    liana_graph_output(graph, "pixels", pixels);
    liana_graph_output(graph, "output", output);
}

static liana_status write_picture(const float *pixels, liana_shape shape)
{
    FILE *file = fopen("class.pgm", "wb");
    if (!file) return LIANA_IO_ERROR;
    fprintf(file, "P5\n%d %d\n255\n", (int)shape.dims[2], (int)shape.dims[1]);
    for (int64_t i = 0; i < liana_shape_size(&shape); i++) fputc((int)(255 * pixels[i]), file);
    return fclose(file) == 0 ? LIANA_OK : LIANA_IO_ERROR;
}

/* Changes the image, and shows how sure the model becomes. */
static liana_status climb(liana_program *program, liana_shape shape, int64_t classes, int class, int updates)
{
    const size_t num_pixels = (size_t)liana_shape_size(&shape), num_classes = (size_t)classes;
    float *pixels = malloc(num_pixels * sizeof *pixels), *output = malloc(num_classes * sizeof *output);
    liana_status status = pixels && output ? LIANA_OK : LIANA_OUT_OF_MEMORY;
    for (int update = 0; status == LIANA_OK && update <= updates; update++) {
        status = liana_run(program,
                           .fetches =
                               LIANA_FETCHES({.name = "pixels", .data = pixels, .size = num_pixels * sizeof *pixels},
                                             {.name = "output", .data = output, .size = num_classes * sizeof *output}),
                           .assign = LIANA_NAMES("train"));
        if (status == LIANA_OK && update % 50 == 0) {
            printf("update %d: probability of class %d %.4f\n", update, class, (double)output[class]);
        }
    }
    if (status == LIANA_OK) status = write_picture(pixels, shape);
    free(pixels);
    free(output);
    return status;
}

static liana_status run(liana_context *context, const char *folder, int class, int updates)
{
    liana_model *model = NULL;
    liana_graph *graph = NULL;
    liana_device *device = NULL;
    liana_variables *variables = NULL;
    liana_program *program = NULL;
    liana_shape shape = {0};
    int64_t classes = 0;
    liana_status status = liana_model_load(context, folder, &model);
    if (status == LIANA_OK) status = liana_graph_create(context, &graph);
    if (status == LIANA_OK) {
        shape = liana_model_input(model, 0).shape;
        shape.dims[0] = 1;
        classes = liana_model_output(model, 0).shape.dims[1];
        build(graph, model, shape, class);
        if (shape.rank != 4 || shape.dims[3] != 1 || class < 0 || class >= classes) {
            fprintf(stderr, "the model has %d classes, and class %d was asked for\n", (int)classes, class);
            status = LIANA_INVALID_ARGUMENT;
        }
    }
    if (status == LIANA_OK) status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_variables_create(device, &variables);
    if (status == LIANA_OK) status = liana_model_to_variables(model, variables);
    if (status == LIANA_OK) {
        status = liana_program_create(device, graph, &(liana_program_options){.variables = variables}, &program);
    }
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL); /* the image, the optimizer's */
    if (status == LIANA_OK) status = climb(program, shape, classes, class, updates);
    liana_program_destroy(program);
    liana_variables_destroy(variables);
    liana_device_close(device);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
    return status;
}

int main(int argc, char **argv)
{
    liana_context *context;
    if (argc < 3) return fprintf(stderr, "usage: class_picture MODEL CLASS [UPDATES]\n"), 2;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = run(context, argv[1], atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 200);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_context_destroy(context);
    return status != LIANA_OK;
}
