/* Draws the confusion matrices of a run. */
#include "report/reports.h"

#include "base/file.h"

#include <stdio.h>

/* The picture of one matrix. */
typedef struct drawing {
    liana__run *run;
    const char *folder;
    void (*on_picture)(void *user, const char *path);
    void *user;
    liana__arena arena;
    liana__error *error;
} drawing;

static liana_status find_labels(drawing *own, size_t output, size_t classes, const char *const **labels)
{
    liana__strings names = liana__run_output_names(own->run, output);
    const char **items = liana__arena_allocate(&own->arena, classes * sizeof *items);
    if (!items) return liana__fail_memory(own->error, "the names of the classes");
    for (size_t i = 0; i < classes; i++) {
        items[i] = i < names.count ? names.items[i] : liana__arena_format(&own->arena, "%zu", i);
    }
    *labels = items;
    return own->arena.failed ? liana__fail_memory(own->error, "the names of the classes") : LIANA_OK;
}

static liana_status draw(drawing *own, const char *prefix, const char *ending, const liana__class_matrix *matrix)
{
    char title[128];
    double right = 0, all = 0;
    for (size_t i = 0; i < matrix->classes * matrix->classes; i++) {
        all += matrix->counts[i];
        right += i / matrix->classes == i % matrix->classes ? matrix->counts[i] : 0;
    }
    const char *name = liana__arena_format(&own->arena, "%sconfusion_matrix%s.png", prefix, ending);
    const char *path = name ? liana__path_join(&own->arena, own->folder, name) : NULL;
    if (!path) return liana__fail_memory(own->error, "the confusion matrix");
    snprintf(title, sizeof title, "Validation: %.0f of %.0f are right", right, all);
    liana__class_matrix titled = *matrix;
    titled.title = title;
    LIANA_TRY(liana__class_matrix_write(path, &titled, own->error));
    own->on_picture(own->user, path);
    return LIANA_OK;
}

static liana_status draw_metric(drawing *own, const liana__totals *totals, const liana__objective_metric *metric)
{
    const liana__objective *objective = totals->objective;
    const char *output = objective->outputs[metric->output].name;
    const char *prefix = objective->num_outputs == 1 ? "" : liana__arena_format(&own->arena, "%s_", output);
    /* The sums of a matrix are the numbers of examples, however its values are normalised. */
    liana__class_matrix matrix = {.classes = (size_t)liana__metric_num_rows(metric),
                                  .counts = totals->sums + metric->first_sum};
    if (!prefix) return liana__fail_memory(own->error, "the confusion matrix");
    LIANA_TRY(find_labels(own, metric->output, matrix.classes, &matrix.labels));
    LIANA_TRY(draw(own, prefix, "", &matrix));
    matrix.normalized = true;
    return draw(own, prefix, "_normalized", &matrix);
}

liana_status liana__report_classes(liana__run *run, const char *folder,
                                   void (*on_picture)(void *user, const char *path), void *user, liana__error *error)
{
    drawing own = {.run = run, .folder = folder, .on_picture = on_picture, .user = user, .error = error};
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    liana__totals totals = {0};
    size_t first = 0;
    while (first < objective->num_metrics && !objective->metrics[first].choice.metric->is_matrix) first++;
    if (first == objective->num_metrics) return LIANA_OK;
    liana_status status = liana__evaluate(run->core.trainer, run->validation.loader, 0, &totals, NULL, NULL, error);
    for (size_t i = first; status == LIANA_OK && i < objective->num_metrics; i++) {
        if (objective->metrics[i].choice.metric->is_matrix) status = draw_metric(&own, &totals, &objective->metrics[i]);
    }
    liana__totals_free(&totals);
    liana__arena_free(&own.arena);
    return status;
}
