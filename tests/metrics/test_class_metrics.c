/* Metrics by class of a run: in its history, from evaluate, report and C; names of classes that are a column. */
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 160, CLASSES = 3 };
static const char *const names[] = {"Löwenzahn", "rose", "tulip"};

/* A number in 0 to 1 that looks random. */
static double draw(uint32_t index)
{
    uint32_t mixed = (index + 1) * 2654435761u;
    mixed ^= mixed >> 15;
    mixed *= 2246822519u;
    return (double)(mixed >> 8) / (1 << 24);
}

/* Three kinds around three places, which overlap. */
static void write_table(void)
{
    static const double places[CLASSES][2] = {{0, 0}, {0.6, 0.2}, {0.1, 0.7}};
    liana__text text = {0};
    liana__text_add(&text, "x,y,kind,tag\n");
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        int kind = draw(3 * i) < 0.2 ? 0 : draw(3 * i) < 0.7 ? 1 : 2;
        liana__text_add(&text, "%.4f,%.4f,%s,%d\n", places[kind][0] + draw(3 * i + 1),
                        places[kind][1] + draw(3 * i + 2), names[kind], kind);
    }
    assert_false(text.failed);
    liana__test_write("table.csv", text.data, text.length);
    liana__text_free(&text);
}

static const char config[] =
    "data:\n"
    "  train: {paths: %s, kind: table}\n"
    "  validation_split: 0.4\n"
    "  columns: {x: [x, y], kind: {category: true}}\n"
    "model:\n"
    "  layers:\n"
    "    - InputLayer: {name: x, shape: [2]}\n"
    "    - Dense: {name: hidden, units: 8, activation: relu}\n"
    "    - Dense: {name: kind, units: 3, activation: softmax}\n"
    "train:\n"
    "  epochs: 4\n"
    "  batch_size: 16\n"
    "  microbatch: 5\n"
    "  metrics: [accuracy, {name: class_f1_score, average: none}, {name: class_f1_score, as: f1}, cohen_kappa]\n"
    "  optimizer: {name: Adam, learning_rate: 0.03}\n";

/* Makes the test's folder with the data and a configuration. */
static void make_config(void)
{
    liana__text text = {0};
    liana__test_folder();
    write_table();
    liana__text_add(&text, config, liana__test_path("table.csv"));
    liana__test_write("config.yaml", text.data, text.length);
    liana__text_free(&text);
}

static char *path_of(const char *name)
{
    static char kept[16][256];
    static int next;
    next = (next + 1) % 16;
    snprintf(kept[next], sizeof kept[next], "%s", liana__test_path(name));
    return kept[next];
}

static char *make_run(void)
{
    make_config();
    char *run = path_of("run");
    assert_code(liana__test_command("train", path_of("config.yaml"), "--out", run), 0);
    return run;
}

static double item(const json_t *json, const char *key, size_t index)
{
    const json_t *list = json_object_get(json, key);
    assert_compare(index, <, json_array_size(list));
    return json_number_value(json_array_get(list, index));
}

/* Counts true and predicted classes in validation_predictions.csv. */
static void count_pairs(double pairs[CLASSES][CLASSES])
{
    char *text = liana__test_read_text("run/validation_predictions.csv");
    memset(pairs, 0, sizeof(double[CLASSES][CLASSES]));
    int truth, said, id;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        assert_int_equal(sscanf(line + 1, "%d,%d,%d", &id, &truth, &said), 3);
        pairs[truth][said]++;
    }
    free(text);
}

/* ---- evaluate ---- */

