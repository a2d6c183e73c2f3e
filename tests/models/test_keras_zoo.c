/* Architectures against keras.applications, which writes the cases (keras_zoo.py): a model with random weights and
 * moving statistics in each of its files, with outputs, and gradients of a fixed loss. liana builds its own model by
 * name, reads each file, and computes the same; Keras reads liana's files. The test takes small models. `make
 * check-zoo` runs
 *   test_keras_zoo all|MODEL...
 * which prints a line for each case, and ends with 1 where one fails; with 77 where there is no Keras. */
#include "harness/harness.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "harness/model_run.h"
#include "harness/peers.h"
#include "models/models.h"
#include "models/preprocessing.h"

#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CASES = 16 };

/* Distances are norms of differences, as parts of the norms of what Keras computes in double precision.
 *
 * Outputs may be further away than Keras's own in single precision, since both round in another order: SPREAD times, or
 * LEAST, which some hundred roundings one after the other make. A wrong epsilon or padding changes them by more.
 *
 * Gradients are not continuous: where rounding takes a number over the edge of a relu, those of all layers before it
 * change. keras_zoo.py chooses weights with which Keras's rounding does not, but liana's may: it depends on the
 * instruction set (with AVX2 ResNet50V2 differs elsewhere than with AVX-512). So half of the gradients at least are as
 * near as NEAR_GRADIENT, and all as near as FAR_GRADIENT; a mix-up changes all that lie before it by their size. Of the
 * deepest networks keras_zoo.py finds no such weights; Keras's own gradients must be within MOST_OF_ROUNDING then. */
static const double LEAST = 1e-5, SPREAD = 4, NEAR_GRADIENT = 1e-2, FAR_GRADIENT = 1e-1, MOST_OF_ROUNDING = 4e-2;

typedef struct zoo_case {
    const char *name; /* the architecture's */
    const char *stem; /* FOLDER/0 */
    const liana__architecture *architecture;
    const liana__value *map;
    float *numbers; /* as the file has them */
    const float *input, *coefficients, *next;
    int64_t num_inputs, num_outputs;
    /* The greatest distances: of outputs, of gradients, of gradients in Keras's single precision. */
    double outputs, worst, worst_rounding;
    size_t num_far; /* gradients beyond NEAR_GRADIENT */
    const char *worst_name;
} zoo_case;

static liana_context *context;
static liana__device *cpu;
static liana_model *model;
static liana__arena arena;

static const char *add_ending(const char *stem, const char *ending)
{
    return liana__arena_format(&arena, "%s%s", stem, ending);
}

static const liana__value *get(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    if (!value) fail_msg("keras_zoo.py wrote no '%s'", key);
    return value;
}

static double number_of(const liana__value *value)
{
    return value->kind == LIANA__VALUE_INT ? (double)value->integer : value->number;
}

static liana_shape shape_of(const liana__value *list)
{
    liana_shape shape = {.rank = (int)list->count};
    for (size_t i = 0; i < list->count; i++) shape.dims[i] = list->items[i]->integer;
    return shape;
}

