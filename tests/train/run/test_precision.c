/* train.precision: the choice and the message of auto, the records, and the choice that a resume and later commands
 * keep. */
#include "harness/command_run.h"

#include "base/context.h"
#include "base/cpu.h"
#include "step/precision.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIXED "train.precision=mixed_bfloat16"

static char config_path[256];

static void make_data(uint32_t count)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(count));
}

enum { MOST_WORDS = 12 };

/* Runs `liana train` in a process under an instruction set (NULL: all); `words` begin with the run's name. */
static liana__test_result train_words(const char *isa, const char *const *given)
{
    char variable[64];
    snprintf(variable, sizeof variable, "LIANA_MAX_ISA=%s", isa ? isa : "");
    const char *const environment[] = {variable, NULL};
    const char *words[MOST_WORDS] = {"train", config_path, "--out", liana__test_path(given[0])};
    for (int i = 4; *++given; i++) words[i] = *given;
    return liana__test_wait(liana__test_spawn(words, environment));
}
/* train(isa, "run", "key=value", ...) */
#define train(isa, ...) train_words(isa, (const char *const[]){__VA_ARGS__, NULL})

/* In a static buffer. */
static const char *read_text(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static bool file_has(const char *path, const char *words)
{
    return strstr(read_text(path), words) != NULL;
}

/* Writes the configuration that a run left with one text in place of another. */
static void edit_config(const char *run, const char *from, const char *to)
{
    char path[128], edited[1 << 16];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    const char *text = read_text(liana__test_path(path)), *at = strstr(text, from);
    assert_non_null(at);
    int size = snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    liana__test_write(path, edited, (size_t)size);
}

static bool in_config(const char *run, const char *words)
{
    char path[128];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    return file_has(liana__test_path(path), words);
}

static bool in_checkpoint(const char *run, const char *words)
{
    char path[600];
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint(run));
    return file_has(path, words);
}

/* A number of an epoch, counted from 1. */
static double history(const char *run, size_t epoch, const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "%s/history.json", run);
    json_t *json = json_load_file(liana__test_path(path), 0, NULL);
    assert_non_null(json);
    const json_t *value = json_object_get(json_array_get(json_object_get(json, "epochs"), epoch - 1), key);
    assert_true(json_is_number(value));
    double number = json_number_value(value);
    json_decref(json);
    return number;
}

static void assert_printed(liana__test_result got, const char *words)
{
    assert_says(got.out, words);
    assert_code(got, 0);
}

/* This processor's feature for bf16; NULL: none. */
static const char *feature(void)
{
    liana__isa isa;
    assert_ok(liana__cpu_detect(NULL, &isa, NULL, 0, NULL), NULL);
    if (isa >= LIANA__ISA_AMX) return "AMX";
    if (isa >= LIANA__ISA_AVX512_BF16) return "AVX512-BF16";
    return isa >= LIANA__ISA_AVX512_BF16_STORAGE ? "AVX512-BF16; bf16 is stored and multiplied in f32" : NULL;
}

static void test_auto_goes_by_the_processor(void **state)
{
    (void)state;
    make_data(40);
    char expected[128];
    const char *has = feature();
    snprintf(expected, sizeof expected, "\nprecision: %s (auto: this CPU has %s%s)\n",
             has ? "mixed_bfloat16" : "float32", has ? has : "no instructions for bf16", "");
    assert_printed(train(NULL, "auto", "train.precision=auto", "train.epochs=1"), expected);
    assert_true(in_config("auto", has ? "precision: mixed_bfloat16\n" : "precision: float32\n"));
    assert_true(in_checkpoint("auto", has ? "\"precision\": \"mixed_bfloat16\"" : "\"precision\": \"float32\""));
    snprintf(expected, sizeof expected, "\nprecision: float32 (auto: %s)\n",
             has ? "LIANA_MAX_ISA hides this CPU's instructions for bf16" : "this CPU has no instructions for bf16");
    assert_printed(train("avx512", "capped", "train.precision=auto", "train.epochs=1"), expected);
    assert_true(in_config("capped", "precision: float32\n"));
    if (has) {
        assert_printed(train("avx512_bf16_storage", "stored", "train.precision=auto", "train.epochs=1"),
                       "\nprecision: mixed_bfloat16 (auto: this CPU has AVX512-BF16; bf16 is stored and multiplied in "
                       "f32)\n");
        assert_true(in_checkpoint("stored", "\"isa\": \"avx512_bf16_storage\""));
    }
    assert_printed(train(NULL, "slow", "train.precision=auto", "train.epochs=1", "train.device=reference"),
                   "precision: float32 (auto: this device only checks the others)");
}

