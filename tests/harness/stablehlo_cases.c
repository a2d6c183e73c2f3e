/* Cases of StableHLO in a folder, and the Python program that runs them. */
#include "harness/peers.h"

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

void liana__test_need_jaxlib(void)
{
    if (!liana__test_peer("jax")) skip();
}

void liana__test_cases_check(liana__test_cases *cases)
{
    assert_int_equal(fclose(cases->list), 0);
    assert_int_equal(fclose(cases->texts), 0);
    assert_int_equal(fclose(cases->arrays), 0);
    char python[2100];
    const char *jax = liana__test_peer("jax");
    assert_non_null(jax);
    snprintf(python, sizeof python, "%s/bin/python", jax);
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        setenv("JAX_PLATFORMS", "cpu", 1);
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        execl(python, python, LIANA_SOURCE_DIR "/tests/stablehlo/check.py", cases->folder, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("StableHLO gives other results; see above");
}
