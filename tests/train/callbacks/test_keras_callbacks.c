/* Keras's callbacks by their names: the files of ModelCheckpoint, the end by TerminateOnNaN, rates by hand, and options
 * that cannot be. */
#include "harness/harness.h"
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include "base/file.h"

#include <liana/liana.h>

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 12, FEATURES = 3 };

typedef struct trial {
    liana_context *context;
    liana_model *model;
    liana_dataset *data;
    float x[ROWS * FEATURES], y[ROWS];
    char notes[2000], callbacks[800];
} trial;

static void take_note(void *user, const char *note)
{
    trial *own = user;
    const size_t length = strlen(own->notes);
    snprintf(own->notes + length, sizeof own->notes - length, "%s\n", note);
}

static void begin(trial *own)
{
    *own = (trial){0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own->context), LIANA_OK);
    for (int i = 0; i < ROWS * FEATURES; i++) own->x[i] = (float)(i % 7 - 3) / 4;
    for (int i = 0; i < ROWS; i++) own->y[i] = (float)(i % 5) / 4;
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(ROWS, FEATURES), .data = own->x},
        {.name = "y", .dtype = LIANA_F32, .shape = liana_shape_of(ROWS, 1), .data = own->y}};
    own->data = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    liana_input(own->model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(own->model, .units = 1, .name = "y");
}

static void end(trial *own)
{
    liana_model_destroy(own->model);
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

/* Two epochs of three updates. */
static liana_status fit(trial *own, const char *optimizer, const char *callbacks)
{
    own->notes[0] = 0;
    const liana_fit_options options = {.training = own->data,
                                       .validation = own->data,
                                       .batch_size = 4,
                                       .epochs = 2,
                                       .optimizer = optimizer,
                                       .loss = "mse",
                                       .metrics = {"mae"},
                                       .named_callbacks = callbacks,
                                       .on_note = take_note,
                                       .user = own};
    return liana_fit(own->model, &options);
}

static void works(trial *own, liana_status status)
{
    liana__tiny_done(own->context, status, __FILE__, __LINE__);
}

static void assert_file(const char *name, bool is_there)
{
    if (liana__file_exists(liana__test_path(name)) != is_there) {
        fail_msg("%s is %sthere", name, is_there ? "not " : "");
    }
}

/* A file is a model that was trained: another one than the next file's. */
static float first_weight(trial *own, const char *name)
{
    liana_model *model;
    liana_array kernel;
    works(own, liana_model_load(own->context, liana__test_path(name), &model));
    works(own, liana_model_get_weights(model, "y/kernel", &kernel));
    const float first = ((const float *)kernel.data)[0];
    liana_model_destroy(model);
    return first;
}

static void test_model_checkpoint(void **state)
{
    (void)state;
    trial own;
    liana_array kernel;
    liana__test_folder();
    begin(&own);
    snprintf(own.callbacks, sizeof own.callbacks,
             "[ModelCheckpoint: {filepath: '%sm-{epoch:02d}.keras', verbose: 1}, model_checkpoint: {filepath: "
             "'%ss-{epoch}-{batch:d}.weights.h5', save_weights_only: true, save_freq: 2}]",
             liana__test_path(""), liana__test_path(""));
    works(&own, fit(&own, "{name: SGD, learning_rate: 0.05}", own.callbacks));
    assert_file("m-01.keras", true);
    assert_file("m-02.keras", true);
    assert_says(own.notes, "m-01.keras");
    static const char *const steps[] = {"s-1-2.weights.h5", "s-2-1.weights.h5", "s-2-3.weights.h5"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) assert_file(steps[i], true);
    assert_file("s-1-1.weights.h5", false);
    works(&own, liana_model_get_weights(own.model, "y/kernel", &kernel));
    assert_compare(first_weight(&own, "m-02.keras"), ==, ((const float *)kernel.data)[0]);
    assert_compare(first_weight(&own, "m-01.keras"), !=, ((const float *)kernel.data)[0]);
    end(&own);
}

/* A rate of 0 keeps the loss: no second model is better; and none is better than -1. */
static void test_best_models(void **state)
{
    (void)state;
    trial own;
    liana__test_folder();
    begin(&own);
    snprintf(own.callbacks, sizeof own.callbacks,
             "[ModelCheckpoint: {filepath: '%sb{epoch}-{val_loss:.3f}.keras', save_best_only: true}, ModelCheckpoint: "
             "{filepath: '%sn{epoch}.keras', save_best_only: true, initial_value_threshold: -1.0}, ModelCheckpoint: "
             "{filepath: '%sx{epoch}.keras', save_best_only: true, monitor: val_mae, mode: min}]",
             liana__test_path(""), liana__test_path(""), liana__test_path(""));
    works(&own, fit(&own, "{name: SGD, learning_rate: 1.0e-30}", own.callbacks));
    assert_file("n1.keras", false);
    assert_file("n2.keras", false);
    assert_file("x1.keras", true);
    assert_file("x2.keras", false);
    end(&own);
}

static void test_rates_by_hand(void **state)
{
    (void)state;
    trial hand, plain;
    liana_array a, b;
    begin(&hand);
    begin(&plain);
    works(&hand, fit(&hand, "{name: SGD, learning_rate: 0.5}", "[LearningRateScheduler: {schedule: [0.1, 0.05]}]"));
    works(&plain,
          fit(&plain,
              "{name: SGD, learning_rate: {name: PiecewiseConstantDecay, boundaries: [2], values: [0.1, 0.05]}}",
              NULL));
    works(&hand, liana_model_get_weights(hand.model, "y/kernel", &a));
    works(&plain, liana_model_get_weights(plain.model, "y/kernel", &b));
    for (int i = 0; i < FEATURES; i++) {
        assert_near(((const float *)a.data)[i], ((const float *)b.data)[i], 1e-6, i);
    }
    end(&hand);
    end(&plain);
}

static void test_terminate_on_nan(void **state)
{
    (void)state;
    static const char wild[] = "{name: SGD, learning_rate: 1.0e+30}";
    trial own;
    begin(&own);
    works(&own, fit(&own, wild, "[TerminateOnNaN]"));
    assert_says(own.notes, "not finite");
    end(&own);
    begin(&own);
    assert_int_equal(fit(&own, wild, "[TerminateOnNaN: {raise_error: true}]"), LIANA_OUT_OF_RANGE);
    end(&own);
}

static void test_those_of_every_training(void **state)
{
    (void)state;
    trial own;
    begin(&own);
    works(&own, fit(&own, "SGD", "[History, ProgbarLogger, backup_and_restore: {save_freq: 2}, progbar_logger]"));
    end(&own);
}

/* A server on this machine that answers two requests, and writes them into a file. Returns its port. */
static int serve_two(const char *file)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 4), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    fflush(NULL);
    if (fork() == 0) {
        static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        FILE *out = fopen(file, "w");
        for (int i = 0; out && i < 2; i++) {
            char text[4096];
            const int one = accept(listening, NULL, NULL);
            const struct timeval patience = {.tv_usec = 300000};
            setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            for (ssize_t got; (got = read(one, text, sizeof text)) > 0;) fwrite(text, 1, (size_t)got, out);
            fputs("\n", out);
            fflush(out);
            if (write(one, answer, sizeof answer - 1) < 0) _exit(1);
            close(one);
        }
        _exit(0);
    }
    close(listening);
    return ntohs(address.sin_port);
}

