/* synth_shape.h - the shapes of drawn flowers, the only difference between their classes. */
#ifndef LIANA_DATA_SYNTH_SHAPE_H
#define LIANA_DATA_SYNTH_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum liana__petal_outline {
    LIANA__PETAL_ROUND,
    LIANA__PETAL_POINTED, /* lance-shaped */
    LIANA__PETAL_NOTCHED, /* heart-shaped: two lobes at the tip */
    LIANA__PETAL_NARROW,  /* a strap */
    LIANA__PETAL_TOOTHED, /* widens to a fringed edge */
    LIANA__PETAL_SPOON,   /* a thin stalk with a round end */
    LIANA__PETAL_STAR,    /* a triangle that is widest at its base */
    LIANA__NUM_PETAL_OUTLINES,
} liana__petal_outline;

typedef struct liana__flower_shape {
    liana__petal_outline outline;
    int num_petals; /* in each row */
    int num_rows;   /* rows of petals; inner rows are shorter */
    double center;  /* radius of the centre / radius of the flower */
    bool spiral;    /* petals bent to one side, as in a windmill; the side is drawn for each image */
    /* The index of each in its list of choices, for names and distances. */
    int petals_choice;
    int center_choice;
} liana__flower_shape;

enum { LIANA__MAX_FLOWER_CLASSES = 1000 };

/* The shapes of classes 0..count-1 (count at most LIANA__MAX_FLOWER_CLASSES). Each is the shape least similar to all
 * before it. So few classes differ much, and class 3 is the same flower in a set of 10 and in one of 1000. */
void liana__flower_shapes(liana__flower_shape *shapes, size_t count);

/* The name of a shape: "round-5" (one row of 5 round petals, a middle-sized centre), "pointed-13x2-small-spiral" (two
 * rows of 13, a small centre). Different shapes have different names. Writes at most `size` bytes. */
void liana__flower_shape_name(const liana__flower_shape *shape, char *name, size_t size);

#endif
