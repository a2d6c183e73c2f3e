/* Architecture files as each Keras writes them: the meaning of names, the numbers and names of calls, and refusals. The
 * texts are shortened from those of Keras 3.15, tf_keras 2.21 and Keras 1. */
#include "harness/harness.h"

#include "formats/json.h"
#include "harness/mutate.h"
#include "layers/model.h"
#include "train/model/keras_compile.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

static liana_status read(const char *json)
{
    liana__value *value;
    start_again();
    assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &value, &error), &error);
    return liana__model_from_keras(model, value);
}

static void accept(const char *json)
{
    const liana_status status = read(json);
    if (status != LIANA_OK) fail_msg("%s", model->error.message);
    assert_ok(liana__model_check(model, &error), &error);
}

#define assert_refused(json, expected_status, ...)                                             \
    do {                                                                                       \
        const liana_status found_status = read(json);                                          \
        assert_fails(found_status, expected_status, &model->error, "model.json", __VA_ARGS__); \
    } while (0)

/* ---- pieces of files ---- */

#define INPUT3(name, size)                                                                                      \
    "{\"module\": \"keras.layers\", \"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, " size \
    "], \"dtype\": \"float32\", \"name\": \"" name "\"}, \"registered_name\": null, \"name\": \"" name          \
    "\", \"inbound_nodes\": []}"
#define TENSOR(name, call, output)                                                                       \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 4], \"dtype\": \"float32\", " \
    "\"keras_history\": [\"" name "\", " call ", " output "]}}"
#define LAYER3(class_name, name, config, nodes)                                                                     \
    "{\"module\": \"keras.layers\", \"class_name\": \"" class_name "\", \"config\": {\"name\": \"" name "\"" config \
    "}, \"registered_name\": null, \"name\": \"" name "\", \"inbound_nodes\": [" nodes "]}"
#define CALL3(arguments, kwargs) "{\"args\": [" arguments "], \"kwargs\": {" kwargs "}}"
#define FUNCTIONAL3(name, layers, inputs, outputs)                                                                 \
    "\"module\": \"keras.src.models.functional\", \"class_name\": \"Functional\", \"config\": {\"name\": \"" name  \
    "\", \"trainable\": true, \"layers\": [" layers "], \"input_layers\": " inputs ", \"output_layers\": " outputs \
    "}, \"registered_name\": \"Functional\""
#define SEQUENTIAL3(layers, more)                                                                                 \
    "{\"module\": \"keras\", \"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"trainable\": true, " \
    "\"layers\": [" layers "]" more "}, \"registered_name\": null}"

static int64_t width_of(size_t node)
{
    const liana_shape *shape = &model->nodes[node].shape;
    return shape->dims[shape->rank - 1];
}

/* The last axis of each output. */
static void assert_outputs(size_t count, const char *const *names, const int64_t *widths)
{
    assert_int_equal(liana__model_num_outputs(model), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(liana__model_output(model, i).name, names[i]);
        assert_int_equal(width_of(liana__model_output_node(model, i)), widths[i]);
    }
}

/* ---- Keras 3 ---- */

/* Inputs and outputs by name: results are numbered by the order of names, and a model's calls in its outputs from 1. */
static void test_names_of_inputs_and_outputs(void **state)
{
    (void)state;
#define INNER                                                                                            \
    FUNCTIONAL3("inner",                                                                                 \
                INPUT3("img", "8") ", " INPUT3("two", "5") ", " LAYER3(                                  \
                    "Dense", "bb", ", \"units\": 3",                                                     \
                    CALL3(TENSOR("two", "0", "0"), "")) ", " LAYER3("Dense", "q", ", \"units\": 2",      \
                                                                    CALL3(TENSOR("img", "0", "0"), "")), \
                "{\"zz\": [\"img\", 0, 0], \"aa\": [\"two\", 0, 0]}", "{\"q\": [\"q\", 0, 0], \"b\": [\"bb\", 0, 0]}")
#define NAMED_CALL \
    CALL3("{\"zz\": " TENSOR("A", "0", "0") ", \"aa\": " TENSOR("B", "0", "0") "}", "\"mask\": {\"zz\": null}")
    accept(
        "{" FUNCTIONAL3("m",
                        INPUT3("B", "5") ", " INPUT3("A", "8") ", {" INNER
                                                               ", \"name\": \"inner\", \"inbound_nodes\": [" NAMED_CALL
                                                               "]}, " LAYER3("Dense", "o", ", \"units\": 7",
                                                                             CALL3(TENSOR("inner", "0", "1"), "")),
                        "[[\"A\", 0, 0], [\"B\", 0, 0]]", "[[\"o\", 0, 0], [\"inner\", 1, 0]]") "}");
    assert_string_equal(liana__model_input(model, 0).name, "A");
    assert_outputs(2, (const char *const[]){"o", "inner"}, (const int64_t[]){7, 3});
    /* The Dense "q" reads A, which has 8 numbers; "o" reads "q". */
    const int q = liana__model_find_weight(model, "inner/q/kernel"), o = liana__model_find_weight(model, "o/kernel");
    assert_int_equal(model->weights[q].shape.dims[0], 8);
    assert_int_equal(model->weights[o].shape.dims[0], 2);
    /* A single input and output stand without a list around them. */
    accept(
        "{" FUNCTIONAL3("m",
                        INPUT3("x", "4") ", " LAYER3("Dense", "d", ", \"units\": 2", CALL3(TENSOR("x", "0", "0"), "")),
                        "[\"x\", 0, 0]", "[\"d\", 0, 0]") "}");
    assert_outputs(1, (const char *const[]){"d"}, (const int64_t[]){2});
}

