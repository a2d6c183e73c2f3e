/* quarantine.h - quarantine: a source without the records of a list. */
#ifndef LIANA_DATA_QUARANTINE_H
#define LIANA_DATA_QUARANTINE_H

#include "data/check/bad_records.h"
#include "data/source/source.h"

/* Leaves out of *source the records that `list` names by file and number, whatever part it says. The others keep their
 * order and close up, so an epoch has exactly as many examples as remain. The result replaces the source, and closes
 * it; if nothing is left out, it is the source itself. *num_left_out may be NULL. Errors: OUT_OF_MEMORY; INVALID_DATA
 * (no record remains); then *source is unchanged. */
liana_status liana__source_leave_out(liana__source **source, const liana__bad_records *list, uint64_t *num_left_out,
                                     liana__error *error) LIANA_MUST_USE;

#endif
