/* data_parts.h - stages of datasets, augmentations and kinds of data: parts as those of parts.h. */
#ifndef LIANA_DATA_PARTS_H
#define LIANA_DATA_PARTS_H

#include <liana/dataset.h>
#include <liana/parts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* liana's own; parts hand them on. */
struct liana__at;
struct liana__cursor;
struct liana__draws;
struct liana__fingerprint;
struct liana__memory_share;
struct liana__pixel_kernels;
struct liana__reader;
struct liana__source;
struct liana__source_options;

/* ---- stages ---- */

/* The address of a record: a file, and the record's number in it from 0, or -1 if the file is the record. */
typedef struct liana_record_address {
    const char *file;
    int64_t record;
    int64_t line; /* of text, from 1; 0: the file has no lines */
} liana_record_address;

/* A stage of datasets. One of a program has `map` or `keep`, or both. data.train.map, data.train.filter and the
 * configuration of liana_dataset_configure name it. It has no options. */
typedef struct liana_stage_type {
    liana_part part;
    liana_map_function map;     /* makes an element of each */
    liana_filter_function keep; /* says which stay */
    void *user;                 /* passed to the two */
    /* The rest is of liana's own stages, whose makers are functions of dataset.h. A stage has `apply`, or one or both
     * of `read` (or `trace`) and `begin` with `next`. Elements may borrow from the reader or the cursor until its next
     * element.
     *
     * close: releases all that the stage holds outside of the arena. NULL: nothing. */
    void (*close)(liana_dataset *dataset);
    /* Bytes used while it is open: an index of files, blocks of them that are kept. Without those of caches and of
     * tensors, which the program decides about. NULL: none. */
    size_t (*memory)(const liana_dataset *dataset);
    size_t (*cached)(const liana_dataset *dataset); /* bytes of a cache in memory; NULL: none */
    /* One element from one element of the input, with the same `at`. The stage is random-access if its input is. The
     * stage's name is put before its errors. */
    liana_status (*apply)(struct liana__reader *reader, const struct liana__at *at, const liana_element *input,
                          liana_element *element, struct liana__error *error);
    /* Random access to any element below the length. */
    liana_status (*read)(struct liana__reader *reader, const struct liana__at *at, liana_element *element,
                         struct liana__error *error);
    /* Replayed. `begin` opens the inputs. It may skip up to `start` elements, which it adds to cursor->index. `next`
     * gives the element cursor->index, or LIANA_END_OF_DATA; then it is not called again. */
    liana_status (*begin)(struct liana__cursor *cursor, uint64_t start, struct liana__error *error);
    liana_status (*next)(struct liana__cursor *cursor, liana_element *element, struct liana__error *error);
    /* The origin of element *index: the number of the input, and the index there. Without `read`, the element is read
     * from there. NULL: not known (or the same, with apply). */
    size_t (*trace)(const liana_dataset *dataset, uint64_t *index);
    /* Elements depend on the inputs, the stage's names and components, on the first options_size bytes of dataset->own
     * (options without gaps), and on the facts that `describe` adds (settings, the state of files; NULL: nothing). */
    size_t options_size;
    void (*describe)(const liana_dataset *dataset, struct liana__fingerprint *settings,
                     struct liana__fingerprint *sources);
    /* Sizes of the zeroed memory in reader->own and cursor->own. */
    size_t reader_size;
    void (*reader_free)(void *own);
    size_t (*reader_bytes)(const struct liana__reader *reader); /* bytes that reader->own has grown to; NULL: none */
    size_t cursor_size;
    void (*cursor_free)(struct liana__cursor *cursor);
    bool works; /* an element takes so long that several threads make elements ahead */
    /* Of a stage that reads files: the address of a record. NULL: it reads none, or has a source. */
    liana_record_address (*address)(const liana_dataset *dataset, uint64_t record);
} liana_stage_type;

/* ---- augmentations ---- */

/* Options of every augmentation begin with this, and its table has LIANA_AUGMENT_ROWS. Those of a mapping begin with
 * liana_augment_sampling; LIANA_SAMPLING_ROWS are the rows for all of it. An augmentation without options has these. */
typedef struct liana_augment_common {
    double probability;
} liana_augment_common;

typedef struct liana_augment_sampling {
    liana_augment_common common;
    int interpolation; /* an index in liana_interpolation_names */
    int fill_mode;     /* an index in liana_fill_mode_names */
    int64_t fill;
} liana_augment_sampling;

static const char *const liana_interpolation_names[] = {"nearest", "bilinear", NULL};
static const char *const liana_fill_mode_names[] = {"constant", "nearest", "reflect", "wrap", NULL};