/* A tensor may be given by the name of its argument. */
static void test_arguments_by_name(void **state)
{
    (void)state;
    accept("{" FUNCTIONAL3("m",
                           INPUT3("x", "4") ", " LAYER3("Dense", "d", ", \"units\": 2",
                                                        CALL3("", "\"inputs\": " TENSOR("x", "0", "0"))),
                           "[\"x\", 0, 0]", "[\"d\", 0, 0]") "}");
    assert_int_equal(width_of(model->nodes[model->num_nodes - 1].inputs[0]), 4);
    /* One that a layer of liana does not take is not lost. */
    assert_refused("{" FUNCTIONAL3("m",
                                   INPUT3("x", "4") ", " INPUT3("y", "4") ", " LAYER3(
                                       "Dense", "d", ", \"units\": 2",
                                       CALL3(TENSOR("x", "0", "0"), "\"other\": " TENSOR("y", "0", "0"))),
                                   "[[\"x\", 0, 0], [\"y\", 0, 0]]", "[\"d\", 0, 0]") "}",
                   LIANA_INVALID_CONFIG, "d", "2 inputs");
    /* Before Keras 3 it is behind the first input. */
    assert_refused(
        "{\"class_name\": \"Functional\", \"keras_version\": \"2.15.0\", \"config\": {\"name\": \"m\", "
        "\"layers\": [" INPUT3("x", "4") ", " INPUT3(
            "y",
            "4") ", {\"class_name\": \"Dense\", \"name\": \"d\", \"config\": {\"name\": \"d\", \"units\": 2}, "
                 "\"inbound_nodes\": [[[\"x\", 0, 0, {\"value\": [\"y\", 0, 0]}]]]}], \"input_layers\": [[\"x\", 0, "
                 "0], [\"y\", 0, 0]], \"output_layers\": [[\"d\", 0, 0]]}}",
        LIANA_INVALID_CONFIG, "d", "2 inputs");
}

/* Keras 3 writes the word for each Dropout, and does not follow it. */
static void test_training_says_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"null", "false", "true"};
    for (int i = 0; i < 3; i++) {
        accept(liana__arena_format(&arena,
                                   "{" FUNCTIONAL3("m",
                                                   INPUT3("x", "4") ", " LAYER3("BatchNormalization", "bn", "",
                                                                                CALL3(TENSOR("x", "0", "0"),
                                                                                      "\"training\": %s")),
                                                   "[\"x\", 0, 0]", "[\"bn\", 0, 0]") "}",
                                   words[i]));
        assert_false(model->layers[1].inference);
    }
}

/* ---- Sequential without an InputLayer ---- */

static void test_shapes_of_examples(void **state)
{
    (void)state;
    static const char dense[] = "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2}%s}";
    const char *plain = liana__arena_format(&arena, dense, "");
    const char *built = liana__arena_format(&arena, dense, ", \"build_config\": {\"input_shape\": [null, 6]}");
    accept(liana__arena_format(&arena, SEQUENTIAL3("%s", ", \"build_input_shape\": [null, 5]"), plain));
    assert_int_equal(liana__model_input_shape(model).dims[1], 5);
    accept(liana__arena_format(&arena, SEQUENTIAL3("%s", ""), built));
    assert_int_equal(liana__model_input_shape(model).dims[1], 6);
    accept(
        SEQUENTIAL3("{\"class_name\": \"Embedding\", \"config\": {\"name\": \"e\", \"input_dim\": 9, \"output_dim\": "
                    "2}}",
                    ", \"build_input_shape\": [null, 7]"));
    assert_int_equal(liana__model_input(model, 0).dtype, LIANA_S32);
    assert_refused(liana__arena_format(&arena, SEQUENTIAL3("%s", ""), plain), LIANA_UNIMPLEMENTED, "build_input_shape",
                   "InputLayer");
    assert_refused(liana__arena_format(&arena, SEQUENTIAL3("%s", ", \"build_input_shape\": [null, null]"), plain),
                   LIANA_INVALID_CONFIG, "'d'", "a size that the data give");
}

