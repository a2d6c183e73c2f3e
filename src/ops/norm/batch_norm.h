/* batch_norm.h - the common code of the ops of batch normalisation and of their kernels.
 *
 * Throughout: x and dy [.., channels]; statistics, sums [2, channels]; gamma, beta, mean, variance [channels]. All
 * tensors but x, dy and those of their shape are "wide": f64 for f64 images, else f32 (also for bf16). N is the number
 * of elements of a channel, r = 1 / sqrt(variance + epsilon), xhat = (x - mean) r. */
#ifndef LIANA_OPS_BATCH_NORM_H
#define LIANA_OPS_BATCH_NORM_H

#include "kernels/epilogue.h"
#include "kernels/vector_kernels.h"
#include "ops/ops.h"

typedef struct liana__batch_norm_attributes {
    double epsilon;
    int activation; /* liana__fused_activation, in the ops of batch_norm_activation.c; elsewhere nothing */
    int64_t rows; /* rows of the images over which the sums are, if x is a part of them; else 0. Users never see it. */
} liana__batch_norm_attributes;

/* [2, channels]: for each channel, the sum of dy and the sum of dy xhat. */
liana_tensor liana__op_batch_norm_gradient_sums_at(liana_location here, liana_tensor x, liana_tensor dy,
                                                   liana_tensor statistics, double epsilon);

/* gamma r (dy - sums[0] / N - xhat sums[1] / N): the gradient of batch_norm_training for x, from those sums. It
 * includes the path through the statistics (Ioffe and Szegedy 2015, section 3). */
liana_tensor liana__op_batch_norm_input_gradient_at(liana_location here, liana_tensor x, liana_tensor dy,
                                                    liana_tensor gamma, liana_tensor statistics, liana_tensor sums,
                                                    double epsilon);

/* Checks for shape rules: that an input has one number (or two stacked ones) for each channel of the images, input 0;
 * that it has their dtype and shape; and epsilon. */
liana_status liana__batch_norm_check_channels(liana__infer *infer, size_t index, const char *name, bool stacked);
liana_status liana__batch_norm_check_like_images(liana__infer *infer, size_t index, const char *name);
liana_status liana__batch_norm_check_epsilon(liana__infer *infer);

/* Parts of a batch; bit i of `whole`: all of input i. */
liana__parts liana__batch_norm_parts(const liana__node *node, liana__part_kind kind, uint64_t whole);
liana__parts liana__batch_norm_gradient_sums_parts(const liana__node *node);
liana__parts liana__batch_norm_input_gradient_parts(const liana__node *node);
/* For them: tells a part's input gradient that N is that of the sums, not of the part. */
void liana__batch_norm_note_rows(const liana__node *whole, void *part);
/* Adds sums of parts in f64, since terms of large parts may cancel. */
void liana__batch_norm_merge_sums(const liana__node *node, const void *parts, size_t stride, size_t count,
                                  void *result);

/* Plain loops, also of the ops that end in an activation. */
liana_status liana__batch_norm_run_training(const liana__call *call);
liana_status liana__batch_norm_run_inference(const liana__call *call);
liana_status liana__batch_norm_run_gradient_sums(const liana__call *call);
liana_status liana__batch_norm_run_input_gradient(const liana__call *call);

/* x as a matrix. */
typedef struct liana__batch_norm_sizes {
    int64_t rows; /* N */
    int64_t channels;
} liana__batch_norm_sizes;

static inline liana__batch_norm_sizes liana__batch_norm_sizes_of(const liana__node *node)
{
    const liana_shape *x = liana__input_shape(node, 0);
    int64_t channels = x->dims[x->rank - 1];
    return (liana__batch_norm_sizes){liana_shape_size(x) / channels, channels};
}

static inline double liana__batch_norm_epsilon(const liana__node *node)
{
    return ((const liana__batch_norm_attributes *)node->attributes)->epsilon;
}

/* For the plain loops: an element of an input that is wide, and of one that has the dtype of the images. */
static inline double liana__load_wide(const liana__call *call, size_t index, int64_t place)
{
    return liana__load(call->src[index], liana__wide_dtype(call->node->inputs[0]->dtype), place);
}

static inline double liana__load_image(const liana__call *call, size_t index, int64_t place)
{
    return liana__load(call->src[index], call->node->inputs[0]->dtype, place);
}

/* The N of the sums that the gradient of the images reads. */
static inline double liana__batch_norm_summed_rows(const liana__node *node)
{
    int64_t rows = ((const liana__batch_norm_attributes *)node->attributes)->rows;
    return (double)(rows ? rows : liana__batch_norm_sizes_of(node).rows);
}

static inline int liana__batch_norm_activation_of(const liana__node *node)
{
    return ((const liana__batch_norm_attributes *)node->attributes)->activation;
}

/* Whether a node gives, in f64, statistics of a part of images, to be merged. */
static inline bool liana__batch_norm_is_part_of_statistics(const liana__node *node)
{
    return node->op == &liana__op_batch_norm_statistics && node->dtype == LIANA_F64 &&
           node->inputs[0]->dtype != LIANA_F64;
}

LIANA__DECLARE_VECTOR_KERNELS(batch_norm_statistics);
LIANA__DECLARE_VECTOR_KERNELS(batch_norm_training);
LIANA__DECLARE_VECTOR_KERNELS(batch_norm_inference);
LIANA__DECLARE_VECTOR_KERNELS(batch_norm_gradient_sums);
LIANA__DECLARE_VECTOR_KERNELS(batch_norm_input_gradient);

#endif