static void test_evaluate_by_class(void **state)
{
    (void)state;
    char *run = make_run();
    double pairs[CLASSES][CLASSES];
    count_pairs(pairs);
    liana__test_result got = liana__test_command("evaluate", run, "--by-class", "--json");
    assert_int_equal(got.code, 0);
    json_t *json = liana__test_parse_json(got.out);
    liana__test_free_result(&got);
    for (size_t k = 0; k < CLASSES; k++) {
        double truth = 0, said = 0;
        for (size_t i = 0; i < CLASSES; i++) {
            truth += pairs[k][i];
            said += pairs[i][k];
            const json_t *row = json_array_get(json_object_get(json, "confusion_matrix"), k);
            assert_compare(json_integer_value(json_array_get(row, i)), ==, (json_int_t)pairs[k][i], k, i);
        }
        double precision = said > 0 ? pairs[k][k] / said : 0, recall = pairs[k][k] / truth;
        double f1 = precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
        assert_near(item(json, "precision_by_class", k), precision, 1e-12, k);
        assert_near(item(json, "recall_by_class", k), recall, 1e-12, k);
        assert_near(item(json, "f1_score_by_class", k), f1, 1e-12, k);
        assert_near(item(json, "class_f1_score", k), f1, 1e-12, k);
        assert_compare(item(json, "support_by_class", k), ==, truth, k);
        assert_string_equal(json_string_value(json_array_get(json_object_get(json, "classes"), k)), names[k]);
    }
    json_decref(json);
    /* As a table: a row for each class, and the matrix. */
    got = liana__test_command("evaluate", run, "--by-class");
    assert_int_equal(got.code, 0);
    char row[128];
    snprintf(row, sizeof row, "  2 tulip    %5.0f%5.0f%5.0f\n", pairs[2][0], pairs[2][1], pairs[2][2]);
    const char *const expected[] = {"precision",    "support\n",       "\nLöwenzahn ",          "\nrose ", "\ntulip ",
                                    "\nmacro mean", "\nweighted mean", "rows are true classes", row};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (!strstr(got.out, expected[i])) print_error("no '%s' in:\n%s\n", expected[i], got.out);
        assert_says(got.out, expected[i]);
    }
    liana__test_free_result(&got);
}

/* ---- history ---- */

static void test_history_has_each_class(void **state)
{
    (void)state;
    make_config();
    char *whole = path_of("run"), *parts = path_of("parts"), *file = path_of("config.yaml");
    liana__test_result got = liana__test_command("train", file, "--out", whole);
    assert_int_equal(got.code, 0);
    assert_says(got.out, " examples/s");
    assert_never_says(got.out, "images/s");
    liana__test_free_result(&got);
    char *text = liana__test_read_text("run/history.json");
    json_t *json = liana__test_parse_json(text), *epochs = json_object_get(json, "epochs"), *epoch;
    size_t index;
    assert_int_equal(json_array_size(epochs), 4);
    json_array_foreach(epochs, index, epoch)
    {
        double mean[2] = {0};
        for (size_t k = 0; k < CLASSES; k++) {
            mean[0] += item(epoch, "class_f1_score", k) / CLASSES;
            mean[1] += item(epoch, "val_class_f1_score", k) / CLASSES;
        }
        assert_near(mean[0], json_number_value(json_object_get(epoch, "f1")), 1e-12);
        assert_near(mean[1], json_number_value(json_object_get(epoch, "val_f1")), 1e-12);
    }
    json_decref(json);
    /* Two epochs and two more, of which the second begins in the middle. */
    assert_code(liana__test_command("train", file, "--out", parts, "train.steps=15"), 0);
    assert_code(liana__test_command("train", file, "--out", parts, "--resume"), 0);
    char *again = liana__test_read_text("parts/history.json");
    assert_string_equal(text, again);
    free(again);
    free(text);
}

/* ---- predictions of each epoch ---- */

/* The share of rows "id,label,predicted,..." that are right. */
static double share_right(const char *text)
{
    int truth, said, id, right = 0, rows = 0;
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        assert_int_equal(sscanf(line + 1, "%d,%d,%d", &id, &truth, &said), 3);
        assert_int_equal(id, rows++);
        right += truth == said;
    }
    assert_int_equal(rows, EXAMPLES * 2 / 5);
    return (double)right / rows;
}

