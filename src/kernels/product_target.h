/* product_target.h - where the products of matrices go, on vectors or on tiles of AMX.
 *
 * For *.kernels.h, included where tile_element is known. */
#ifndef LIANA_KERNELS_PRODUCT_TARGET_H
#define LIANA_KERNELS_PRODUCT_TARGET_H

#include "kernels/vector_epilogue.h"
#include "kernels/vector_moments.h"

/* C: `stride` is in elements; floats if `wide`, else as A's elements. */
typedef struct product_target {
    void *data;
    int64_t stride;
    bool wide;
    const epilogue *after;        /* the change of sums before they are stored, or NULL; on tiles for bf16 only */
    const tile_element *residual; /* added then, laid out like C; NULL: none */
    /* Not on tiles: */
    vector_moments *moments; /* TILE_VECTORS for each panel: of C's columns as they are stored; or NULL */
    void *widened;           /* room for widened_size of A (LIANA__WIDENED) */
} product_target;

/* C from row `first` on. */
static product_target target_from(const product_target *target, int64_t first)
{
    product_target rest = *target;
    const int64_t at = first * target->stride;
    rest.data = (char *)target->data + at * (int64_t)(target->wide ? sizeof(float) : sizeof(tile_element));
    if (target->residual) rest.residual = target->residual + at;
    return rest;
}

#endif
