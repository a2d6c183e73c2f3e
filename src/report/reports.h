/* reports.h - the pages, pictures and texts that commands write about runs, data and devices. */
#ifndef LIANA_REPORT_REPORTS_H
#define LIANA_REPORT_REPORTS_H

#include "data/source/source.h"
#include "report/drawing.h"
#include "report/run_plot.h"
#include "train/config/sweep.h"
#include "train/run/measure.h"
#include "train/training/device_comparison.h"
#include "train/training/rate_finder.h"
#include "train/training/tile_plan.h"

/* ---- column report ---- */

/* Pictures of the columns of a table: how often which values occur. */

/* Called with each picture, which is drawn by the caller: `number` from 1. Strings are borrowed. */
typedef liana_status (*liana__on_bars)(void *user, size_t number, const liana__bars *bars);

/* Counts the values of each component of a source: the names of categories, and ranges of other numbers. Texts are left
 * out, and columns after the first 24. Values that are not finite are in no range; the title has their number. With
 * the source's skip_damage, records that cannot be read are left out. Errors: those of reading and of the caller. */
liana_status liana__report_columns(const liana__source *source, liana__on_bars on_bars, void *user, liana__error *error)
    LIANA_MUST_USE;

/* "area", "area (in features)", "words[3]": value `index` of a component of a source. */
void liana__column_title(const liana__source *source, size_t component, int64_t index, char *title, size_t size);

/* ---- correlations ---- */

/* How much the columns of a table have to do with each other. */

enum { LIANA__MOST_CORRELATED = 24 };

typedef struct liana__correlation_request {
    int64_t num_classes; /* of the label, which is the first column; 0: without it */
    int64_t label_offset;
} liana__correlation_request;

typedef struct liana__correlations {
    size_t count; /* of columns */
    const char **names;
    bool *categories; /* the column has names: a class, a category, a bin of a hash */
    double *values;   /* [count, count]; NaN: not defined */
} liana__correlations;

/* Reads all records once, in memory that does not depend on their number. Between
 * - numbers: Pearson's r, the sum of products of distances from the means over the root of the product of the sums of
 *   squares (Pearson, "Note on regression and inheritance in the case of two parents", 1895);
 * - categories: Cramer's V, sqrt(chi^2 / (n (min(rows, columns) - 1))), of rows and columns that occur, without a
 *   correction (Cramer, "Mathematical Methods of Statistics", 1946, chapter 21);
 * - a category and a number: the correlation ratio, the root of the sum of squares between the categories over the
 *   whole (Fisher, "Statistical Methods for Research Workers", 1925, chapter VIII).
 * It is not defined for a column with only one value, nor for one record. Records where one of the two is not finite
 * are left out of that pair, and with the source's skip_damage those that cannot be read of all. Columns after the
 * first LIANA__MOST_CORRELATED, texts, and categories of more than 100 names are left out. Everything is in the arena.
 * Errors: those of reading; OUT_OF_MEMORY. */
liana_status liana__correlations_find(const liana__source *source, const liana__correlation_request *request,
                                      liana__arena *arena, liana__correlations *found, liana__error *error)
    LIANA_MUST_USE;

/* ---- importance ---- */

/* Draws "importance": how much the loss of the validation rises when the values of an input's column are exchanged
 * between examples, of up to 64 columns and 4,096 examples; the mean of three exchanges, and 0 where the loss falls.
 * Nothing is drawn of models without such inputs. The run is open with its validation data, and has weights. Errors:
 * those of the evaluation and of the receiver. */
liana_status liana__report_importance(liana__run *run, const liana__drawings *drawings, liana__error *error)
    LIANA_MUST_USE;

/* ---- data report ---- */

/* Pictures of the data that a run would be trained on. */

/* The parts of the data. */
typedef enum liana__report_part {
    LIANA__PART_TRAINING,
    LIANA__PART_VALIDATION,
    LIANA__PART_TEST,
    LIANA__PART_ALL,
} liana__report_part;

/* "training", "validation", "test", "all"; ended by NULL. */
extern const char *const liana__report_part_names[];
/* The data of a part; not of all. */
liana__run_data *liana__run_part(liana__run *run, liana__report_part part);

typedef struct liana__data_report_options {
    liana__report_part part; /* PART_ALL: each that is open; of others than training only samples then */
    uint64_t seed;           /* from 1: which set of images is drawn; the same seed draws the same ones */
    bool batches;            /* also batches next to their originals */
} liana__data_report_options;

/* Draws, for files or a page:
 *
 * - `samples`, `validation-samples`, `test-samples`: images with their classes, or with their ids;
 * - `labels`: the number of examples of each class in training and validation;
 * - `sampling`: the same before and after oversampling or weighted sampling;
 * - `sizes`: sizes of the images in the files;
 * - `augmented`: originals next to their augmented images;
 * - `batch-sampled`: images of a batch in shuffled order, next to a batch with oversampling or weighted sampling;
 * - `batch-augmented`: the originals of a batch next to the batch as the model gets it;
 * - of tables, `labels`, `column-01`, ...: the values of each column, and `correlations`.
 *
 * Of other parts the names begin with that of the part. The run is open with the part's data. Errors: those of the
 * data, of augmentation and of the receiver. */
liana_status liana__report_data(liana__run *run, const liana__data_report_options *options,
                                const liana__drawings *drawings, liana__error *error) LIANA_MUST_USE;

