/* Models of one layer with drawn options, as Keras 3 computed them (keras_vocabulary/): liana's outputs and gradients
 * of inputs and weights on the CPU and on PJRT's plugin, in inference and in training; and Keras reads what liana
 * writes.
 *
 *     LIANA_VOCABULARY='Conv.*|LSTM'   those layers alone
 *     LIANA_VOCABULARY_SEED=2          other options (1 if it is not set)
 *     LIANA_VOCABULARY_FOLDER=DIR      keeps the models there */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "base/context.h"
#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "harness/peers.h"
#include "harness/pjrt_plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 64, MOST_NAME = 160 };

static liana__arena arena;
static size_t failures;
static const char *folder;

/* A tensor that Keras gave: of an input it is fed, of a result it is compared. */
typedef struct known {
    liana_array array;
    double tolerance;
} known;

typedef struct run {
    bool training;
    known outputs[MOST_TENSORS], gradients[MOST_TENSORS];
    const float *cotangents[MOST_TENSORS];
    size_t num_outputs, num_gradients;
} run;

static void tell(const char *name, const char *arguments, const char *format, ...) LIANA__PRINTF(3, 4);
static void tell(const char *name, const char *arguments, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    failures++;
    print_message("%s: %s\n    of %s\n", name, text, arguments);
}

/* ---- reading a case ---- */

static double number_of(const liana__value *value)
{
    if (value->kind == LIANA__VALUE_STRING) return strtod(value->string, NULL);
    return value->kind == LIANA__VALUE_INT ? (double)value->integer : value->number;
}

static const void *read_numbers(const liana__value *values, bool is_int)
{
    float *floats = liana__arena_allocate(&arena, (values->count + 1) * sizeof *floats);
    int32_t *ints = (int32_t *)floats;
    for (size_t i = 0; i < values->count; i++) {
        if (is_int) {
            ints[i] = (int32_t)number_of(values->items[i]);
        } else {
            floats[i] = (float)number_of(values->items[i]);
        }
    }
    return floats;
}

static const void *read_texts(const liana__value *values)
{
    liana_bytes *texts = liana__arena_allocate(&arena, (values->count + 1) * sizeof *texts);
    for (size_t i = 0; i < values->count; i++) {
        texts[i] = (liana_bytes){values->items[i]->string, strlen(values->items[i]->string)};
    }
    return texts;
}

static known read_known(const liana__value *map)
{
    const liana__value *dims = liana__value_get(map, "shape"), *name = liana__value_get(map, "name");
    const liana__value *dtype = liana__value_get(map, "dtype"), *tolerance = liana__value_get(map, "tolerance");
    const bool is_int = dtype && strcmp(dtype->string, "int32") == 0;
    const bool is_text = dtype && strcmp(dtype->string, "object") == 0;
    known read = {.array = {.name = name ? name->string : NULL,
                            .dtype = is_text  ? LIANA_STRING
                                     : is_int ? LIANA_S32
                                              : LIANA_F32,
                            .shape = {.rank = (int)dims->count}},
                  .tolerance = tolerance ? number_of(tolerance) : 0};
    for (size_t i = 0; i < dims->count; i++) read.array.shape.dims[i] = dims->items[i]->integer;
    const liana__value *values = liana__value_get(map, "values");
    read.array.data = is_text ? read_texts(values) : read_numbers(values, is_int);
    return read;
}

static size_t read_list(const liana__value *list, known *read)
{
    assert_compare(list->count, <=, MOST_TENSORS);
    for (size_t i = 0; i < list->count; i++) read[i] = read_known(list->items[i]);
    return list->count;
}

static void read_run(const liana__value *map, run *read)
{
    const liana__value *cotangents = liana__value_get(map, "cotangents");
    read->training = liana__value_get(map, "training")->boolean;
    read->num_outputs = read_list(liana__value_get(map, "outputs"), read->outputs);
    read->num_gradients = read_list(liana__value_get(map, "gradients"), read->gradients);
    for (size_t i = 0; i < read->num_outputs; i++) read->cotangents[i] = read_numbers(cotangents->items[i], false);
}

/* ---- computing it ---- */

typedef struct built {
    liana_graph *graph;
    liana_tensor inputs[MOST_TENSORS], results[2 * MOST_TENSORS];
    size_t num_inputs, num_results;
} built;

/* The model in a graph, with the gradients of sum(outputs * cotangents): of the inputs that are floats, then of the
 * weights that are trained. */
