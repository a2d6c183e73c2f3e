/* arguments.h - the arguments of an operation, and how operations that move elements are built. */
#ifndef LIANA_LAYERS_OPERATION_ARGUMENTS_H
#define LIANA_LAYERS_OPERATION_ARGUMENTS_H

#include "layers/operation/operation.h"

/* False: not given. */
bool liana__operation_flag(const liana__operation_call *call, const char *name);
/* NULL: not given, or no word. */
const char *liana__operation_word(const liana__operation_call *call, const char *name);

/* These give false, and the graph fails, for an argument that is something else. */
bool liana__operation_number(const liana__operation_call *call, const char *name, double if_none, double *number);
bool liana__operation_integers(const liana__operation_call *call, const char *name, liana_ints *found);
/* An axis behind the batch, counted from 0, of operand 0 with `more` further axes. `if_none` NULL: it must be given. */
bool liana__operation_axis(const liana__operation_call *call, const char *name, int more, const int64_t *if_none,
                           int64_t *axis);
/* One or several of them. None would be all, which joins examples. */
bool liana__operation_axes(const liana__operation_call *call, const char *name, int more, liana_axes *axes);

/* Into equal parts, or at indices of the axis. */
liana_tensor liana__operation_split(liana__operation_call *call, int64_t axis);

#define LIANA__OPERATION_BUILD(name) liana_tensor liana__operation_build_##name(liana__operation_call *call)
LIANA__OPERATION_BUILD(reshape);
LIANA__OPERATION_BUILD(transpose);
LIANA__OPERATION_BUILD(expand_dims);
LIANA__OPERATION_BUILD(squeeze);
LIANA__OPERATION_BUILD(swapaxes);
LIANA__OPERATION_BUILD(moveaxis);
LIANA__OPERATION_BUILD(concatenate);
LIANA__OPERATION_BUILD(stack);
LIANA__OPERATION_BUILD(flip);
LIANA__OPERATION_BUILD(roll);
LIANA__OPERATION_BUILD(repeat);
LIANA__OPERATION_BUILD(tile);
LIANA__OPERATION_BUILD(get_item);
LIANA__OPERATION_BUILD(take);
LIANA__OPERATION_BUILD(pad);
LIANA__OPERATION_BUILD(tril);
LIANA__OPERATION_BUILD(triu);
LIANA__OPERATION_BUILD(matmul);
LIANA__OPERATION_BUILD(one_hot);
LIANA__OPERATION_BUILD(einsum);
/* In order.c. */
LIANA__OPERATION_BUILD(split);
LIANA__OPERATION_BUILD(unstack);
LIANA__OPERATION_BUILD(moments);
LIANA__OPERATION_BUILD(sort);
LIANA__OPERATION_BUILD(argsort);
LIANA__OPERATION_BUILD(top_k);
LIANA__OPERATION_BUILD(cumsum);
LIANA__OPERATION_BUILD(cumprod);
LIANA__OPERATION_BUILD(take_along_axis);

#endif
