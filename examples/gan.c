/* Two models with two optimizers: one draws, the other tells drawings from images (Goodfellow et al. 2014, "Generative
 * adversarial nets"). After `make install`:
 *
 *     cc gan.c -o gan $(pkg-config --cflags --libs liana) -lm
 *     ./gan [UPDATES] [FOLDER]
 *
 * FOLDER holds MNIST's training files; without it the images are rings that are drawn here. The program writes
 * drawings.pgm, 64 drawings. */
#include <liana/liana.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, BATCH = 64, NOISE = 16, WEIGHTS = 8 };

static uint64_t state = 1;

/* 0 to 1: Knuth's MMIX generator. */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A ring of another size and place each time. */
static void draw_ring(float *image)
{
    double radius = 6 + 3 * uniform(), x0 = 13 + uniform(), y0 = 13 + uniform();
    for (int i = 0; i < PIXELS; i++) {
        double distance = fabs(hypot(i % SIDE - x0, i / SIDE - y0) - radius);
        image[i] = distance < 1.5 ? 1 : distance < 2.5 ? (float)(2.5 - distance) : 0;
    }
}

/* The next batch, 0 to 1. `images` NULL: rings. */
static liana_status next_images(liana_iterator *images, float *batch)
{
    const liana_element *element;
    for (int i = 0; !images && i < BATCH; i++) draw_ring(batch + i * PIXELS);
    if (!images) return LIANA_OK;
    liana_status status = liana_iterator_next(images, &element);
    const uint8_t *pixels = status == LIANA_OK ? liana_element_array(element, "image").data : NULL;
    for (int i = 0; pixels && i < BATCH * PIXELS; i++) batch[i] = (float)pixels[i] / 255;
    return status;
}

/* How far the judge is from the right answer for all images: "real" or "drawn". */
static liana_tensor judge_loss(liana_tensor judged, double answer)
{
    liana_tensor right =
        liana_op_broadcast_to(liana_graph_scalar(judged.graph, LIANA_F32, answer), liana_shape_of(BATCH, 1));
    return liana_op_reduce_mean(liana_loss_of(judged, right, &(liana_loss){.name = "binary_crossentropy"}),
                                LIANA_ALL_AXES, false);
}

static void train_model(liana_model *model, liana_tensor loss, const char *target)
{
    liana_tensor weights[WEIGHTS];
    size_t count = liana_model_variables(model, loss.graph, weights);
    liana_minimize(loss, weights, count,
                   &(liana_optimizer_options){.optimizer = "{name: Adam, learning_rate: 0.001, beta_1: 0.5}",
                                              .target = target});
}

/* Both models in one graph. Each optimizer moves the weights of one of them. */
static void build(liana_graph *graph, liana_model *drawer, liana_model *judge)
{
    liana_tensor noise = liana_graph_input(graph, "noise", LIANA_F32, liana_shape_of(BATCH, NOISE));
    liana_tensor images = liana_graph_input(graph, "images", LIANA_F32, liana_shape_of(BATCH, PIXELS));
    liana_tensor drawings, of_drawings, of_images;
    liana_call_mode training = {.training = true};
    liana_model_call(drawer, &noise, 1, &training, &drawings, NULL);
    liana_model_call(judge, &drawings, 1, &training, &of_drawings, NULL);
    liana_model_call(judge, &images, 1, &training, &of_images, NULL);
    liana_tensor judge_is_wrong = liana_op_add(judge_loss(of_images, 1), judge_loss(of_drawings, 0));
    liana_tensor judge_sees_through = judge_loss(of_drawings, 1);
    liana_graph_output(graph, "drawings", drawings);
    liana_graph_output(graph, "judge's loss", judge_is_wrong);
    liana_graph_output(graph, "drawer's loss", judge_sees_through);
    train_model(judge, judge_is_wrong, "judge");
    train_model(drawer, judge_sees_through, "drawer");
}

static void build_models(liana_model *drawer, liana_model *judge)
{
    liana_input(drawer, .shape = LIANA_INTS(NOISE));
    liana_dense(drawer, .name = "drawer_1", .units = 128, .activation = "relu");
    liana_dense(drawer, .name = "drawer_2", .units = PIXELS, .activation = "sigmoid");
    liana_input(judge, .shape = LIANA_INTS(PIXELS));
    liana_dense(judge, .name = "judge_1", .units = 128, .activation = "relu");
    liana_dense(judge, .name = "judge_2", .units = 1, .activation = "sigmoid");
}

static liana_status train(liana_program *program, liana_iterator *images, int updates)
{
    static float noise[BATCH * NOISE], batch[BATCH * PIXELS];
    float of_judge, of_drawer;
    for (int update = 1; update <= updates; update++) {
        liana_status status = next_images(images, batch);
        if (status != LIANA_OK) return status;
        for (int i = 0; i < BATCH * NOISE; i++) noise[i] = (float)(2 * uniform() - 1);
        status =
            liana_run(program,
                      .feeds = LIANA_FEEDS({"noise", LIANA_F32, liana_shape_of(BATCH, NOISE), noise},
                                           {"images", LIANA_F32, liana_shape_of(BATCH, PIXELS), batch}),
                      .fetches = LIANA_FETCHES({.name = "judge's loss", .data = &of_judge, .size = sizeof of_judge},
                                               {.name = "drawer's loss", .data = &of_drawer, .size = sizeof of_drawer}),
                      .assign = LIANA_NAMES("judge", "drawer"));
        if (status != LIANA_OK) return status;
        if (update % 100 == 0) printf("update %d: judge %.3f, drawer %.3f\n", update, of_judge, of_drawer);
    }
    return LIANA_OK;
}