/* ---- Keras 2 ---- */

#define MODEL2(calls, others, outputs)                                                                                \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [{\"class_name\": \"InputLayer\", "   \
    "\"config\": {\"batch_input_shape\": [null, 4], \"name\": \"A\"}, \"name\": \"A\", \"inbound_nodes\": []}, "      \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"seq\", \"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": {\"batch_input_shape\": [null, 4], \"name\": \"i\"}}, {\"class_name\": \"Dense\", \"config\": "      \
    "{\"name\": \"d\", \"units\": 4, \"activation\": \"hard_sigmoid\"}}]}, \"name\": \"seq\", \"inbound_nodes\": "    \
    "[" calls "]}" others "], \"input_layers\": [[\"A\", 0, 0]], \"output_layers\": [" outputs                        \
    "]}, \"keras_version\": \"2.21.0\", \"backend\": \"tensorflow\"}"
#define ADD2(nodes)                                                                                                    \
    ", {\"class_name\": \"Add\", \"config\": {\"name\": \"add\"}, \"name\": \"add\", \"inbound_nodes\": [[" nodes "]]" \
    "}"

/* A model's calls are counted from 1; liana once wrote them from 0. */
static void test_calls_of_nested_models(void **state)
{
    (void)state;
    static const char *const texts[] = {
        MODEL2("[[\"A\", 0, 0, {}]], [[\"seq\", 1, 0, {}]]", ADD2("[\"seq\", 1, 0, {}], [\"seq\", 2, 0, {}]"),
               "[\"add\", 0, 0]"),
        MODEL2("[[\"A\", 0, 0, {}]], [[\"seq\", 0, 0, {}]]", ADD2("[\"seq\", 0, 0, {}], [\"seq\", 1, 0, {}]"),
               "[\"add\", 0, 0]"),
    };
    for (int i = 0; i < 2; i++) {
        accept(texts[i]);
        /* A, the InputLayer and Dense of each call, and Add, which reads the two of Dense. */
        assert_int_equal(model->num_nodes, 6);
        assert_int_equal(model->nodes[5].inputs[0], 2);
        assert_int_equal(model->nodes[5].inputs[1], 4);
        assert_int_equal(model->nodes[3].inputs[0], 2);
    }
    accept(MODEL2("[[\"A\", 0, 0, {}]]", "", "[\"seq\", 1, 0]"));
    assert_int_equal(liana__model_output_node(model, 0), 2);
    assert_refused(MODEL2("[[\"A\", 0, 0, {}]]", "", "[\"seq\", 1, 3]"), LIANA_INVALID_CONFIG, "seq", "output 3");
}

static double slope_of(size_t layer)
{
    const bool leaks = strcmp(model->layers[layer].type->part.name, "LeakyReLU") == 0;
    const void *options = model->layers[layer].options;
    return leaks ? ((const liana_leaky_relu_options *)options)->negative_slope
                 : ((const liana_relu_options *)options)->negative_slope;
}

/* LeakyReLU's slope has another key in Keras 3. */
static void test_leaky_relu(void **state)
{
    (void)state;
    static const struct {
        const char *option;
        double slope;
    } cases[] = {{", \"alpha\": 0.125", 0.125}, {", \"negative_slope\": 0.25", 0.25}, {"", 0.3}};
    for (int i = 0; i < 3; i++) {
        accept(liana__arena_format(&arena,
                                   SEQUENTIAL3("{\"class_name\": \"LeakyReLU\", \"config\": {\"name\": \"l\"%s}}",
                                               ", \"build_input_shape\": [null, 5]"),
                                   cases[i].option));
        assert_near(slope_of(1), cases[i].slope, 1e-12);
    }
    /* A ReLU keeps its own default. */
    accept(
        SEQUENTIAL3("{\"class_name\": \"ReLU\", \"config\": {\"name\": \"l\"}}", ", \"build_input_shape\": [null, 5]"));
    assert_near(slope_of(1), 0, 0);
}

/* Keras 1's names of rules. */
static void test_rules_of_keras_1(void **state)
{
    (void)state;
    accept("{\"class_name\": \"Sequential\", \"config\": [{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", "
           "\"batch_input_shape\": [null, 4], \"output_dim\": 2, \"init\": \"glorot_uniform\", \"W_regularizer\": "
           "{\"class_name\": \"L1L2\", \"config\": {\"l1\": 0.0, \"l2\": 0.5}}, \"b_constraint\": \"non_neg\", "
           "\"b_regularizer\": null}}]}");
    assert_true(liana__weight_is_regularized(model, 0));
    assert_non_null(model->weights[1].constraint.type);
}

/* A model that is frozen as a whole. */
static void test_frozen_models(void **state)
{
    (void)state;
    const char *text = SEQUENTIAL3("{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2}}",
                                   ", \"build_input_shape\": [null, 5]");
    accept(text);
    assert_true(liana__weight_trainable(model, 0));
    char *frozen = liana__arena_string(&arena, text);
    memcpy(strstr(frozen, "\"trainable\": true"), "\"trainable\":false", strlen("\"trainable\": true"));
    accept(frozen);
    assert_false(liana__weight_trainable(model, 0));
}

static void test_precision_both_ways(void **state)
{
    (void)state;
    start_again();
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2);
    liana_model_set_precision(model, LIANA_MIXED_BFLOAT16);
    liana__text text = {0};
    liana__value_write_json(liana__model_to_keras(model, LIANA__KERAS3, &arena), 0, &text);
    assert_says(text.data, "\"DTypePolicy\", \"config\": {\"name\": \"mixed_bfloat16\"}");
    accept(text.data);
    assert_int_equal(model->precision, LIANA_MIXED_BFLOAT16);
    liana__text_free(&text);
}

