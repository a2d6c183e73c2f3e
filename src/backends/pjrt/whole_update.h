/* whole_update.h - whole updates on the devices of a plugin; see backends/whole_update.h and liana__backend. */
#ifndef LIANA_BACKENDS_PJRT_WHOLE_UPDATE_H
#define LIANA_BACKENDS_PJRT_WHOLE_UPDATE_H

#include "backends/whole_update.h"

liana_status liana__pjrt_whole_create(liana__device *const *devices, size_t count, const liana__whole_plan *plan,
                                      liana__whole **whole, liana__error *error);
void liana__pjrt_whole_destroy(liana__whole *whole);
liana_status liana__pjrt_whole_keep(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error);
liana_status liana__pjrt_whole_stage(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error);
liana_status liana__pjrt_whole_launch(liana__whole *whole, const float *scalars, liana__error *error);
liana_status liana__pjrt_whole_collect(liana__whole *whole, float *first, float *penalties, int *statuses,
                                       liana__error *error);
liana_status liana__pjrt_whole_drop(liana__whole *whole, liana__error *error);
void liana__pjrt_whole_memory(const liana__whole *whole, liana__replica_memory *memory);

#endif