/* How alike two pictures are: the correlation of their pixels, -1 to 1. */
static double alikeness(const double *a, const double *b)
{
    double sums[2] = {0}, products[3] = {0};
    for (int i = 0; i < PIXELS; i++) sums[0] += a[i] / PIXELS, sums[1] += b[i] / PIXELS;
    for (int i = 0; i < PIXELS; i++) {
        double x = a[i] - sums[0], y = b[i] - sums[1];
        products[0] += x * x, products[1] += y * y, products[2] += x * y;
    }
    return products[2] / sqrt(products[0] * products[1]);
}

/* Writes 64 drawings as one picture, and says whether their mean is like that of the images. */
static liana_status write_drawings(liana_program *program, liana_iterator *images)
{
    static float noise[BATCH * NOISE], drawings[BATCH * PIXELS], batch[BATCH * PIXELS];
    static double mean[2][PIXELS];
    for (int i = 0; i < BATCH * NOISE; i++) noise[i] = (float)(2 * uniform() - 1);
    liana_status status =
        liana_run(program, .feeds = LIANA_FEEDS({"noise", LIANA_F32, liana_shape_of(BATCH, NOISE), noise}),
                  .fetches = LIANA_FETCHES({.name = "drawings", .data = drawings, .size = sizeof drawings}));
    if (status == LIANA_OK) status = next_images(images, batch);
    if (status != LIANA_OK) return status;
    for (int i = 0; i < BATCH * PIXELS; i++) {
        mean[0][i % PIXELS] += (double)drawings[i];
        mean[1][i % PIXELS] += (double)batch[i];
    }
    printf("the drawings' mean is like the images': %.2f of 1\n", alikeness(mean[0], mean[1]));
    FILE *file = fopen("drawings.pgm", "wb");
    if (!file) return LIANA_IO_ERROR;
    fprintf(file, "P5\n%d %d\n255\n", 8 * SIDE, 8 * SIDE);
    for (int i = 0; i < BATCH * PIXELS; i++) {
        int y = i / (8 * SIDE), x = i % (8 * SIDE), which = y / SIDE * 8 + x / SIDE;
        fputc((int)(255 * drawings[which * PIXELS + y % SIDE * SIDE + x % SIDE]), file);
    }
    return fclose(file) == 0 ? LIANA_OK : LIANA_IO_ERROR;
}

static liana_status open_images(liana_context *context, const char *folder, liana_dataset **images,
                                liana_iterator **iterator)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", folder);
    liana_status status = liana_dataset_open(context, path, NULL, images);
    if (status != LIANA_OK) return status;
    *images = liana_dataset_repeat(liana_dataset_shuffle(*images, NULL), -1);
    *images = liana_dataset_batch(*images, &(liana_batch_options){.batch_size = BATCH});
    return liana_iterator_create(*images, NULL, iterator);
}

static liana_status run(liana_context *context, int updates, const char *folder)
{
    liana_model *drawer = NULL, *judge = NULL;
    liana_graph *graph = NULL;
    liana_device *device = NULL;
    liana_program *program = NULL;
    liana_variables *variables = NULL;
    liana_dataset *images = NULL;
    liana_iterator *iterator = NULL;
    liana_status status = folder ? open_images(context, folder, &images, &iterator) : LIANA_OK;
    if (status == LIANA_OK) status = liana_model_create(context, "drawer", &drawer);
    if (status == LIANA_OK) status = liana_model_create(context, "judge", &judge);
    if (status == LIANA_OK) status = liana_graph_create(context, &graph);
    if (status == LIANA_OK) build_models(drawer, judge);
    if (status == LIANA_OK) build(graph, drawer, judge);
    if (status == LIANA_OK) status = liana_device_open(context, "cpu", &device);
    if (status == LIANA_OK) status = liana_variables_create(device, &variables);
    if (status == LIANA_OK) status = liana_model_to_variables(drawer, variables);
    if (status == LIANA_OK) status = liana_model_to_variables(judge, variables);
    if (status == LIANA_OK) {
        status = liana_program_create(device, graph, &(liana_program_options){.variables = variables}, &program);
    }
    if (status == LIANA_OK) status = liana_variables_initialize(variables, NULL); /* the optimizers' */
    if (status == LIANA_OK) status = train(program, iterator, updates);
    if (status == LIANA_OK) status = write_drawings(program, iterator);
    liana_program_destroy(program);
    liana_variables_destroy(variables);
    liana_device_close(device);
    liana_graph_destroy(graph);
    liana_iterator_destroy(iterator);
    liana_dataset_close(images);
    liana_model_destroy(judge);
    liana_model_destroy(drawer);
    return status;
}

int main(int argc, char **argv)
{
    liana_context *context;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = run(context, argc > 1 ? atoi(argv[1]) : 1000, argc > 2 ? argv[2] : NULL);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_context_destroy(context);
    return status != LIANA_OK;
}