/* ---- refusals ---- */

#define ONE(layer) SEQUENTIAL3(layer, ", \"build_input_shape\": [null, 4]")
#define PACKAGED(class_name, module, config)                                                                       \
    "{\"module\": " module ", \"class_name\": \"" class_name "\", \"config\": {" config "}, \"registered_name\": " \
    "\"Custom>" class_name "\"}"
#define DENSE(more) "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, " more "}}"
#define PYTHON                                                                                                    \
    "{\"class_name\": \"__lambda__\", \"config\": {\"code\": \"4wEAAAAAAAAA\", \"defaults\": null, \"closure\": " \
    "null}}"

static void test_python_code_is_never_run(void **state)
{
    (void)state;
    assert_refused(ONE("{\"module\": \"keras.layers\", \"class_name\": \"Lambda\", \"config\": {\"name\": \"lambda\", "
                       "\"function\": " PYTHON ", \"arguments\": {}}, \"registered_name\": null}"),
                   LIANA_UNIMPLEMENTED, "lambda", "Python code", "never runs");
    /* Keras 2's. */
    assert_refused(ONE("{\"class_name\": \"Lambda\", \"config\": {\"name\": \"l\", \"function\": [\"4wEAAAA=\", null, "
                       "null], \"function_type\": \"lambda\"}}"),
                   LIANA_UNIMPLEMENTED, "'l'", "Python code");
    assert_refused(ONE(DENSE("\"activation\": " PYTHON)), LIANA_UNIMPLEMENTED, "activation", "Python code");
    assert_refused(ONE(DENSE("\"kernel_initializer\": " PYTHON)), LIANA_UNIMPLEMENTED, "kernel_initializer",
                   "Python code");
    assert_refused(ONE("{\"class_name\": \"TFOpLambda\", \"config\": {\"name\": \"tf.math.truediv\", \"function\": "
                       "\"math.truediv\"}}"),
                   LIANA_UNIMPLEMENTED, "TFOpLambda", "'math.truediv'", "Rescaling");
}

/* A class of somebody's package is not Keras's, whatever it is called. */
/* Also those of nested models, code, and a name that is nearly known. */
static void test_all_unknown_layers_are_told_at_once(void **state)
{
    (void)state;
    assert_refused(ONE("{\"class_name\": \"TFSMLayer\", \"config\": {\"name\": \"l\", \"units\": 3}},"
                       " {\"class_name\": \"Sequential\", \"config\": {\"name\": \"in\", \"layers\": ["
                       "{\"class_name\": \"Dense2\", \"config\": {\"name\": \"d\"}}]}},"
                       " {\"class_name\": \"Lambda\", \"config\": {\"name\": \"code\"}}"),
                   LIANA_UNIMPLEMENTED, "3 of the layers", "'l' of the class 'TFSMLayer'",
                   "'d' of the class 'Dense2' (the nearest is", "'code' of the class 'Lambda' (code, which",
                   "'liana list layers'", "register layers of your own first");
    assert_refused(ONE("{\"class_name\": \"JaxLayer\", \"config\": {\"name\": \"g\"}}"), LIANA_UNIMPLEMENTED, "'g'",
                   "JaxLayer", "'liana list layers'");
}

