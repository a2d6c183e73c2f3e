/* stage_models.h - a model of each stage of datasets in plain arrays, and functions that pipelines of tests call. */
#ifndef LIANA_TESTS_STAGE_MODELS_H
#define LIANA_TESTS_STAGE_MODELS_H

#include "harness/harness.h"

#include <liana/liana.h>

enum { MAX_ELEMENTS = 600, MAX_VALUES = 16 };

/* The results of a stage, as arrays: each element is one value, or the values of a batch. */
typedef struct item {
    int64_t values[MAX_VALUES];
    int count;
    int valid; /* of a padded batch */
    uint64_t record;
} item;

typedef struct list {
    int count;
    item items[MAX_ELEMENTS];
} list;

typedef enum kind {
    RANGE,
    SLICES,
    GENERATOR,
    RANDOM, /* and take */
    MAP,
    FILTER,
    TAKE_WHILE,
    UNIQUE,
    RESAMPLE,
    SCAN,
    REDUCE,
    FLAT_MAP,
    INTERLEAVE,
    SHUFFLE,
    REPEAT,
    ENDLESS, /* and take */
    TAKE,
    SKIP,
    SHARD,
    BATCH,
    PADDED,
    REBATCH,
    WINDOW,
    GROUP,
    UNBATCH,
    ZIP,
    CONCATENATE,
    TURNS, /* interleave_datasets */
    SAMPLE,
    CHOOSE,
    ENUMERATE,
    CACHE,
    CACHE_FILE,
    PREFETCH,
} kind;

typedef struct node {
    kind kind;
    int64_t a, b, c;
    struct node *inputs[2];
    bool random_access;
    bool batched;
    liana_remainder remainder;
    liana_dataset *dataset;
} node;

/* What the functions of map and filter do with a value, and those of take_while. */
int64_t liana__test_mapped(int64_t value, const liana_example_address *address);
bool liana__test_kept(int64_t value, const liana_example_address *address);
bool liana__test_goes_on(int64_t value, const liana_example_address *address);
/* The value's class, from 0 to 2. */
int64_t liana__test_class_of(int64_t value);

enum { BELOW = 1000003 }; /* keeps sums small */

enum { NUM_CHOICES = 24 };
/* The choices of choose_from_datasets. */
int64_t liana__test_choice_of(const node *own, int64_t index);

/* The elements of a stage; its other values are those of the stages below it. */
void liana__test_evaluate_stage(const node *own, uint64_t seed, uint64_t epoch, list *out);

#endif
