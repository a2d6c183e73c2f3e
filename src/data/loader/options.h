/* options.h - the options of a loader. */
#ifndef LIANA_DATA_LOADER_OPTIONS_H
#define LIANA_DATA_LOADER_OPTIONS_H

#include "batch/batch.h"
#include "data/cache/image_cache.h"
#include "data/check/bad_records.h"
#include "data/loader/batch_texts.h"
#include "data/loader/sampler.h"
#include "data/loader/workers.h"

#include <liana/augment.h>
#include <liana/dataset.h>

/* The fate of the examples left at the end of an epoch, if batch_size does not divide the number of records. With
 * steps_per_epoch there are none. */
typedef enum liana__remainder {
    LIANA__REMAINDER_KEEP,   /* a smaller last batch */
    LIANA__REMAINDER_DROP,   /* no last batch; these examples open the next epoch (with a sampler: they are left out) */
    LIANA__REMAINDER_REFUSE, /* an error when the loader is created */
} liana__remainder;

/* How a component of a batch is made from a record. */
typedef enum liana__component_maker {
    LIANA__MAKE_VALUES, /* the values of one of its components, converted to the wanted dtype */
    LIANA__MAKE_IMAGE,  /* its image, decoded as the loader's options say: u8 [height, width, channels], or f32 where
                         * fractions are kept */
    LIANA__MAKE_LABEL,  /* its label with label_offset, checked against num_classes: s32 [], -1 without labels */
} liana__component_maker;

/* A component that batches are to have. Of MAKE_IMAGE and MAKE_LABEL there is one each at most. */
typedef struct liana__wanted_component {
    liana__component_maker maker;
    const char *name; /* in the batch, and in messages; must outlive the loader, like `from` */
    /* For MAKE_VALUES: */
    const char *from; /* name of the data's component; "label" also means the label of data that list no such component;
                        * NULL: the same as `name` */
    liana_dtype dtype; /* numbers are converted; a value that this dtype cannot hold is the record's error */
    liana_shape shape; /* of one example; must be that of the data, except for dimensions of 1 */
    /* Where examples are mixed, the batch has the values of their partners, too: as a component of this name. NULL:
     * they are not compared with anything. Of MAKE_LABEL the usual name is "partners". */
    const char *partners;
    /* Checks the values of an example, as they are in the batch; an error is the record's. NULL: all are good. */
    liana_status (*check)(const struct liana__wanted_component *component, const void *values, liana__error *error);
    const void *check_options;
    const char *check_name; /* the name of the check, for caches that keep values */
    /* Its rows are made of texts, as many as the data have in an example. Zeros: the data are numbers. */
    liana__row_of_texts texts;
} liana__wanted_component;

typedef struct liana__loader_options {
    liana__decode_options image;               /* the shape of every image; not used without one */
    const liana__wanted_component *components; /* the components of a batch; not kept */
    size_t num_components;                     /* 0: a MAKE_IMAGE "image" and a MAKE_LABEL "label" */
    int64_t batch_size;
    int64_t steps_per_epoch; /* 0: each record once in an epoch */
    int64_t num_epochs;      /* 0: endless */
    liana__remainder remainder;
    bool shuffle;
    uint64_t seed;
    int64_t num_classes;  /* labels are checked against it; 0: unknown */
    int64_t label_offset; /* added to the labels of the file */
    int num_threads;      /* 0: the cores this process may use */
    size_t memory; /* bytes for batches made ahead; 0: 1 GiB. There are 2 to 32 batches: about 4, more of small ones */
    size_t cache_memory; /* bytes for decoded images that are kept, as many as fit; 0: no cache */
    /* ... or all of them are kept in a file (NULL: not). Its `image` is the loader's decoded image. The pointer is not
     * kept. */
    const liana__image_cache_file_options *cache_file;
    liana__image_cache *cache; /* ... or in that of another loader of the same examples, which must outlive this one */
    /* The augmentation (data/augment/augment.h), between resizing and the batch; mixing stages change a batch that is
     * complete. Its random numbers are a function of the address. So an example looks the same after a resume, and on
     * any number of threads. NULL: none; must outlive the loader. */
    const struct liana__augment *augment;
    int64_t microbatch;            /* examples in a shard: an example is only mixed with one of its shard */
    const liana__sampler *sampler; /* NULL: each record once in a pass; must outlive the loader */
    /* NULL: a record that cannot be used is an error. Otherwise it leaves a gap, and `next` reports it to this list.
     * The list must outlive the loader, and only the thread that calls `next` may use it. */
    liana__bad_records *bad_records;
    const char *part;                    /* the name of these data in the list: "train" */
    const liana__input_workers *workers; /* NULL: this process makes whole steps; must outlive the loader */
} liana__loader_options;

#endif
