/* Whole runs on a PJRT plugin that meet something bad: files that are no plugins, kept programs that are damaged or of
 * other versions, an op that cannot be written as StableHLO. */
#include "harness/tiny_fit.h"

#include "backends/pjrt/interface.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "harness/pjrt_plugin.h"
#include "harness/run_files.h"
#include "ir/graph.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

enum { NUM_EXAMPLES = 40 };

static const char *config;

static void begin(void)
{
    liana__test_begin_on_plugin();
    config = liana__test_tiny_run(NUM_EXAMPLES);
}

static liana__test_result train(const char *device, const char *run)
{
    return liana__test_command("train", config, device, liana__test_output(run), "train.epochs=1");
}

/* ---- plugins ---- */

static liana__test_result train_on(const char *path)
{
    return train(liana__test_override("train.device", path), "none");
}

/* A run on the counting plugin with a fault that it reads from the environment. */
static liana__test_result train_with(const char *fault)
{
    setenv("COUNTING_PLUGIN_FAULT", fault, 1);
    liana__test_result result = train(liana__test_on_plugin(""), "none");
    unsetenv("COUNTING_PLUGIN_FAULT");
    return result;
}

static void test_no_plugins(void **state)
{
    (void)state;
    begin();
    char name[600];
    snprintf(name, sizeof name, "pjrt:%s", liana__test_write("text.so", "no library", 10));
    assert_refused(train_on(name), 2, "text.so' cannot be loaded as a PJRT plugin", "expected a shared library", NULL);
    assert_refused(train_on("pjrt:/no/such.so"), 1, "there is no plugin '/no/such.so'", "expected the path of a PJRT",
                   NULL);
    assert_refused(train_on("pjrt:/proc/self/exe"), 2, "PJRT plugin", NULL);
    assert_refused(train_on("pjrt:cpu?cpu_device_count=x"), 2, "the option cpu_device_count of a device is 'x'",
                   "expected a number of devices", NULL);
    assert_refused(train_with("table"), 2, "is no PJRT plugin", "its GetPjrtApi returns nothing", NULL);
}

static void test_other_versions(void **state)
{
    (void)state;
    begin();
    assert_refused(train_with("major"), 1, LIANA_COUNTING_PLUGIN, "speaks PJRT 1.", "liana speaks PJRT 0",
                   "use a plugin of that major version", NULL);
    assert_refused(train_with("minor"), 1, LIANA_COUNTING_PLUGIN, "speaks PJRT 0.40; expected 0.54 or newer",
                   "install a newer plugin", NULL);
    assert_refused(train_with("short"), 1, LIANA_COUNTING_PLUGIN, "(PJRT 0.81) has no function PJRT_", NULL);
    liana__test_plugin_is_clean();
}

/* ---- kept programs ---- */

/* Of a kept file: the places of the layout's version, of the checksum and of the first summed byte, and of liana's own
 * version. */
enum { LAYOUT_AT = 8, CHECKSUM_AT = 12, SUMMED_FROM = 16, IDENTITY_AT = 48 };

/* Changes byte `at` of all files; `sum_up`: their checksums fit again. */
static size_t change_files(size_t at, bool sum_up)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path("programs"), &arena, &names, &error), &error);
    for (size_t i = 0; i < names.count; i++) {
        char path[1024], *bytes;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", liana__test_path("programs"), names.items[i]);
        assert_ok(liana__file_read(path, SIZE_MAX / 2, &bytes, &size, &error), &error);
        bytes[at < size ? at : size / 2] ^= 0x41;
        const uint32_t checksum = liana__crc32c(bytes + SUMMED_FROM, size - SUMMED_FROM);
        if (sum_up) memcpy(bytes + CHECKSUM_AT, &checksum, sizeof checksum);
        assert_ok(liana__file_replace(path, bytes, size, &error), &error);
        free(bytes);
    }
    const size_t count = names.count;
    liana__arena_free(&arena);
    return count;
}

/* Trains; returns how many programs were compiled. */
static size_t count_compiled(const char *run)
{
    const size_t before = liana__test_plugin_state()->compiled;
    assert_code(train(liana__test_on_plugin("?cpu_device_count=1"), run), 0);
    if (strcmp(run, "first") != 0) liana__test_assert_same_training("first", run);
    return liana__test_plugin_state()->compiled - before;
}

