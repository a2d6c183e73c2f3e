/* The comparisons of harness/compare.h hold where they should. Elsewhere they fail, and say both operands and where. */
#include "harness/harness.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Comparisons that must fail, one at a time, and their messages. */
static int which;
static const char *const said[] = {
    "3 < 3 does not hold: the left is 3, the right is 3",
    "-1 > 0u does not hold: the left is -1, the right is 0",
    "small[i][k] == 0.25 does not hold at i, k = 1, 0: the left is 0.75, the right is 0.25",
    "large != 18446744073709551615u does not hold: the left is 18446744073709551615",
    "9007199254740993 == 9007199254740992 does not hold: the left is 9007199254740993, the right is 9007199254740992",
    "NAN >= 0 does not hold: the left is nan, the right is 0",
    "small[1][0] is not near 0.5: found 0.75, expected 0.5 +- 0.2; they differ by 0.25",
    "small[i][k] is not near 2 at i, k = 1, 0: found 0.75, expected 2 +- 1; they differ by 1.25",
    "NAN is not near 0: found nan, expected 0 +- 1",
    "text does not say 'four'; it is:\none two three",
    "text says 'two'; it is:\none two three",
    "text does not begin with 'two'; it is:\none two three",
    "missing does not say 'two'; it is:\n(NULL)",
};
static const float small[2][1] = {{0.5f}, {0.75f}};

static void fail_in_numbers(size_t i, int k)
{
    const uint64_t large = UINT64_MAX;
    switch (which) {
    case 0: assert_compare(3, <, 3); break;
    case 1: assert_compare(-1, >, 0u); break;
    case 2: assert_compare(small[i][k], ==, 0.25, i, k); break;
    case 3: assert_compare(large, !=, 18446744073709551615u); break;
    case 4: assert_compare(9007199254740993, ==, 9007199254740992); break;
    case 5: assert_compare(NAN, >=, 0); break;
    case 6: assert_near(small[1][0], 0.5, 0.2); break;
    case 7: assert_near(small[i][k], 2, 1, i, k); break;
    case 8: assert_near(NAN, 0, 1); break;
    default: break;
    }
}

static void fail_in_texts(void)
{
    const char *text = "one two three", *missing = NULL;
    switch (which) {
    case 9: assert_says(text, "four"); break;
    case 10: assert_never_says(text, "two"); break;
    case 11: assert_begins(text, "two"); break;
    case 12: assert_says(missing, "two"); break;
    default: break;
    }
}

static void one_failure(void **state)
{
    (void)state;
    fail_in_numbers(1, 0);
    fail_in_texts();
}

/* A program of its own, whose only test fails. */
static void test_failures_say_both_operands(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path("said"));
    for (which = 0; which < (int)(sizeof said / sizeof *said); which++) {
        fflush(NULL);
        pid_t process = fork();
        assert_compare(process, >=, 0);
        if (process == 0) {
            if (!freopen(path, "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(100);
            const struct CMUnitTest inner[] = {cmocka_unit_test(one_failure)};
            int failed = cmocka_run_group_tests(inner, NULL, NULL);
            fflush(NULL);
            _exit(failed);
        }
        int status;
        assert_int_equal(waitpid(process, &status, 0), process);
        char *text = NULL;
        size_t size;
        liana__error error = {0};
        assert_ok(liana__file_read(path, 1 << 16, &text, &size, &error), &error);
        if (!strstr(text, said[which]) || !strstr(text, "test_comparisons.c:"))
            fail_msg("expected '%s' in:\n%s", said[which], text);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
        free(text);
    }
}

static int calls;

static int next(void)
{
    return ++calls;
}

static void test_what_holds_passes(void **state)
{
    (void)state;
    assert_compare(1, <, 2);
    assert_compare(-1, <, (size_t)0);
    assert_compare(2, <=, 2.0f);
    assert_compare(UINT64_MAX, >, INT64_MAX);
    assert_compare(UINT64_MAX, >=, UINT64_MAX);
    assert_compare(0.0, ==, -0.0);
    assert_compare(NAN, !=, NAN);
    for (int i = 0; i < 2; i++) assert_compare(small[i][0], >, 0.4, i);
    assert_near(1.0f, 1, 0);
    assert_near(-0.5, small[0][0], 1);
    assert_says("one two", "e t");
    assert_never_says("one two", "e  t");
    assert_begins("one two", "one");
    /* Operands are evaluated once. */
    assert_compare(next(), ==, 1);
    assert_near(next(), 2, 0);
    assert_compare(2, <, next());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_holds_passes),
        cmocka_unit_test(test_failures_say_both_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
