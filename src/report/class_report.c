/* Draws how well a run knows its classes. */
#include "report/examine.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Matrices of more classes are listed in pages, and not drawn as files. Curves of more classes than these are left
 * out, the best first; a file shows only the worst few. */
enum { MOST_MATRIX_CLASSES = 500, MOST_CURVES = 120, MOST_FILE_CURVES = 6 };

typedef struct reporter {
    liana__examined *examined;
    const liana__drawings *drawings;
    liana__arena *arena;
    liana__error *error;
} reporter;

static const liana__ink grey = {0.45, 0.48, 0.52};

static const char *file_name(const reporter *own, const liana__examined_output *output, const char *name)
{
    const liana__objective *objective = liana__trainer_objective(own->examined->run->core.trainer);
    return objective->num_outputs == 1 ? name : liana__arena_format(own->arena, "%s_%s", output->name, name);
}

/* ---- matrices ---- */

static const char *const *class_names(const reporter *own, const liana__examined_output *output)
{
    const char **names = liana__arena_allocate(own->arena, (output->width + 1) * sizeof *names);
    for (size_t i = 0; names && i < output->width; i++) names[i] = liana__examined_class(own->examined, output, i);
    return names;
}

/* `counts`: [width, width], examples. */
static liana_status draw_matrix(const reporter *own, const liana__examined_output *output, const double *counts)
{
    const size_t classes = output->width;
    double right = 0, all = 0;
    for (size_t i = 0; i < classes * classes; i++) {
        all += counts[i];
        right += i / classes == i % classes ? counts[i] : 0;
    }
    liana__class_matrix matrix = {.title =
                                      liana__arena_format(own->arena, "Validation: %.0f of %.0f are right", right, all),
                                  .labels = class_names(own, output),
                                  .classes = classes,
                                  .counts = counts};
    const char *names[2] = {file_name(own, output, "confusion_matrix"),
                            file_name(own, output, "confusion_matrix_normalized")};
    if (own->arena->failed) return liana__fail_memory(own->error, "the confusion matrix");
    for (int i = 0; i < 2; i++) {
        matrix.normalized = i == 1;
        const liana__drawing drawing = {.name = names[i], .kind = LIANA__DRAWING_MATRIX, .matrix = &matrix};
        LIANA_TRY(liana__drawings_add(own->drawings, &drawing, own->error));
    }
    return LIANA_OK;
}

static liana_status draw_pairs(const reporter *own, const liana__examined_output *output)
{
    const size_t classes = output->width;
    double *counts = liana__arena_allocate(own->arena, classes * classes * sizeof *counts + 1);
    if (!counts) return liana__fail_memory(own->error, "the confusion matrix");
    for (size_t i = 0; i < output->num_pairs; i++) {
        counts[(size_t)output->truths[i] * classes + (size_t)output->said[i]]++;
    }
    return draw_matrix(own, output, counts);
}

/* ---- numbers by class ---- */

static bool find_scores(liana__examined *examined, const liana__examined_output *output, liana__class_numbers *numbers)
{
    const size_t classes = output->width;
    double *sums = liana__arena_allocate(&examined->arena, 5 * classes * sizeof *sums + 1);
    if (!sums) return false;
    double *precision = sums, *recall = sums + classes, *f1 = sums + 2 * classes, *support = sums + 3 * classes;
    double *said = sums + 4 * classes;
    for (size_t i = 0; i < output->num_pairs; i++) {
        support[output->truths[i]]++;
        said[output->said[i]]++;
        recall[output->truths[i]] += output->truths[i] == output->said[i];
    }
    for (size_t i = 0; i < classes; i++) {
        const double right = recall[i];
        precision[i] = said[i] > 0 ? right / said[i] : 0;
        recall[i] = support[i] > 0 ? right / support[i] : 0;
        f1[i] = said[i] + support[i] > 0 ? 2 * right / (said[i] + support[i]) : 0;
    }
    numbers->precision = precision;
    numbers->recall = recall;
    numbers->f1_score = f1;
    numbers->support = support;
    return true;
}

