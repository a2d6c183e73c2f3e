/* liana predict, for each kind of output: all probabilities by the names of the classes, in lines, JSON and CSV. The
 * models are given, so that their predictions are known: softmax and sigmoid of numbers of the table. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, CLASSES = 7 };

/* The numbers of row i. */
static double feature(int i, int k)
{
    return sin(i * 1.7 + k * 2.1);
}

static const char *const kinds[CLASSES] = {"ant", "bee, wild", "cat", "dog", "eel", "fox", "label"};

/* Features a0..a6, a kind of CLASSES names, yes or no, and a number. */
static void write_table(void)
{
    liana__text text = {0};
    for (int k = 0; k < CLASSES; k++) liana__text_add(&text, "a%d,", k);
    liana__text_add(&text, "kind,sick,size\n");
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < CLASSES; k++) liana__text_add(&text, "%.9g,", feature(i, k));
        liana__text_add(&text, "\"%s\",%s,%.3f\n", kinds[i % CLASSES], i % 3 ? "no" : "yes", i / 8.0);
    }
    liana__test_write("table.csv", text.data, text.length);
    liana__text_free(&text);
}

/* Trains with a rate of nearly nothing: kernels stay what initialisers made them, zeros and ones. */
static const char *train(const char *name, const char *model, const char *targets, const char *loss)
{
    static char run[300], config[300];
    char yaml[2048];
    const int length = snprintf(yaml, sizeof yaml,
                                "data:\n  train: table.csv\n  columns:\n    features: [a0, a1, a2, a3, a4, a5, a6]\n"
                                "    kind: {category: true}\n    sick: {category: true}\n    size: size\n"
                                "  inputs: features\n  targets: %s\nmodel:\n%s\ntrain:\n  epochs: 1\n  loss: %s\n"
                                "  optimizer: {name: SGD, learning_rate: 1.0e-30}\n",
                                targets, model, loss);
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", yaml, (size_t)length));
    snprintf(run, sizeof run, "%s", liana__test_path(name));
    assert_code(liana__test_command("train", config, "--out", run), 0);
    return run;
}

/* logits = features + 0 */
#define KIND_LAYERS                                                    \
    "    - InputLayer: {shape: [7], name: features}\n"                 \
    "    - Dense: {units: 7, kernel_initializer: zeros, name: zero}\n" \
    "    - Add: {inputs: [features, zero], name: logits}\n"            \
    "    - Softmax: {name: kind}\n"
static const char KIND[] = "  layers:\n" KIND_LAYERS;
static const char SICK[] =
    "  layers:\n    - Dense: {units: 1, activation: sigmoid, kernel_initializer: ones, name: sick}";
static const char ALL[] =
    "  layers:\n" KIND_LAYERS
    "    - Dense: {units: 1, activation: sigmoid, kernel_initializer: ones, name: sick, inputs: features}\n"
    "    - Dense: {units: 1, kernel_initializer: ones, name: size, inputs: features}\n"
    "  outputs: [kind, sick, size]";

static double probability(int i, int label)
{
    double sum = 0;
    for (int k = 0; k < CLASSES; k++) sum += exp(feature(i, k));
    return exp(feature(i, label)) / sum;
}

static double total(int i)
{
    double sum = 0;
    for (int k = 0; k < CLASSES; k++) sum += feature(i, k);
    return sum;
}

/* That the row is "yes", the second name. */
static double sigmoid(int i)
{
    return 1 / (1 + exp(-total(i)));
}

static int likeliest(int i)
{
    int best = 0;
    for (int k = 1; k < CLASSES; k++) {
        if (feature(i, k) > feature(i, best)) best = k;
    }
    return best;
}

/* ---- CSV ---- */

/* The next cell, which may be in quotes. */
static const char *next_cell(const char **at, char cell[64])
{
    size_t length = 0;
    const bool quoted = **at == '"';
    *at += quoted;
    while (**at && **at != '\n' && (quoted ? **at != '"' : **at != ',')) cell[length++] = *(*at)++;
    cell[length] = 0;
    *at += quoted;
    if (**at) ++*at;
    return cell;
}

static char *predict_csv(const char *run, const char *option)
{
    assert_code(liana__test_command("predict", run, liana__test_path("table.csv"), "--out", liana__test_path("p.csv"),
                                    option),
                0);
    return liana__test_read_text("p.csv");
}

static void expect(const char **at, const char *cell)
{
    char found[64];
    assert_string_equal(next_cell(at, found), cell);
}

