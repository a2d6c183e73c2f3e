/* gradients.h - builders that only gradient rules use. Each is an op like any other, with its own samples. */
#ifndef LIANA_OPS_GRADIENTS_H
#define LIANA_OPS_GRADIENTS_H

#include "ops/ops.h"

/* pad that also puts `interior[i]` cells between neighbours along axis i: the gradient of a strided slice. */
liana_tensor liana__pad_interior(liana_location here, liana_tensor x, const int64_t *low, const int64_t *high,
                                 const int64_t *interior, double value);

/* Zeros [.., size at `axis`, ..] to which updates are added. From `axis` on, the axes of the updates are those of the
 * indices (s32, clamped to the range). The gradient of gather. */
liana_tensor liana__op_scatter_add_at(liana_location here, liana_tensor updates, liana_tensor indices, int64_t axis,
                                      int64_t size);

#endif