static void test_classes_of_packages(void **state)
{
    (void)state;
    assert_refused(ONE(PACKAGED("Dense", "\"my_layers\"", "\"name\": \"d\", \"units\": 2")), LIANA_UNIMPLEMENTED,
                   "'Dense'", "Custom>Dense");
    assert_refused(ONE(DENSE("\"kernel_initializer\": " PACKAGED("Zeros", "null", ""))), LIANA_UNIMPLEMENTED,
                   "kernel_initializer", "Custom>Zeros");
    assert_refused(ONE(DENSE("\"bias_regularizer\": " PACKAGED("L2", "null", "\"l2\": 0.5"))), LIANA_UNIMPLEMENTED,
                   "bias_regularizer", "Custom>L2");
    assert_refused(ONE(DENSE("\"activation\": {\"module\": \"builtins\", \"class_name\": \"function\", \"config\": "
                             "\"relu\", \"registered_name\": \"mine>relu\"}")),
                   LIANA_UNIMPLEMENTED, "activation", "mine>relu");
    /* An early Keras 3 wrote Keras's own functions so. */
    accept(ONE(DENSE("\"activation\": {\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"relu\", "
                     "\"registered_name\": \"function\"}")));
    /* A layer as an activation has options; a PReLU has weights too. */
    accept(ONE(DENSE("\"activation\": {\"module\": \"keras.layers\", \"class_name\": \"ReLU\", \"config\": "
                     "{\"negative_slope\": 0.5}, \"registered_name\": null}")));
    assert_refused(ONE(DENSE("\"activation\": {\"module\": \"keras.layers\", \"class_name\": \"PReLU\", \"config\": "
                             "{\"alpha_regularizer\": null}, \"registered_name\": null}")),
                   LIANA_UNIMPLEMENTED, "activation", "PReLU");
}

#define FIXED_DROPOUT(more)                                                                                       \
    "{\"class_name\": \"FixedDropout\", \"config\": {\"name\": \"drop\", \"rate\": 0.5, \"noise_shape\": [null, " \
    "1]}" more "}"

static liana_tensor call_own_dropout(liana_layer_call *call)
{
    return liana_op_negate_at(call->here, call->inputs[0]);
}

/* The package efficientnet's class for Dropout; one that the program registers comes first. */
static void test_dropout_of_the_package_efficientnet(void **state)
{
    (void)state;
    accept(ONE(FIXED_DROPOUT("")));
    assert_ptr_equal(model->layers[1].type, &liana__layer_dropout);
    const liana_dropout_options *dropout = model->layers[1].options;
    assert_compare(dropout->rate, ==, 0.5);
    assert_int_equal(dropout->noise_shape.count, 2);
    assert_int_equal(dropout->noise_shape.values[0], -1);
    accept(ONE(FIXED_DROPOUT(", \"module\": \"efficientnet.model\", \"registered_name\": \"FixedDropout\"")));
    assert_ptr_equal(model->layers[1].type, &liana__layer_dropout);
    assert_refused(ONE(FIXED_DROPOUT(", \"module\": \"mine\", \"registered_name\": \"mine>FixedDropout\"")),
                   LIANA_UNIMPLEMENTED, "'FixedDropout'", "mine>FixedDropout");
    static const liana_option rows[] = {LIANA_OPTION_ROW(liana_dropout_options, rate, FLOAT, .doc = "any")};
    static const liana_layer_type own = {LIANA_PART(LAYER, liana_layer_type, "FixedDropout", "changes signs",
                                                    LIANA_PART_OPTIONS(liana_dropout_options, rows)),
                                         .call = call_own_dropout};
    assert_ok(liana_register(context, &own.part), &context->error);
    accept(ONE("{\"class_name\": \"FixedDropout\", \"config\": {\"name\": \"drop\", \"rate\": 0.5}}"));
    assert_string_equal(model->layers[1].type->part.doc, "changes signs");
}

static void test_versions(void **state)
{
    (void)state;
    static const char *const versions[] = {"4.0.1", "0.3", "new", "33"};
    for (int i = 0; i < 4; i++) {
        const char *text = liana__arena_format(&arena,
                                               "{\"keras_version\": \"%s\", \"class_name\": \"Sequential\", "
                                               "\"config\": []}",
                                               versions[i]);
        assert_refused(text, LIANA_UNIMPLEMENTED, "keras_version", versions[i], "1, 2 or 3");
    }
    assert_refused("{\"module\": \"mine\", \"class_name\": \"MyModel\", \"config\": {}, \"registered_name\": "
                   "\"Custom>MyModel\"}",
                   LIANA_UNIMPLEMENTED, "MyModel", "Sequential or Functional");
}

/* Keras has one layer in both models; liana would have two, with weights of their own. */
static void test_layers_of_several_models(void **state)
{
    (void)state;
#define SHARED(name, id)                                                                                           \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"" name "\", \"layers\": [" INPUT3(                  \
        "i" name,                                                                                                  \
        "4") ", "                                                                                                  \
             "{\"class_name\": \"Dense\", \"config\": {\"name\": \"sh\", \"units\": 4}, \"shared_object_id\": " id \
             "}]}}"
    assert_refused(SEQUENTIAL3(SHARED("e1", "140513883429648") ", " SHARED("e2", "140513883429648"), ""),
                   LIANA_UNIMPLEMENTED, "shared_object_id", "'sh'", "several models");
    accept(SEQUENTIAL3(SHARED("e1", "140513883429648") ", " SHARED("e2", "140513883429649"), ""));
}