static void build(const liana_model *model, const known *inputs, const run *wanted, built *made)
{
    enum { MOST_WEIGHTS = 256 };
    liana_tensor outputs[LIANA_MAX_MODEL_OUTPUTS], wrt[MOST_TENSORS + MOST_WEIGHTS], target = {0};
    size_t num_wrt = 0;
    assert_ok(liana_graph_create(context, &made->graph), &context->error);
    for (size_t i = 0; i < made->num_inputs; i++) {
        const char *name = liana_model_input(model, i).name;
        const liana_array *array = &inputs[i].array;
        for (size_t k = 0; k < made->num_inputs; k++) {
            if (strcmp(inputs[k].array.name, name) == 0) array = &inputs[k].array;
        }
        made->inputs[i] = liana_graph_input(made->graph, array->name, (liana_dtype)array->dtype, array->shape);
    }
    for (size_t k = 0; k < made->num_inputs; k++) {
        liana_tensor x = liana_graph_tensor(made->graph, inputs[k].array.name);
        if (inputs[k].array.dtype == LIANA_F32) wrt[num_wrt++] = x;
    }
    liana_call_mode mode = {.training = wanted->training};
    if (mode.training) {
        const liana_shape batch = liana_shape_of(inputs[0].array.shape.dims[0]);
        mode.positions = liana_graph_input(made->graph, "positions", LIANA_U64, batch);
    }
    liana_model_call(model, made->inputs, made->num_inputs, &mode, outputs, NULL);
    made->num_results = liana_model_info(model).num_outputs;
    for (size_t i = 0; i < made->num_results; i++) {
        made->results[i] = outputs[i];
        if (i >= wanted->num_outputs || liana_tensor_dtype(outputs[i]) != LIANA_F32) continue;
        const liana_shape shape = liana_tensor_shape(outputs[i]);
        if (!liana_shape_equal(&shape, &wanted->outputs[i].array.shape)) continue;
        liana_tensor c = liana_graph_constant(made->graph, LIANA_F32, shape, wanted->cotangents[i]);
        liana_tensor term = liana_op_reduce_sum(liana_op_multiply(outputs[i], c), LIANA_ALL_AXES, false);
        target = target.id ? liana_op_add(target, term) : term;
    }
    if (!target.id || !wanted->num_gradients) return;
    num_wrt += liana_model_variables(model, made->graph, wrt + num_wrt);
    liana_gradients(target, wrt, num_wrt, made->results + made->num_results);
    made->num_results += num_wrt;
}

static liana_status execute(liana_model *model, liana_device *device, const built *made, const known *inputs,
                            void *const *results)
{
    liana_array feeds[MOST_TENSORS];
    liana_fetch fetches[2 * MOST_TENSORS];
    liana_program *program = NULL;
    const int64_t batch = inputs[0].array.shape.dims[0];
    uint64_t positions[16] = {0};
    for (size_t i = 0; i < made->num_inputs; i++) feeds[i] = inputs[i].array;
    feeds[made->num_inputs] =
        (liana_array){.name = "positions", .dtype = LIANA_U64, .shape = liana_shape_of(batch), .data = positions};
    const bool has_positions = liana_graph_tensor(made->graph, "positions").id != 0;
    for (size_t i = 0; i < made->num_results; i++) {
        const liana_shape shape = liana_tensor_shape(made->results[i]);
        fetches[i] = (liana_fetch){.tensor = made->results[i],
                                   .data = results[i],
                                   .size = (size_t)liana_shape_size(&shape) *
                                           liana_dtype_size(liana_tensor_dtype(made->results[i]))};
    }
    liana_status status = liana_program_create(device, made->graph, NULL, &program);
    if (status == LIANA_OK) status = liana_model_to_variables(model, liana_program_variables(program));
    if (status == LIANA_OK) {
        status = liana_run(program, .feeds = {feeds, made->num_inputs + has_positions},
                           .fetches = {fetches, made->num_results});
    }
    liana_program_destroy(program);
    return status;
}

/* ---- comparing ---- */

static bool is_near(double found, double expected, double tolerance)
{
    if (isnan(expected)) return isnan(found);
    return found == expected || fabs(found - expected) <= tolerance;
}

/* "" or the first difference. */
static const char *compare(const known *expected, liana_tensor tensor, const void *found)
{
    const liana_shape shape = liana_tensor_shape(tensor);
    const liana_dtype dtype = liana_tensor_dtype(tensor);
    if (!liana_shape_equal(&shape, &expected->array.shape)) return "another shape than Keras's";
    for (int64_t i = 0; i < liana_shape_size(&shape); i++) {
        const double value = dtype == LIANA_F32   ? (double)((const float *)found)[i]
                             : dtype == LIANA_S32 ? (double)((const int32_t *)found)[i]
                                                  : (double)((const bool *)found)[i];
        const double keras = (double)((const float *)expected->array.data)[i];
        if (!is_near(value, keras, expected->tolerance)) {
            return liana__arena_format(&arena, "number %lld is %.9g, Keras has %.9g (tolerance %.3g)", (long long)i,
                                       value, keras, expected->tolerance);
        }
    }
    return "";
}

