/* dataset.h - datasets: stages that give elements, each stage made from others.
 *
 * A stage is random-access or replayed. A random-access stage knows its length and computes any element directly, on
 * any thread that has a reader of its own. A replayed stage (filter, flat_map, ...) gives its elements one after the
 * other, through a cursor. A cursor can begin at any element: some stages know a direct way there, the others replay.
 *
 * Every element is a function of (seed, epoch, index). So order and values do not depend on the number of threads, and
 * an iterator that begins at element k gives the same elements as one that comes to k.
 *
 * Stages are liana_stage_type of <liana/parts.h>. Each is a file in stage/ and a row in stages.def. */
#ifndef LIANA_DATA_DATASET_H
#define LIANA_DATA_DATASET_H

#include "base/part.h"
#include "data/dataset/element.h"
#include "data/source/fingerprint.h"
#include "data/source/source.h"

#include <liana/data_parts.h>
#include <stdatomic.h>

/* The address of an element: `index` among the elements of the stage in an epoch. Functions draw from `seed`. */
typedef struct liana__at {
    uint64_t seed;
    uint64_t epoch;
    uint64_t index;
} liana__at;

typedef struct liana__reader liana__reader;
typedef struct liana__cursor liana__cursor;

struct liana_dataset {
    liana_context *context;
    const liana_stage_type *kind;
    atomic_int references;
    liana__arena arena;
    const char *name; /* the stage's name in messages */
    liana__spec spec;
    size_t num_inputs;
    liana_dataset **inputs;
    void *own;      /* owned by the kind, in the arena */
    int64_t length; /* elements in an epoch; LIANA_INFINITE, LIANA_UNKNOWN */
    bool random_access;
    bool works;         /* the kind works, or that of an input */
    bool varies;        /* elements differ between epochs or seeds */
    bool length_varies; /* so does their number; a model then reads the epochs one after the other, as one stream */
    /* If jumping is expensive: blocks, as in a source (data/source/source.h). In the arena, or an input's. */
    size_t num_blocks;
    const uint64_t *block_starts;
    atomic_llong counted; /* for LIANA_UNKNOWN length: the elements of an epoch plus 1, once they have been counted */
    /* How a model reads the images. */
    liana__source *source; /* the files; NULL if there are stages above them */
    liana_scale scale;
    liana__strings class_names; /* names from the opener; in the arena */
    int64_t label_offset;       /* added to the source's labels */
    bool antialias;
};

/* ---- making stages ---- */

/* Makes a stage whose spec, length and access are those of its first input; the caller then changes them. Takes the
 * inputs' references, also on failure. `own` has `own_size` zeroed bytes. NULL: failure, with a message in the context;
 * without a message if an input is NULL, whose maker has failed and left one. */
liana_dataset *liana__dataset_create(liana_context *context, const liana_stage_type *kind, liana_dataset *const *inputs,
                                     size_t num_inputs, size_t own_size);
/* The same for a stage that uses the context of its inputs. NULL without a message also if there are none. */
liana_dataset *liana__dataset_join(const liana_stage_type *kind, liana_dataset *const *inputs, size_t num_inputs,
                                   size_t own_size);
/* The same for a stage with one input. */
liana_dataset *liana__dataset_stage(const liana_stage_type *kind, liana_dataset *input, size_t own_size);
/* Whether a stage's argument is there; if not, that is an error, and the input (which may be NULL) is closed. */
bool liana__dataset_given(liana_dataset *input, const void *argument, const char *function, const char *name);
#define LIANA__STAGE_REQUIRE(input, argument) liana__dataset_given((input), (argument), __func__, #argument)
/* For the last line of a maker: returns the dataset; on failure closes it, adds the stage's name to the message, and
 * returns NULL. */
liana_dataset *liana__dataset_finish(liana_dataset *dataset, liana_status status);
/* Names the stage "map 'NAME'" in messages. */
void liana__dataset_call(liana_dataset *dataset, const char *name);

/* Bytes used by a dataset and all that it is made of (the stages' memory). */
size_t liana__dataset_memory(const liana_dataset *dataset);

/* Adds the files, values and options from which a dataset makes its elements. Functions count by their names. */
void liana__dataset_describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources);

/* Where a record of the data is; false: the stages do not know it, or have several inputs. */
bool liana__dataset_address(const liana_dataset *dataset, uint64_t record, liana_record_address *address);
/* Puts "'FILE', record N: " before a message about a record of a stage's input, as far as the address is known. Returns
 * its status. */
liana_status liana__dataset_fail_record(const liana_dataset *input, uint64_t record, liana__error *error);

/* Adds the values of an element. */
void liana__fingerprint_add_element(liana__fingerprint *fingerprint, const liana_element *element);

/* For stages that keep the order: the blocks of elements offset, offset + step, ... of the input; those of all inputs,
 * one after the other. The length must be set. Errors: OUT_OF_MEMORY. */