#define LIANA_AUGMENT_ROWS(default_probability)                                                                   \
    LIANA_OPTION_ROW(liana_augment_common, probability, FLOAT, .default_text = default_probability, .maximum = 1, \
                     .doc = "The share of images that the stage is applied to.")
#define LIANA_SAMPLING_ROWS(default_probability)                                                                   \
    LIANA_AUGMENT_ROWS(default_probability),                                                                       \
        LIANA_OPTION_ROW(liana_augment_sampling, interpolation, ENUM, .default_text = "bilinear",                  \
                         .names = liana_interpolation_names, .doc = "The interpolation between pixels."),          \
        LIANA_OPTION_ROW(liana_augment_sampling, fill_mode, ENUM, .default_text = "constant",                      \
                         .names = liana_fill_mode_names,                                                           \
                         .doc = "The pixels outside the image: the value of fill, the edge, or the image again."), \
        LIANA_OPTION_ROW(liana_augment_sampling, fill, INT, .maximum = 255,                                        \
                         .doc = "The value of the pixels outside the image, 0 (black) to 255.")

typedef struct liana_image_shape {
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3: red, green, blue */
} liana_image_shape;

/* Values that an augmentation prepares before the first image. */
typedef struct liana_augment_setup {
    liana_check *check; /* its options; refusals go through liana_option_refuse */
    liana_image_shape in;
    liana_image_shape out;      /* the same as `in`, unless it is set */
    size_t scratch_size;        /* bytes that `apply` needs */
    const void *state;          /* passed on, made in the arena */
    struct liana__arena *arena; /* liana's */
} liana_augment_setup;

/* One application to one image. Random numbers come from liana_example_uniform; then a run can be repeated and
 * resumed. */
typedef struct liana_augment_call {
    const void *options;
    void *user;
    const void *state;
    const liana_example_address *address;
    liana_image_shape shape;
    liana_image_shape out; /* of a mapping */
    double means[3];       /* of each channel, if uses_means */
    uint8_t *pixels;       /* [height, width, channels], of `apply` */
    void *scratch;         /* aligned, of `apply` */
    /* The rest is liana's. */
    struct liana__draws *draws;
    const struct liana__pixel_kernels *kernels;
    struct liana__error *error;
} liana_augment_call;

/* A mapping of the plane, row by row: (x, y) goes to ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w), w = m6 x + m7 y
 * + m8. */
typedef struct liana_matrix {
    double m[9];
} liana_matrix;

/* A mapping of points; pixel (row, column) covers [column, column + 1) x [row, row + 1). */
typedef struct liana_point_mapping {
    liana_matrix from_output; /* an output point to an input point; the identity at first */
    bool exact;               /* centres of pixels map to centres of pixels: nothing is interpolated */
    bool inside;              /* no output point maps to a point outside of the input: nothing is filled */
} liana_point_mapping;

/* A colour change: new = scale * old + grey * old's grey + offset. */
typedef struct liana_colour_change {
    double scale;
    double grey;
    double offset[3]; /* of each channel, in levels */
} liana_colour_change;

/* Two examples to mix. */
typedef struct liana_mix_call {
    const void *options;
    void *user;
    const liana_example_address *address;
    liana_image_shape shape;
    bool fractions; /* pixels are floats, else u8 */
    const void *own;
    const void *partner;
    void *dst;
    /* The rest is liana's. */
    struct liana__draws *draws;
    const struct liana__pixel_kernels *kernels;
} liana_mix_call;

/* An augmentation, for data.augment and liana_fit_options.augment. It has one of the four functions at the end. */
typedef struct liana_augmentation_type {
    liana_part part;
    void *user;        /* passed to the functions */
    bool draws_chance; /* it draws with the probability itself */
    bool is_decoding;  /* if it is the first of a list, images are decoded in its size, and it is done */
    bool uses_means;   /* `colour` needs the image's means */
    /* Sets the sizes, and refuses options that the table cannot refuse. NULL: nothing to prepare. */
    liana_status (*prepare)(liana_augment_setup *setup);
    /* Mappings of stages in a row are multiplied, and the image is sampled once. So are changes of colour. */
    void (*mapping)(const liana_augment_call *call, liana_point_mapping *mapping);
    void (*colour)(const liana_augment_call *call, liana_colour_change *change);
    /* Changes the image in place. */
    liana_status (*apply)(const liana_augment_call *call);
    /* Writes the mixed image and returns the share of `own` in it, from 0 to 1. Done after all other stages. */
    double (*mix)(const liana_mix_call *call);
} liana_augmentation_type;

/* ---- kinds of data ---- */

enum { LIANA_SOURCE_MESSAGE = 256 };

