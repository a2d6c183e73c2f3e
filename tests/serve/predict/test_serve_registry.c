/* Models and versions, with an engine that counts what is open and fails on purpose: a version answers until the
 * next one is loaded, is closed when nobody has it, and stays if nothing can take its place. */
#include "harness/harness.h"

#include "base/file.h"
#include "serve/predict/registry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static liana__error error;

/* ---- an engine: a model adds the number that stands in model.json ---- */

typedef struct fake_model {
    float number;
} fake_model;

static atomic_int num_open;
static const liana_predictor_port input = {.name = "x", .dtype = LIANA_F32, .shape = {1, {-1}}, .num_values = 1};

static liana_status open_fake(void *user, const char *folder, int64_t batch_size, void **model, liana__error *problem)
{
    char path[512], *text;
    size_t size;
    (void)user, (void)batch_size;
    snprintf(path, sizeof path, "%s/model.json", folder);
    LIANA_TRY(liana__file_read(path, 100, &text, &size, problem));
    const float number = strtof(text, NULL);
    free(text);
    if (number < 0)
        return liana__fail(problem, LIANA_INVALID_DATA, "%s: found %g, expected no model below 0", path,
                           (double)number);
    fake_model *own = malloc(sizeof *own);
    if (!own) return liana__fail_memory(problem, "a model");
    own->number = number;
    atomic_fetch_add(&num_open, 1);
    *model = own;
    return LIANA_OK;
}

static void close_fake(void *model)
{
    atomic_fetch_sub(&num_open, 1);
    free(model);
}

static liana_predictor_facts facts_of(const void *model)
{
    (void)model;
    return (liana_predictor_facts){.name = "fake", .batch_size = 4, .num_inputs = 1, .num_outputs = 1, .num_values = 1};
}

static liana_predictor_port port_of(const void *model, size_t index)
{
    (void)model, (void)index;
    return input;
}

static liana_status run_fake(void *model, const liana_array *arrays, size_t num_arrays, float *outputs,
                             liana__error *problem)
{
    (void)num_arrays, (void)problem;
    for (int64_t i = 0; i < arrays[0].shape.dims[0]; i++) {
        outputs[i] = ((const float *)arrays[0].data)[i] + ((const fake_model *)model)->number;
    }
    return LIANA_OK;
}

static const liana__servable_engine engine = {
    .open = open_fake, .close = close_fake, .facts = facts_of, .input = port_of, .output = port_of, .run = run_fake};

/* ---- folders ---- */

static void write_model(const char *folder, const char *text)
{
    char path[512];
    struct stat found;
    snprintf(path, sizeof path, "%s/model.json", folder);
    assert_ok(liana__folder_make(liana__test_path(folder), &error), &error);
    liana__test_write(path, text, strlen(text));
    assert_int_equal(stat(liana__test_path(path), &found), 0);
}

static void remove_folder(const char *folder)
{
    assert_ok(liana__folder_remove(liana__test_path(folder), &error), &error);
}

static liana__registry_options options_of(void)
{
    liana__registry_options options = {.num_versions = 1};
    options.servable = (liana__servable_options){.engine = engine, .batch_size = 4, .num_decoders = 1};
    options.servable.batching.max_waiting = 100;
    return options;
}

/* A change is taken at the second look, when the files have not changed again. */
static void poll_twice(liana__registry *registry)
{
    liana__registry_poll(registry, false);
    liana__registry_poll(registry, false);
    liana__registry_poll(registry, false);
}

/* What a model adds to 0; -1: it does not answer. */
static float answer_of(liana__registry *registry, const char *model, int64_t number)
{
    const liana__version_wish wish = {.number = number};
    liana__served *served;
    float x = 0;
    liana__request request = {.count = 1, .arrays = {&x}};
    liana__response_rows rows;
    if (liana__registry_borrow(registry, model, &wish, &served, &error) != LIANA_OK) return -1;
    assert_ok(liana__servable_run(liana__served_servable(served), &request, &rows, &error), &error);
    const float answer = rows.values[0];
    free((void *)(uintptr_t)rows.values);
    liana__registry_return(registry, served);
    return answer;
}

static const char *state_of(liana__registry *registry, const char *model, int64_t number)
{
    static liana__arena arena;
    liana__arena_free(&arena);
    arena = (liana__arena){0};
    const liana__version_wish wish = {.number = number};
    liana__value *value;
    if (liana__registry_status(registry, model, &wish, &arena, &value, &error) != LIANA_OK) return "none";
    static char state[32];
    snprintf(state, sizeof state, "%s",
             liana__value_get(liana__value_get(value, "model_version_status")->items[0], "state")->string);
    liana__arena_free(&arena);
    arena = (liana__arena){0};
    return state;
}

/* ---- tests ---- */