/* ---- batch report ---- */

/* Describes batch `number` of the first epoch, from 0, in a map: `part`, `epoch`, `batch`, `examples`, and a list of
 * `components`, each with name, dtype, shape, smallest, mean and largest value, how many are not finite if some are,
 * and the first values. The run is open with the part. Everything is in the arena. Errors: those of the data;
 * OUT_OF_RANGE (the epoch has fewer batches). */
liana_status liana__report_batch(liana__run *run, liana__report_part part, uint64_t number, liana__arena *arena,
                                 liana__value *report, liana__error *error) LIANA_MUST_USE;

/* ---- device report ---- */

/* A comparison of devices as text. */

/* A table with a row for each layer: the largest difference of its output, its gradients and its weights, each with its
 * share of the difference that rounding explains. Then the losses. */
void liana__device_report(const liana__device_comparison *comparison, const char *const names[2], liana__text *text);

/* In one sentence or two: where the devices first differ by more than rounding explains, or that they do not. */
void liana__device_verdict(const liana__device_comparison *comparison, const char *const names[2], liana__text *text);

/* ---- rate report ---- */

/* The curve of a learning-rate sweep as a picture and as numbers. */

/* Draws loss by rate, with rings at the suggested rate and at the lowest loss (.png or .svg). A suggestion of NaN:
 * missing. Errors: those of liana__figure_write. */
liana_status liana__report_rates(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                 const char *path, liana__error *error) LIANA_MUST_USE;

/* Writes update, rate, loss and smoothed loss of each update, and to .json also the suggestion. Another ending than
 * .json is CSV (RFC 4180). Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__report_rate_numbers(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                        const char *path, liana__error *error) LIANA_MUST_USE;

/* ---- run report ---- */

/* The training curves of a run; its predictions are in report/examine.h. */

/* Draws loss and metrics of a run that has at least one epoch. `arena` is for values. Errors: those of
 * liana__curves_write. */
liana_status liana__report_curves(const liana__run_files *run, const char *path, liana__arena *arena,
                                  liana__error *error) LIANA_MUST_USE;

/* ---- sweep report ---- */

/* The page of a sweep: its table, its pictures and the conclusions from its numbers. */

/* Writes a page in Markdown to `path`, and its pictures into the folder "images" next to it, called as the page is:
 * means and spread of all settings, and the curves of each comparison's first finished seed. A difference of means
 * counts if it is more than twice its standard error, sqrt(s1^2/n1 + s2^2/n2) (Welch 1947). The same runs give the same
 * bytes. Errors: INVALID_CONFIG (no run is finished), IO_ERROR, OUT_OF_MEMORY, those of pictures. */
liana_status liana__sweep_report_write(const liana__sweep_results *results, const char *path, liana__error *error)
    LIANA_MUST_USE;

/* Writes the setting of a run that has ended, if the run writes event files, for TensorBoard's table of
 * hyperparameters. The runs of one setting are a group there. Times are in seconds since 1970. Errors: those of reading
 * the run's configuration, IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__sweep_events_write(const liana__sweep *sweep, const liana__sweep_run *run, double begin, double end,
                                       bool has_failed, liana__error *error) LIANA_MUST_USE;

/* ---- tile report ---- */

/* The plan of a training on a TPU, as text. */

/* A row for each layer whose products or results are padded, the `most` worst first by their padding; all of them if
 * `most` is 0. Then the whole, memory by part, and advice on shards and widths. */
void liana__tile_report(const liana__tile_plan *plan, size_t most, liana__text *text);

/* ---- profile report ---- */

/* A profile as text for people, and as a trace for a viewer. */

/* "conv2d_input_gradient 1x1"; in `name`. */
void liana__profile_op_name(const liana__profile_row *row, char *name, size_t size);
/* The name of the first variable that a node reads, which tells the layer; "" if there is none. */
const char *liana__profile_variable_name(const liana__node *node);
/* Which limit decides a row's roofline: "memory" or "compute". */
const char *liana__profile_bound(const liana__profile_row *row);
/* A row's share of the workers' time. */
double liana__profile_share(const liana__profile *profile, double worker_seconds);

/* The share of the threads' working time in which they really had a core, at most 1. If it is less, other programs were
 * running, and the times mean little. */
double liana__profile_undisturbed(const liana__profile *profile);

/* The kernels that ran the nodes of an op row, "avx512" or "onednn, reference"; and why the kernels before them in the
 * op's list declined, "amx: not bf16; ..."; "" if none did. */
void liana__profile_kernels(const liana__profile *profile, const liana__profile_row *op, liana__text *text);
void liana__profile_declined(const liana__profile *profile, const liana__profile_row *op, liana__text *text);

/* Appends one line: where the time goes. */
void liana__profile_verdict(const liana__profile *profile, liana__text *text);

/* Prints the machine, the steps, a table of ops (and of nodes), the declined kernels, and the verdict. */
void liana__profile_print(const liana__profile *profile, bool nodes, liana__text *text);

/* Writes a trace for ui.perfetto.dev or chrome://tracing ("Trace Event Format"): a track for each worker with its
 * shards, nodes and reductions, one for the steps with waiting, shards and update, one for each reading thread.
 * The path may be a gs:// or s3:// URL. Errors: those of writing, OUT_OF_MEMORY. */
liana_status liana__profile_write_trace(const liana__profile *profile, const char *path, liana__error *error)
    LIANA_MUST_USE;

#endif
