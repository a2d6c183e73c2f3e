/* import_elements.h - constants as operands of operations. */
#ifndef LIANA_ONNX_IMPORT_ELEMENTS_H
#define LIANA_ONNX_IMPORT_ELEMENTS_H

#include "onnx/import_internal.h"

/* Appends a constant as an operation has it: lists of numbers along the axes of the value's result behind the batch, or
 * with `whole` from the batch on. The value may get axes of one element. */
liana_status liana__import_write_constant(liana__import *own, liana__import_node *node,
                                          liana__import_constant *constant, liana__import_value *value, bool whole,
                                          liana__text *text) LIANA_MUST_USE;

#endif