/* Files that are opened together. */
typedef struct liana_source_opening {
    const char *const *paths; /* [num_paths], local; valid during the call */
    size_t num_paths;
    char *message; /* [LIANA_SOURCE_MESSAGE]: why it fails, with the file's name */
    /* Filled in. All that the pointers lead to must stay valid until the source is closed. */
    void *handle;
    uint64_t num_records;
    bool has_labels;
    bool has_images;
    const liana_component *components; /* in addition to image, label and id, with static shapes and no strings */
    size_t num_components;             /* at most LIANA_MAX_COMPONENTS */
    /* The rest is liana's. */
    const struct liana_source_type *type;
    const struct liana__source_options *options;
    struct liana__source *source; /* of a kind whose handle begins with it: instead of the members above */
    struct liana__error *error;
} liana_source_opening;

/* A record as it is stored. Pointers must stay valid until the next record is read with the same scratch memory. */
typedef struct liana_source_record {
    uint64_t index;
    void *scratch;              /* of this thread, scratch_size bytes, zeros at first */
    char *message;              /* [LIANA_SOURCE_MESSAGE]: why it fails */
    struct liana__error *error; /* liana's */
    /* Filled in: an encoded image (JPEG, PNG), or its pixels. */
    const uint8_t *bytes;
    size_t size;
    const uint8_t *pixels; /* [height, width, channels], if `bytes` is NULL */
    int64_t height, width;
    int channels;
    bool has_label;
    int64_t label;  /* no offset added, not checked */
    const char *id; /* NULL: none */
    size_t id_size; /* 0: the id ends with NUL */
    /* The values of the source's components, in row-major order; strings are an array of liana_bytes. */
    const void *values[LIANA_MAX_COMPONENTS];
} liana_source_record;

/* Gets a file that is read: `name` is the path below the named folder; `labels`: it holds labels. */
typedef void liana_file_visitor(void *user, const char *path, const char *name, bool labels);

/* A kind of data, for data.train.kind. It has no options. Records are read in any order, on several threads. Every
 * function except `recognises` gets the handle that `open` gave. */
typedef struct liana_source_type {
    liana_part part;
    /* Whether a file of this path that begins with these bytes is of this kind. Asked after liana's own kinds. NULL:
     * only files are whose kind the configuration names. */
    bool (*recognises)(const char *path, const uint8_t *head, size_t head_size);
    /* Opens files in the given order. Errors: any status; INVALID_DATA and DATA_LOSS for damaged files. */
    liana_status (*open)(liana_source_opening *opening);
    void (*close)(void *handle); /* NULL: nothing to close */
    liana_status (*read)(void *handle, liana_source_record *record);
    size_t scratch_size;
    void (*scratch_free)(void *scratch); /* frees all that the scratch memory refers to; may be NULL */
    /* Whether `open` takes folders. Otherwise it gets the files in them that it recognises. */
    bool takes_folders;
    /* Whether its files are only used if they are named themselves. A list is in the folder of the files that it lists,
     * and is not meant when that folder is named. */
    bool named_only;
    /* NULL: the first path and the index. */
    liana_record_address (*address)(const void *handle, uint64_t index);
    /* Visits each file that is read and that no record address names: files that are examples, or that hold labels.
     * NULL: all paths but the first. */
    void (*visit_files)(const void *handle, liana_file_visitor *visit, void *user);
    /* The label of a record as it is stored, -1 if it has none. NULL: it must be read. */
    int64_t (*known_label)(const void *handle, uint64_t index);
    /* The offset of the record in its file. NULL: it has none. */
    int64_t (*offset)(const void *handle, uint64_t index);
    /* The record will be read soon: the system may be told to fetch it from the disk. NULL: not needed. */
    void (*expect)(const void *handle, uint64_t index);
    /* The rest is liana's. The record as it is in an epoch at a position. NULL: it is always the same. */
    liana_status (*read_at)(void *handle, const liana_example_address *address, liana_source_record *record);
    /* Called while nobody reads: positions will be read from this one on, by several threads, so another one may be
     * asked for first. NULL: not needed. */
    void (*begin)(void *handle, uint64_t position);
    /* The scratch memory begins with this many liana__file_buffers, which are freed and limited by the caller. */
    size_t num_buffers;
    size_t (*scratch_bytes)(const void *scratch);
    void (*scratch_bound)(void *scratch, struct liana__memory_share *share);
    /* Called before reading: this many bytes, in addition to `memory`, are for elements made ahead or kept. NULL: it
     * keeps none. */
    void (*take_memory)(void *handle, size_t bytes);
} liana_source_type;

#ifdef __cplusplus
}
#endif
#endif
