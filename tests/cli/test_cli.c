/* The liana command: its output, and how it ends. */
#include "harness/harness.h"

#include "base/file.h"
#include "cli/command.h"

#include <jansson.h>
#include <liana/context.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The output and exit code of a run of the command. */
typedef struct result {
    int code;
    char *out;
    char *err;
} result;

enum { MOST_WORDS = 24 };

static result run_words(const char *const *words)
{
    const char *argv[MOST_WORDS] = {"liana"};
    int argc = 1;
    for (; *words; words++) argv[argc++] = *words;
    result got = {0};
    size_t sizes[2];
    FILE *out = open_memstream(&got.out, &sizes[0]), *err = open_memstream(&got.err, &sizes[1]);
    got.code = liana__command_line(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return got;
}

#define run(...) run_words((const char *const[]){__VA_ARGS__, NULL})

static void free_result(result *got)
{
    free(got->out);
    free(got->err);
}

static void assert_usage_error(result got, const char *message)
{
    assert_int_equal(got.code, 2);
    assert_string_equal(got.out, "");
    assert_string_equal(got.err, message);
    free_result(&got);
}

static void test_version(void **state)
{
    (void)state;
    const char *const words[] = {"version", "--version", "-V"};
    char line[100], event[100];
    /* The number, and how far the source is from its release: tests/checks/test_version.sh. */
    assert_int_equal(strncmp(liana_version(), LIANA_VERSION, strlen(LIANA_VERSION)), 0);
    snprintf(line, sizeof line, "liana %s\n", liana_version());
    snprintf(event, sizeof event, "{\"event\": \"version\", \"version\": \"%s\"}\n", liana_version());
    for (size_t i = 0; i < 3; i++) {
        result got = run(words[i]);
        assert_int_equal(got.code, 0);
        assert_string_equal(got.out, line);
        assert_string_equal(got.err, "");
        free_result(&got);
    }
    result got = run("version", "--json");
    assert_string_equal(got.out, event);
    free_result(&got);
}

static void test_help_lists_every_subcommand(void **state)
{
    (void)state;
    size_t count;
    const liana__command *const *commands = liana__commands(&count);
    assert_compare(count, >=, 3);
    const char *const words[] = {"help", "--help", "-h"};
    for (size_t i = 0; i < 3; i++) {
        result got = run(words[i]);
        assert_int_equal(got.code, 0);
        for (size_t j = 0; j < count; j++) assert_says(got.out, commands[j]->summary);
        free_result(&got);
    }
    result bare = {0};
    size_t size;
    FILE *err = open_memstream(&bare.err, &size);
    bare.code = liana__command_line(1, (const char *const[]){"liana"}, stdout, err);
    fclose(err);
    assert_int_equal(bare.code, 2);
    assert_says(bare.err, "Usage: liana SUBCOMMAND");
    free_result(&bare);
}

/* Every subcommand explains itself in both ways, in lines of at most 120 columns, whatever else is given. */
static void test_help_of_every_subcommand(void **state)
{
    (void)state;
    size_t count;
    const liana__command *const *commands = liana__commands(&count);
    for (size_t i = 0; i < count; i++) {
        const liana__command *command = commands[i];
        result one = run("help", command->name), other = run(command->name, "a", "b", "c", "--help");
        assert_int_equal(one.code, 0);
        assert_int_equal(other.code, 0);
        assert_string_equal(one.out, other.out);
        assert_begins(one.out, "Usage: liana ");
        for (const liana__option *option = command->options; option && option->name; option++) {
            assert_says(one.out, option->doc);
        }
        free_result(&other);
        for (char *line = strtok(one.out, "\n"); line; line = strtok(NULL, "\n")) assert_compare(strlen(line), <=, 120);
        free_result(&one);
    }
}

static void test_usage_errors(void **state)
{
    (void)state;
    assert_usage_error(run("convrt"), "liana: unknown subcommand 'convrt'; did you mean 'convert'?\n");
    assert_usage_error(run("vers"), "liana: unknown subcommand 'vers'; did you mean 'version'?\n");
    assert_usage_error(run("zebra"), "liana: unknown subcommand 'zebra'; 'liana help' lists them\n");
    assert_usage_error(run("help", "hlep"), "liana: unknown subcommand 'hlep'; did you mean 'help'?\n");
    assert_usage_error(run("version", "now"),
                       "liana: version: 'now' is one argument too many, expected: liana version\n");
    assert_usage_error(run("convert"), "liana: convert: too few arguments, expected: liana convert DATA ...\n");
    assert_usage_error(run("convert", "x", "--shufle", "y"),
                       "liana: convert: unknown option '--shufle'; did you mean '--shuffle'?\n");
    assert_usage_error(run("convert", "x", "--zebra=3"),
                       "liana: convert: unknown option '--zebra=3'; 'liana convert --help' lists them\n");
    assert_usage_error(run("convert", "x", "-o"),
                       "liana: convert: unknown option '-o'; 'liana convert --help' lists them\n");
    /* Options of other programs that are keys of the configuration. */
    assert_usage_error(run("train", "x.yaml", "--epochs", "5"),
                       "liana: train: unknown option '--epochs'; it is a key of the configuration, set as "
                       "train.epochs=5\n");
    assert_usage_error(run("train", "x.yaml", "--batch-size=64"),
                       "liana: train: unknown option '--batch-size=64'; it is a key of the configuration, set as "
                       "train.batch_size=64\n");
    assert_usage_error(run("train", "--lr", "1e-3", "x.yaml"),
                       "liana: train: unknown option '--lr'; it is a key of the configuration, set as "
                       "train.optimizer.learning_rate=1e-3\n");
    assert_usage_error(run("train", "x.yaml", "--momentum"),
                       "liana: train: unknown option '--momentum'; it is a key of the configuration, set as "
                       "train.optimizer.momentum=VALUE\n");
    assert_usage_error(run("train", "x.yaml", "--train.seed", "--json"),
                       "liana: train: unknown option '--train.seed'; it is a key of the configuration, set as "
                       "train.seed=VALUE\n");
    assert_usage_error(run("train", "x.yaml", "--data", "photos"),
                       "liana: train: unknown option '--data'; it is a key of the configuration, set as "
                       "data.train=photos\n");
    assert_usage_error(run("train", "x.yaml", "--train.memory", "100"),
                       "liana: train: unknown option '--train.memory'; it is a key of the configuration, set as "
                       "train.memory=100\n");
    assert_usage_error(run("train", "x.yaml", "--zebra", "1"),
                       "liana: train: unknown option '--zebra'; 'liana train --help' lists them\n");
    assert_usage_error(run("train", "x.yaml", "--validation_split", "0.2"),
                       "liana: train: unknown option '--validation_split'; it is a key of the configuration, set as "
                       "data.validation_split=0.2\n");
    /* Keys that another subcommand does not have. */
    assert_usage_error(run("synth", "flowers", "--epochs", "5"),
                       "liana: synth: unknown option '--epochs'; 'liana synth --help' lists them\n");
    assert_usage_error(run("convert", "x", "--epochs", "5"),
                       "liana: convert: unknown option '--epochs'; 'liana convert --help' lists them\n");
    assert_usage_error(run("convert", "x", "--out"), "liana: convert: --out needs a value: --out DIR\n");
    assert_usage_error(run("convert", "x", "--out="), "liana: convert: --out has an empty value, expected DIR\n");
    assert_usage_error(run("convert", "x", "--out", "a", "--out=b"), "liana: convert: --out is given twice\n");
    assert_usage_error(run("convert", "x", "--shuffle=yes"), "liana: convert: --shuffle takes no value, found 'yes'\n");
    assert_usage_error(run("convert", "x", "--shards", "0"),
                       "liana: convert: --shards: found '0', expected a whole number from 1 to 100000\n");
    assert_usage_error(run("convert", "x", "--test", "1.5"),
                       "liana: convert: --test: found '1.5', expected a number from 0 to 1\n");
    assert_usage_error(run("convert", "x"),
                       "liana: convert: --out is missing: give the folder for the shards as --out DIR\n");
}

static const liana__option words_options[] = {{LIANA__OPTION_OUT("x")}, {LIANA__OPTION_RESUME}, {0}};
static const liana__command words_command = {
    .name = "words", .operands = "", .options = words_options, .max_operands = -1, .overrides = true};

static void test_words_are_sorted_into_kinds(void **state)
{
    (void)state;
    static const char *const words[] = {
        "a.yaml", "train.epochs=3", "--out=o=p", "./b=c", "model.layers[0].x=1", "--resume", "-", "--", "--out",
        "k=v",    "0bad.key=1",     "=x"};
    liana__invocation invocation = {.command = &words_command};
    assert_ok(liana__invocation_parse(&invocation, sizeof words / sizeof *words, words), &invocation.error);
    static const char *const operands[] = {"a.yaml", "./b=c", "-", "--out", "0bad.key=1", "=x"};
    static const char *const overrides[] = {"train.epochs=3", "model.layers[0].x=1", "k=v"};
    assert_int_equal(invocation.num_operands, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(invocation.operands[i], operands[i]);
    assert_int_equal(invocation.num_overrides, 3);
    for (size_t i = 0; i < 3; i++) assert_string_equal(invocation.overrides[i], overrides[i]);
    assert_string_equal(liana__invocation_text(&invocation, "out"), "o=p");
    assert_true(liana__invocation_has(&invocation, "resume"));
    assert_false(liana__invocation_has(&invocation, "json"));
    liana__arena_free(&invocation.arena);
}

/* Three grey images of 2 x 2 and their labels (http://yann.lecun.com/exdb/mnist, "the IDX file format"). */
static void write_idx(const char **images, const char **labels)
{
    static const uint8_t image_bytes[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                          0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint8_t label_bytes[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 1};
    *images = liana__test_write("images", image_bytes, sizeof image_bytes);
    *labels = liana__test_write("labels", label_bytes, sizeof label_bytes);
}

static void test_convert(void **state)
{
    (void)state;
    liana__test_folder();
    const char *images, *labels;
    write_idx(&images, &labels);
    char out[256];
    snprintf(out, sizeof out, "%s", liana__test_path("out"));
    result got = run("convert", images, labels, "--out", out, "--shards=2", "--prefix", "digits");
    assert_string_equal(got.err, "");
    assert_int_equal(got.code, 0);
    char expected[512];
    snprintf(expected, sizeof expected, "%s: 3 records of 2 classes in 2 shards\n", out);
    assert_string_equal(got.out, expected);
    free_result(&got);
    assert_true(liana__file_exists(liana__test_path("out/classes.txt")));
    assert_true(liana__file_exists(liana__test_path("out/digits00-2.tfrec")));
    write_idx(&images, &labels);
    got = run("convert", images, labels, "--out", out, "--json");
    assert_int_equal(got.code, 2);
    assert_begins(got.err, "liana: ");
    assert_says(got.err, "/out");
    json_error_t problem;
    json_t *json = json_loads(got.out, 0, &problem);
    assert_string_equal(json_string_value(json_object_get(json, "event")), "error");
    assert_string_equal(json_string_value(json_object_get(json, "status")), "INVALID_CONFIG");
    assert_says(json_string_value(json_object_get(json, "message")), "/out");
    json_decref(json);
    free_result(&got);
    got = run("convert", images, labels, "--out", out, "--json", "--overwrite");
    assert_int_equal(got.code, 0);
    json = json_loads(got.out, 0, &problem);
    assert_string_equal(json_string_value(json_object_get(json, "event")), "converted");
    assert_int_equal(json_integer_value(json_object_get(json, "records")), 3);
    json_decref(json);
    free_result(&got);
}

static void test_a_failure_is_1(void **state)
{
    (void)state;
    liana__test_folder();
    const char *bad = liana__test_write("bad", "IDX?", 4);
    result got = run("convert", bad, bad, "--out", liana__test_path("out"));
    assert_int_equal(got.code, 1);
    assert_begins(got.err, "liana: ");
    assert_says(got.err, "/bad");
    free_result(&got);
}

/* The wait status of a child that does what `act` says. */
static int child_status(void (*act)(void *user), void *user)
{
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        act(user);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void convert_interrupted(void *user)
{
    const char *const *files = user;
    liana__signals_catch();
    raise(SIGINT);
    result got = run("convert", files[0], files[1], "--out", files[2]);
    _exit(got.code);
}

static void raise_twice(void *user)
{
    liana__signals_catch();
    raise(SIGTERM);
    if (liana__signals_caught() != SIGTERM) _exit(98);
    raise(*(int *)user);
}

static void raise_at_the_end(void *user)
{
    (void)user;
    liana__signals_catch();
    liana__signals_end();
    raise(SIGTERM);
    if (liana__signals_caught() != SIGTERM) _exit(98);
    liana__signals_end();
    raise(SIGTERM);
    _exit(75);
}

static void test_signals(void **state)
{
    (void)state;
    liana__test_folder();
    const char *files[3];
    write_idx(&files[0], &files[1]);
    files[2] = liana__test_path("out");
    int status = child_status(convert_interrupted, files);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGINT);
    int number = SIGTERM;
    status = child_status(raise_twice, &number);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    status = child_status(raise_at_the_end, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
}

static void print_to_a_full_disk(void *user)
{
    (void)user;
    FILE *full = fopen("/dev/full", "w");
    FILE *err = fopen(liana__test_path("err"), "w");
    int code = liana__command_line(2, (const char *const[]){"liana", "version"}, full, err);
    fclose(err);
    _exit(code);
}

static void test_output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    liana__test_folder();
    int status = child_status(print_to_a_full_disk, NULL);
    assert_int_equal(WEXITSTATUS(status), 1);
    char *message;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("err"), 1000, &message, &size, NULL), NULL);
    assert_string_equal(message, "liana: cannot write to standard output: No space left on device\n");
    free(message);
}

static void exec_version(void *user)
{
    (void)user;
    if (!freopen("/dev/null", "w", stdout)) _exit(97);
    execl(LIANA_COMMAND, "liana", "version", (char *)NULL);
}

static long children_pages(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* It prepares nothing: it touches the pages of its libraries (about 1,000), and hardly more. Sanitizers have their own.
 */
static void test_version_answers_at_once(void **state)
{
    (void)state;
    long before = children_pages();
    assert_int_equal(child_status(exec_version, NULL), 0);
    long pages = children_pages() - before;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(pages, 1, 5000);
#else
    assert_compare(pages, >, 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_help_lists_every_subcommand),
        cmocka_unit_test(test_help_of_every_subcommand),
        cmocka_unit_test(test_usage_errors),
        cmocka_unit_test(test_words_are_sorted_into_kinds),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_a_failure_is_1),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_output_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(test_version_answers_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