static bool is_of_class(const liana__examined_output *output, size_t example, size_t class)
{
    if (output->labels) return output->labels[example] == (int32_t) class;
    return output->targets[example * output->width + class] > 0.5f;
}

/* The curve of one class, and at last that of all pairs of an example and a class. */
static bool find_curves(liana__examined *examined, const liana__examined_output *output, liana__class_numbers *numbers)
{
    const size_t kept = output->num_kept, classes = output->width, pairs = kept * classes;
    liana__class_curve *curves = liana__arena_allocate(&examined->arena, classes * sizeof *curves + 1);
    float *scores = malloc((kept + 1) * sizeof *scores);
    uint8_t *is_class = malloc(pairs + 1);
    bool good = curves && scores && is_class;
    for (size_t c = 0; good && c < classes; c++) {
        for (size_t i = 0; i < kept; i++) {
            scores[i] = output->values[i * classes + c];
            is_class[i] = is_of_class(output, i, c);
        }
        good = liana__class_curve_make(scores, is_class, kept, &examined->arena, &curves[c]);
    }
    for (size_t i = 0; good && i < pairs; i++) is_class[i] = is_of_class(output, i / classes, i % classes);
    good = good && liana__class_curve_make(output->values, is_class, pairs, &examined->arena, &numbers->all);
    free(scores);
    free(is_class);
    numbers->curves = curves;
    return good;
}

static void find_reliability(const liana__examined *examined, const liana__examined_output *output,
                             liana__reliability *reliability)
{
    for (size_t i = 0; i < output->num_kept; i++) {
        const float *row = output->values + i * output->width;
        size_t said = (size_t)liana__likeliest_class(row, (int64_t)output->width);
        if (output->classes.of_one) said = (double)row[1] > examined->run->config->job.threshold;
        liana__reliability_add(reliability, (double)row[said], output->labels[i] == (int32_t)said);
    }
    liana__reliability_finish(reliability);
}

liana_status liana__class_numbers_find(liana__examined *examined, liana__examined_output *output,
                                       const liana__class_numbers **found, liana__error *error)
{
    *found = output->numbers;
    if (*found) return LIANA_OK;
    liana__class_numbers *numbers = liana__arena_allocate(&examined->arena, sizeof *numbers);
    bool good = numbers && find_curves(examined, output, numbers);
    if (good && output->exclusive) good = find_scores(examined, output, numbers);
    if (good && output->exclusive) find_reliability(examined, output, &numbers->reliability);
    if (!good) return liana__fail_memory(error, "the curves of classes");
    *found = output->numbers = numbers;
    return LIANA_OK;
}

/* ---- curves ---- */

/* A class and its area. */
typedef struct ranked {
    size_t class;
    double area; /* NaN: last */
} ranked;

static int by_rising_area(const void *a, const void *b)
{
    const ranked *first = a, *second = b;
    const double x = isnan(first->area) ? INFINITY : first->area, y = isnan(second->area) ? INFINITY : second->area;
    if (x != y) return x < y ? -1 : 1;
    return (first->class > second->class) - (first->class < second->class);
}

/* The two curves that a class has. */
typedef enum curve_kind { ROC, PRECISION } curve_kind;

static double area_of(const liana__class_curve *curve, curve_kind kind)
{
    return kind == ROC ? curve->auc : curve->average_precision;
}

static liana__figure_line line_of(const reporter *own, const liana__class_curve *curve, curve_kind kind,
                                  const char *name, size_t number)
{
    return (liana__figure_line){
        .name = liana__arena_format(own->arena, "%s (%.3f)", liana__isolate(own->arena, name), area_of(curve, kind)),
        .x = kind == ROC ? curve->false_rates : curve->recalls,
        .y = kind == ROC ? curve->true_rates : curve->precisions,
        .count = kind == ROC ? curve->roc_count : curve->precision_count,
        .ink = liana__figure_inks[number % LIANA__FIGURE_INKS],
        .thin = number > 0,
    };
}