static void test_predictions_of_each_epoch(void **state)
{
    (void)state;
    make_config();
    char *file = path_of("config.yaml"), *whole = path_of("run"), *parts = path_of("parts");
    const char *logged = "train.callbacks=[PredictionsLogger]";
    assert_code(liana__test_command("train", file, "--out", whole, logged), 0);
    assert_code(liana__test_command("train", file, "--out", parts, logged, "train.steps=9"), 0);
    assert_code(liana__test_command("train", file, "--out", parts, logged, "--resume"), 0);
    char *history = liana__test_read_text("run/history.json");
    json_t *json = liana__test_parse_json(history), *epochs = json_object_get(json, "epochs");
    for (size_t epoch = 0; epoch < 4; epoch++) {
        char name[2][64];
        snprintf(name[0], sizeof name[0], "run/predictions/epoch-%04zu-validation.csv", epoch + 1);
        snprintf(name[1], sizeof name[1], "parts/predictions/epoch-%04zu-validation.csv", epoch + 1);
        char *text = liana__test_read_text(name[0]), *again = liana__test_read_text(name[1]);
        double accuracy = json_number_value(json_object_get(json_array_get(epochs, epoch), "val_accuracy"));
        assert_near(share_right(text), accuracy, 1e-12);
        assert_string_equal(text, again);
        /* The weights at the end are those of the last epoch. */
        char *last = liana__test_read_text("run/validation_predictions.csv");
        if (epoch == 3) assert_string_equal(text, last);
        if (epoch == 0) assert_string_not_equal(text, last);
        free(last);
        free(again);
        free(text);
    }
    json_decref(json);
    free(history);
    assert_refused(liana__test_command("train", file, "--out", path_of("none"), logged, "data.validation_split=0"), 2,
                   "PredictionsLogger", "no validation data");
    assert_refused(liana__test_command("train", file, "--out", path_of("none"),
                                       "train.callbacks=[PredictionsLogger: {folder: ''}]"),
                   2, "train.callbacks", "the folder is empty");
}

/* Predictions of the training examples: those of `predict` with the same weights, in the order of the data, and not
 * more than once where classes are oversampled. Training does not notice. */
static void test_predictions_of_training_examples(void **state)
{
    (void)state;
    make_config();
    char *file = path_of("config.yaml"), *whole = path_of("run"), *parts = path_of("parts"), *plain = path_of("plain");
    const char *logged = "train.callbacks=[PredictionsLogger: {training: true}]", *all = "data.validation_split=0";
    assert_code(liana__test_command("train", file, "--out", plain, all), 0);
    assert_code(liana__test_command("train", file, "--out", whole, all, logged), 0);
    assert_code(liana__test_command("train", file, "--out", parts, all, logged, "train.steps=13"), 0);
    assert_code(liana__test_command("train", file, "--out", parts, all, logged, "--resume"), 0);
    char *history = liana__test_read_text("run/history.json"), *unlogged = liana__test_read_text("plain/history.json");
    assert_string_equal(history, unlogged);
    free(unlogged);
    free(history);
    for (int epoch = 1; epoch <= 4; epoch++) {
        char name[2][64];
        snprintf(name[0], sizeof name[0], "run/predictions/epoch-%04d-training.csv", epoch);
        snprintf(name[1], sizeof name[1], "parts/predictions/epoch-%04d-training.csv", epoch);
        char *text = liana__test_read_text(name[0]), *again = liana__test_read_text(name[1]);
        assert_string_equal(text, again);
        free(again);
        free(text);
    }
    /* A second opinion: the command, on the same table. */
    char *table = path_of("table.csv"), *said = path_of("said.csv");
    assert_code(liana__test_command("predict", whole, table, "--out", said), 0);
    char *text = liana__test_read_text("run/predictions/epoch-0004-training.csv"),
         *expected = liana__test_read_text("said.csv");
    const char *line = strchr(text, '\n') + 1, *other = strchr(expected, '\n') + 1;
    for (int i = 0; i < EXAMPLES; i++) {
        int id, truth, predicted, other_id, other_predicted;
        double confidence, other_confidence;
        assert_int_equal(sscanf(line, "%d,%d,%d,%lf", &id, &truth, &predicted, &confidence), 4);
        assert_int_equal(sscanf(other, "%d,%d,%*[^,],%lf", &other_id, &other_predicted, &other_confidence), 3);
        assert_int_equal(id, i);
        assert_int_equal(other_id, i);
        assert_in_range(truth, 0, CLASSES - 1);
        assert_int_equal(predicted, other_predicted);
        assert_near(confidence, other_confidence, 2e-6);
        line = strchr(line, '\n') + 1;
        other = strchr(other, '\n') + 1;
    }
    assert_int_equal(*line, 0);
    free(expected);
    free(text);
}

/* ---- confusion matrices of each epoch ---- */

