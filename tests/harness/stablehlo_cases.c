/* Cases of StableHLO in a folder, and the Python program that runs them. */
#include "harness/harness.h"

#include "harness/stablehlo_cases.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *open_file(const char *name)
{
    FILE *file = fopen(liana__test_path(name), "wb");
    assert_non_null(file);
    return file;
}

liana__test_cases liana__test_cases_open(void)
{
    return (liana__test_cases){.folder = liana__test_folder(),
                               .list = open_file("cases.jsonl"),
                               .texts = open_file("modules.mlir"),
                               .arrays = open_file("arrays.bin")};
}

/* Names hold quotes of messages, but no backslashes or control characters. */
static void add_values(liana__test_cases *cases, const char *key, const liana__test_value *values, size_t count)
{
    fprintf(cases->list, ", \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        size_t size = liana__byte_size(values[i].dtype, &values[i].shape);
        fprintf(cases->list, "%s{\"dtype\": \"%s\", \"shape\": [", i ? ", " : "", liana_dtype_name(values[i].dtype));
        for (int k = 0; k < values[i].shape.rank; k++) {
            fprintf(cases->list, "%s%lld", k ? ", " : "", (long long)values[i].shape.dims[k]);
        }
        fprintf(cases->list, "], \"at\": %ld}", cases->array_at);
        assert_int_equal(fwrite(values[i].data, 1, size, cases->arrays), size);
        cases->array_at += (long)size;
    }
    fprintf(cases->list, "]");
}

void liana__test_cases_add(liana__test_cases *cases, const char *name, const char *text,
                           const liana__test_value *arguments, size_t num_arguments, const liana__test_value *results,
                           size_t num_results, double tolerance, double work)
{
    const size_t length = strlen(text);
    fprintf(cases->list, "{\"name\": \"%s\", \"text\": [%ld, %zu]", name, cases->text_at, length);
    assert_int_equal(fwrite(text, 1, length, cases->texts), length);
    cases->text_at += (long)length;
    add_values(cases, "arguments", arguments, num_arguments);
    add_values(cases, "results", results, num_results);
    fprintf(cases->list, ", \"tolerance\": %.9g, \"work\": %.9g}\n", tolerance, work);
    cases->count++;
}

/* Where scripts/install-jaxlib.sh puts it. */
static void find_jaxlib(char *folder, size_t size)
{
    const char *named = getenv("JAXLIB_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (named) {
        snprintf(folder, size, "%s", named);
    } else if (data) {
        snprintf(folder, size, "%s/liana/jaxlib", data);
    } else {
        snprintf(folder, size, "%s/.local/share/liana/jaxlib", home ? home : "");
    }
}

void liana__test_need_jaxlib(void)
{
    char folder[2048], mark[2100];
    find_jaxlib(folder, sizeof folder);
    snprintf(mark, sizeof mark, "%s/installed.txt", folder);
    if (access(mark, R_OK) == 0) return;
    print_message("skipped: jaxlib is not installed (scripts/install-jaxlib.sh)\n");
    skip();
}

void liana__test_cases_check(liana__test_cases *cases)
{
    assert_int_equal(fclose(cases->list), 0);
    assert_int_equal(fclose(cases->texts), 0);
    assert_int_equal(fclose(cases->arrays), 0);
    char packages[2048];
    find_jaxlib(packages, sizeof packages - 10);
    strcat(packages, "/packages");
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const char *python = getenv("PYTHON");
        setenv("PYTHONPATH", packages, 1);
        setenv("JAX_PLATFORMS", "cpu", 1);
        execlp(python ? python : "python3", "python3", LIANA_SOURCE_DIR "/tests/stablehlo/check.py", cases->folder,
               (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("StableHLO gives other results; see above");
}