/* Files that are damaged or of another version are compiled anew, and the run is the same. */
static void test_kept_programs(void **state)
{
    (void)state;
    begin();
    char kept[64];
    snprintf(kept, sizeof kept, "%s", getenv("LIANA_PROGRAM_CACHE"));
    setenv("LIANA_PROGRAM_CACHE", liana__test_path("programs"), 1);
    const size_t all = count_compiled("first"), again = count_compiled("again");
    assert_compare(all, >, again);
    assert_compare(change_files(SIZE_MAX, false), >, 0);
    assert_int_equal(count_compiled("damaged"), all);
    assert_int_equal(count_compiled("written"), again);
    change_files(LAYOUT_AT, true);
    assert_int_equal(count_compiled("layout"), all);
    change_files(IDENTITY_AT, true);
    assert_int_equal(count_compiled("version"), all);
    counting_plugin_state *counted = liana__test_plugin_state();
    counted->fails = LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD;
    counted->fails_after = 0;
    counted->fails_with = 3;
    counted->fails_saying = "of another version";
    assert_compare(count_compiled("refused"), >, again);
    counted->fails = -1;
    setenv("LIANA_PROGRAM_CACHE", kept, 1);
    liana__test_plugin_is_clean();
}

/* ---- an op that cannot be written ---- */

/* All of liana's ops can be. So a layer makes one that is clip without its `lower`. */
static liana__op strange;

static liana_tensor strange_call(liana_layer_call *call)
{
    liana_tensor y = liana_op_clip_at(call->here, call->inputs[0], -1, 1);
    strange = liana__op_clip;
    strange.name = "strange";
    strange.lower = NULL;
    liana__tensor_node(y)->op = &strange;
    return y;
}

static const liana_layer_type strange_layer = {LIANA_PART(LAYER, liana_layer_type, "Strange", "clip(x)",
                                                          .options = {.size = sizeof(liana_plain_layer_options)}),
                                               .call = strange_call};

static int strange_line; /* of the layer */

static liana_model *make_strange(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "odd", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = 8);
    strange_line = __LINE__ + 1;
    liana_own_layer(model, "Strange", liana_plain_layer_options, .name = "odd_one");
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* The CPU runs it. On the plugin the error names the layer, its file and line, the op, and the remedy; in a whole
 * update, shard by shard, and with a limit for memory. */
static void test_op_without_lowering(void **state)
{
    (void)state;
    liana__test_begin_on_plugin();
    liana__tiny_fit own = liana__tiny_fit_open(NUM_EXAMPLES);
    char place[128], device[4096];
    snprintf(place, sizeof place, "test_pjrt_refused.c:%d: ", strange_line);
    snprintf(device, sizeof device, "%s", liana__test_plugin_device("?cpu_device_count=1"));
    done(liana_register(own.context, &strange_layer.part));
    for (int i = 0; i < 4; i++) {
        liana_model *model = make_strange(own.context);
        const liana_fit_options options = {.training = own.training,
                                           .epochs = 1,
                                           .batch_size = 16,
                                           .device = i == 0 ? "cpu" : device,
                                           .deterministic = i >= 2,
                                           .recompute = i == 3 ? LIANA_RECOMPUTE_AUTO : LIANA_RECOMPUTE_NONE};
        const liana_status status = liana_fit(model, &options);
        const char *says = liana_context_message(own.context);
        if (i == 0) done(status);
        if (i > 0) assert_int_equal(status, LIANA_UNIMPLEMENTED);
        snprintf(place, sizeof place, "test_pjrt_refused.c:%d: ", strange_line);
        const char *const words[] = {"layer 'odd_one' (Strange): ", place,
                                     "the op strange cannot be written as StableHLO",
                                     "only the devices cpu and reference can run it"};
        for (size_t k = 0; i > 0 && k < sizeof words / sizeof *words; k++) {
            if (!strstr(says, words[k])) fail_msg("no '%s' in: %s", words[k], says);
        }
        liana_model_destroy(model);
    }
    liana__tiny_fit_close(&own);
    liana__test_plugin_is_clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_plugins),
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_kept_programs),
        cmocka_unit_test(test_op_without_lowering),
    };
    return cmocka_run_group_tests_name("pjrt_refused", tests, NULL, NULL);
}
