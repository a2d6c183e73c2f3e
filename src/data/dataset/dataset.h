/* dataset.h - datasets: stages that give elements, each made from others.
 *
 * A stage is random-access or replayed. A random-access one knows its length and computes any element at once, from any
 * thread with a reader of its own. A replayed one (filter, flat_map, ...) gives its elements one after the other
 * through a cursor; a cursor can begin at any element, for which stages with a known way to it jump and the others
 * replay. Every element is a function of (seed, epoch, index), so order and values do not depend on the number of
 * threads, and an iterator that begins at element k gives what it would have given there.
 *
 * A kind of stage is a file in stage/ and a row in stages.def. */
#ifndef LIANA_DATA_DATASET_H
#define LIANA_DATA_DATASET_H

#include "base/context.h"
#include "data/dataset/element.h"
#include "data/source/fingerprint.h"
#include "data/source/source.h"

#include <liana/dataset.h>
#include <stdatomic.h>

/* Which element: `index` of the elements that the stage gives in an epoch. `seed` is what functions draw from. */
typedef struct liana__at {
    uint64_t seed;
    uint64_t epoch;
    uint64_t index;
} liana__at;

typedef struct liana__reader liana__reader;
typedef struct liana__cursor liana__cursor;

typedef struct liana__stage_kind {
    const char *name;
    const char *doc; /* one sentence */
    /* Releases what `own` holds beside the arena; NULL: nothing. */
    void (*close)(liana_dataset *dataset);
    /* Bytes that it takes as long as it is open: an index of files, blocks of them that are kept. Not those of a cache,
     * or of tensors, which are the program's own doing. NULL: none. */
    size_t (*memory)(const liana_dataset *dataset);

    /* Either apply or one or both of the other ways. Elements may borrow from the reader or the cursor until its next
     * one.
     *
     * One element from one of the input, `at` being the same for both: random-access where the input is. Its errors
     * get the stage's name before them. */
    liana_status (*apply)(liana__reader *reader, const liana__at *at, const liana_element *input,
                          liana_element *element, liana__error *error);
    /* Random access: any element below the length. */
    liana_status (*read)(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error);
    /* Replayed: begin opens the inputs, and may skip up to `start` elements, which it adds to cursor->index; next gives
     * the element cursor->index, or LIANA_END_OF_DATA, after which it is not called again. */
    liana_status (*begin)(liana__cursor *cursor, uint64_t start, liana__error *error);
    liana_status (*next)(liana__cursor *cursor, liana_element *element, liana__error *error);

    /* Where element *index comes from: the number of the input, and the index there. NULL: not known (or the same, with
     * apply). */
    size_t (*trace)(const liana_dataset *dataset, uint64_t *index);

    /* What the elements depend on beside the inputs, the stage's names and components: the first options_size bytes of
     * dataset->own, which are options without gaps, and what `describe` adds (NULL: nothing): settings, and the state
     * of files. */
    size_t options_size;
    void (*describe)(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources);

    /* Zeroed memory in reader->own and cursor->own. */
    size_t reader_size;
    void (*reader_free)(void *own);
    size_t (*reader_bytes)(const liana__reader *reader); /* that reader->own has grown to; NULL: nothing */
    size_t cursor_size;
    void (*cursor_free)(liana__cursor *cursor);
    bool works; /* enough for an element that several threads make elements ahead */
} liana__stage_kind;

struct liana_dataset {
    liana_context *context;
    const liana__stage_kind *kind;
    atomic_int references;
    liana__arena arena;
    const char *name; /* of the stage in messages */
    liana__spec spec;
    size_t num_inputs;
    liana_dataset **inputs;
    void *own;      /* the kind's, in the arena */
    int64_t length; /* of an epoch; LIANA_INFINITE, LIANA_UNKNOWN */
    bool random_access;
    bool works;  /* the kind or that of an input does */
    bool varies; /* other elements in another epoch or for another seed */
    /* Where it costs much to jump about: as of a source (data/source/source.h). In the arena, or an input's. */
    size_t num_blocks;
    const uint64_t *block_starts;
    atomic_llong counted; /* elements of an epoch of LIANA_UNKNOWN length, once somebody has gone through it, plus 1 */
    /* How a model takes the images. */
    liana__source *source; /* the files themselves; NULL where stages stand between */
    liana_scale scale;
    liana__strings class_names; /* that its opener gave; in the arena */
    int64_t label_offset;       /* added to the source's labels */
    bool antialias;
};

/* ---- making stages ---- */

/* A stage whose spec, length and access are those of its first input, to be changed by the caller. Takes the inputs'
 * references, also on failure. `own_size` zeroed bytes are in `own`. NULL with the context's message on failure, and
 * silently if an input is NULL: its maker has failed and left the message. */
liana_dataset *liana__dataset_create(liana_context *context, const liana__stage_kind *kind,
                                     liana_dataset *const *inputs, size_t num_inputs, size_t own_size);
