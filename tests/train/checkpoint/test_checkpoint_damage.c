/* A newest checkpoint that cannot be used, whatever is in the place of its files, and one that belongs elsewhere: the
 * run says so and goes on from the one before it, to the end of a run that nothing happened to. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/json.h"
#include "train/checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUM_TRAINING = 100 }; /* four updates an epoch */

static char config_path[256];

#define TRAIN(run, ...) \
    liana__test_command("train", config_path, "--out", liana__test_path(run), "checkpoint.keep=0", __VA_ARGS__)

static void make_data(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(NUM_TRAINING));
}

/* A path below the test folder, valid for four more calls. */
static const char *at(const char *folder, const char *name)
{
    static char paths[4][400];
    static int next;
    char joined[300];
    snprintf(joined, sizeof joined, "%s%s%s", folder, *name ? "/" : "", name);
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s", liana__test_path(joined));
    return path;
}

/* ---- possible things in the place of a file ---- */

static void missing(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void empty(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void truncated(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size * 2 / 3), 0);
}

static void one_byte_more(const char *path)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputc('\n', file);
    fclose(file);
}

static void another_byte(const char *path)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -3, SEEK_END);
    const int byte = fgetc(file);
    fseek(file, -3, SEEK_END);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void folder(const char *path)
{
    missing(path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void folder_with_a_file(const char *path)
{
    char inner[500];
    folder(path);
    snprintf(inner, sizeof inner, "%s/state.json", path);
    FILE *file = fopen(inner, "wb");
    assert_non_null(file);
    fclose(file);
}

static void pipe_without_a_writer(const char *path)
{
    missing(path);
    assert_int_equal(mkfifo(path, 0644), 0);
}

static void socket_of_somebody(const char *path)
{
    /* An address has room for a short name only. */
    char here[500];
    assert_non_null(getcwd(here, sizeof here));
    missing(path);
    char parent[500];
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(chdir(parent), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", strrchr(path, '/') + 1);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(descriptor, (const struct sockaddr *)&address, sizeof address), 0);
    close(descriptor);
    assert_int_equal(chdir(here), 0);
}

static void link_to_itself(const char *path)
{
    missing(path);
    assert_int_equal(symlink(path, path), 0);
}

static void link_to_nowhere(const char *path)
{
    missing(path);
    assert_int_equal(symlink("/there/is/nothing", path), 0);
}

static void link_to_a_device(const char *path)
{
    missing(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void unreadable(const char *path)
{
    assert_int_equal(chmod(path, 0), 0);
}

typedef struct way {
    const char *name;
    void (*damage)(const char *path);
    const char *says;
} way;

static const way ways[] = {
    {"missing", missing, "No such file"},
    {"empty", empty, ""},
    {"truncated", truncated, ""},
    {"one byte more", one_byte_more, ""},
    {"another byte", another_byte, ""},
    {"a folder", folder, "is a folder, expected a file"},
    {"a folder with a file", folder_with_a_file, "is a folder, expected a file"},
    {"a pipe", pipe_without_a_writer, "is not a regular file"},
    {"a socket", socket_of_somebody, "No such device or address"},
    {"a link to itself", link_to_itself, "symbolic links"},
    {"a link to nowhere", link_to_nowhere, "No such file"},
    {"a link to a device", link_to_a_device, "is not a regular file"},
    {"unreadable", unreadable, "Permission denied"},
};
enum { NUM_WAYS = sizeof ways / sizeof *ways };

/* ---- damage ---- */

/* Nobody may read everything but root, so a resume that lacks a permission is one of another user. */
static liana__test_result resume_as_nobody(const char *run)
{
    char command[1200];
    snprintf(command, sizeof command, "chown -R nobody %s", liana__test_path(""));
    assert_int_equal(system(command), 0);
    assert_int_equal(seteuid(65534), 0);
    liana__test_result got = TRAIN(run, "train.epochs=3", "--resume");
    assert_int_equal(seteuid(0), 0);
    return got;
}

static void check_way(const way *one, const char *file)
{
    char damaged[400], first[400], command[1200];
    snprintf(command, sizeof command, "rm -rf %s && cp -r %s %s", at("run", ""), at("saved", ""), at("run", ""));
    assert_int_equal(system(command), 0);
    snprintf(damaged, sizeof damaged, "%s", at("run/checkpoints/step-0000000008", file));
    one->damage(damaged);
    const bool as_nobody = one->damage == unreadable && geteuid() == 0;
    liana__test_result got = as_nobody ? resume_as_nobody("run") : TRAIN("run", "train.epochs=3", "--resume");
    if (got.code) fail_msg("%s for %s: %s", one->name, file, got.err);
    const char *found = strstr(got.out, "step-0000000008/");
    const bool told = found && strstr(got.out, "is damaged") && strstr(got.out, one->says) &&
                      strstr(got.out, "step-0000000008.damaged") && strstr(got.out, "step-0000000004': epoch 2");
    if (!told) fail_msg("%s for %s: %s", one->name, file, got.out);
    liana__test_free_result(&got);
    snprintf(first, sizeof first, "%s", at("run/checkpoints/step-0000000012", "variables.safetensors"));
    assert_same_file(first, at("whole/checkpoints/step-0000000012", "variables.safetensors"));
    snprintf(first, sizeof first, "%s", at("run/history.json", ""));
    assert_same_file(first, at("whole/history.json", ""));
}

static void test_each_damage_of_each_file(void **state)
{
    (void)state;
    make_data();
    assert_int_equal(chmod(liana__test_path(""), 0755), 0);
    assert_code(TRAIN("whole", "train.epochs=3"), 0);
    assert_code(TRAIN("saved", "train.epochs=2"), 0);
    for (size_t i = 0; i < NUM_WAYS; i++) {
        check_way(&ways[i], "state.json");
        check_way(&ways[i], "variables.safetensors");
    }
}

/* The same in the place of the whole checkpoint. */
static void test_each_damage_of_the_folder(void **state)
{
    (void)state;
    char command[1200], checkpoint[400];
    make_data();
    assert_code(TRAIN("saved", "train.epochs=2"), 0);
    for (size_t i = 5; i < NUM_WAYS - 1; i++) {
        snprintf(command, sizeof command, "rm -rf %s && cp -r %s %s", at("run", ""), at("saved", ""), at("run", ""));
        assert_int_equal(system(command), 0);
        snprintf(checkpoint, sizeof checkpoint, "%s", at("run/checkpoints/step-0000000008", ""));
        assert_ok(liana__folder_remove(checkpoint, NULL), NULL);
        FILE *file = fopen(checkpoint, "wb");
        assert_non_null(file);
        fclose(file);
        ways[i].damage(checkpoint);
        liana__test_result got = TRAIN("run", "train.epochs=3", "--resume");
        if (got.code || !strstr(got.out, "step-0000000004': epoch 2"))
            fail_msg("%s: %s%s", ways[i].name, got.out, got.err);
        liana__test_free_result(&got);
    }
}

/* ---- checkpoints that belong elsewhere ---- */

static void copy_checkpoint(const char *from, const char *to)
{
    char command[1200];
    snprintf(command, sizeof command, "cp -r %s %s", at(from, ""), at(to, ""));
    assert_int_equal(system(command), 0);
}

static void remove_run(const char *run)
{
    assert_ok(liana__folder_remove(liana__test_path(run), NULL), NULL);
}

/* Settings that make another run of the same model: each is found, by its name. */
static void test_checkpoints_of_another_run(void **state)
{
    (void)state;
    static const char *const settings[][2] = {
        {"train.seed=8", "'train.seed' is 8 there and 7 here"},
        {"train.optimizer={name: Adam, learning_rate: 0.03}", "'train.optimizer"},
        {"train.optimizer={name: Adam, learning_rate: 0.003, beta_1: 0.8}", "'train.optimizer"},
        {"data.shuffle=false", "'data.shuffle' is false there and true here"},
        {"train.microbatch=16", "'train.microbatch' is 16 there and 8 here"},
        {"data.scale=none", "'data.scale"},
    };
    make_data();
    assert_code(TRAIN("whole", "train.epochs=3"), 0);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        liana__test_result other = TRAIN("other", "train.epochs=3", settings[i][0]);
        if (other.code) fail_msg("%s: %s", settings[i][0], other.err);
        liana__test_free_result(&other);
        assert_code(TRAIN("run", "train.epochs=2"), 0);
        copy_checkpoint("other/checkpoints/step-0000000012", "run/checkpoints");
        liana__test_result got = TRAIN("run", "train.epochs=3", "--resume");
        const bool told = strstr(got.out, "run/checkpoints/step-0000000012' is a checkpoint of another run") &&
                          strstr(got.out, settings[i][1]) && strstr(got.out, "step-0000000008': epoch 3");
        if (!told) fail_msg("%s: %s", settings[i][0], got.out);
        assert_code(got, 0);
        char first[400];
        snprintf(first, sizeof first, "%s", at("run/checkpoints/step-0000000012", "variables.safetensors"));
        assert_same_file(first, at("whole/checkpoints/step-0000000012", "variables.safetensors"));
        remove_run("run");
        remove_run("other");
    }
}

/* Where there is no other one, nothing is trained, and nothing is moved. */
static void test_only_checkpoints_of_another_run(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("other", "train.epochs=2", "train.seed=8"), 0);
    assert_code(TRAIN("run", "train.epochs=1"), 0);
    assert_ok(liana__folder_remove(liana__test_path("run/checkpoints/step-0000000004"), NULL), NULL);
    copy_checkpoint("other/checkpoints/step-0000000008", "run/checkpoints");
    assert_refused(TRAIN("run", "train.epochs=3", "--resume"), 1, "no checkpoint in '", "of another run", "train.seed");
    assert_true(liana__folder_exists(liana__test_path("run/checkpoints/step-0000000008")));
    assert_refused(TRAIN("run", "train.epochs=3", "--resume-from", "step-0000000008"), 1, "of another run");
    /* A run of another folder that is named is where this one begins. */
    assert_code(TRAIN("branch", "train.epochs=3", "--resume-from",
                      liana__test_path("other/checkpoints/step-0000000008")),
                0);
    /* A run that was moved, and whose data were, is the same one. */
    remove_run("run");
    assert_code(TRAIN("run", "train.epochs=2"), 0);
    assert_int_equal(rename(liana__test_path("run"), liana__test_path("moved")), 0);
    assert_code(TRAIN("moved", "train.epochs=3", "--resume"), 0);
}

/* A change that a resume allows is allowed for the checkpoint too, and the saved checkpoint has the new settings. */
static void test_allowed_changes(void **state)
{
    (void)state;
    static const char other[] = "train.optimizer={name: Adam, learning_rate: 0.001}";
    make_data();
    assert_code(TRAIN("run", "train.epochs=1"), 0);
    assert_code(TRAIN("run", "train.epochs=2", other, "--resume", "--allow-changed"), 0);
    assert_code(TRAIN("run", "train.epochs=3", other, "--resume"), 0);
    /* As if it had ended before its first save. */
    char command[1200];
    snprintf(command, sizeof command, "rm -r %s %s", at("run/checkpoints/step-0000000008", ""),
             at("run/checkpoints/step-0000000012", ""));
    assert_int_equal(system(command), 0);
    assert_refused(TRAIN("run", "train.epochs=3", other, "--resume"), 1, "or of this one with other settings",
                   "train.optimizer");
    assert_code(TRAIN("run", "train.epochs=3", other, "--resume", "--allow-changed"), 0);
}

/* A checkpoint under another step's name: of later, of earlier, and with "-changed". */
static void test_renamed_checkpoints(void **state)
{
    (void)state;
    static const char *const names[] = {"step-0000000099", "step-0000000009", "step-0000000004-changed", "step-12"};
    make_data();
    assert_code(TRAIN("whole", "train.epochs=3"), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[400], first[400];
        assert_code(TRAIN("run", "train.epochs=2"), 0);
        snprintf(name, sizeof name, "run/checkpoints/%s", names[i]);
        copy_checkpoint("run/checkpoints/step-0000000004", name);
        liana__test_result got = TRAIN("run", "train.epochs=3", "--resume");
        const bool is_newest = strcmp(names[i], "step-0000000008") > 0;
        char says[400];
        snprintf(says, sizeof says, "%s' is the checkpoint 'step-0000000004' under another name", names[i]);
        const bool told = strstr(got.out, "step-0000000008': epoch 3") && (!is_newest || strstr(got.out, says));
        if (!told) fail_msg("%s: %s", names[i], got.out);
        assert_code(got, 0);
        snprintf(first, sizeof first, "%s", at("run/checkpoints/step-0000000012", "variables.safetensors"));
        assert_same_file(first, at("whole/checkpoints/step-0000000012", "variables.safetensors"));
        remove_run("run");
    }
    assert_code(TRAIN("run", "train.epochs=2"), 0);
    copy_checkpoint("run/checkpoints/step-0000000004", "run/checkpoints/step-0000000099");
    assert_refused(liana__test_command("evaluate", liana__test_path("run")), 1,
                   "step-0000000099' is the checkpoint "
                   "'step-0000000004' under another name");
    assert_refused(TRAIN("run", "train.epochs=3", "--resume-from", "step-0000000099"), 1, "under another name");
    /* A name that is no step's is the user's own. */
    copy_checkpoint("run/checkpoints/step-0000000004", "kept-in-may");
    assert_code(liana__test_command("evaluate", liana__test_path("run"), "--checkpoint",
                                    liana__test_path("kept-in-may")),
                0);
}

/* Before names and settings were recorded, the number of updates was. */
static void test_older_checkpoints(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=2"), 0);
    for (int i = 0; i < 2; i++) {
        liana__arena arena = {0};
        liana__value *root;
        const char *path = at(i ? "run/checkpoints/step-0000000008" : "run/checkpoints/step-0000000004", "state.json");
        assert_ok(liana__json_read(path, &arena, &root, NULL), NULL);
        liana__value_remove(root, "crc32c");
        liana__value_remove(root, "name");
        liana__value_remove(root, "settings");
        uint32_t checksum;
        assert_true(liana__checkpoint_checksum(root, &checksum));
        liana__value_set(&arena, root, "crc32c", liana__value_int(&arena, checksum));
        liana__text text = {0};
        liana__value_write_json(root, 2, &text);
        assert_ok(liana__file_replace(path, text.data, text.length, NULL), NULL);
        liana__text_free(&text);
        liana__arena_free(&arena);
    }
    copy_checkpoint("run/checkpoints/step-0000000004", "run/checkpoints/step-0000000099");
    liana__test_result got = TRAIN("run", "train.epochs=3", "--resume");
    assert_says(got.out, "step-0000000099' is the checkpoint 'step-0000000004' under another name");
    assert_says(got.out, "step-0000000008': epoch 3");
    assert_code(got, 0);
}

/* Another version of liana may know other settings, and write a mapping with more keys: they do not make it another
 * run. */
static void test_another_version(void **state)
{
    (void)state;
    make_data();
    assert_code(TRAIN("run", "train.epochs=1"), 0);
    liana__arena arena = {0};
    liana__value *root;
    const char *path = at("run/checkpoints/step-0000000004", "state.json");
    assert_ok(liana__json_read(path, &arena, &root, NULL), NULL);
    liana__value *settings = (liana__value *)(uintptr_t)liana__value_get(root, "settings");
    liana__value *resize = (liana__value *)(uintptr_t)liana__value_get(liana__value_get(settings, "data"), "resize");
    assert_non_null(resize);
    liana__value_set(&arena, settings, "invention", liana__value_int(&arena, 3));
    liana__value_set(&arena, resize, "invention", liana__value_int(&arena, 3));
    liana__value_remove(resize, "antialias");
    liana__value_remove(root, "crc32c");
    uint32_t checksum;
    assert_true(liana__checkpoint_checksum(root, &checksum));
    liana__value_set(&arena, root, "crc32c", liana__value_int(&arena, checksum));
    liana__text text = {0};
    liana__value_write_json(root, 2, &text);
    assert_ok(liana__file_replace(path, text.data, text.length, NULL), NULL);
    liana__text_free(&text);
    liana__arena_free(&arena);
    assert_code(TRAIN("run", "train.epochs=2", "--resume"), 0);
}

/* In C a training has a seed. */
static void test_another_fit(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(NUM_TRAINING);
    liana_model *model = liana__tiny_model(own.context), *again = liana__tiny_model(own.context);
    char saved[300];
    snprintf(saved, sizeof saved, "%s", liana__test_path("fit"));
    liana_fit_options options = {
        .training = own.training, .epochs = 1, .batch_size = 25, .seed = 5, .checkpoints = saved};
    done(liana_fit(model, &options));
    options.resume = true;
    options.epochs = 2;
    options.seed = 6;
    refused(liana_fit(again, &options), LIANA_DATA_LOSS, "'seed' is 5 there and 6 here");
    options.seed = 5;
    done(liana_fit(again, &options));
    liana_model_destroy(model);
    liana_model_destroy(again);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_damage_of_each_file),
        cmocka_unit_test(test_each_damage_of_the_folder),
        cmocka_unit_test(test_checkpoints_of_another_run),
        cmocka_unit_test(test_only_checkpoints_of_another_run),
        cmocka_unit_test(test_allowed_changes),
        cmocka_unit_test(test_renamed_checkpoints),
        cmocka_unit_test(test_older_checkpoints),
        cmocka_unit_test(test_another_version),
        cmocka_unit_test(test_another_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
