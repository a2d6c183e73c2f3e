/* bundle.h - incidents as folders, for `liana replay`. A folder has graph.bin (ir/graph_file.h), tensors.safetensors
 * ("inputs/NAME" and "variables/NAME"), report.json (version, facts, finding, checksum of the tensors) and report.txt,
 * for people. It is written under another name, synced and renamed. */
#ifndef LIANA_TRAIN_BUNDLE_H
#define LIANA_TRAIN_BUNDLE_H

#include "step/incident.h"

/* The newest version, which is written. */
enum { LIANA__BUNDLE_VERSION = 1 };

/* The most bundles of one folder; then no more are written. */
enum { LIANA__MOST_BUNDLES = 8 };

/* Writes an examined incident to `folder`/bad-numbers-UPDATE, or -2, -3, ... behind it if there is one. *path, in the
 * incident's arena, is that folder; NULL: there are MOST_BUNDLES already. Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__bundle_write(liana__incident *incident, const char *folder, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* Reads one; `recorded` receives the finding of the report, in the incident's arena, and the incident has none. Free it
 * in any case. Errors, with the file: NOT_FOUND, IO_ERROR, DATA_LOSS (damaged), INVALID_DATA (no bundle, or of a newer
 * version), OUT_OF_RANGE (a file that claims to be larger than is read), UNIMPLEMENTED (a dtype of safetensors that
 * liana does not have), OUT_OF_MEMORY. */
liana_status liana__bundle_read(liana_context *context, const char *path, liana__incident *incident,
                                const liana__value **recorded, liana__error *error) LIANA_MUST_USE;

/* ---- incident report ---- */

/* What was found out about a step of a training, for people. */

/* Facts and finding as a text of several lines. Running out of memory leaves it empty. */
void liana__incident_report(const liana__incident *incident, liana__text *text);

#endif
