/* Curves of the scores of a class: ROC, precision by recall, reliability. */
#include "report/examine.h"

#include <stdlib.h>

typedef struct scored {
    float score;
    bool is_class;
} scored;

static int by_falling_score(const void *a, const void *b)
{
    const float first = ((const scored *)a)->score, second = ((const scored *)b)->score;
    return (first < second) - (first > second);
}

/* A curve that grows by its points; those near the one before are left out, but for the last. */
typedef struct growing {
    double *x, *y;
    size_t count;
    double last_x, last_y; /* left out so far */
    bool left_out;
} growing;

static void add_point(growing *own, double x, double y)
{
    static const double near = 0.01;
    const size_t last = own->count - 1;
    own->last_x = x;
    own->last_y = y;
    own->left_out = own->count && fabs(x - own->x[last]) < near && fabs(y - own->y[last]) < near;
    if (own->left_out) return;
    own->x[own->count] = x;
    own->y[own->count++] = y;
}

static void end_curve(growing *own)
{
    if (!own->left_out) return;
    own->x[own->count] = own->last_x;
    own->y[own->count++] = own->last_y;
}

static bool sort_scores(const float *scores, const uint8_t *is_class, size_t count, scored *sorted, size_t *positives)
{
    if (!sorted) return false;
    *positives = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (scored){isfinite(scores[i]) ? scores[i] : -INFINITY, is_class[i]};
        *positives += is_class[i];
    }
    qsort(sorted, count, sizeof *sorted, by_falling_score);
    return true;
}

/* A point holds for all examples whose score is at least a threshold. */
static void follow(const scored *sorted, size_t count, size_t positives, growing *roc, growing *precision,
                   liana__class_curve *curve)
{
    const double all = (double)positives, others = (double)(count - positives);
    double right = 0, wrong = 0, area = 0, average = 0;
    add_point(roc, 0, 0);
    for (size_t i = 0; i < count;) {
        const double right_before = right, wrong_before = wrong;
        const float score = sorted[i].score;
        for (; i < count && sorted[i].score == score; i++) {
            right += sorted[i].is_class;
            wrong += !sorted[i].is_class;
        }
        area += (wrong - wrong_before) * (right + right_before) / 2;
        average += (right - right_before) * right / (right + wrong);
        if (others > 0 && all > 0) add_point(roc, wrong / others, right / all);
        if (all > 0) add_point(precision, right / all, right / (right + wrong));
    }
    end_curve(roc);
    end_curve(precision);
    curve->auc = all > 0 && others > 0 ? area / all / others : NAN;
    curve->average_precision = all > 0 ? average / all : NAN;
}

/* The points of a curve in the arena. A curve of NaN has none. */
static size_t keep(const growing *own, bool any, liana__arena *arena, double **x, double **y)
{
    const size_t count = any ? own->count : 0;
    *x = liana__arena_copy(arena, own->x, count * sizeof *own->x);
    *y = liana__arena_copy(arena, own->y, count * sizeof *own->y);
    return *x && *y ? count : 0;
}

bool liana__class_curve_make(const float *scores, const uint8_t *is_class, size_t count, liana__arena *arena,
                             liana__class_curve *curve)
{
    liana__arena own = {0};
    const size_t room = count + 2;
    scored *sorted = liana__arena_allocate(&own, room * sizeof *sorted);
    double *points = liana__arena_allocate(&own, 4 * room * sizeof *points);
    size_t positives = 0;
    *curve = (liana__class_curve){.auc = NAN, .average_precision = NAN};
    if (points && sort_scores(scores, is_class, count, sorted, &positives)) {
        growing roc = {.x = points, .y = points + room}, precision = {.x = points + 2 * room, .y = points + 3 * room};
        follow(sorted, count, positives, &roc, &precision, curve);
        curve->roc_count = keep(&roc, !isnan(curve->auc), arena, &curve->false_rates, &curve->true_rates);
        curve->precision_count =
            keep(&precision, !isnan(curve->average_precision), arena, &curve->recalls, &curve->precisions);
    }
    const bool failed = own.failed || arena->failed;
    liana__arena_free(&own);
    return !failed;
}

void liana__reliability_add(liana__reliability *reliability, double confidence, bool is_right)
{
    if (!isfinite(confidence)) return;
    const double place = fmin(fmax(confidence, 0), 1) * LIANA__RELIABILITY_BINS;
    const size_t bin = place < LIANA__RELIABILITY_BINS ? (size_t)place : LIANA__RELIABILITY_BINS - 1;
    reliability->confidence[bin] += confidence;
    reliability->accuracy[bin] += is_right;
    reliability->share[bin]++;
    reliability->count++;
}

void liana__reliability_finish(liana__reliability *reliability)
{
    reliability->error = 0;
    for (size_t i = 0; i < LIANA__RELIABILITY_BINS; i++) {
        const double count = reliability->share[i];
        reliability->confidence[i] = count > 0 ? reliability->confidence[i] / count : NAN;
        reliability->accuracy[i] = count > 0 ? reliability->accuracy[i] / count : NAN;
        reliability->share[i] = reliability->count ? count / (double)reliability->count : 0;
        if (count > 0) {
            reliability->error += reliability->share[i] * fabs(reliability->accuracy[i] - reliability->confidence[i]);
        }
    }
}