static void check_run(liana_model *model, liana_device *device, const char *name, const char *arguments,
                      const liana__value *input_list, const run *wanted)
{
    known inputs[MOST_TENSORS];
    built made = {.num_inputs = read_list(input_list, inputs)};
    void *results[2 * MOST_TENSORS];
    const char *mode = wanted->training ? "training" : "inference";
    if (liana_model_info(model).num_inputs != made.num_inputs) {
        tell(name, arguments, "%zu inputs, Keras has %zu", liana_model_info(model).num_inputs, made.num_inputs);
        return;
    }
    build(model, inputs, wanted, &made);
    if (liana_graph_status(made.graph) != LIANA_OK) {
        tell(name, arguments, "%s: %s", mode, context->error.message);
        liana_graph_destroy(made.graph);
        return;
    }
    for (size_t i = 0; i < made.num_results; i++) {
        const liana_shape shape = liana_tensor_shape(made.results[i]);
        results[i] = liana__arena_allocate(&arena, (size_t)liana_shape_size(&shape) * sizeof(double));
    }
    if (execute(model, device, &made, inputs, results) != LIANA_OK) {
        tell(name, arguments, "%s on %s: %s", mode, liana_device_name(device), context->error.message);
    } else if (made.num_results != wanted->num_outputs + wanted->num_gradients) {
        tell(name, arguments, "%s: %zu outputs and gradients, Keras has %zu", mode, made.num_results,
             wanted->num_outputs + wanted->num_gradients);
    } else {
        for (size_t i = 0; i < made.num_results; i++) {
            const bool is_output = i < wanted->num_outputs;
            const known *expected = is_output ? &wanted->outputs[i] : &wanted->gradients[i - wanted->num_outputs];
            const char *difference = compare(expected, made.results[i], results[i]);
            if (!*difference) continue;
            tell(name, arguments, "%s on %s, %s %zu: %s", mode, liana_device_name(device),
                 is_output ? "output" : "gradient", is_output ? i : i - wanted->num_outputs, difference);
            break;
        }
    }
    liana_graph_destroy(made.graph);
}

/* The host makes numbers of texts: such a model is asked for its predictions. */
static bool has_texts(const liana_model *model)
{
    bool has = false;
    for (size_t i = 0; i < liana_model_info(model).num_inputs; i++) {
        has |= (int)liana_model_input(model, i).dtype == LIANA_STRING;
    }
    return has;
}

static void check_texts(liana_model *model, const char *name, const char *arguments, const liana__value *input_list,
                        const run *wanted)
{
    known inputs[MOST_TENSORS];
    liana_array arrays[MOST_TENSORS];
    const size_t count = read_list(input_list, inputs);
    const known *expected = &wanted->outputs[0];
    const int64_t size = liana_shape_size(&expected->array.shape);
    float *found = liana__arena_allocate(&arena, (size_t)size * sizeof *found);
    for (size_t i = 0; i < count; i++) arrays[i] = inputs[i].array;
    if (liana_predict_on_batch(model, arrays, count, found) != LIANA_OK) {
        tell(name, arguments, "%s", context->error.message);
        return;
    }
    for (int64_t i = 0; i < size; i++) {
        const double keras = (double)((const float *)expected->array.data)[i];
        if (is_near((double)found[i], keras, expected->tolerance)) continue;
        tell(name, arguments, "number %lld is %.9g, Keras has %.9g", (long long)i, (double)found[i], keras);
        return;
    }
}

/* A model that keeps states goes on with the same inputs: the first batch is not compared again. */
static void check_later_batches(liana_model *model, const char *name, const char *arguments,
                                const liana__value *input_list, const liana__value *later)
{
    known inputs[MOST_TENSORS], outputs[MOST_TENSORS];
    liana_array arrays[MOST_TENSORS];
    const size_t count = read_list(input_list, inputs);
    const int64_t batch = inputs[0].array.shape.dims[0];
    for (size_t i = 0; i < count; i++) arrays[i] = inputs[i].array;
    for (size_t number = 0; number <= later->count; number++) {
        const size_t num_outputs = read_list(later->items[number ? number - 1 : 0], outputs);
        int64_t row = 0, begin = 0;
        for (size_t i = 0; i < num_outputs; i++) row += liana_shape_size(&outputs[i].array.shape) / batch;
        float *found = liana__arena_allocate(&arena, (size_t)(row * batch) * sizeof *found);
        if (liana_predict_on_batch(model, arrays, count, found) != LIANA_OK) {
            tell(name, arguments, "batch %zu: %s", number + 1, context->error.message);
            return;
        }
        for (size_t i = 0; i < num_outputs && number; i++) {
            const int64_t each = liana_shape_size(&outputs[i].array.shape) / batch;
            for (int64_t k = 0; k < each * batch; k++) {
                const double value = (double)found[k / each * row + begin + k % each];
                const double keras = (double)((const float *)outputs[i].array.data)[k];
                if (is_near(value, keras, outputs[i].tolerance)) continue;
                tell(name, arguments, "batch %zu, output %zu: number %lld is %.9g, Keras has %.9g", number + 1, i,
                     (long long)k, value, keras);
                return;
            }
            begin += each;
        }
    }
}

