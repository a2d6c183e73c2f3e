/* A dataset of any data, in C: a pipeline with functions of the program, and a model that is fitted to a dataset. After
 * `make install`:
 *
 *     cc datasets.c -o datasets $(pkg-config --cflags --libs liana)
 *     ./datasets
 *
 * The images are drawn here: a bright bar, upright or lying, in noise. */
#include <liana/liana.h>

#include <stdio.h>

enum { SIDE = 16 };

/* An image and its label from a number: called on several threads, so all chance comes from the address. */
static liana_status draw(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    (void)user;
    int64_t number = *(const int64_t *)liana_element_array(input, "value").data;
    uint8_t *image = liana_element_output(output, "image");
    int place = (int)(SIDE * liana_example_uniform(address, 0));
    int64_t upright = number % 2;
    for (int i = 0; i < SIDE * SIDE; i++) {
        int bar = (upright ? i % SIDE : i / SIDE) == place;
        image[i] = (uint8_t)(100 * liana_example_uniform(address, 1 + (uint32_t)i) + 120 * bar);
    }
    *(int64_t *)liana_element_output(output, "label") = upright;
    return LIANA_OK;
}

static liana_dataset *make_images(liana_context *context, int64_t start, int64_t count)
{
    static const liana_component components[] = {
        {.name = "image", .dtype = LIANA_U8, .shape = {3, {SIDE, SIDE, 1}}},
        {.name = "label", .dtype = LIANA_S64},
    };
    liana_dataset *images = liana_dataset_range(context, start, start + count, 1);
    return liana_dataset_map(
        images, &(liana_map_options){.name = "draw", .function = draw, .components = components, .num_components = 2});
}

/* Batches of the first few, as a program of its own would use them. */
static liana_status print_batches(const liana_dataset *images)
{
    liana_dataset *batches = liana_dataset_take(liana_dataset_retain((liana_dataset *)images), 7);
    batches = liana_dataset_batch(batches, &(liana_batch_options){.batch_size = 3});
    liana_iterator *iterator = NULL;
    const liana_element *element;
    liana_status status = liana_iterator_create(batches, NULL, &iterator);
    while (status == LIANA_OK && (status = liana_iterator_next(iterator, &element)) == LIANA_OK) {
        const int64_t *labels = liana_element_array(element, "label").data;
        int64_t count = liana_element_array(element, "label").shape.dims[0];
        printf("batch of %d:", (int)count);
        for (int64_t i = 0; i < count; i++) printf(" %s", labels[i] ? "upright" : "lying");
        printf("\n");
    }
    liana_iterator_destroy(iterator);
    liana_dataset_close(batches);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

static liana_status run(liana_context *context)
{
    liana_dataset *training = make_images(context, 0, 512), *test = make_images(context, 512, 128);
    liana_model *model = NULL;
    liana_results results;
    liana_status status = training && test ? print_batches(training) : LIANA_INVALID_ARGUMENT;
    if (status == LIANA_OK) status = liana_model_create(context, "bars", &model);
    if (status == LIANA_OK) {
        liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
        liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
        liana_global_max_pooling2d(model);
        liana_dense(model, .units = 2, .activation = "softmax");
        status = liana_model_status(model);
    }
    if (status == LIANA_OK) {
        status = liana_fit(model, &(liana_fit_options){.training = training,
                                                       .epochs = 20,
                                                       .optimizer = "{name: Adam, learning_rate: 0.02}"});
    }
    if (status == LIANA_OK) status = liana_evaluate(model, test, NULL, &results);
    if (status == LIANA_OK) printf("test accuracy %.4f\n", results.metrics[0]);
    liana_model_destroy(model);
    liana_dataset_close(training);
    liana_dataset_close(test);
    return status;
}

int main(void)
{
    liana_context *context;
    liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) status = run(context);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
    }
    liana_context_destroy(context);
    return status != LIANA_OK;
}
