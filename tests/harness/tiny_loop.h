/* tiny_loop.h - loops of a test's own over small images: the parts of their steps. */
#ifndef LIANA_TESTS_TINY_LOOP_H
#define LIANA_TESTS_TINY_LOOP_H

#include "harness/tiny_fit.h"

enum {
    LIANA__LOOP_COUNT = 90,
    LIANA__LOOP_PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE,
};

typedef struct liana__tiny_loop {
    liana_context *context;
    liana_dataset *data;
    liana_device *device;
    liana_variables *variables;
    liana_model *model;
    uint8_t *images; /* [LIANA__LOOP_COUNT, LIANA__LOOP_PIXELS], those of the data */
    int32_t labels[LIANA__LOOP_COUNT];
    /* The test's. */
    const char *optimizer; /* without a rate */
    const char *forgotten; /* the component that the loop leaves out; NULL: none */
    liana_strategy strategy;
} liana__tiny_loop;

/* Makes the test's folder with the data, and opens all on the CPU; the model is make_model's. */
liana__tiny_loop liana__tiny_loop_open(int threads, liana_model *(*make_model)(liana_context *context));
void liana__tiny_loop_close(liana__tiny_loop *own);

/* "image" and "label". */
extern const liana_component liana__loop_components[2];
/* The examples from `first` on, with the scalar "rate". */
liana_step_input liana__loop_batch(const liana__tiny_loop *own, int64_t first, int64_t count, double rate);
/* The shard's images as numbers from 0 to 1. */
liana_tensor liana__loop_image(liana_shard *shard);
/* A step whose variables begin as the model's. */
liana_step *liana__loop_step(const liana__tiny_loop *own, const liana_step_options *options);

#endif
