/* augment.h - the place of an example in a run, and random numbers for it, as functions of a program get them. A
 * program's own augmentations are liana_augmentation_type of parts.h. */
#ifndef LIANA_AUGMENT_H
#define LIANA_AUGMENT_H

#include <liana/context.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place of an example in a run. Its random numbers are a function of this address. */
typedef struct liana_example_address {
    uint64_t seed;
    uint64_t epoch;    /* from 0 */
    uint64_t position; /* differs for each example of each epoch */
    uint64_t record;   /* the example's index in the data */
} liana_example_address;

/* The random number `index` of an example, in [0, 1); 0 if the address is NULL. Each call with the same address and
 * index gives the same number. The numbers are independent of those that liana's own stages draw. */
LIANA_API double liana_example_uniform(const liana_example_address *address, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
