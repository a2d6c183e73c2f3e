/* convolution.h - the common code of convolutions of images (dense and depthwise) and of volumes, and their
 * gradients. */
#ifndef LIANA_OPS_CONVOLUTION_H
#define LIANA_OPS_CONVOLUTION_H

#include "kernels/epilogue.h"
#include "ops/conv/window.h"

typedef struct liana__conv_attributes {
    liana__window window;
    int64_t groups;  /* 0 means 1; always 1 for depthwise convolutions */
    int64_t size[2]; /* of the gradients' results: the input's, or the kernel's, height and width */
    int activation;  /* of a convolution with an epilogue: liana__fused_activation */
    /* Of volumes: how the kernel slides over the planes (the vertical numbers), and the depth that `size` lacks. */
    liana__window depth;
    int64_t depth_size;
} liana__conv_attributes;

/* The attributes of the three ops of a family. The last row, `size`, is only for the two gradients. */
extern const liana__fields liana__conv_fields;
extern const liana__fields liana__conv_gradient_fields;
/* Of volumes. */
extern const liana__fields liana__conv3d_fields;
extern const liana__fields liana__conv3d_gradient_fields;

/* A family (dense or depthwise) is three ops, whose `details` it is. Each is linear in the results of the other two, so
 * the three build each other's gradients, of any order. Kernel gradients are sums over many pixels; they are wide: f32
 * for bf16 images. The family is also that of its op with an epilogue. */
typedef struct liana__conv_family {
    const liana__op *forward;         /* y from x and kernel */
    const liana__op *input_gradient;  /* dx from dy and kernel */
    const liana__op *kernel_gradient; /* dkernel (wide) from x and dy */
    bool depthwise;
    bool volumes; /* [batch, depth, height, width, channels]; the kernel has a depth too */
    const char *kernel_layout;
} liana__conv_family;
extern const liana__conv_family liana__conv2d_family;
extern const liana__conv_family liana__conv3d_family;
extern const liana__conv_family liana__depthwise_conv2d_family;

static inline int liana__conv_activation_of(const liana__node *node)
{
    return ((const liana__conv_attributes *)node->attributes)->activation;
}

/* Builds a forward op. */
liana_tensor liana__conv_build(liana_location here, const liana__op *op, liana_tensor x, liana_tensor kernel,
                               const liana_conv_options *options);

/* Which of the three ops of its family a node is. */
liana__conv_pass liana__conv_pass_of(const liana__node *node);

/* The sizes of the convolution to which a node belongs. A depthwise one is seen as a dense convolution with one group
 * for each channel. Of volumes: along height and width. */
liana__geometry liana__conv_geometry(const liana__node *node);
/* Of volumes, along the depth: axis 0 of each pair. */
liana__geometry liana__conv_depth(const liana__node *node);

/* The index of one element of x, y and the kernel. */
static inline int64_t liana__conv_at_input(const liana__geometry *g, int64_t n, int64_t row, int64_t column,
                                           int64_t channel)
{
    return ((n * g->input[0] + row) * g->input[1] + column) * g->channels + channel;
}

static inline int64_t liana__conv_at_output(const liana__geometry *g, int64_t n, int64_t row, int64_t column,
                                            int64_t filter)
{
    return ((n * g->output[0] + row) * g->output[1] + column) * g->filters + filter;
}

static inline int64_t liana__conv_at_kernel(const liana__geometry *g, int64_t row, int64_t column, int64_t channel,
                                            int64_t filter)
{
    return ((row * g->window[1] + column) * (g->channels / g->groups) + channel) * g->filters + filter;
}

/* ---- members of the ops ---- */

liana_status liana__conv_infer_forward(liana__infer *infer);
liana_status liana__conv_infer_input_gradient(liana__infer *infer);
liana_status liana__conv_infer_kernel_gradient(liana__infer *infer);
void liana__conv_forward_gradient(liana__gradient *gradient);
void liana__conv_input_gradient_gradient(liana__gradient *gradient);
void liana__conv_kernel_gradient_gradient(liana__gradient *gradient);
/* Two operations for each cell of the window and output. The variant is the window's size. */
void liana__conv_cost(const liana__node *node, liana__cost *cost);
void liana__conv_cost_of_geometry(const liana__geometry *geometry, liana__cost *cost);
/* The gradient of a kernel is a sum over the images. */
liana__parts liana__conv_kernel_gradient_parts(const liana__node *node);
/* Dense convolutions of single pixels (1x1), with strides or without. */
bool liana__conv_product(const liana__node *node, struct liana__product *product, const char **reason);
liana_status liana__conv_lower(struct liana__lowering *lowering, const liana__node *node);

/* `prepare` of the kernels on oneDNN. */
liana_status liana__conv_onednn_prepare(const liana__node *node, liana__prepared *prepared, liana__error *error);

/* Plain loops for all six ops. In memory, a depthwise kernel [height, width, channels, multiplier] is like the dense
 * one of its grouped convolution, [height, width, 1, channels * multiplier]. */
liana_status liana__conv_run_reference(const liana__call *call);

/* A plain loop over the elements of a result. The dtype of all tensors is that of input 0. */
typedef struct liana__conv_loop {
    const liana__call *call;
    liana__geometry geometry;
    size_t dy; /* the input that is dy; the kernel is the next one */
    /* The gradient of one element of the convolution's result. */
    double (*dy_at)(const struct liana__conv_loop *loop, int64_t n, int64_t row, int64_t column, int64_t filter);
    /* Makes the value of element `element` of the sum. NULL: it is the sum. */
    double (*finish)(const liana__call *call, int64_t element, double sum);
} liana__conv_loop;

/* The sum for one element, from its four coordinates. Input 0 of forward ops and of kernel gradients is x. */
typedef double liana__conv_element(const liana__conv_loop *loop, int64_t a, int64_t b, int64_t c, int64_t d);
liana__conv_element liana__conv_forward_element, liana__conv_input_gradient_element,
    liana__conv_kernel_gradient_element;
liana_status liana__conv_run_loop(const liana__conv_loop *loop, liana__conv_element *element);

#endif
