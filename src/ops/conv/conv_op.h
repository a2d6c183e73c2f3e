/* conv_op.h - defines an op of a family of convolutions, in a file that has a list `kernels`. */
#ifndef LIANA_OPS_CONV_OP_H
#define LIANA_OPS_CONV_OP_H

#include "ops/conv/convolution.h"

/* `pass` is forward, input_gradient or kernel_gradient. Further members follow. */
#define LIANA__CONV_OP(op_name, pass, fields, precision_class, parts_of, op_family, op_doc, ...) \
    const liana__op liana__op_##op_name = {.name = #op_name,                                     \
                                           .doc = (op_doc),                                      \
                                           .attributes = &(fields),                              \
                                           .num_inputs = 2,                                      \
                                           .infer = liana__conv_infer_##pass,                    \
                                           .gradient = liana__conv_##pass##_gradient,            \
                                           .precision = (precision_class),                       \
                                           .cost = liana__conv_cost,                             \
                                           .parts = (parts_of),                                  \
                                           .lower = liana__conv_lower,                           \
                                           .kernels = kernels,                                   \
                                           .details = &(op_family),                              \
                                           __VA_ARGS__};

/* The three of a family. */
#define LIANA__CONV_OPS(op_name, op_family, op_doc, ...)                                                            \
    LIANA__CONV_OP(op_name, forward, liana__conv_fields, LIANA__MULTIPLIES, liana__parts_first_input, op_family,    \
                   op_doc, .with_epilogue = &liana__op_##op_name##_affine, __VA_ARGS__)                             \
    LIANA__CONV_OP(op_name##_input_gradient, input_gradient, liana__conv_gradient_fields, LIANA__MULTIPLIES,        \
                   liana__parts_first_input, op_family,                                                             \
                   "The gradient of " #op_name " with respect to its images, from dy and the kernel.", __VA_ARGS__) \
    LIANA__CONV_OP(op_name##_kernel_gradient, kernel_gradient, liana__conv_gradient_fields,                         \
                   LIANA__MULTIPLIES_AND_SUMS, liana__conv_kernel_gradient_parts, op_family,                        \
                   "The gradient of " #op_name " with respect to its kernel, from the images and dy.", __VA_ARGS__)

#endif