/* The same for the usual stage of one input, whose context it is. */
liana_dataset *liana__dataset_stage(const liana__stage_kind *kind, liana_dataset *input, size_t own_size);
/* For the last line of a maker: the dataset, or NULL if the status is a failure, to whose message the stage's name is
 * added. The dataset is closed then. */
liana_dataset *liana__dataset_finish(liana_dataset *dataset, liana_status status);
/* Calls the stage "map 'NAME'" in messages. */
void liana__dataset_call(liana_dataset *dataset, const char *name);

/* The bytes that a dataset takes, with all that it is made of (stages' memory). */
size_t liana__dataset_memory(const liana_dataset *dataset);

/* Adds what the elements of a dataset are made of, and how: of functions, their names. */
void liana__dataset_describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources);

/* For stages that keep the order: the blocks of elements offset, offset + step, ... of the input; of all inputs, one
 * after the other. With the length set. Errors: OUT_OF_MEMORY. */
liana_status liana__dataset_slice_blocks(liana_dataset *dataset, uint64_t offset, uint64_t step, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__dataset_join_blocks(liana_dataset *dataset, liana__error *error) LIANA_MUST_USE;

/* ---- random access ---- */

struct liana__reader {
    const liana_dataset *dataset;
    liana__memory_share *share; /* that records and images are taken from; NULL: without a bound */
    void *own;
    liana__holder store; /* for the kind's elements */
    size_t num_inputs;
    liana__reader **inputs;
};

/* For one thread at a time; with a share, it is that of the thread. NULL if out of memory. */
liana__reader *liana__reader_create(const liana_dataset *dataset, liana__memory_share *share);
void liana__reader_destroy(liana__reader *reader);
/* Bytes that it has grown to. */
size_t liana__reader_bytes(const liana__reader *reader);
liana_status liana__reader_read(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
    LIANA_MUST_USE;

/* ---- one after the other ---- */

/* Memory for elements, in bytes: a half is for those made ahead, a half for those that wait in a buffer, so that it
 * does not depend on who is faster whether a buffer fits. */
typedef struct liana__budget {
    size_t memory;
    atomic_size_t ahead;
    atomic_size_t kept;
} liana__budget;

/* What the cursors of an iterator share. */
typedef struct liana__pace {
    int num_threads; /* that each stage that works makes elements ahead with; 0: none */
    liana__budget *budget;
} liana__pace;

struct liana__cursor {
    const liana_dataset *dataset;
    liana__pace pace;
    uint64_t seed;
    uint64_t epoch;
    uint64_t index; /* of the next element */
    bool ended;
    void *own;
    liana__holder store;
    liana__reader *reader;        /* of a random-access stage, or one that applies a function */
    struct liana__window *window; /* makes elements ahead, in place of the reader; or NULL */
    size_t num_inputs;            /* opened */
    liana__cursor **inputs;
};

/* Opens the dataset, which must outlive the cursor, at an element of an epoch. An end before that is no error: the
 * first `next` says so. */
liana_status liana__cursor_open(const liana_dataset *dataset, liana__pace pace, const liana__at *start,
                                liana__cursor **cursor, liana__error *error) LIANA_MUST_USE;
/* LIANA_END_OF_DATA after the last element, without a message. */
liana_status liana__cursor_next(liana__cursor *cursor, liana_element *element, liana__error *error) LIANA_MUST_USE;
void liana__cursor_close(liana__cursor *cursor);
/* For `begin`: opens input `number` of the stage, which must be the next one to open, at an element of an epoch. */
liana_status liana__cursor_open_input(liana__cursor *cursor, size_t number, uint64_t epoch, uint64_t start,
                                      liana__error *error) LIANA_MUST_USE;
/* For stages that keep elements: counts bytes of the iterator's memory. OUT_OF_RANGE beyond the limit. */
liana_status liana__budget_keep(liana__budget *budget, size_t bytes, liana__error *error) LIANA_MUST_USE;

/* What draws of stages are for. */
enum {
    LIANA__SALT_INPUT = 1,
    LIANA__SALT_SHUFFLE,
    LIANA__SALT_SAMPLE,
    LIANA__SALT_POSITION,
};

/* The seed of input `number` of a stage that has several, so that equal stages in them draw differently. */
uint64_t liana__seed_of_input(uint64_t seed, size_t number);
/* A word drawn for an element; `salt`: what for. */
uint64_t liana__draw_for(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t salt);

/* How functions of the program see an element's address. */
liana_example_address liana__example_address(const liana__at *at, const liana_element *element);
/* The failure of a function that makes an element: "position 3 of epoch 0 (record 7): MESSAGE". */
liana_status liana__fail_function(liana__error *error, liana_status status, const liana__at *at, uint64_t record,
                                  const char *message);

#define LIANA__STAGE(stem, name) extern const liana__stage_kind liana__stage_##name;
#include "data/stages.def"
#undef LIANA__STAGE

/* All kinds in the order of stages.def, NULL-terminated. */
extern const liana__stage_kind *const liana__stages[];

#endif