/* The line of a machine whose kernel keeps the tiles back. */
static void test_refused_tiles_are_named(void **state)
{
    (void)state;
    liana__cpu_facts facts = {.avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx = true, .amx_refusal = EPERM};
    char text[160];
    liana__precision_name_feature(LIANA__ISA_AVX512_BF16, &facts, text, sizeof text);
    assert_string_equal(text, "AVX512-BF16, and AMX, which the kernel refuses (arch_prctl: Operation not permitted)");
    facts.amx_refusal = 0;
    liana__precision_name_feature(LIANA__ISA_AVX512_BF16, &facts, text, sizeof text);
    assert_string_equal(text, "AVX512-BF16");
    liana__precision_name_feature(LIANA__ISA_AVX512_BF16_STORAGE, &facts, text, sizeof text);
    assert_string_equal(text, "AVX512-BF16; bf16 is stored and multiplied in f32");
    liana__precision_name_feature(LIANA__ISA_AMX, &facts, text, sizeof text);
    assert_string_equal(text, "AMX");
}

/* float32 needs no message; another precision is never slower without one. */
static void test_what_is_said(void **state)
{
    (void)state;
    make_data(40);
    liana__test_result got = train(NULL, "plain", "train.epochs=1");
    assert_never_says(got.out, "precision");
    assert_code(got, 0);
    assert_true(in_config("plain", "precision: float32\n"));
    assert_printed(train("baseline", "slow", MIXED, "train.epochs=1"),
                   "precision: mixed_bfloat16, which is slower here than float32: ");
    got = train("avx2", "stored", MIXED, "train.epochs=1");
    liana__isa isa;
    assert_ok(liana__cpu_detect("avx2", &isa, NULL, 0, NULL), NULL);
    assert_printed(got, isa == LIANA__ISA_AVX2
                            ? "for bf16; bf16 is stored and multiplied in f32, which saves memory, not time)\n"
                            : "precision: mixed_bfloat16");
    got = train(NULL, "mixed", MIXED, "train.epochs=1");
    if (feature()) assert_never_says(got.out, "which is slower here");
    assert_printed(got, "precision: mixed_bfloat16");
    assert_refused(train(NULL, "wrong", "train.precision=mixed_bfloat"), 2, "train.precision", "'mixed_bfloat'",
                   "did you mean 'mixed_bfloat16'");
}

/* bf16 is computed with its own instructions, in f32 by oneDNN, by vectors of each width and by plain loops: they all
 * learn, and alike. */
static void test_mixed_precision_learns_alike(void **state)
{
    (void)state;
    make_data(400);
    assert_code(train(NULL, "exact", "train.epochs=4"), 0);
    assert_compare(history("exact", 4, "val_accuracy"), >=, 0.9);
    static const char *const names[] = {"baseline", "avx2", "avx512", "avx512_bf16_storage", "avx512_bf16", "amx"};
    for (int i = 0; i < 6; i++) {
        assert_code(train(names[i], names[i], MIXED, "train.epochs=4"), 0);
        for (size_t epoch = 1; epoch <= 4; epoch++) {
            double loss = history(names[i], epoch, "loss"), expected = history("baseline", epoch, "loss");
            if (fabs(loss - expected) > 0.01 * expected) fail_msg("%s: %g, expected %g", names[i], loss, expected);
            assert_near(loss, history("exact", epoch, "loss"), 0.1 * loss, epoch);
        }
        assert_compare(history(names[i], 1, "loss"), !=, history("exact", 1, "loss"), i);
        assert_compare(history(names[i], 4, "val_accuracy"), >=, 0.9, i);
    }
    assert_code(train(NULL, "reference", MIXED, "train.epochs=1", "train.device=reference"), 0);
    double loss = history("reference", 1, "loss"), expected = history("exact", 1, "loss");
    assert_near(loss, expected, 0.03 * expected);
    assert_compare(loss, !=, expected);
}

static void check_threads(const char *isa)
{
    make_data(108);
    static const char *const threads[] = {"train.threads=1", "train.threads=2", "train.threads=3"};
    static const char *const runs[] = {"one", "two", "three"};
    char first[600] = "";
    for (int i = 0; i < 3; i++) {
        assert_code(train(isa, runs[i], MIXED, threads[i]), 0);
        char path[600];
        snprintf(path, sizeof path, "%s/variables.safetensors", liana__test_newest_checkpoint(runs[i]));
        if (i == 0) snprintf(first, sizeof first, "%s", path);
        assert_same_file(path, first);
    }
}