static const double ends[2] = {0, 1};

static const liana__figure_line diagonal = {.name = "no better than chance",
                                            .x = ends,
                                            .y = ends,
                                            .count = 2,
                                            .dashed = true,
                                            .thin = true,
                                            .ink = {0.45, 0.48, 0.52}};

/* All pairs first, then the classes, the worst first. Of two classes the second one is enough. */
static size_t list_lines(const reporter *own, const liana__examined_output *output, const liana__class_numbers *numbers,
                         curve_kind kind, liana__figure_line *lines)
{
    ranked *order = liana__arena_allocate(own->arena, (output->width + 1) * sizeof *order);
    size_t count = 0, shown = 0;
    if (!order) return 0;
    if (output->exclusive && output->width == 2) {
        const char *name = liana__examined_class(own->examined, output, 1);
        lines[count++] = line_of(own, &numbers->curves[1], kind, name, 0);
        if (kind == ROC) lines[count++] = diagonal;
        return count;
    }
    for (size_t i = 0; i < output->width; i++) order[i] = (ranked){i, area_of(&numbers->curves[i], kind)};
    qsort(order, output->width, sizeof *order, by_rising_area);
    lines[count++] = line_of(own, &numbers->all, kind, "all classes", 0);
    if (kind == ROC) lines[count++] = diagonal;
    for (; shown < output->width && shown < MOST_CURVES && !isnan(order[shown].area); shown++) {
        const char *name = liana__examined_class(own->examined, output, order[shown].class);
        lines[count++] = line_of(own, &numbers->curves[order[shown].class], kind, name, shown + 1);
    }
    return count;
}

static liana_status draw_curves(const reporter *own, const liana__examined_output *output,
                                const liana__class_numbers *numbers, curve_kind kind)
{
    liana__figure_line *lines = liana__arena_allocate(own->arena, (output->width + 3) * sizeof *lines);
    liana__figure_key *keys = liana__arena_allocate(own->arena, (output->width + 3) * sizeof *keys);
    if (!lines || !keys) return liana__fail_memory(own->error, "the curves of classes");
    const size_t count = list_lines(own, output, numbers, kind, lines);
    if (!count || !lines[0].count) return LIANA_OK;
    liana__figure_panel panel = {.title = kind == ROC ? "ROC (area under the curve)" : "Precision by recall (average)",
                                 .x_label = kind == ROC ? "false positive rate" : "recall",
                                 .y_label = kind == ROC ? "true positive rate" : "precision",
                                 .lines = lines};
    for (size_t i = 0; i < count; i++) {
        keys[i] = (liana__figure_key){.name = lines[i].name,
                                      .ink = lines[i].ink,
                                      .dashed = lines[i].dashed,
                                      .thin = lines[i].thin};
    }
    panel.num_lines = count;
    const liana__figure figure = {.keys = keys, .num_keys = count, .panels = &panel, .num_panels = 1, .columns = 1};
    const liana__drawing drawing = {.name = file_name(own, output, kind == ROC ? "roc" : "precision_recall"),
                                    .kind = LIANA__DRAWING_FIGURE,
                                    .figure = &figure,
                                    .most_file_lines = MOST_FILE_CURVES};
    if (own->arena->failed || !drawing.name) return liana__fail_memory(own->error, "the curves of classes");
    return liana__drawings_add(own->drawings, &drawing, own->error);
}