static void test_batch_normalization(void **state)
{
    (void)state;
#define NORMALIZED(option) ONE("{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", " option "}}")
    accept(NORMALIZED("\"renorm\": false, \"renorm_clipping\": {}, \"renorm_momentum\": 0.9, \"axis\": [1]"));
    accept(NORMALIZED("\"renorm\": true"));
    assert_refused("{\"keras_version\": \"2.15.0\", \"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", "
                   "\"layers\": [{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", "
                   "\"batch_input_shape\": [null, 4], \"renorm\": true}}]}}",
                   LIANA_UNIMPLEMENTED, "'b'", "renorm");
    assert_refused(NORMALIZED("\"renorm\": true, \"renorm_clipping\": {\"rmax\": 1, \"rmin\": 2}"),
                   LIANA_INVALID_CONFIG, "'b'", "rmax 1 below rmin 2");
    assert_refused(
        ONE("{\"class_name\": \"Normalization\", \"config\": {\"name\": \"n\", \"axis\": [-1], \"mean\": [1, 2, "
            "3, 4, 5, 6, 7], \"variance\": [1, 1, 1, 1, 1, 1, 1]}}"),
        LIANA_INVALID_ARGUMENT, "'n'", "7 numbers of mean");
    assert_refused(NORMALIZED("\"axis\": 3"), LIANA_INVALID_ARGUMENT, "'b'", "axis 3");
}

/* ---- limits of a form ---- */

static void assert_cannot_say(liana__keras_form form, const char *first, const char *second)
{
    assert_fails(liana__model_check_keras(model, form, &error), LIANA_UNIMPLEMENTED, &error, first, second);
}

static void test_what_a_form_cannot_say(void **state)
{
    (void)state;
    start_again();
    liana_layer x = liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2, .name = "plain");
    assert_ok(liana__model_check_keras(model, LIANA__KERAS3, &error), &error);
    assert_ok(liana__model_check_keras(model, LIANA__KERAS2, &error), &error);
    liana_layer a = liana_dense(model, .units = 2, .name = "new", .activation = "hard_sigmoid", .input = x);
    assert_ok(liana__model_check_keras(model, LIANA__KERAS3, &error), &error);
    assert_cannot_say(LIANA__KERAS2, "'new'", "hard_sigmoid_keras2");
    liana_layer b = liana_dense(model, .units = 2, .name = "old", .activation = "hard_sigmoid_keras2", .input = x);
    assert_cannot_say(LIANA__KERAS3, "'old'", "another function");
    start_again();
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2, .name = "a/b");
    assert_ok(liana__model_check_keras(model, LIANA__KERAS3, &error), &error);
    liana_dense(model, .units = 2, .name = "a_b");
    assert_cannot_say(LIANA__KERAS3, "'a/b'", "taken");
    assert_ok(liana__model_check_keras(model, LIANA__KERAS2, &error), &error);
    start_again();
    x = liana_input(model, .shape = LIANA_INTS(4));
    a = liana_dense(model, .units = 2, .name = "new", .activation = "hard_sigmoid", .input = x);
    b = liana_dense(model, .units = 2, .name = "old", .activation = "hard_sigmoid_keras2", .input = x);
    liana_layer c = liana_dropout(model, .rate = 0.5, .name = "quiet", .training = false);
    assert_cannot_say(LIANA__KERAS3, "'quiet'", "training: false");
    /* All at once. */
    assert_cannot_say(LIANA__KERAS3, "'old'", "'quiet'");
    const char *const names[] = {"first", NULL, NULL};
    liana_model_outputs_at(LIANA_HERE, model, (const liana_layer[]){a, b, c}, 3, names);
    assert_cannot_say(LIANA__KERAS2, "'new'", "first");
}

/* ---- whole files ---- */

