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
 * out, and columns after the first 24. Errors: those of reading and of the caller. */
liana_status liana__report_columns(const liana__source *source, liana__on_bars on_bars, void *user, liana__error *error)
    LIANA_MUST_USE;

/* The name of a value of a component: its column's own name, and the component's where it is another. Of a component
 * with several values and no columns of their own, that of the component. */
void liana__report_column_name(const liana__source *source, size_t component, int64_t index, char *name, size_t size);

/* Draws "importance": how much the loss of the validation rises when the values of an input's column are exchanged
 * between examples, of up to 64 columns and 4,096 examples; the mean of three exchanges, and 0 where the loss falls.
 * Nothing is drawn of models without such inputs. The run is open with its validation data, and has weights. Errors:
 * those of the evaluation and of the receiver. */
liana_status liana__report_importance(liana__run *run, const liana__drawings *drawings, liana__error *error)
    LIANA_MUST_USE;

/* ---- data report ---- */

/* Pictures of the data that a run would be trained on. */

/* Draws, for files or a page:
 *
 * - `samples`: training images with their classes;
 * - `labels`: the number of examples of each class in training and validation;
 * - `sampling`: the same before and after oversampling or weighted sampling;
 * - `sizes`: sizes of the images in the files;
 * - `augmented`: originals next to their augmented images;
 * - of tables, `labels` and `column-01`, ...: the values of each column.
 *
 * The run is open with its training data. Errors: those of the data, of augmentation and of the pictures. */
liana_status liana__report_data(liana__run *run, const liana__drawings *drawings, liana__error *error) LIANA_MUST_USE;

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
