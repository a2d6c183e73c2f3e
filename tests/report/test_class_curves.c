/* Curves of classes against their definitions, written once more. */
#include "harness/harness.h"

#include "report/examine.h"

#include <math.h>

/* The share of pairs of a positive and a negative example in which the positive has the higher score; equal ones count
 * half (Mann and Whitney 1947). */
static double area_by_pairs(const float *scores, const uint8_t *is_class, size_t count)
{
    double right = 0, pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (!is_class[i] || is_class[k]) continue;
            pairs++;
            right += scores[i] > scores[k] ? 1 : scores[i] == scores[k] ? 0.5 : 0;
        }
    }
    return right / pairs;
}

/* The mean over the positives of the precision at their score's threshold: with equal scores, too, it is the sum of
 * (change of recall) * precision. */
static double average_by_counts(const float *scores, const uint8_t *is_class, size_t count)
{
    double sum = 0, positives = 0;
    for (size_t i = 0; i < count; i++) {
        double above = 0, right = 0;
        if (!is_class[i]) continue;
        for (size_t k = 0; k < count; k++) {
            above += scores[k] >= scores[i];
            right += scores[k] >= scores[i] && is_class[k];
        }
        positives++;
        sum += right / above;
    }
    return sum / positives;
}

static liana__class_curve make(const float *scores, const uint8_t *is_class, size_t count, liana__arena *arena)
{
    liana__class_curve curve;
    assert_true(liana__class_curve_make(scores, is_class, count, arena, &curve));
    return curve;
}

/* The example in the documentation of scikit-learn's roc_auc_score and average_precision_score. */
static void test_a_known_example(void **state)
{
    (void)state;
    liana__arena arena = {0};
    const float scores[] = {0.1f, 0.4f, 0.35f, 0.8f};
    const uint8_t is_class[] = {0, 0, 1, 1};
    liana__class_curve curve = make(scores, is_class, 4, &arena);
    assert_near(curve.auc, 0.75, 1e-12);
    assert_near(curve.average_precision, 0.8333333333333333, 1e-12);
    const double false_rates[] = {0, 0, 0.5, 0.5, 1}, true_rates[] = {0, 0.5, 0.5, 1, 1};
    assert_int_equal(curve.roc_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_near(curve.false_rates[i], false_rates[i], 0, i);
        assert_near(curve.true_rates[i], true_rates[i], 0, i);
    }
    liana__arena_free(&arena);
}

/* Scores of a few values, so that many are equal. */
static void test_random_scores(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    uint32_t random = 12345;
    for (uint32_t round = 1; round <= 20; round++) {
        liana__arena arena = {0};
        float scores[COUNT];
        uint8_t is_class[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            random = random * 1664525u + 1013904223u;
            is_class[i] = (random >> 24) % 3 == 0;
            random = random * 1664525u + 1013904223u;
            scores[i] = (float)((random >> 20) % (round * 7) + is_class[i] * round) / 100.0f;
        }
        liana__class_curve curve = make(scores, is_class, COUNT, &arena);
        assert_near(curve.auc, area_by_pairs(scores, is_class, COUNT), 1e-9, round);
        assert_near(curve.average_precision, average_by_counts(scores, is_class, COUNT), 1e-9, round);
        /* What is left out of the curve changes its area by little: each point is within a hundredth of the curve. */
        double area = 0;
        for (size_t i = 1; i < curve.roc_count; i++) {
            assert_compare(curve.false_rates[i], >=, curve.false_rates[i - 1], i);
            area +=
                (curve.false_rates[i] - curve.false_rates[i - 1]) * (curve.true_rates[i] + curve.true_rates[i - 1]) / 2;
        }
        assert_near(area, curve.auc, 0.01, round);
        assert_compare(curve.roc_count, <=, 202);
        assert_near(curve.true_rates[curve.roc_count - 1], 1, 0);
        assert_near(curve.false_rates[curve.roc_count - 1], 1, 0);
        assert_near(curve.recalls[curve.precision_count - 1], 1, 0);
        liana__arena_free(&arena);
    }
}

static void test_curves_that_say_nothing(void **state)
{
    (void)state;
    liana__arena arena = {0};
    const float scores[] = {0.5f, NAN, 0.25f};
    const uint8_t none[] = {0, 0, 0}, all[] = {1, 1, 1}, second[] = {0, 1, 0};
    liana__class_curve curve = make(scores, none, 3, &arena);
    assert_true(isnan(curve.auc) && isnan(curve.average_precision));
    assert_int_equal(curve.roc_count + curve.precision_count, 0);
    curve = make(scores, all, 3, &arena);
    assert_true(isnan(curve.auc));
    assert_near(curve.average_precision, 1, 0);
    /* A score that is no number is the lowest one. */
    curve = make(scores, second, 3, &arena);
    assert_near(curve.auc, 0, 0);
    assert_near(curve.average_precision, 1.0 / 3, 1e-12);
    curve = make(scores, none, 0, &arena);
    assert_true(isnan(curve.auc) && isnan(curve.average_precision));
    liana__arena_free(&arena);
}

static void test_reliability(void **state)
{
    (void)state;
    liana__reliability reliability = {0};
    /* Ten predictions of which 0.95 is the confidence and six are right, ten of 0.35 of which four are; one is lost. */
    for (int i = 0; i < 10; i++) {
        liana__reliability_add(&reliability, 0.95, i < 6);
        liana__reliability_add(&reliability, 0.35, i < 4);
    }
    liana__reliability_add(&reliability, NAN, true);
    liana__reliability_finish(&reliability);
    assert_int_equal(reliability.count, 20);
    assert_near(reliability.accuracy[9], 0.6, 1e-12);
    assert_near(reliability.accuracy[3], 0.4, 1e-12);
    assert_near(reliability.confidence[9], 0.95, 1e-12);
    assert_near(reliability.share[3], 0.5, 1e-12);
    assert_true(isnan(reliability.accuracy[0]));
    assert_near(reliability.error, 0.5 * 0.35 + 0.5 * 0.05, 1e-12);

    liana__reliability edges = {0};
    liana__reliability_add(&edges, 0, false);
    liana__reliability_add(&edges, 1, true);
    liana__reliability_add(&edges, 1.0000001, true);
    liana__reliability_finish(&edges);
    assert_near(edges.share[0], 1.0 / 3, 1e-12);
    assert_near(edges.share[9], 2.0 / 3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_known_example),
        cmocka_unit_test(test_random_scores),
        cmocka_unit_test(test_curves_that_say_nothing),
        cmocka_unit_test(test_reliability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