/* Their sum is the number of examples, their diagonal the accuracy of the history. */
static void check_matrix(const char *name, double accuracy, int examples)
{
    char *text = liana__test_read_text(name);
    int counts[CLASSES][CLASSES], sum = 0, right = 0;
    const char *line = text;
    assert_int_equal(strncmp(line, "true\\predicted,0,1,2\n", 21), 0);
    for (int row = 0; row < CLASSES; row++) {
        int number;
        line = strchr(line, '\n') + 1;
        assert_int_equal(sscanf(line, "%d,%d,%d,%d", &number, &counts[row][0], &counts[row][1], &counts[row][2]), 4);
        assert_int_equal(number, row);
        for (int k = 0; k < CLASSES; k++) sum += counts[row][k];
        right += counts[row][row];
    }
    assert_int_equal(sum, examples);
    assert_near((double)right / sum, accuracy, 1e-9);
    free(text);
}

static void test_matrices_of_each_epoch(void **state)
{
    (void)state;
    make_config();
    char *file = path_of("config.yaml"), *run = path_of("run");
    const char *metrics = "train.metrics=[accuracy, {name: confusion_matrix, normalize: rows}]",
               *logged = "train.callbacks=[ConfusionMatrixLogger]";
    assert_code(liana__test_command("train", file, "--out", run, metrics, logged), 0);
    char *history = liana__test_read_text("run/history.json");
    json_t *json = liana__test_parse_json(history), *epochs = json_object_get(json, "epochs");
    for (size_t epoch = 0; epoch < 4; epoch++) {
        char name[80];
        const json_t *one = json_array_get(epochs, epoch);
        snprintf(name, sizeof name, "run/confusion/epoch-%04zu-validation.csv", epoch + 1);
        check_matrix(name, json_number_value(json_object_get(one, "val_accuracy")), EXAMPLES * 2 / 5);
        snprintf(name, sizeof name, "run/confusion/epoch-%04zu-training.csv", epoch + 1);
        check_matrix(name, json_number_value(json_object_get(one, "accuracy")), EXAMPLES * 3 / 5);
    }
    json_decref(json);
    free(history);
    assert_refused(liana__test_command("train", file, "--out", path_of("none"), logged), 2, "ConfusionMatrixLogger",
                   "does not measure confusion_matrix");
    assert_refused(liana__test_command("train", file, "--out", path_of("none"), metrics,
                                       "train.callbacks=[ConfusionMatrixLogger: {folder: ''}]"),
                   2, "train.callbacks", "the folder is empty");
}

/* ---- predict and report ---- */

static void test_names_of_a_column(void **state)
{
    (void)state;
    char *run = make_run(), *out = path_of("said.csv");
    liana__test_write("new.csv", "x,y\n0.5,0.5\n1.4,0.6\n0.6,1.5\n", strlen("x,y\n0.5,0.5\n1.4,0.6\n0.6,1.5\n"));
    liana__test_result got = liana__test_command("predict", run, path_of("new.csv"));
    assert_int_equal(got.code, 0);
    assert_says(got.out, "  rose\n");
    assert_says(got.out, "  tulip\n");
    assert_never_says(got.out, "class 1");
    liana__test_free_result(&got);
    assert_code(liana__test_command("predict", run, path_of("new.csv"), "--out", out), 0);
    char *text = liana__test_read_text("said.csv");
    assert_says(text, "\n1,1,rose,");
    assert_says(text, "\n2,2,tulip,");
    free(text);
}

static void test_report_draws_the_matrix(void **state)
{
    (void)state;
    char *run = make_run();
    liana__test_result got = liana__test_command("report", run);
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    /* There are no images whose predictions could be shown. */
    assert_never_says(got.out, "predictions.png");
    static const char *const files[] = {"run/confusion_matrix.png", "run/confusion_matrix_normalized.png"};
    for (size_t i = 0; i < 2; i++) {
        char *picture = liana__test_read_text(files[i]);
        assert_memory_equal(picture, "\x89PNG", 4);
        assert_says(got.out, files[i]);
        free(picture);
    }
    liana__test_free_result(&got);
}

/* ---- C ---- */

typedef struct seen_values {
    double f1[CLASSES], matrix[CLASSES * CLASSES];
    int calls;
} seen_values;