static liana_status draw_reliability(const reporter *own, const liana__examined_output *output,
                                     const liana__reliability *reliability)
{
    double middles[LIANA__RELIABILITY_BINS], confidence[LIANA__RELIABILITY_BINS], accuracy[LIANA__RELIABILITY_BINS];
    size_t count = 0;
    for (size_t i = 0; i < LIANA__RELIABILITY_BINS; i++) {
        middles[i] = ((double)i + 0.5) / LIANA__RELIABILITY_BINS;
        if (isnan(reliability->confidence[i])) continue;
        confidence[count] = reliability->confidence[i];
        accuracy[count++] = reliability->accuracy[i];
    }
    if (!count) return LIANA_OK;
    liana__figure_line perfect = diagonal;
    perfect.name = "as right as it is sure";
    const liana__figure_line lines[2] = {
        {.name = "the model", .x = confidence, .y = accuracy, .count = count, .ink = liana__figure_inks[0]}, perfect};
    const liana__figure_line shares = {.name = "share of the predictions",
                                       .x = middles,
                                       .y = reliability->share,
                                       .count = LIANA__RELIABILITY_BINS,
                                       .ink = liana__figure_inks[0]};
    const liana__figure_panel panels[2] = {
        {.title = "Share that is right", .x_label = "confidence", .lines = lines, .num_lines = 2},
        {.title = "Share of the predictions", .x_label = "confidence", .lines = &shares, .num_lines = 1}};
    const char *title =
        liana__arena_format(own->arena, "Reliability: expected calibration error %.4f", reliability->error);
    const liana__figure_key keys[2] = {{.name = "the model", .ink = liana__figure_inks[0]},
                                       {.name = perfect.name, .ink = grey, .dashed = true, .thin = true}};
    const liana__figure figure = {
        .title = title, .keys = keys, .num_keys = 2, .panels = panels, .num_panels = 2, .columns = 2};
    const liana__drawing drawing = {.name = file_name(own, output, "reliability"),
                                    .kind = LIANA__DRAWING_FIGURE,
                                    .figure = &figure};
    if (!title || !drawing.name) return liana__fail_memory(own->error, "the reliability");
    return liana__drawings_add(own->drawings, &drawing, own->error);
}

static liana_status report_output(const reporter *own, liana__examined_output *output)
{
    const liana__class_numbers *numbers;
    if (output->exclusive && output->width <= MOST_MATRIX_CLASSES) LIANA_TRY(draw_pairs(own, output));
    LIANA_TRY(liana__class_numbers_find(own->examined, output, &numbers, own->error));
    LIANA_TRY(draw_curves(own, output, numbers, ROC));
    LIANA_TRY(draw_curves(own, output, numbers, PRECISION));
    return output->exclusive ? draw_reliability(own, output, &numbers->reliability) : LIANA_OK;
}

/* Matrices that the evaluation has measured, of outputs that have more than a row of values for each example. */
static liana_status report_metrics(const reporter *own)
{
    const liana__totals *totals = &own->examined->totals;
    const liana__objective *objective = liana__trainer_objective(own->examined->run->core.trainer);
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *metric = &objective->metrics[i];
        liana__examined_output output = {.name = objective->outputs[metric->output].name,
                                         .width = (size_t)liana__metric_num_rows(metric)};
        bool known = !metric->choice.metric->is_matrix || output.width > MOST_MATRIX_CLASSES;
        for (size_t k = 0; k < own->examined->num_outputs; k++) {
            known = known || (own->examined->outputs[k].name == output.name && own->examined->outputs[k].exclusive);
        }
        if (known) continue;
        output.classes = (liana__output_classes){.count = output.width,
                                                 .names = liana__run_output_names(own->examined->run, metric->output)};
        LIANA_TRY(draw_matrix(own, &output, totals->sums + metric->first_sum));
    }
    return LIANA_OK;
}

liana_status liana__report_classes(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
{
    const reporter own = {.examined = examined, .drawings = drawings, .arena = &examined->arena, .error = error};
    for (size_t i = 0; i < examined->num_outputs; i++) {
        liana__examined_output *output = &examined->outputs[i];
        if (output->classes.count) LIANA_TRY(report_output(&own, output));
    }
    return report_metrics(&own);
}