static void test_remote_monitor(void **state)
{
    (void)state;
    trial own;
    char file[600];
    liana__test_folder();
    snprintf(file, sizeof file, "%s", liana__test_path("requests"));
    begin(&own);
    const int port = serve_two(file);
    snprintf(own.callbacks, sizeof own.callbacks,
             "[RemoteMonitor: {root: 'http://127.0.0.1:%d', field: values, headers: {X-Run: seven}}]", port);
    works(&own, fit(&own, "SGD", own.callbacks));
    assert_int_equal(wait(NULL) > 0, 1);
    if (strstr(own.notes, "no libcurl")) skip();
    char *text = liana__test_read_text("requests");
    assert_says(text, "POST /publish/epoch/end/ HTTP/1.1");
    assert_says(text, "X-Run: seven");
    assert_says(text, "values=%7B%22loss%22");
    assert_says(text, "%22val%5Fmae%22");
    assert_says(text, "%22epoch%22%3A");
    free(text);
    snprintf(own.callbacks, sizeof own.callbacks, "[RemoteMonitor: {root: 'http://127.0.0.1:%d'}]", port);
    works(&own, fit(&own, "SGD", own.callbacks));
    assert_says(own.notes, "RemoteMonitor does not reach its server");
    end(&own);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[ModelCheckpoint]", "filepath"},
        {"[ModelCheckpoint: {filepath: m.h5, save_weights_only: true}]", ".weights.h5"},
        {"[ModelCheckpoint: {filepath: m.weights.h5}]", "save_weights_only"},
        {"[ModelCheckpoint: {filepath: m.keras, save_freq: 0}]", "save_freq"},
        {"[ModelCheckpoint: {filepath: m.keras, save_freq: week}]", "save_freq"},
        {"[ModelCheckpoint: {filepath: 'm{epoch:x}.keras'}]", "'x'"},
        {"[ModelCheckpoint: {filepath: 'm{epoch.keras'}]", "closing brace"},
        {"[ModelCheckpoint: {filepath: 'm{val_accuracy}.keras'}]", "val_accuracy"},
        {"[ModelCheckpoint: {filepath: m.keras, save_best_only: true, monitor: val_accuracy}]", "val_accuracy"},
        {"[LearningRateScheduler]", "schedule"},
        {"[LearningRateScheduler: {schedule: [0.1, -1]}]", "above 0"},
        {"[BackupAndRestore: {backup_dir: there}]", "checkpoints"},
        {"[TerminateOnNan: {raise: true}]", "raise_error"},
        {"[RemoteMonitor: {root: 'ftp://x'}]", "http://"},
        {"[RemoteMonitor: {headers: [a]}]", "headers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trial own;
        begin(&own);
        const liana_status status = fit(&own, "SGD", cases[i][0]);
        liana__tiny_refused(own.context, status, LIANA_INVALID_CONFIG, cases[i][1], __FILE__, __LINE__);
        end(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model_checkpoint),
                                       cmocka_unit_test(test_best_models),
                                       cmocka_unit_test(test_rates_by_hand),
                                       cmocka_unit_test(test_terminate_on_nan),
                                       cmocka_unit_test(test_those_of_every_training),
                                       cmocka_unit_test(test_remote_monitor),
                                       cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