static void on_values(void *user, const liana_metric_values *values)
{
    seen_values *own = user;
    own->calls++;
    bool matrix = strcmp(values->name, "confusion_matrix") == 0;
    assert_int_equal(values->rows, matrix ? CLASSES : 1);
    assert_int_equal(values->columns, CLASSES);
    memcpy(matrix ? own->matrix : own->f1, values->values,
           (size_t)(values->rows * values->columns) * sizeof *values->values);
}

/* The values of an epoch: the last validation equals liana_evaluate afterwards. */
typedef struct seen_epoch {
    seen_values training, validation;
    double f1; /* the mean, of the training */
} seen_epoch;

static bool on_epoch(void *user, const liana_epoch *epoch)
{
    seen_epoch *own = user;
    assert_int_equal(epoch->num_training_values, 2);
    assert_int_equal(epoch->num_validation_values, 2);
    for (size_t i = 0; i < 2; i++) {
        on_values(&own->training, &epoch->training_values[i]);
        on_values(&own->validation, &epoch->validation_values[i]);
    }
    own->f1 = epoch->training.metrics[0];
    return true;
}

static void test_values_of_epochs(void **state)
{
    (void)state;
    float x[EXAMPLES * 2];
    int32_t kind[EXAMPLES];
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        x[2 * i] = (float)draw(2 * i);
        x[2 * i + 1] = (float)draw(2 * i + 1);
        kind[i] = x[2 * i] > 0.6F ? 2 : x[2 * i + 1] > 0.5F;
    }
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(EXAMPLES, 2), x},
                                  {"kind", LIANA_S32, liana_shape_of(EXAMPLES), kind}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .name = "x", .shape = LIANA_INTS(2));
    liana_dense(model, .name = "kind", .units = CLASSES, .activation = "softmax");
    seen_epoch seen = {.f1 = 0};
    seen_values measured = {.calls = 0};
    const liana_fit_options options = {.training = data,
                                       .validation = data,
                                       .epochs = 3,
                                       .optimizer = "{name: Adam, learning_rate: 0.1}",
                                       .output_metrics = {{.name = "class_f1_score"},
                                                          {.name = "class_f1_score", .average = "none", .as = "each"},
                                                          {.name = "confusion_matrix"}},
                                       .on_epoch = on_epoch,
                                       .user = &seen};
    liana__tiny_done(context, liana_fit(model, &options), __FILE__, __LINE__);
    assert_int_equal(seen.training.calls, 2 * 3);
    const liana_evaluate_options again = {.on_values = on_values, .user = &measured};
    liana__tiny_done(context, liana_evaluate(model, data, &again, NULL), __FILE__, __LINE__);
    assert_int_equal(measured.calls, 2);
    assert_memory_equal(measured.matrix, seen.validation.matrix, sizeof measured.matrix);
    double sum = 0;
    for (int i = 0; i < CLASSES; i++) assert_near(measured.f1[i], seen.validation.f1[i], 1e-12, i);
    for (int i = 0; i < CLASSES * CLASSES; i++) sum += seen.training.matrix[i];
    assert_near(sum, EXAMPLES, 1e-9);
    assert_near(seen.f1, (seen.training.f1[0] + seen.training.f1[1] + seen.training.f1[2]) / CLASSES, 1e-12);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