static void expect_number(const char **at, double expected, double tolerance)
{
    char found[64];
    const double number = strtod(next_cell(at, found), NULL);
    if (fabs(number - expected) > tolerance) print_error("found %s, expected %.9g\n", found, expected);
    assert_near(number, expected, tolerance);
}

static void test_columns_of_classes(void **state)
{
    (void)state;
    liana__test_folder();
    write_table();
    const char *run = train("run", KIND, "kind", "sparse_categorical_crossentropy");
    char *text = predict_csv(run, "--probabilities"), number[16];
    const char *at = text;
    expect(&at, "id"), expect(&at, "label"), expect(&at, "class"), expect(&at, "confidence");
    /* A class that is called as another column gets the output's name before it. */
    for (int k = 0; k < CLASSES; k++) expect(&at, k < 6 ? kinds[k] : "kind_label");
    expect(&at, "true_label"), expect(&at, "true_class"), expect(&at, "correct");
    for (int i = 0; i < ROWS; i++) {
        const int best = likeliest(i);
        snprintf(number, sizeof number, "%d", i);
        expect(&at, number);
        snprintf(number, sizeof number, "%d", best);
        expect(&at, number), expect(&at, kinds[best]);
        expect_number(&at, probability(i, best), 1e-6);
        for (int k = 0; k < CLASSES; k++) expect_number(&at, probability(i, k), 1e-6);
        snprintf(number, sizeof number, "%d", i % CLASSES);
        expect(&at, number), expect(&at, kinds[i % CLASSES]), expect(&at, best == i % CLASSES ? "1" : "0");
    }
    assert_int_equal(*at, 0);
    free(text);
    text = predict_csv(run, "--json");
    assert_memory_equal(text, "id,label,class,confidence,true_label,true_class,correct\n", 56);
    free(text);
}

static void test_columns_of_one_sigmoid(void **state)
{
    (void)state;
    liana__test_folder();
    write_table();
    const char *run = train("run", SICK, "sick", "binary_crossentropy");
    char *text = predict_csv(run, "--probabilities");
    const char *at = text;
    char cell[64];
    assert_memory_equal(text, "id,label,class,confidence,no,yes,true_label,true_class,correct\n", 63);
    at += 63;
    for (int i = 0; i < ROWS; i++) {
        const bool yes = sigmoid(i) > 0.5;
        next_cell(&at, cell);
        expect(&at, yes ? "1" : "0"), expect(&at, yes ? "yes" : "no");
        expect_number(&at, yes ? sigmoid(i) : 1 - sigmoid(i), 1e-6);
        expect_number(&at, 1 - sigmoid(i), 1e-6);
        expect_number(&at, sigmoid(i), 1e-6);
        expect(&at, i % 3 ? "0" : "1"), expect(&at, i % 3 ? "no" : "yes"), expect(&at, yes == !(i % 3) ? "1" : "0");
    }
    free(text);
    liana__test_result got = liana__test_command("predict", run, liana__test_path("table.csv"));
    assert_says(got.out, "  yes\n");
    assert_says(got.out, "  no\n");
    assert_code(got, 0);
}

static void test_columns_of_several_outputs(void **state)
{
    (void)state;
    liana__test_folder();
    write_table();
    const char *run = train("run", ALL, "{kind: kind, sick: sick, size: size}",
                            "{kind: sparse_categorical_crossentropy, sick: binary_crossentropy, size: mse}");
    char *text = predict_csv(run, "--probabilities"), cell[64], name[80];
    const char *at = text;
    expect(&at, "id");
    for (int k = 0; k < CLASSES; k++) {
        snprintf(name, sizeof name, "kind_%s", kinds[k]);
        expect(&at, name);
    }
    expect(&at, "sick_no"), expect(&at, "sick_yes"), expect(&at, "size");
    for (int i = 0; i < ROWS; i++) {
        next_cell(&at, cell);
        for (int k = 0; k < CLASSES; k++) expect_number(&at, probability(i, k), 1e-6);
        expect_number(&at, 1 - sigmoid(i), 1e-6), expect_number(&at, sigmoid(i), 1e-6);
        expect_number(&at, total(i), 1e-5);
    }
    free(text);
    /* As it was: numbers by their places. */
    text = predict_csv(run, "--json");
    assert_memory_equal(text, "id,kind_0,kind_1,", 17);
    free(text);
}

/* ---- JSON and lines ---- */

