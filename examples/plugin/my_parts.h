/* my_parts.h - the parts of my_parts.c for programs that are compiled with it, instead of loading it as a plugin. */
#ifndef MY_PARTS_H
#define MY_PARTS_H

#include <liana/liana.h>

/* The options of the layer Swish2, for liana_own_layer. */
typedef struct swish2_options {
    LIANA_LAYER_OPTIONS;
    double beta;
    bool learn;
} swish2_options;

liana_status register_my_parts(liana_context *context);

#endif