static void test_values_from_c(void **state)
{
    (void)state;
    float x[EXAMPLES * 2];
    int32_t kind[EXAMPLES];
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        x[2 * i] = (float)draw(2 * i);
        x[2 * i + 1] = (float)draw(2 * i + 1);
        kind[i] = (int32_t)(i % CLASSES);
    }
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(EXAMPLES, 2), x},
                                  {"kind", LIANA_S32, liana_shape_of(EXAMPLES), kind}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .name = "x", .shape = LIANA_INTS(2));
    liana_dense(model, .name = "kind", .units = CLASSES, .activation = "softmax");
    seen_values seen = {.calls = 0};
    liana_results results;
    const liana_evaluate_options options = {
        .output_metrics = {{.name = "class_f1_score", .average = "none", .as = "each"},
                           {.name = "class_f1_score"},
                           {.name = "class_fbeta_score", .beta = 1},
                           {.name = "cohen_kappa", .weights = "linear"},
                           {.name = "auc", .multi_label = true},
                           {.name = "confusion_matrix", .normalize = "all"}},
        .on_values = on_values,
        .user = &seen};
    liana__tiny_done(context, liana_evaluate(model, data, &options, &results), __FILE__, __LINE__);
    assert_int_equal(seen.calls, 2);
    assert_int_equal(results.num_metrics, 4);
    assert_string_equal(results.metric_names[0], "class_f1_score");
    assert_near(results.metrics[0], (seen.f1[0] + seen.f1[1] + seen.f1[2]) / CLASSES, 1e-12);
    assert_near(results.metrics[0], results.metrics[1], 1e-12);
    double sum = 0;
    for (int i = 0; i < CLASSES * CLASSES; i++) sum += seen.matrix[i];
    assert_near(sum, 1, 1e-12);
    /* A metric that does not fit is refused, with the output and the loss. */
    const liana_evaluate_options numbers = {.loss = "mse", .output_metrics = {{.name = "class_f1_score"}}};
    const liana_evaluate_options several = {.loss = "binary_crossentropy", .output_metrics = {{.name = "cohen_kappa"}}};
    const liana_evaluate_options harmonic = {.output_metrics = {{.name = "class_recall", .average = "harmonic"}}};
    const liana_evaluate_options beta = {.output_metrics = {{.name = "fbeta_score", .beta = -1}}};
    liana__tiny_refused(context, liana_evaluate(model, data, &several, NULL), LIANA_INVALID_CONFIG, "kind", __FILE__,
                        __LINE__);
    liana__tiny_refused(context, liana_evaluate(model, data, &numbers, NULL), LIANA_INVALID_CONFIG, "kind", __FILE__,
                        __LINE__);
    liana__tiny_refused(context, liana_evaluate(model, data, &harmonic, NULL), LIANA_INVALID_CONFIG, "harmonic",
                        __FILE__, __LINE__);
    liana__tiny_refused(context, liana_evaluate(model, data, &beta, NULL), LIANA_INVALID_CONFIG, "beta", __FILE__,
                        __LINE__);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

/* ---- metrics that do not fit ---- */

static void test_metrics_that_do_not_fit(void **state)
{
    (void)state;
    make_config();
    char *file = path_of("config.yaml"), *out = path_of("refused");
    assert_refused(
        liana__test_command("train", file, "--out", out, "train.loss=mse", "train.metrics=[class_f1_score]",
                            "model.layers=[InputLayer: {name: x, shape: [2]}, Dense: {name: kind, units: 1}]"),
        2, "train.metrics", "'class_f1_score' counts right and wrong answers", "'mean_squared_error'",
        "mean_absolute_error");
    assert_refused(liana__test_command("train", file, "--out", out,
                                       "data.columns={x: [x], kind: {from: tag, multi_hot: 3}}",
                                       "train.loss=binary_crossentropy", "train.metrics=[matthews_correlation]",
                                       "model.layers=[InputLayer: {name: x, shape: [1]}, Dense: {name: kind, units: 3, "
                                       "activation: sigmoid}]"),
                   2, "matthews_correlation");
    assert_refused(liana__test_command("train", file, "--out", out,
                                       "train.callbacks=[EarlyStopping: {monitor: val_class_f1_score}]"),
                   2, "val_class_f1_score", "average: macro");
    assert_refused(liana__test_command("train", file, "--out", out, "train.metrics=[F1Score]",
                                       "train.callbacks=[EarlyStopping: {monitor: val_f1_score}]"),
                   2, "val_f1_score", "average: macro");
    assert_refused(liana__test_command("train", file, "--out", out, "train.metrics=[Precision]",
                                       "train.callbacks=[EarlyStopping: {monitor: val_recall}]"),
                   2, "val_recall", "val_precision");
    assert_refused(liana__test_command("train", file, "--out", out, "train.metrics=[{name: Recall, class_id: 3}]"), 2,
                   "train.metrics", "class_id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_by_class),         cmocka_unit_test(test_history_has_each_class),
        cmocka_unit_test(test_predictions_of_each_epoch), cmocka_unit_test(test_names_of_a_column),
        cmocka_unit_test(test_report_draws_the_matrix),   cmocka_unit_test(test_values_from_c),
        cmocka_unit_test(test_metrics_that_do_not_fit),   cmocka_unit_test(test_predictions_of_training_examples),
        cmocka_unit_test(test_matrices_of_each_epoch),    cmocka_unit_test(test_values_of_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
