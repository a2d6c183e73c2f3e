/* Sums over batches, and their results. */
#include "train/objective/objective.h"

#include "base/format.h"

#include <stdlib.h>
#include <string.h>

liana_status liana__totals_create(const liana__objective *objective, liana__totals *totals, liana__error *error)
{
    *totals = (liana__totals){.objective = objective, .sums = calloc(objective->num_sums, sizeof *totals->sums)};
    return totals->sums ? LIANA_OK : liana__fail_memory(error, "the sums of loss and metrics");
}

void liana__totals_free(liana__totals *totals)
{
    free(totals->sums);
    *totals = (liana__totals){0};
}

void liana__totals_clear(liana__totals *totals)
{
    if (totals->objective) memset(totals->sums, 0, totals->objective->num_sums * sizeof *totals->sums);
    totals->count = totals->bad_records = 0;
}

/* Keras reports the mean of the batches' losses, each by the number of its examples. */
static bool is_summed(const liana__objective_output *output)
{
    return output->choice.loss && output->choice.reduction == LIANA__REDUCE_SUM;
}

void liana__totals_add(liana__totals *totals, const float *sums, int64_t count, int64_t bad_records)
{
    const liana__objective *objective = totals->objective;
    for (size_t i = 0; i < objective->num_sums; i++) {
        const bool is_sum = i < objective->num_outputs && is_summed(&objective->outputs[i]);
        totals->sums[i] += (double)sums[i] * (is_sum ? (double)count : 1);
    }
    totals->count += count;
    totals->bad_records += bad_records;
}

/* ---- results ---- */

/* The mean of a sum over the elements of an output: those that count if `counted`. */
static double mean_of(const liana__totals *totals, size_t sum, const liana__objective_output *output, bool counted)
{
    double count = (double)totals->count * (double)output->elements;
    if (counted) count = totals->sums[output->count_sum];
    return count > 0 ? totals->sums[sum] / count : 0;
}

/* Of output `index`. */
static double loss_of(const liana__totals *totals, size_t index)
{
    const liana__objective_output *output = &totals->objective->outputs[index];
    if (is_summed(output)) return totals->sums[index] / (double)totals->count;
    return mean_of(totals, index, output, output->counted);
}

static double whole_loss(const liana__totals *totals)
{
    const liana__objective *objective = totals->objective;
    double loss = objective->is_regularized ? totals->sums[objective->penalty_sum] / (double)totals->count : 0;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        loss += objective->outputs[i].weight * loss_of(totals, i);
    }
    return loss;
}

static double finish_metric(const liana__totals *totals, const liana__objective_metric *item)
{
    const liana_metric_type *metric = item->choice.metric;
    const double *sums = totals->sums + item->first_sum;
    if (item->has_own_count) return sums[1] > 0 ? sums[0] / sums[1] : 0;
    const liana__objective_output *output = &totals->objective->outputs[item->output];
    if (metric->elements) return mean_of(totals, item->first_sum, output, output->masked);
    return metric->finish(item->choice.options, sums, item->num_sums);
}

/* Value `index` of those that are reported. */
static double value_of(const liana__totals *totals, size_t index)
{
    if (!totals->count || !totals->objective) return 0;
    if (index == 0) return whole_loss(totals);
    const liana__objective *objective = totals->objective;
    size_t at = 1;
    for (size_t i = 0; objective->num_outputs > 1 && i < objective->num_outputs; i++) {
        if (objective->outputs[i].choice.loss && at++ == index) return loss_of(totals, i);
    }
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        if (!item->num_values && at++ == index) return finish_metric(totals, item);
    }
    return 0;
}

double liana__totals_value(const liana__totals *totals, size_t index)
{
    return liana__shown(value_of(totals, index));
}

void liana__totals_values(const liana__totals *totals, size_t metric, double *values)
{
    const liana__objective_metric *item = &totals->objective->metrics[metric];
    item->choice.metric->finish_all(item->choice.options, totals->sums + item->first_sum, item->num_sums, values);
    for (size_t i = 0; i < item->num_values; i++) values[i] = liana__shown(values[i]);
}

void liana__totals_lists(const liana__totals *totals, double *values)
{
    const liana__objective *objective = totals->objective;
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        if (item->choice.metric->is_matrix) continue;
        if (item->num_values) liana__totals_values(totals, i, values);
        values += item->num_values;
    }
}

int64_t liana__metric_num_rows(const liana__objective_metric *metric)
{
    int64_t rows = 0;
    if (!metric->choice.metric->is_matrix) return 0;
    while ((size_t)(rows * rows) < metric->num_values) rows++;
    return rows;
}

/* ---- finishes metrics that have several numbers ---- */

size_t liana__epoch_values(const liana__totals *totals, liana__arena *arena, const liana_metric_values **values)
{
    const liana__objective *objective = totals->objective;
    *values = NULL;
    if (!objective || totals->count == 0) return 0;
    liana_metric_values *made = liana__arena_allocate(arena, (objective->num_metrics + 1) * sizeof *made);
    size_t count = 0;
    for (size_t i = 0; made && i < objective->num_metrics; i++) {
        const liana__objective_metric *metric = &objective->metrics[i];
        if (!metric->num_values) continue;
        double *numbers = liana__arena_allocate(arena, metric->num_values * sizeof *numbers);
        if (!numbers) return 0;
        liana__totals_values(totals, i, numbers);
        const int64_t rows = liana__metric_num_rows(metric), columns = rows ? rows : (int64_t)metric->num_values;
        made[count++] = (liana_metric_values){metric->name, rows ? rows : 1, columns, numbers};
    }
    *values = made;
    return count;
}
