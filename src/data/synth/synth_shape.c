/* Chooses the shapes that tell the classes apart. */
#include "data/synth/synth_shape.h"

#include <math.h>
#include <stdio.h>

static const char *const outline_names[] = {"round", "pointed", "notched", "narrow", "toothed", "spoon", "star"};
static const int petal_choices[] = {5, 8, 3, 13, 7, 21, 6, 10, 17};
static const double center_choices[] = {0.22, 0.38, 0.12};
static const char *const center_names[] = {"", "-large", "-small"};

enum {
    NUM_PETAL_CHOICES = sizeof petal_choices / sizeof *petal_choices,
    NUM_CENTERS = sizeof center_choices / sizeof *center_choices,
    NUM_ROWS = 3,
    NUM_SPIRALS = 2,
    NUM_SHAPES = LIANA__NUM_PETAL_OUTLINES * NUM_PETAL_CHOICES * NUM_CENTERS * NUM_ROWS * NUM_SPIRALS,
    /* Three or four arms bent to one side are emblems, not flowers: no choice is 4, and 3 petals stay straight. */
    FEWEST_SPIRAL_PETALS = 5,
    NUM_LEFT_OUT = LIANA__NUM_PETAL_OUTLINES * NUM_CENTERS * NUM_ROWS,
};
_Static_assert(NUM_SHAPES - NUM_LEFT_OUT >= (int)LIANA__MAX_FLOWER_CLASSES,
               "not enough shapes for the classes promised");

/* The shapes numbered 0..NUM_SHAPES-1; 0 is the plainest flower. */
static liana__flower_shape make_shape(int number)
{
    liana__flower_shape shape = {.outline = number % LIANA__NUM_PETAL_OUTLINES};
    number /= LIANA__NUM_PETAL_OUTLINES;
    shape.petals_choice = number % NUM_PETAL_CHOICES;
    shape.num_petals = petal_choices[shape.petals_choice];
    number /= NUM_PETAL_CHOICES;
    shape.center_choice = number % NUM_CENTERS;
    shape.center = center_choices[shape.center_choice];
    number /= NUM_CENTERS;
    shape.num_rows = 1 + number % NUM_ROWS;
    shape.spiral = number / NUM_ROWS;
    return shape;
}

/* How unlike two shapes look, squared. The weights are a judgement: the outline and the number of petals meet the eye
 * first, then the spiral, the rows, the centre. */
static double difference(const liana__flower_shape *a, const liana__flower_shape *b)
{
    double outline = a->outline != b->outline ? 1.0 : 0.0;
    double petals = 0.9 * log((double)a->num_petals / b->num_petals);
    double spiral = a->spiral != b->spiral ? 0.7 : 0.0;
    double rows = 0.4 * (a->num_rows - b->num_rows);
    double center = 2.0 * (a->center - b->center);
    return outline * outline + petals * petals + spiral * spiral + rows * rows + center * center;
}

void liana__flower_shapes(liana__flower_shape *shapes, size_t count)
{
    /* Farthest-point order: `nearest` is each shape's difference from the nearest one taken so far. */
    double nearest[NUM_SHAPES];
    for (int i = 0; i < NUM_SHAPES; i++) {
        liana__flower_shape shape = make_shape(i);
        nearest[i] = shape.spiral && shape.num_petals < FEWEST_SPIRAL_PETALS ? -1 : INFINITY;
    }
    int next = 0;
    for (size_t taken = 0; taken < count; taken++) {
        shapes[taken] = make_shape(next);
        int farthest = 0;
        for (int i = 0; i < NUM_SHAPES; i++) {
            liana__flower_shape shape = make_shape(i);
            double distance = difference(&shape, &shapes[taken]);
            if (distance < nearest[i]) nearest[i] = distance;
            if (nearest[i] > nearest[farthest]) farthest = i;
        }
        next = farthest;
    }
}

void liana__flower_shape_name(const liana__flower_shape *shape, char *name, size_t size)
{
    char rows[16] = "";
    if (shape->num_rows > 1) snprintf(rows, sizeof rows, "x%d", shape->num_rows);
    snprintf(name, size, "%s-%d%s%s%s", outline_names[shape->outline], shape->num_petals, rows,
             center_names[shape->center_choice], shape->spiral ? "-spiral" : "");
}