static void begin(void)
{
    arena = (liana__arena){0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_ok(liana__device_open(context, "cpu", &cpu, &context->error), &context->error);
}

static void end(void)
{
    liana_model_destroy(model);
    model = NULL;
    liana__device_close(cpu);
    liana_context_destroy(context);
    liana__arena_free(&arena);
}

/* ---- what Keras wrote ---- */

static bool read_case(zoo_case *own, const char *name, const char *folder, int number)
{
    *own = (zoo_case){.name = name, .architecture = liana__architecture_find(name, NULL), .worst_name = ""};
    own->stem = liana__arena_format(&arena, "%s/%d", folder, number);
    const char *path = add_ending(own->stem, ".json");
    if (access(path, R_OK) != 0) return false;
    liana__value *map;
    assert_ok(liana__json_read(path, &arena, &map, &context->error), &context->error);
    own->map = map;
    const liana_shape input = shape_of(get(map, "input")), output = shape_of(get(map, "output"));
    own->num_inputs = liana_shape_size(&input);
    own->num_outputs = liana_shape_size(&output);
    FILE *file = fopen(add_ending(own->stem, ".bin"), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    own->numbers = malloc(size);
    assert_non_null(own->numbers);
    assert_int_equal(fread(own->numbers, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    own->input = own->numbers;
    own->coefficients = own->input + own->num_inputs;
    own->next = own->coefficients + own->num_outputs;
    return true;
}

/* ---- liana's own model ---- */

/* Keras's cases drop nothing by chance. */
static void drop_nothing(void)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        liana__layer *layer = &model->layers[i];
        const liana__field *rate = liana__fields_find(&layer->type->part.options, "rate");
        if (rate && rate->kind == LIANA__FIELD_FLOAT) *(double *)((char *)layer->options + rate->offset) = 0;
    }
}

static void build(const zoo_case *own)
{
    liana_model_destroy(model);
    model = NULL;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    if (liana__architecture_add(model, LIANA_HERE, own->architecture, get(own->map, "options"), own->name) !=
        LIANA_OK) {
        fail_msg("%s: %s", own->name, context->error.message);
    }
    assert_ok(liana__model_check(model, &context->error), &context->error);
    drop_nothing();
}

/* Names with a '/' have a '_' for it in Keras 3. */
static bool is_same_name(const char *own, const char *keras)
{
    for (; *own && (*own == *keras || (*own == '/' && *keras == '_')); own++) keras++;
    return *own == *keras;
}

/* Of a layer in a model within the model without that one's name, as Keras has it. */
static const char *name_of_layer(size_t index)
{
    const liana__layer *layer = &model->layers[index];
    return layer->within == LIANA__NONE ? layer->name : layer->name + strlen(model->nested[layer->within].name) + 1;
}

static void check_shapes(const zoo_case *own)
{
    const liana_model_facts facts = liana_model_info(model);
    assert_compare(facts.num_parameters, ==, get(own->map, "num_parameters")->integer);
    assert_compare(facts.num_trainable_parameters, ==, get(own->map, "num_trainable_parameters")->integer);
    const liana__value *weights = get(own->map, "weights");
    assert_compare(model->num_weights, ==, weights->count);
    for (size_t i = 0; i < weights->count; i++) {
        const char *layer = get(weights->items[i], "layer")->string;
        const liana_shape shape = shape_of(get(weights->items[i], "shape"));
        const liana__weight *found = &model->weights[i];
        if (!is_same_name(name_of_layer(found->layer), layer) || !liana_shape_equal(&found->shape, &shape)) {
            fail_msg("%s: weight %zu is '%s', %s, in Keras of the layer '%s', %s", own->name, i, found->name,
                     liana__shape_print(&found->shape).text, layer, liana__shape_print(&shape).text);
        }
    }
    liana_shape output = liana__model_output_shape(model);
    const liana_shape expected = shape_of(get(own->map, "output"));
    output.dims[0] = expected.dims[0];
    assert_true(liana_shape_equal(&output, &expected));
}

/* Every file holds the same weights, by name or by place. */
static void load_weights(const zoo_case *own)
{
    static const char *const endings[] = {".weights.h5", ".keras", ".h5", ".layers.h5"};
    float **first = NULL;
    for (size_t k = 0; k < 4; k++) {
        build(own);
        if (liana_model_load_weights(model, add_ending(own->stem, endings[k]), false) != LIANA_OK) {
            fail_msg("%s, %s: %s", own->name, endings[k], context->error.message);
        }
        if (!first) first = calloc(model->num_weights + 1, sizeof *first);
        assert_non_null(first);
        for (size_t i = 0; i < model->num_weights; i++) {
            const size_t size = (size_t)liana_shape_size(&model->weights[i].shape) * sizeof(float);
            if (k == 0) {
                first[i] = malloc(size);
                assert_non_null(first[i]);
                memcpy(first[i], model->values[i], size);
            } else if (memcmp(first[i], model->values[i], size) != 0) {
                fail_msg("%s: '%s' of %s is not that of %s", own->name, model->weights[i].name, endings[k], endings[0]);
            }
        }
    }
    liana__test_free_arrays(first, model->num_weights);
}

/* ---- numbers ---- */

/* As a part of the norm; of a smaller mean square than `floor` as a part of that. */
static double find_distance(const float *found, const float *expected, int64_t count, double floor)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += pow((double)found[i] - (double)expected[i], 2);
        norm += pow((double)expected[i], 2);
    }
    return sqrt(difference) / fmax(fmax(sqrt(norm), floor * sqrt((double)count)), 1e-30);
}