/* Files of Keras 3.15 and tf_keras 2.21 (tests/samples/keras_corpus.py), with their compile settings. */
static void test_what_each_keras_wrote(void **state)
{
    (void)state;
    static const struct {
        const char *file, *key, *train;
    } cases[] = {
        {"keras3_sequential", "compile_config", "CosineDecay"},
        {"keras3_hdf5", "training_config", "CosineDecay"},
        {"keras3_functional", "compile_config", "mean_absolute_error"},
        {"keras3_archive", "compile_config", "mean_absolute_error"},
        {"keras3_named", "compile_config", "{\"one\": \"mean_squared_error\", \"other\": \"huber\"}"},
        {"keras3_mask", NULL, NULL},
        {"keras2_sequential", "compile_config", "CosineDecay"},
        {"keras2_hdf5", "training_config", "CosineDecay"},
        {"keras2_functional", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path =
            liana__arena_format(&arena, LIANA_SOURCE_DIR "/tests/fuzz/corpus/fuzz_keras/%s.json", cases[i].file);
        liana__value *value;
        const liana__value *train;
        start_again();
        assert_ok(liana__json_read(path, &arena, &value, &error), &error);
        assert_ok(liana__model_from_keras(model, value), &model->error);
        assert_ok(liana__model_check(model, &error), &error);
        const char *activation = liana__layer_option_text(&model->layers[1], "activation");
        if (strstr(cases[i].file, "sequential") || strstr(cases[i].file, "hdf5")) {
            assert_string_equal(activation, cases[i].file[5] == '3' ? "hard_sigmoid" : "hard_sigmoid_keras2");
        }
        if (!cases[i].key) continue;
        const bool keras3 = cases[i].file[5] == '3';
        assert_ok(liana__keras_compile_read(model, liana__value_get(value, cases[i].key), cases[i].key, keras3, &arena,
                                            &train, &error),
                  &error);
        assert_non_null(train);
        assert_says(liana__json_line(train, &arena), cases[i].train);
    }
}

/* A model.json that liana wrote before it had the form of Keras 3: with both kinds of hard_sigmoid, training: false,
 * calls of nested models from 0 and names of outputs. */
static void test_a_file_of_before(void **state)
{
    (void)state;
    liana__value *value;
    start_again();
    assert_ok(liana__json_read(LIANA_SOURCE_DIR "/tests/fuzz/corpus/fuzz_keras/liana_before.json", &arena, &value,
                               &error),
              &error);
    assert_ok(liana__model_from_keras(model, value), &model->error);
    assert_ok(liana__model_check(model, &error), &error);
    assert_outputs(3, (const char *const[]){"joined", "z", "narrow"}, (const int64_t[]){14, 5, 3});
    const int row = liana__model_find_layer(model, "row/dense"), left = liana__model_find_layer(model, "fork/dense");
    assert_string_equal(liana__layer_option_text(&model->layers[row], "activation"), "hard_sigmoid");
    assert_string_equal(liana__layer_option_text(&model->layers[left], "activation"), "hard_sigmoid_keras2");
    const int normal = liana__model_find_layer(model, "row/batch_normalization");
    assert_true(liana__layer_infers(model, (size_t)normal));
    /* The model "fork" has another one in it; each is called twice, and so is the layer "sh". */
    assert_int_equal(model->layers[liana__model_find_layer(model, "sh")].num_nodes, 2);
    assert_int_equal(model->layers[left].num_nodes, 2);
    assert_int_equal(model->layers[row].num_nodes, 2);
}

/* ---- damage ---- */

static void test_damaged_files_never_crash(void **state)
{
    (void)state;
    static const char *const texts[] = {
        MODEL2("[[\"A\", 0, 0, {}]], [[\"seq\", 1, 0, {}]]", ADD2("[\"seq\", 1, 0, {}], [\"seq\", 2, 0, {}]"),
               "[\"add\", 0, 0]"),
        "{" FUNCTIONAL3("m",
                        INPUT3("B", "5") ", " INPUT3("A", "8") ", {" INNER
                                                               ", \"name\": \"inner\", \"inbound_nodes\": [" NAMED_CALL
                                                               "]}",
                        "[[\"A\", 0, 0], [\"B\", 0, 0]]", "{\"p\": [\"inner\", 1, 1], \"o\": [\"inner\", 1, 0]}") "}",
    };
    size_t accepted = 0, refused = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        size_t size;
        const char *text = texts[i % 2];
        char *damaged = liana__test_mutate(text, strlen(text), "0123456789-[]{}\",:null", 4, i, &size);
        liana__arena scratch = {0};
        liana__value *value;
        if (liana__json_parse(damaged, size, "model.json", &scratch, &value, &error) == LIANA_OK) {
            start_again();
            liana_status status = liana__model_from_keras(model, value);
            accepted += status == LIANA_OK;
            refused += status != LIANA_OK;
            if (status != LIANA_OK) assert_says(model->error.message, "model.json");
        }
        liana__arena_free(&scratch);
        free(damaged);
    }
    assert_compare(accepted, >, 10);
    assert_compare(refused, >, 10);
}

/* Of the second layer. */
static bool has_population_variance(void)
{
    assert_string_equal(model->layers[1].type->part.name, liana__layer_batch_normalization.part.name);
    return ((const liana_batch_normalization_options *)model->layers[1].options)->population_variance;
}

