/* summary.h - event files for TensorBoard: numbers, histograms, images and texts of a program by step.
 *
 *     liana_summary *summary;
 *     liana_summary_create(context, "logs/first", &summary);
 *     for (int64_t step = 0; step < num_steps; step++) {
 *         liana_step_run(own, &input, &results);
 *         liana_summary_results(summary, step, "train", &results);
 *     }
 *     liana_summary_destroy(summary);
 *
 * `tensorboard --logdir logs` shows them, and so do `liana inspect` and `liana plot`. TensorBoard makes a run of each
 * folder, and a group of all tags with the same text before a '/'. liana_fit and estimators write event files by
 * themselves (`summaries` of their options); callbacks of a program may add to them with a summary of their own.
 *
 * Values are kept in memory until 64 KiB of them wait, or liana_summary_flush. One thread at a time may use a summary.
 * In a cluster the chief writes: liana_fit_info(context).is_chief. Functions fail with INVALID_ARGUMENT for a tag that
 * is NULL or empty, with IO_ERROR and the file, or with OUT_OF_MEMORY; the messages are in the context. */
#ifndef LIANA_SUMMARY_H
#define LIANA_SUMMARY_H

#include <liana/step.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_summary liana_summary;

/* Makes a folder, if it is not there, and begins a file of a new name in it. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_create(liana_context *context, const char *folder,
                                                           liana_summary **summary);
/* Writes what waits, and closes the file. After a failure the summary is gone too. NULL is allowed. */
LIANA_API liana_status liana_summary_destroy(liana_summary *summary);
/* Writes what waits. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_flush(liana_summary *summary);
/* The path of the file. Valid as long as the summary. */
LIANA_API const char *liana_summary_path(const liana_summary *summary);

/* A number, which is stored as f32. NaN and infinities are stored as they are: TensorBoard shows them as such. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_scalar(liana_summary *summary, int64_t step, const char *tag,
                                                           double value);
/* The distribution of `count` values, in 30 buckets of equal width between the least and the greatest, as TensorFlow 2
 * stores it. Values that are not finite are left out; if none is finite nothing is stored. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_histogram(liana_summary *summary, int64_t step, const char *tag,
                                                              const float *values, int64_t count);
/* `count` images of bytes, [count, height, width, channels], with 1 channel (grey), 3 (red, green, blue). Errors:
 * also INVALID_ARGUMENT for a size that is not positive, or another number of channels. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_image(liana_summary *summary, int64_t step, const char *tag,
                                                          const uint8_t *pixels, int64_t count, int64_t height,
                                                          int64_t width, int64_t channels);
/* A text in Markdown. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_text(liana_summary *summary, int64_t step, const char *tag,
                                                         const char *text);
/* The means of all sums of a run of a step (liana_shard_sum), each as a scalar PREFIX/NAME; `prefix` NULL: NAME. So
 * what a shard function sums up is a summary, on every device. Without examples nothing is stored. */
LIANA_API LIANA_MUST_USE liana_status liana_summary_results(liana_summary *summary, int64_t step, const char *prefix,
                                                            const liana_step_results *results);

#ifdef __cplusplus
}
#endif
#endif
