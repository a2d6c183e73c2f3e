/* quarantine.h - a source without the records that a list names. */
#ifndef LIANA_DATA_QUARANTINE_H
#define LIANA_DATA_QUARANTINE_H

#include "data/check/bad_records.h"
#include "data/source/source.h"

/* Leaves out of *source the records that `list` names by file and number, whichever part it says: the others keep their
 * order and close up, so an epoch has exactly as many examples as remain. The result takes the place of the source and
 * closes it; it is the source itself where nothing is left out. *num_left_out may be NULL. Errors: OUT_OF_MEMORY;
 * INVALID_DATA (no record remains); then *source is as it was. */
liana_status liana__source_leave_out(liana__source **source, const liana__bad_records *list, uint64_t *num_left_out,
                                     liana__error *error) LIANA_MUST_USE;

#endif