/* Keras 3's moving variance is that of the population; that of Keras 2 is not. */
static void test_moving_variances(void **state)
{
    (void)state;
    static const char norm[] =
        "{\"class_name\": \"Sequential\", \"keras_version\": \"%s\", \"config\": {\"name\": \"s\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\", \"%s\": [null, 4, 4, 2]}},"
        "{\"class_name\": \"BatchNormalization\"%s, \"config\": {\"name\": \"n\", \"axis\": %s}}]}}";
    static const struct {
        const char *version, *shape, *own, *axis;
        bool is_population;
    } rows[] = {
        {"3.15.1", "batch_shape", "", "-1", true},
        {"3.0.5", "batch_shape", "", "3", true},
        {"3.15.1", "batch_shape", ", \"liana_population_variance\": false", "-1", false},
        {"3.15.1", "batch_shape", ", \"liana_population_variance\": true", "-1", true},
        {"2.15.0", "batch_input_shape", "", "[3]", false},
        {"1.2.2", "batch_input_shape", "", "3", false},
    };
    static const liana__keras_form forms[] = {LIANA__KERAS3, LIANA__KERAS2};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[1000];
        snprintf(json, sizeof json, norm, rows[i].version, rows[i].shape, rows[i].own, rows[i].axis);
        accept(json);
        assert_compare(has_population_variance(), ==, rows[i].is_population, i);
        /* What is written is read as it was; Keras 2 has no word for Keras 3's. */
        for (size_t k = 0; k < 2; k++) {
            accept(json);
            const char *text = liana__json_line(liana__model_to_keras(model, forms[k], &arena), &arena);
            assert_never_says(text, "\"population_variance\"");
            accept(text);
            assert_compare(has_population_variance(), ==, rows[i].is_population && forms[k] == LIANA__KERAS3, i, k);
        }
    }
}

/* A model on each step is a model of layers on each step. */
static void test_a_functional_in_a_time_distributed(void **state)
{
    (void)state;
#define STEP_OF(name) "\"inbound_nodes\": [{\"args\": [" STEP_TENSOR(name) "], \"kwargs\": {}}]"
#define STEP_TENSOR(name) \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"keras_history\": [\"" name "\", 0, 0]}}"
#define ON_STEPS(inner)                                                                                               \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["                                    \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"x\", \"batch_shape\": [null, 3, 5, 5, 2]}, \"name\": " \
    "\"x\"},"                                                                                                         \
    "{\"class_name\": \"TimeDistributed\", \"name\": \"steps\", " STEP_OF(                                            \
        "x") ", \"config\": {\"name\": \"steps\", \"layer\": " inner                                                  \
             "}}], \"input_layers\": [[\"x\", 0, 0]], \"output_layers\": [[\"steps\", 0, 0]]}}"
#define STEP_MODEL(last)                                                                                           \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"inner\", \"layers\": ["                             \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\", \"batch_shape\": [null, 5, 5, 2]}, \"name\": " \
    "\"i\"},"                                                                                                      \
    "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 4, \"kernel_size\": 3, \"padding\": " \
    "\"same\"},"                                                                                                   \
    " \"name\": \"c\", \"build_config\": {\"input_shape\": [null, 5, 5, 2]}, " STEP_OF(                            \
        "i") "}, " last "],"                                                                                       \
             " \"input_layers\": [[\"i\", 0, 0]], \"output_layers\": [[\"l\", 0, 0]]}}"
#define BOTH "\"inbound_nodes\": [{\"args\": [[" STEP_TENSOR("c") ", " STEP_TENSOR("i") "]], \"kwargs\": {}}]"
    accept(ON_STEPS(STEP_MODEL(
        "{\"class_name\": \"Concatenate\", \"config\": {\"name\": \"l\", \"axis\": 3}, \"name\": \"l\", " BOTH "}")));
    const liana_shape joined = liana__model_output_shape(model), expected = liana_shape_of(1, 3, 5, 5, 6);
    assert_true(liana_shape_equal(&joined, &expected));
    assert_int_equal(liana__model_num_parameters(model, false), 3 * 3 * 2 * 4 + 4);
    assert_refused(ON_STEPS(STEP_MODEL(
                       "{\"class_name\": \"Dot\", \"config\": {\"name\": \"l\", \"axes\": 3}, \"name\": \"l\", " BOTH
                       "}")),
                   LIANA_INVALID_CONFIG, "'l'", "TimeDistributed");
    assert_refused(ON_STEPS("{\"class_name\": \"Functional\", \"config\": {\"name\": \"inner\"}}"), LIANA_UNIMPLEMENTED,
                   "steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_of_inputs_and_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arguments_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_training_says_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shapes_of_examples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_of_nested_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaky_relu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rules_of_keras_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_frozen_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_precision_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_code_is_never_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_unknown_layers_are_told_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_classes_of_packages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dropout_of_the_package_efficientnet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layers_of_several_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_batch_normalization, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moving_variances, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_form_cannot_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_each_keras_wrote, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_of_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_functional_in_a_time_distributed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_files_never_crash, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("keras_files", tests, NULL, NULL);
}
