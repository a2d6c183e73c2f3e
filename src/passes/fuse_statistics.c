/* A convolution's kernel also gives the statistics of its result.
 *
 * In training, batch normalisation needs the mean and variance of all its input first. The graph stays as it is. A
 * backend lets a kernel that can (`gives_companion` in ir/op.h) add its results up while they are in registers, and
 * leaves out the node that would read them again. It does so only if both run slice by slice over the batch: statistics
 * are then made from those of slices, each of which one worker computes from beginning to end. */
#include "passes/pass.h"

const liana__pass liana__pass_fuse_statistics = {
    .name = "fuse_statistics",
    .doc = "Convolutions also give the batch statistics of their results, slice by slice, so the results are not read "
           "again (applied when a backend chooses kernels).",
};
