/* Smooths the losses of a learning-rate sweep, sees divergence, suggests a rate. */
#include "train/training/rate_finder.h"

#include "base/format.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_UPDATES = 10, SKIPPED_PART = 10, FEWEST_POINTS = 3, WINDOW_PART = 20 };

liana_status liana__rate_range_check(const liana__rate_range *range, liana__error *error)
{
    char found[320] = "";
    if (!(range->minimum_rate >= (double)FLT_MIN) || !(range->minimum_rate < range->maximum_rate)) {
        liana__format(found, sizeof found,
                      "the rates are %g to %g, expected a smallest rate above 0 (at least 1.2e-38) and a larger "
                      "largest one",
                      range->minimum_rate, range->maximum_rate);
    } else if (!(range->maximum_rate <= 1e6)) {
        liana__format(found, sizeof found, "the largest rate is %g, expected at most 1e6", range->maximum_rate);
    } else if (range->updates < FEWEST_UPDATES || range->updates > LIANA__MOST_RATE_UPDATES) {
        liana__format(found, sizeof found, "the number of updates is %lld, expected %d to %d",
                      (long long)range->updates, FEWEST_UPDATES, LIANA__MOST_RATE_UPDATES);
    } else if (!(range->smoothing >= 0 && range->smoothing < 1)) {
        liana__format(found, sizeof found, "the smoothing is %g, expected 0 or more, and less than 1",
                      range->smoothing);
    } else if (!(range->divergence > 1 && range->divergence <= 1e30)) {
        liana__format(found, sizeof found, "the factor of divergence is %g, expected more than 1", range->divergence);
    }
    return *found ? liana__fail(error, LIANA_INVALID_ARGUMENT, "learning-rate finder: %s", found) : LIANA_OK;
}

liana_status liana__rate_curve_create(const liana__rate_range *range, liana__rate_curve *curve, liana__error *error)
{
    *curve = (liana__rate_curve){.range = *range};
    LIANA_TRY(liana__rate_range_check(range, error));
    curve->rates = calloc((size_t)range->updates, sizeof *curve->rates);
    curve->losses = calloc((size_t)range->updates, sizeof *curve->losses);
    curve->smoothed = calloc((size_t)range->updates, sizeof *curve->smoothed);
    bool enough = curve->rates && curve->losses && curve->smoothed;
    return enough ? LIANA_OK : liana__fail_memory(error, "the learning-rate finder");
}

void liana__rate_curve_free(liana__rate_curve *curve)
{
    free(curve->rates);
    free(curve->losses);
    free(curve->smoothed);
    *curve = (liana__rate_curve){0};
}

double liana__rate_curve_rate(const liana__rate_range *range, int64_t index)
{
    double share = (double)index / (double)(range->updates - 1);
    return range->minimum_rate * pow(range->maximum_rate / range->minimum_rate, share);
}

bool liana__rate_curve_add(liana__rate_curve *curve, double loss)
{
    const liana__rate_range *range = &curve->range;
    if (!isfinite(loss)) {
        curve->diverged = true;
        return false;
    }
    size_t index = curve->count++;
    curve->average = range->smoothing * curve->average + (1 - range->smoothing) * loss;
    double smoothed = curve->average / (1 - pow(range->smoothing, (double)curve->count));
    curve->rates[index] = liana__rate_curve_rate(range, (int64_t)index);
    curve->losses[index] = loss;
    curve->smoothed[index] = smoothed;
    if (smoothed < curve->smoothed[curve->lowest]) curve->lowest = index;
    double lowest = curve->smoothed[curve->lowest];
    curve->diverged = smoothed > lowest + (range->divergence - 1) * fabs(lowest);
    return !curve->diverged && (int64_t)curve->count < range->updates;
}

/* ---- the suggestion ---- */

/* The slope of the line through the points around `at`, by least squares: a few updates alone say more about their
 * examples than about their rate. The rates' logarithms are evenly spaced. */
static double slope_around(const liana__rate_curve *curve, size_t at, size_t width)
{
    double sum = 0, squares = 0;
    for (size_t i = 1; i <= width; i++) {
        sum += (double)i * (curve->smoothed[at + i] - curve->smoothed[at - i]);
        squares += 2 * (double)i * (double)i;
    }
    return sum / squares;
}

/* The point between the first one that counts and the lowest, at which the loss falls fastest by the logarithm of the
 * rate. Equal slopes: the first. `lowest` if it falls nowhere. */
static size_t find_steepest(const liana__rate_curve *curve, size_t first, size_t lowest)
{
    size_t steepest = lowest, width = (size_t)(curve->range.updates / WINDOW_PART);
    if (width > (lowest - first) / 2) width = (lowest - first) / 2;
    if (width == 0) width = 1;
    double fastest = 0;
    for (size_t i = first + width; i + width <= lowest; i++) {
        double slope = slope_around(curve, i, width);
        if (slope >= fastest) continue;
        fastest = slope;
        steepest = i;
    }
    return steepest;
}

static liana_status fail_flat(const liana__rate_curve *curve, liana__error *error)
{
    const liana__rate_range *range = &curve->range;
    if (curve->diverged) {
        double last = liana__rate_curve_rate(range, curve->count ? (int64_t)curve->count - 1 : 0);
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "the loss grew from the smallest rates on and diverged after %zu of %lld updates, at the "
                           "rate %.2g: no rate can be suggested; sweep from a rate below %.2g, and check how inputs "
                           "are scaled",
                           curve->count, (long long)range->updates, last, range->minimum_rate);
    }
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "the loss did not fall between the rates %.2g and %.2g: no rate can be suggested; sweep to a "
                       "larger rate, or with more updates, and check the labels",
                       range->minimum_rate, range->maximum_rate);
}

static void explain(const liana__rate_curve *curve, liana__rate_suggestion *suggestion)
{
    bool at_steepest = suggestion->rate == suggestion->steepest;
    const char *end = curve->diverged ? "above it the loss grows and diverges"
                                      : "the loss had not diverged at the largest rate of the sweep";
    liana__format(suggestion->reason, sizeof suggestion->reason,
                  "%s: the smoothed loss falls fastest at %.2g and is lowest at %.2g (a tenth: %.2g); the smaller of "
                  "the two is suggested; %s",
                  at_steepest ? "the rate of the steepest descent" : "a tenth of the rate of the lowest loss",
                  suggestion->steepest, suggestion->lowest, suggestion->lowest / 10, end);
}

liana_status liana__rate_curve_suggest(const liana__rate_curve *curve, liana__rate_suggestion *suggestion,
                                       liana__error *error)
{
    size_t first = (size_t)(curve->range.updates / SKIPPED_PART), lowest = first;
    *suggestion = (liana__rate_suggestion){.rate = NAN, .steepest = NAN, .lowest = NAN};
    for (size_t i = first; i < curve->count; i++) {
        if (curve->smoothed[i] < curve->smoothed[lowest]) lowest = i;
    }
    if (curve->count < first + FEWEST_POINTS || lowest <= first + 1) return fail_flat(curve, error);
    suggestion->steepest = curve->rates[find_steepest(curve, first, lowest)];
    suggestion->lowest = curve->rates[lowest];
    suggestion->rate = fmin(suggestion->steepest, suggestion->lowest / 10);
    explain(curve, suggestion);
    return LIANA_OK;
}