liana_status liana__dataset_slice_blocks(liana_dataset *dataset, uint64_t offset, uint64_t step, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__dataset_join_blocks(liana_dataset *dataset, liana__error *error) LIANA_MUST_USE;

/* ---- random access ---- */

struct liana__reader {
    const liana_dataset *dataset;
    liana__memory_share *share; /* records and images count for this share; NULL: no limit */
    void *own;
    liana__holder store; /* for the kind's elements */
    size_t num_inputs;
    liana__reader **inputs;
};

/* Makes a reader, for one thread at a time, with the thread's share. NULL: out of memory. */
liana__reader *liana__reader_create(const liana_dataset *dataset, liana__memory_share *share);
void liana__reader_destroy(liana__reader *reader);
/* Bytes that it has grown to. */
size_t liana__reader_bytes(const liana__reader *reader);
liana_status liana__reader_read(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
    LIANA_MUST_USE;
/* For a kind with `apply`: the element that it makes of an input's. */
liana_status liana__reader_apply(liana__reader *reader, const liana__at *at, const liana_element *input,
                                 liana_element *element, liana__error *error) LIANA_MUST_USE;

/* ---- one after the other ---- */

/* Memory for elements, in bytes: one half for those made ahead, one half for those that wait in a buffer. So it does
 * not depend on threads' speed whether a buffer fits. */
typedef struct liana__budget {
    size_t memory;
    atomic_size_t ahead;
    atomic_size_t kept;
} liana__budget;

/* The cursors of an iterator share this. */
typedef struct liana__pace {
    int num_threads; /* threads for each stage that works ahead; 0: none */
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
    liana__reader *reader;      /* for a random-access stage, or one that applies a function */
    struct liana__ahead *ahead; /* makes elements ahead, instead of the reader; or NULL */
    size_t num_inputs;          /* opened */
    liana__cursor **inputs;
};

/* Opens the dataset, which must outlive the cursor, at an element of an epoch. If it ends before that, the first `next`
 * says so. */
liana_status liana__cursor_open(const liana_dataset *dataset, liana__pace pace, const liana__at *start,
                                liana__cursor **cursor, liana__error *error) LIANA_MUST_USE;
/* LIANA_END_OF_DATA after the last element, without a message. */
liana_status liana__cursor_next(liana__cursor *cursor, liana_element *element, liana__error *error) LIANA_MUST_USE;
void liana__cursor_close(liana__cursor *cursor);
/* For `begin`: opens input `number` of the stage, which must be the next one, at an element of an epoch. */
liana_status liana__cursor_open_input(liana__cursor *cursor, size_t number, uint64_t epoch, uint64_t start,
                                      liana__error *error) LIANA_MUST_USE;
/* For stages that keep elements: counts bytes of the iterator's memory. OUT_OF_RANGE above the limit. */
liana_status liana__budget_keep(liana__budget *budget, size_t bytes, liana__error *error) LIANA_MUST_USE;

/* The uses of stages' draws. */
enum {
    LIANA__SALT_INPUT = 1,
    LIANA__SALT_SHUFFLE,
    LIANA__SALT_SAMPLE,
    LIANA__SALT_POSITION,
    LIANA__SALT_RANDOM,
    LIANA__SALT_RESAMPLE,
};

/* The seed of input `number` of a stage with several, so that equal stages in them draw differently. */
uint64_t liana__seed_of_input(uint64_t seed, size_t number);
/* A random word for an element; `salt` is its use. */
uint64_t liana__draw_for(uint64_t seed, uint64_t epoch, uint64_t index, uint32_t salt);

/* An element's address, as functions of the program get it. */
liana_example_address liana__example_address(const liana__at *at, const liana_element *element);
/* The failure of a function that makes an element: "position 3 of epoch 0 (record 7): MESSAGE". */
liana_status liana__fail_function(liana__error *error, liana_status status, const liana__at *at, uint64_t record,
                                  const char *message);

#define LIANA__STAGE(stem, name) extern const liana_stage_type liana__stage_##name;
#include "data/stages.def"
#undef LIANA__STAGE

/* The kind: its list has all stages in the order of stages.def. */
extern const liana__kind liana__stage_kind;

/* The single examples of a dataset: without liana_dataset_batch, if that is its last stage (a prefetch counts for
 * nothing), else taken out of its batches. *batch_size is that of the batches; 0: it makes none, and *examples is the
 * dataset itself. Padded batches below other stages stay. The caller closes *examples. NULL in *examples: the error is
 * the context's. */
void liana__dataset_examples(const liana_dataset *dataset, liana_dataset **examples, int64_t *batch_size);

/* The size of the batches that the elements are or hold; 0: they are single. */
int64_t liana__dataset_batch_size(const liana_dataset *dataset);

/* As liana_dataset_cache, in a file. */
liana_dataset *liana__dataset_cache_file(liana_dataset *input, const liana_cache_options *options);

#endif