static void test_versions(void **state)
{
    liana__registry *registry;
    liana__registry_options options = options_of();
    (void)state;
    liana__test_folder();
    write_model("models/m/1", "1");
    write_model("models/m/3", "3");
    write_model("models/m/other", "9");
    write_model("models/plain", "7");
    char parent[512];
    snprintf(parent, sizeof parent, "%s", liana__test_path("models"));
    options.parent = parent;
    assert_ok(liana__registry_open(&options, &registry, &error), &error);
    assert_near(answer_of(registry, "m", -1), 3, 0);
    assert_near(answer_of(registry, "m", 1), -1, 0);
    assert_near(answer_of(registry, "plain", 1), 7, 0);
    assert_true(liana__registry_is_ready(registry));
    assert_string_equal(state_of(registry, "m", 3), "AVAILABLE");
    assert_string_equal(state_of(registry, "m", 1), "none");
    assert_int_equal(atomic_load(&num_open), 2);
    /* A version that somebody has is closed when it is given back. */
    const liana__version_wish newest = {.number = -1};
    liana__served *held;
    assert_ok(liana__registry_borrow(registry, "m", &newest, &held, &error), &error);
    write_model("models/m/4", "4");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 4, 0);
    assert_string_equal(state_of(registry, "m", 3), "UNLOADING");
    assert_int_equal(atomic_load(&num_open), 3);
    liana__registry_return(registry, held);
    liana__registry_poll(registry, false);
    assert_string_equal(state_of(registry, "m", 3), "END");
    assert_int_equal(atomic_load(&num_open), 2);
    /* Back to the one before. */
    remove_folder("models/m/4");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 3, 0);
    write_model("models/new/1", "11");
    poll_twice(registry);
    assert_near(answer_of(registry, "new", -1), 11, 0);
    liana__registry_close(registry);
    assert_int_equal(atomic_load(&num_open), 0);
}

/* The model m with its version 1, which answers 1. */
static liana__registry *open_one(void)
{
    liana__registry *registry;
    liana__registry_options options = options_of();
    liana__test_folder();
    write_model("m/1", "1");
    static liana__model_place place;
    place = (liana__model_place){"m", liana__test_path("m")};
    options.places = &place;
    options.num_places = 1;
    assert_ok(liana__registry_open(&options, &registry, &error), &error);
    return registry;
}

static void test_bad_versions(void **state)
{
    (void)state;
    liana__registry *registry = open_one();
    write_model("m/2", "-1");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 1, 0);
    assert_string_equal(state_of(registry, "m", 2), "END");
    /* Mended: its files are others now. */
    write_model("m/2", "22");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 22, 0);
    /* In place: the new files answer, then the broken ones do not. */
    write_model("m/2", "222");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 222, 0);
    write_model("m/2", "-22");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 222, 0);
    /* All are gone: it goes on. */
    remove_folder("m");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 222, 0);
    assert_string_equal(state_of(registry, "m", 2), "AVAILABLE");
    liana__registry_close(registry);
    assert_int_equal(atomic_load(&num_open), 0);
}

/* A version whose sums do not fit is not loaded, until they do. */
static void test_sums(void **state)
{
    /* printf 5 | sha256sum */
    static const char sums[] = "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d  model.json\n";
    (void)state;
    liana__registry *registry = open_one();
    write_model("m/2", "4");
    liana__test_write("m/2/SHA256SUMS", sums, sizeof sums - 1);
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 1, 0);
    assert_string_equal(state_of(registry, "m", 2), "START");
    write_model("m/2", "5");
    poll_twice(registry);
    assert_near(answer_of(registry, "m", -1), 5, 0);
    liana__registry_close(registry);
}

static void test_all_versions(void **state)
{
    static const liana__version_label label = {"stable", 1};
    liana__registry *registry;
    liana__registry_options options = options_of();
    (void)state;
    liana__test_folder();
    write_model("m/1", "1");
    write_model("m/2", "2");
    const liana__model_place place = {"m", liana__test_path("m")};
    options.places = &place;
    options.num_places = 1;
    options.num_versions = 0;
    options.labels = &label;
    options.num_labels = 1;
    assert_ok(liana__registry_open(&options, &registry, &error), &error);
    assert_near(answer_of(registry, "m", 1), 1, 0);
    assert_near(answer_of(registry, "m", 2), 2, 0);
    const liana__version_wish stable = {.number = -1, .label = "stable"}, other = {.number = -1, .label = "x"};
    liana__served *served;
    assert_ok(liana__registry_borrow(registry, "m", &stable, &served, &error), &error);
    assert_int_equal(liana__served_number(served), 1);
    liana__registry_return(registry, served);
    assert_fails(liana__registry_borrow(registry, "m", &other, &served, &error), LIANA_INVALID_ARGUMENT, &error,
                 "label");
    liana__registry_close(registry);
}

static void test_refused(void **state)
{
    liana__registry *registry;
    liana__registry_options options = options_of();
    (void)state;
    liana__test_folder();
    write_model("bad/1", "-1");
    write_model("good/1", "1");
    const liana__model_place places[] = {{"a", liana__test_path("bad")},
                                         {"a", liana__test_path("good")},
                                         {"b:c", liana__test_path("good")},
                                         {"d", liana__test_path("none")}};
    options.places = places;
    options.num_places = 1;
    assert_fails(liana__registry_open(&options, &registry, &error), LIANA_INVALID_DATA, &error,
                 "the model a, version 1", "below 0");
    options.num_places = 2;
    assert_fails(liana__registry_open(&options, &registry, &error), LIANA_INVALID_CONFIG, &error, "two models");
    options.places = places + 2;
    options.num_places = 1;
    assert_fails(liana__registry_open(&options, &registry, &error), LIANA_INVALID_CONFIG, &error, "'b:c'");
    options.places = places + 3;
    assert_fails(liana__registry_open(&options, &registry, &error), LIANA_INVALID_CONFIG, &error, "holds no model");
    assert_int_equal(atomic_load(&num_open), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),     cmocka_unit_test(test_bad_versions), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_all_versions), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
