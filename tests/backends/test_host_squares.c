/* Sums of squares: against long double, of any length, of numbers whose squares f32 does not have; the same bits on
 * every instruction set. */
#include "harness/harness.h"

#include "backends/host_squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

/* The best that this processor has. */
static liana__isa best(void)
{
    liana__isa isa = 0;
    char reason[200];
    liana__error error = {0};
    assert_ok(liana__cpu_detect(NULL, &isa, reason, sizeof reason, &error), &error);
    return isa;
}

static void check(const float *values, const float *before, int64_t count, liana__isa isa)
{
    const liana__host_squares found = liana__host_choose_squares(isa)(values, before, count);
    const liana__host_squares plain = liana__host_squares_generic(values, before, count);
    long double sum = 0, changes = 0;
    for (int64_t i = 0; i < count; i++) {
        const long double value = values[i], change = before ? value - (long double)before[i] : 0;
        sum += value * value;
        changes += change * change;
    }
    assert_near(found.values, (double)sum, 1e-12 * (double)sum, count, isa);
    assert_near(found.changes, (double)changes, 1e-12 * (double)changes, count, isa);
    assert_memory_equal(&found, &plain, sizeof found);
}

static void test_sums(void **state)
{
    (void)state;
    float values[MOST], before[MOST];
    for (int i = 0; i < MOST; i++) {
        values[i] = sinf((float)i) * (i % 50 == 7 ? 1e30F : 3);
        before[i] = cosf((float)i * 2);
    }
    const liana__isa most = best();
    for (liana__isa isa = 0; isa <= most; isa++) {
        for (int64_t count = 0; count <= MOST; count++) {
            check(values, before, count, isa);
            check(values, NULL, count, isa);
        }
    }
}

static void test_numbers_that_are_not_finite(void **state)
{
    (void)state;
    float values[20] = {1, 2, 3}, before[20] = {0};
    values[17] = NAN;
    assert_true(isnan(liana__host_choose_squares(best())(values, before, 20).values));
    values[17] = INFINITY;
    assert_true(isinf(liana__host_choose_squares(best())(values, before, 20).changes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_numbers_that_are_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