static double worst_of(const liana__value *rounding)
{
    double worst = 0;
    for (size_t i = 1; i < rounding->count; i++) worst = fmax(worst, number_of(rounding->items[i]));
    return worst;
}

/* The outputs, and gradients of the sum of outputs times coefficients. */
static liana_graph *build_graph(const zoo_case *own, bool training)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, shape_of(get(own->map, "input")));
    liana_tensor coefficients = liana_graph_input(graph, "coefficients", LIANA_F32, shape_of(get(own->map, "output")));
    liana__model_results results = liana__model_call(model, &x, &(liana__model_mode){.training = training});
    assert_ok(liana_graph_status(graph), &context->error);
    liana_graph_output(graph, "outputs", results.outputs[0].value);
    liana_tensor *wrt = calloc(model->num_weights, sizeof *wrt);
    liana_tensor *gradients = calloc(model->num_weights, sizeof *gradients);
    assert_true(wrt && gradients);
    size_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (model->weights[i].trainable) wrt[count++] = results.weights[i];
    }
    liana_gradients(liana_op_multiply(results.outputs[0].value, coefficients), wrt, count, gradients);
    for (size_t i = 0, k = 0; i < model->num_weights; i++) {
        if (model->weights[i].trainable) liana_graph_output(graph, model->weights[i].name, gradients[k++]);
    }
    assert_ok(liana_graph_status(graph), &context->error);
    free(wrt);
    free(gradients);
    return graph;
}

static bool check_tensor(zoo_case *own, const liana__output *output, const float *found, bool training, double rounding)
{
    const bool is_gradient = strcmp(output->name, "outputs") != 0;
    const int64_t count = liana_shape_size(&output->node->shape);
    const double floor = is_gradient ? number_of(get(own->map, "floors")->items[training]) : 0;
    const double error = find_distance(found, own->next, count, floor);
    const double allowed = is_gradient ? FAR_GRADIENT : fmax(LEAST, SPREAD * rounding);
    own->next += count;
    if (!is_gradient) own->outputs = fmax(own->outputs, error);
    if (is_gradient && !(error <= NEAR_GRADIENT)) own->num_far++;
    if (is_gradient && error > own->worst) {
        own->worst = error;
        own->worst_name = liana__arena_string(&arena, output->name);
    }
    if (error <= allowed) return true;
    printf("%s%s: %s differs by %.1e, more than %.1e\n", own->name, training ? " in training" : "", output->name, error,
           allowed);
    return false;
}

static bool compare_numbers(zoo_case *own, bool training)
{
    const liana__value *rounding = get(own->map, "rounding")->items[training];
    liana_graph *graph = build_graph(own, training);
    assert_compare(graph->num_outputs, ==, rounding->count);
    const void *const inputs[] = {own->input, own->coefficients};
    float **found = liana__test_graph_run(cpu, graph, model, model->values, inputs);
    const double most = worst_of(rounding);
    bool agree = most <= MOST_OF_ROUNDING;
    if (!agree) printf("%s: rounding changes even Keras's gradients, by %.1e\n", own->name, most);
    own->num_far = 0;
    for (size_t i = 0; i < graph->num_outputs; i++) {
        agree = check_tensor(own, &graph->outputs[i], found[i], training, number_of(rounding->items[i])) && agree;
    }
    if (2 * own->num_far > graph->num_outputs) {
        printf("%s%s: %zu of %zu gradients differ by more than %.1e\n", own->name, training ? " in training" : "",
               own->num_far, graph->num_outputs - 1, NEAR_GRADIENT);
        agree = false;
    }
    own->worst_rounding = fmax(own->worst_rounding, most);
    liana__test_free_arrays(found, graph->num_outputs);
    liana_graph_destroy(graph);
    return agree;
}