/* ---- all cases ---- */

static const char *join(const char *name, const char *ending)
{
    return liana__arena_format(&arena, "%s/%s%s", folder, name, ending);
}

static void check_case(const char *name, liana_device *const *devices, size_t num_devices)
{
    liana__value *root;
    liana_model *model;
    assert_ok(liana__json_read(join(name, ".case.json"), &arena, &root, &context->error), &context->error);
    const char *arguments = liana__arena_format(&arena, "%s call %s", liana__value_get(root, "arguments")->string,
                                                liana__value_get(root, "call")->string);
    if (liana_model_load(context, join(name, ".keras"), &model) != LIANA_OK) {
        tell(name, arguments, "%s", context->error.message);
        return;
    }
    const liana__value *runs = liana__value_get(root, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        LIANA__SCOPED_MEMORY run *wanted = calloc(1, sizeof *wanted);
        assert_non_null(wanted);
        read_run(runs->items[i], wanted);
        if (has_texts(model)) {
            check_texts(model, name, arguments, liana__value_get(root, "inputs"), wanted);
            continue;
        }
        for (size_t d = 0; d < num_devices; d++) {
            check_run(model, devices[d], name, arguments, liana__value_get(root, "inputs"), wanted);
        }
    }
    const liana__value *later = liana__value_get(root, "later_batches");
    if (later && later->count) check_later_batches(model, name, arguments, liana__value_get(root, "inputs"), later);
    if (liana_model_save(model, join(name, ".again.keras")) != LIANA_OK) {
        tell(name, arguments, "%s", context->error.message);
    }
    liana_model_destroy(model);
}

static void make_cases(void)
{
    const char *pattern = getenv("LIANA_VOCABULARY"), *seed = getenv("LIANA_VOCABULARY_SEED");
    const char *kept = getenv("LIANA_VOCABULARY_FOLDER");
    folder = liana__arena_string(&arena, kept ? kept : liana__test_folder());
    liana__test_run_keras("tests/train/model/keras_vocabulary/vocabulary.py",
                          (const char *const[]){"make", folder, pattern ? pattern : ".*", seed ? seed : "1", NULL});
}

/* Every other model runs on the plugin too: it compiles each. */
static void test_each_layer_gives_the_outputs_and_gradients_of_keras(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    make_cases();
    liana_device *devices[2];
    size_t num_devices = 1, count = 0;
    assert_ok(liana_device_open(context, "cpu", &devices[0]), &context->error);
    if (liana__test_plugin_is_there()) {
        assert_ok(liana_device_open(context, "pjrt:cpu", &devices[num_devices++]), &context->error);
    }
    liana__paths names;
    assert_ok(liana__folder_list(folder, &arena, &names, &context->error), &context->error);
    for (size_t i = 0; i < names.count; i++) {
        char *end = strstr(names.items[i], ".case.json");
        if (!end) continue;
        *end = 0;
        check_case(names.items[i], devices, count++ % 2 ? 1 : num_devices);
    }
    for (size_t d = 0; d < num_devices; d++) liana_device_close(devices[d]);
    print_message("%zu models, %zu differ\n", count, failures);
    assert_compare(count, >, 0);
    assert_int_equal(failures, 0);
}

static void test_keras_reads_each_layer_again(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    liana__test_run_keras("tests/train/model/keras_vocabulary/vocabulary.py",
                          (const char *const[]){"check", folder, NULL});
}

static void test_each_layer_of_keras_has_a_table_or_a_reason(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    liana__test_run_keras("tests/train/model/keras_vocabulary/vocabulary.py", (const char *const[]){"names", NULL});
}

static int end(void **state)
{
    liana__arena_free(&arena);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_layer_gives_the_outputs_and_gradients_of_keras),
        cmocka_unit_test(test_keras_reads_each_layer_again),
        cmocka_unit_test(test_each_layer_of_keras_has_a_table_or_a_reason),
    };
    return cmocka_run_group_tests(tests, set_up, end);
}
