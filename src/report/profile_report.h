/* profile_report.h - a profile as text for people, and as a trace for a viewer. */
#ifndef LIANA_REPORT_PROFILE_REPORT_H
#define LIANA_REPORT_PROFILE_REPORT_H

#include "base/text.h"
#include "train/run/measure.h"

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