static json_t *first_event(liana__test_result *got)
{
    if (got->code) print_error("%s", got->err);
    assert_int_equal(got->code, 0);
    got->out[strcspn(got->out, "\n")] = 0;
    json_t *event = liana__test_parse_json(got->out);
    liana__test_free_result(got);
    return event;
}

static void check_kinds(const json_t *event, size_t shown)
{
    const json_t *classes = json_object_get(event, "classes"), *all = json_object_get(event, "probabilities");
    assert_int_equal(json_array_size(classes), shown);
    assert_int_equal(json_object_size(all), CLASSES);
    for (int k = 0; k < CLASSES; k++) {
        assert_near(json_number_value(json_object_get(all, kinds[k])), probability(0, k), 1e-6, k);
    }
    double before = 1;
    for (size_t i = 0; i < shown; i++) {
        const json_t *item = json_array_get(classes, i);
        const double p = json_number_value(json_object_get(item, "probability"));
        const int label = (int)json_integer_value(json_object_get(item, "label"));
        assert_string_equal(json_string_value(json_object_get(item, "class")), kinds[label]);
        assert_compare(p, <=, before);
        assert_near(p, probability(0, label), 1e-6);
        before = p;
    }
}

static void test_json(void **state)
{
    (void)state;
    liana__test_folder();
    write_table();
    const char *run = train("run", KIND, "kind", "sparse_categorical_crossentropy");
    const char *table = liana__test_path("table.csv");
    static const struct {
        const char *option, *value;
        size_t shown;
    } cases[] = {{"--json", "--json", 5},
                 {"--top", "2", 2},
                 {"--top", "6", 6},
                 {"--top", "100", 7},
                 {"--probabilities", NULL, 7}};
    for (size_t i = 1; i < sizeof cases / sizeof *cases; i++) {
        liana__test_result got =
            cases[i].value ? liana__test_command("predict", run, table, "--json", cases[i].option, cases[i].value)
                           : liana__test_command("predict", run, table, "--json", cases[i].option);
        json_t *event = first_event(&got);
        check_kinds(event, cases[i].shown);
        json_decref(event);
    }
    liana__test_result got = liana__test_command("predict", run, table, "--json");
    json_t *event = first_event(&got);
    check_kinds(event, cases[0].shown);
    json_decref(event);
    got = liana__test_command("predict", run, table, "--top", "1");
    char line[96];
    snprintf(line, sizeof line, "0\n  %.4f  %s\n  true: %s (%s)\n1\n", probability(0, likeliest(0)),
             kinds[likeliest(0)], kinds[0], likeliest(0) == 0 ? "right" : "wrong");
    assert_memory_equal(got.out, line, strlen(line));
    assert_code(got, 0);
    assert_refused(liana__test_command("predict", run, table, "--top", "0"), 2, "--top", "from 1");
    assert_refused(liana__test_command("predict", run, table, "--top", "many"), 2, "--top", "a whole number");
    assert_refused(liana__test_command("predict", run, table, "--top", "3", "--out", "x.csv"), 2, "--top 3",
                   "--probabilities");
    assert_refused(liana__test_command("predict", run, table, "--top", "3", "--probabilities"), 2, "--top 3",
                   "--probabilities");
}

static void test_json_of_several_outputs(void **state)
{
    (void)state;
    liana__test_folder();
    write_table();
    const char *run = train("run", ALL, "{kind: kind, sick: sick, size: size}",
                            "{kind: sparse_categorical_crossentropy, sick: binary_crossentropy, size: mse}");
    liana__test_result got = liana__test_command("predict", run, liana__test_path("table.csv"), "--json", "--top", "3");
    json_t *event = first_event(&got);
    const json_t *outputs = json_object_get(event, "outputs"), *sick = json_object_get(outputs, "sick"),
                 *size = json_object_get(outputs, "size");
    assert_int_equal(json_array_size(json_object_get(event, "values")), CLASSES + 2);
    check_kinds(json_object_get(outputs, "kind"), 3);
    const json_t *both = json_object_get(sick, "probabilities");
    assert_near(json_number_value(json_object_get(both, "yes")), sigmoid(0), 1e-6);
    assert_near(json_number_value(json_object_get(both, "no")) - 1, -(sigmoid(0)), 1e-6);
    assert_null(json_object_get(size, "probabilities"));
    assert_near(json_number_value(json_array_get(json_object_get(size, "values"), 0)), total(0), 1e-5);
    json_decref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_of_classes),         cmocka_unit_test(test_columns_of_one_sigmoid),
        cmocka_unit_test(test_columns_of_several_outputs), cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_several_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