static void test_threads_change_no_byte(void **state)
{
    (void)state;
    check_threads(NULL);
    check_threads("avx512_bf16_storage");
    check_threads("avx2");
}

/* Every node of training and evaluation against its reference. */
static void test_every_node_is_right(void **state)
{
    (void)state;
    make_data(70);
    static const char *const environment[] = {"LIANA_VALIDATE=1", NULL};
    assert_code(liana__test_process(environment, "train", config_path, "--out", liana__test_path("run"), MIXED), 0);
    static const char *const plain[] = {"LIANA_SKIP_PASSES=mixed_precision", NULL};
    assert_code(liana__test_process(plain, "train", config_path, "--out", liana__test_path("skipped"), MIXED), 0);
    static const char *const nothing[] = {NULL};
    assert_code(liana__test_process(nothing, "train", config_path, "--out", liana__test_path("exact")), 0);
    assert_compare(history("skipped", 3, "loss"), ==, history("exact", 3, "loss"));
    assert_compare(history("run", 3, "loss"), !=, history("exact", 3, "loss"));
}

/* ---- choices stay ---- */

static void test_a_resume_keeps_it(void **state)
{
    (void)state;
    make_data(60);
    /* Two epochs in one go, and in two parts the second of which is on a lesser machine. */
    assert_code(train("avx2", "whole", MIXED, "train.epochs=2"), 0);
    assert_code(train("avx2", "parts", MIXED, "train.epochs=1"), 0);
    edit_config("parts", "epochs: 1\n", "epochs: 2\n");
    assert_refused(train("avx2", "parts", "train.precision=float32", "train.epochs=2", "--resume"), 2,
                   "--resume: 'train.precision': ", "differs from the beginning of this run");
    assert_printed(train("avx2", "parts", "train.precision=auto", "train.epochs=2", "--resume"),
                   "precision: mixed_bfloat16");
    assert_same_file(liana__test_path("parts/history.json"), liana__test_path("whole/history.json"));
    assert_true(in_config("parts", "precision: mixed_bfloat16\n"));
}

/* A run that an older liana began has neither the key nor the record. */
static void test_a_run_without_the_key_goes_on(void **state)
{
    (void)state;
    make_data(60);
    assert_code(train(NULL, "run", "train.epochs=1"), 0);
    edit_config("run", "epochs: 1\n", "epochs: 2\n");
    edit_config("run", "  precision: float32\n", "");
    assert_refused(train(NULL, "run", MIXED, "train.epochs=2", "--resume"), 2,
                   "--resume: 'train.precision': ", "differs from the beginning of this run");
    assert_code(train(NULL, "run", "train.precision=auto", "train.epochs=2", "--resume"), 0);
    assert_compare(history("run", 2, "loss"), >, 0);
    assert_true(in_config("run", "precision: float32\n"));
}

/* Whether this processor multiplies bf16, at the level that is set. */
static bool multiplies_bf16(void)
{
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    bool multiplies = context->isa >= LIANA__ISA_AVX512_BF16;
    liana_context_destroy(context);
    return multiplies;
}

static void test_later_commands_use_it(void **state)
{
    (void)state;
    make_data(60);
    /* At the level of this process, which evaluates. */
    assert_code(train(getenv("LIANA_MAX_ISA"), "run", MIXED, "train.epochs=1"), 0);
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    liana__test_result got = liana__test_command("evaluate", run, "--json");
    json_t *json = json_loads(got.out, 0, NULL);
    assert_non_null(json);
    assert_compare(json_number_value(json_object_get(json, "loss")), ==, history("run", 1, "val_loss"));
    json_decref(json);
    assert_code(got, 0);
    got = liana__test_command("evaluate", run, "--json", "train.precision=float32");
    json = json_loads(got.out, 0, NULL);
    assert_non_null(json);
    /* Where bf16 is multiplied in f32, evaluations are computed in float32 in any case. */
    bool differs = json_number_value(json_object_get(json, "loss")) != history("run", 1, "val_loss");
    assert_compare(differs, ==, multiplies_bf16());
    json_decref(json);
    assert_code(got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_goes_by_the_processor),
        cmocka_unit_test(test_refused_tiles_are_named),
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_mixed_precision_learns_alike),
        cmocka_unit_test(test_threads_change_no_byte),
        cmocka_unit_test(test_every_node_is_right),
        cmocka_unit_test(test_a_resume_keeps_it),
        cmocka_unit_test(test_a_run_without_the_key_goes_on),
        cmocka_unit_test(test_later_commands_use_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