static void compare_preprocessing(const zoo_case *own)
{
    const liana__value *made = get(own->map, "preprocessing");
    const liana__value *pixels = get(made, "pixels"), *expected = get(made, "expected");
    float found[64];
    assert_compare(pixels->count, <=, 64);
    for (size_t i = 0; i < pixels->count; i++) found[i] = (float)number_of(pixels->items[i]);
    const liana_scale scale = liana__scale_of(model, liana__image_input(model), own->architecture);
    assert_ok(liana__preprocess_pixels(scale, 3, pixels->count / 3, found, &context->error), &context->error);
    for (size_t i = 0; i < pixels->count; i++) assert_near(found[i], number_of(expected->items[i]), 1e-5 * 128, i);
}

/* ---- a case, a model ---- */

static void save(const zoo_case *own)
{
    static const char *const endings[] = {".liana.keras", ".liana.h5", ".liana.weights.h5"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(liana_model_save(model, add_ending(own->stem, endings[i])), &context->error);
    }
}

static bool check_case(zoo_case *own, int number)
{
    const bool training = get(own->map, "training")->boolean;
    load_weights(own);
    check_shapes(own);
    compare_preprocessing(own);
    bool agree = compare_numbers(own, false);
    if (training) agree = compare_numbers(own, true) && agree;
    save(own);
    printf("%-20s %4d %9lld %9.1e %9.1e %9.1e  %s\n", own->name, number,
           (long long)liana_model_info(model).num_parameters, own->outputs, own->worst, own->worst_rounding,
           own->worst_name);
    fflush(stdout);
    return agree;
}

static void remove_files(const char *folder)
{
    static const char *const endings[] = {".json",        ".bin",        ".keras",
                                          ".h5",          ".weights.h5", ".layers.h5",
                                          ".liana.keras", ".liana.h5",   ".liana.weights.h5"};
    for (int i = 0; i < MOST_CASES; i++) {
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
            char path[2048];
            snprintf(path, sizeof path, "%s/%d%s", folder, i, endings[k]);
            unlink(path);
        }
    }
}

/* Whether a program of Python ends well. */
static bool run_keras(const char *action, const char *folder, const char *name)
{
    char command[4096];
    const char *peer = liana__test_peer("tensorflow");
    assert_non_null(peer);
    snprintf(command, sizeof command, "'%s/bin/python' -B -W ignore '%s/tests/models/keras_zoo.py' %s '%s' %s", peer,
             LIANA_SOURCE_DIR, action, folder, name);
    fflush(NULL);
    return system(command) == 0;
}

static bool check_model(const char *name, const char *folder)
{
    remove_files(folder);
    if (!run_keras("make", folder, name)) return false;
    begin();
    bool agree = true;
    int number = 0;
    zoo_case own;
    for (; read_case(&own, name, folder, number); number++) {
        agree = check_case(&own, number) && agree;
        free(own.numbers);
    }
    end();
    assert_compare(number, >=, 2);
    agree = run_keras("check", folder, name) && agree;
    remove_files(folder);
    return agree;
}

/* ---- all of them ---- */

static int check_models(char **models)
{
    const bool all = strcmp(models[0], "all") == 0;
    size_t failed = 0;
    if (!liana__test_peer("tensorflow")) return 77;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    printf(
        "Distances from Keras in double precision, as parts of norms: of outputs, of the gradient that differs most, "
        "and of Keras's gradients in single precision.\n\n%-20s %4s %9s %9s %9s %9s  %s\n",
        "model", "case", "weights", "outputs", "gradients", "Keras's", "gradient");
    for (size_t i = 0; all && liana__architectures[i]; i++) {
        failed += !check_model(liana__architectures[i]->name, folder);
    }
    for (size_t i = 0; !all && models[i]; i++) failed += !check_model(models[i], folder);
    if (failed) printf("\n%zu of them failed.\n", failed);
    return failed ? 1 : 0;
}

/* ---- the tests ---- */

static void check_in_test(const char *name)
{
    if (!liana__test_peer("tensorflow")) skip();
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    assert_true(check_model(name, folder));
}

static void test_mobilenet_v2(void **state)
{
    (void)state;
    check_in_test("MobileNetV2");
}

static void test_efficientnet_v2_b0(void **state)
{
    (void)state;
    check_in_test("EfficientNetV2B0");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mobilenet_v2),
        cmocka_unit_test(test_efficientnet_v2_b0),
    };
    if (argc > 1) return check_models(argv + 1);
    return cmocka_run_group_tests_name("keras_zoo", tests, NULL, NULL);
}
