/* Finishes metrics that have several numbers. */
#include "train/model/epoch_values.h"

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
