/* dataset.h - datasets: labelled images in files, and any other elements, changed, chosen and mixed by stages.
 *
 * What a model is fitted to, evaluated on and predicts; iterator.h gives the elements to a program. Stages have
 * tf.data's names and meaning, and are written as expressions:
 *
 *     liana_dataset *numbers = liana_dataset_range(context, 0, 100, 1);
 *     numbers = liana_dataset_filter(numbers, &(liana_filter_options){.function = is_odd});
 *     numbers = liana_dataset_batch(numbers, &(liana_batch_options){.batch_size = 8});
 *     if (liana_iterator_create(numbers, NULL, &iterator) != LIANA_OK) puts(liana_context_message(context));
 *
 * A stage takes its inputs: only the last dataset is to be closed (liana_dataset_retain gives another reference to one
 * that is used twice). A stage that fails leaves its message in the context, closes its inputs and gives NULL, and so
 * does each stage of a NULL, so that only the end has to be checked.
 *
 * An element is a function of seed, epoch and position, whatever the number of threads. Most stages are random-access:
 * any element is computed at once. filter, flat_map, interleave, sample_from_datasets, unbatch of batches of unknown
 * size, and what stands on them are replayed: one element after the other. */
#ifndef LIANA_DATASET_H
#define LIANA_DATASET_H

#include <liana/augment.h>
#include <liana/element.h>
#include <liana/preprocessing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_dataset liana_dataset;

/* Zeros are the defaults. */
typedef struct liana_dataset_options {
    liana_scale scale;         /* LIANA_SCALE_AUTO: as the model knows it (preprocessing.h) */
    bool unlabelled;           /* do not look at labels: for liana_predict only */
    const char *labels;        /* IDX: the file of labels; NULL: looked for beside the file of images */
    const char *image_feature; /* names of tf.Example features; NULL: the usual ones are looked for */
    const char *label_feature;
    const char *id_feature;
    /* Folders and CSV lists: number the classes as this dataset does, which need only be open here; another name is
     * refused, and so are numbers where it has names. NULL: in the byte order of the names. Set it for validation data:
     * a class that they lack would shift the numbers of those after it. */
    const liana_dataset *classes_of;
    /* In place of it, the names in the order of their numbers, NULL behind the last one, such as a model's
     * (liana_model_preprocessing). Where labels are numbers, this says what they mean. */
    const char *const *class_names;
    int64_t label_offset; /* added to every label: -1 where the files count classes from 1 */
    int64_t take;         /* only the first so many examples; 0: all */
    bool antialias;       /* average over all pixels when images are shrunk to the model's input, as Pillow and
                           * torchvision do; TensorFlow and Keras by default do not.
                           * A model that was trained so has its images averaged in any case */
} liana_dataset_options;

/* Opens TFRecord files, IDX files (MNIST), CSV lists of images, WebDataset tar archives or folders of JPEG and PNG
 * files, with a folder for each class, as a shell pattern, a file or a folder names them. Only names, sizes and the
 * first record are looked at here. `options` may be NULL. The context must outlive the dataset. Errors: NOT_FOUND,
 * INVALID_DATA (no labels, ...), DATA_LOSS, IO_ERROR. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_open(liana_context *context, const char *pattern,
                                                         const liana_dataset_options *options, liana_dataset **dataset);
/* Opens what a configuration says of its training data: "{concatenate: [a.tfrec, {paths: b.tfrec, take: 100}]}",
 * "{sample_from: [{paths: a, weight: 3}, b], filter: NAME}"; the keys are those of data.train. `options` as above, but
 * for `take`, which counts for each file or pattern. Errors: INVALID_CONFIG too, with line and key. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_configure(liana_context *context, const char *text,
                                                              const liana_dataset_options *options,
                                                              liana_dataset **dataset);

/* Another reference to the dataset: one more to close. */
LIANA_API liana_dataset *liana_dataset_retain(liana_dataset *dataset);
/* NULL is allowed. */
LIANA_API void liana_dataset_close(liana_dataset *dataset);

enum { LIANA_INFINITE = -1, LIANA_UNKNOWN = -2 };

/* The number of elements, LIANA_INFINITE or LIANA_UNKNOWN. */
LIANA_API int64_t liana_dataset_num_examples(const liana_dataset *dataset);
/* Whether any element is computed at once, or those before it are replayed. */
LIANA_API bool liana_dataset_random_access(const liana_dataset *dataset);
/* What elements consist of: the number of components. They live as long as the dataset. */
LIANA_API size_t liana_dataset_components(const liana_dataset *dataset, const liana_component **components);

/* Reads all labels and gives the number of classes: the largest label plus one. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_count_classes(const liana_dataset *dataset, int64_t *num_classes);

/* The same, of datasets that have an image component. Height and width of the first image, and channels: of pixels, as
 * many as they have; of encoded files 3, whatever the first one is. A model's input may be of another size, or of 1
 * channel: images are made so. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_image_shape(const liana_dataset *dataset, int64_t shape[3]);

/* ---- where elements come from ----
 *
 * liana_dataset_open is the usual one. Its elements have the components `image` (a string, the encoded file; or u8
 * [height, width, channels] where the files hold pixels), `label` (s64, the offset added) unless there are none, and
 * `id` (a string, empty where there is none). */

/* One element of these values, or one for each index of their first dimension, which must be the same for all. Values
 * are copied. */
LIANA_API liana_dataset *liana_dataset_from_tensors(liana_context *context, const liana_array *arrays,
                                                    size_t num_arrays);
LIANA_API liana_dataset *liana_dataset_from_tensor_slices(liana_context *context, const liana_array *arrays,
                                                          size_t num_arrays);
/* `value` (s64): start, start + step, ... before stop. */
LIANA_API liana_dataset *liana_dataset_range(liana_context *context, int64_t start, int64_t stop, int64_t step);
/* `record` (a string): the records of TFRecord files, plain or compressed with GZIP or ZLIB, in the order of their
 * names. `pattern` is a file or a shell pattern. */
LIANA_API liana_dataset *liana_dataset_tfrecord(liana_context *context, const char *pattern);

/* ---- one for one ---- */

/* Makes the output of the input. The output starts as a copy of the input if the stage declares no components of its
 * own, else as zeros. Called on several threads at a time; random numbers come from liana_example_uniform. A failure
 * ends the iteration at this element; liana_element_fail says why. The address' position is the element's in the order
 * of the input, `record` where in the data it came from. */
typedef liana_status (*liana_map_function)(void *user, const liana_example_address *address, const liana_element *input,
                                           liana_element *output);

typedef struct liana_map_options {
    const char *name; /* for messages; NULL: none */
    liana_map_function function;
    void *user;
    const liana_component *components; /* of the output; NULL: those of the input */
    size_t num_components;
} liana_map_options;
LIANA_API liana_dataset *liana_dataset_map(liana_dataset *dataset, const liana_map_options *options);

/* Makes a function known under a name that liana_dataset_configure may use. The name is copied; `user` is passed on as
 * it is. Errors: INVALID_ARGUMENT (no name, or one that is taken), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_map_register(liana_context *context, const char *name,
                                                         liana_map_function function, void *user);

/* tf.Example records into features: `record` is replaced by the components, each a feature of that name with as many
 * values as its shape has. Dtypes are LIANA_STRING, LIANA_S64 and LIANA_F32. A missing feature is an error. */
LIANA_API liana_dataset *liana_dataset_parse_example(liana_dataset *dataset, const liana_component *features,
                                                     size_t num_features);

/* `image` is decoded if it is a string, and resized: u8 [height, width, channels]. */
typedef struct liana_decode_options {
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3 */
    bool antialias;
} liana_decode_options;
LIANA_API liana_dataset *liana_dataset_decode_images(liana_dataset *dataset, const liana_decode_options *options);

/* Adds `index` (s64), counted from `start`, before the other components. */
LIANA_API liana_dataset *liana_dataset_enumerate(liana_dataset *dataset, int64_t start);
LIANA_API liana_dataset *liana_dataset_rename(liana_dataset *dataset, const char *from, const char *to);

/* ---- which, how often, in which order ---- */

/* Whether an element stays; called as map functions are. */
typedef bool (*liana_filter_function)(void *user, const liana_example_address *address, const liana_element *element);

typedef struct liana_filter_options {
    const char *name;
    liana_filter_function function;
    void *user;
} liana_filter_options;
LIANA_API liana_dataset *liana_dataset_filter(liana_dataset *dataset, const liana_filter_options *options);

/* Elements that cannot be made (a damaged record, an image that cannot be decoded, a function that fails) are left out,
 * and those after them move up; or they are zeros and empty strings in their places, and another component, `valid`
 * (bool), says which are: that dataset stays random-access. On random-access data of known length; `options` may be
 * NULL. */
typedef struct liana_ignore_errors_options {
    /* Told of each, on any thread; `record` is the position. Returning false makes it an error. NULL: LIANA_LOG=data.
     */
    bool (*on_error)(void *user, const liana_example_address *address, const char *message);
    void *user;
} liana_ignore_errors_options;
LIANA_API liana_dataset *liana_dataset_ignore_errors(liana_dataset *dataset,
                                                     const liana_ignore_errors_options *options);
LIANA_API liana_dataset *liana_dataset_mark_errors(liana_dataset *dataset, const liana_ignore_errors_options *options);

/* As liana_map_register. */
LIANA_API LIANA_MUST_USE liana_status liana_filter_register(liana_context *context, const char *name,
                                                            liana_filter_function function, void *user);

/* A random-access dataset is shuffled as a whole, without a buffer: a permutation computed from seed and epoch. That of
 * compressed files permutes blocks of their records, and then the records within every 8 blocks. Another dataset goes
 * through a buffer, from which elements are drawn. */
typedef struct liana_shuffle_options {
    int64_t buffer_size; /* of streams; 0: 1024 */
    uint64_t seed;
    bool same_each_epoch; /* tf: reshuffle_each_iteration = false */
} liana_shuffle_options;
LIANA_API liana_dataset *liana_dataset_shuffle(liana_dataset *dataset, const liana_shuffle_options *options);

/* `count` epochs of the dataset, or endlessly if it is below 0. */
LIANA_API liana_dataset *liana_dataset_repeat(liana_dataset *dataset, int64_t count);
/* The first `count` elements (all if it is below 0); all but the first `count`. */
LIANA_API liana_dataset *liana_dataset_take(liana_dataset *dataset, int64_t count);
LIANA_API liana_dataset *liana_dataset_skip(liana_dataset *dataset, int64_t count);
/* Elements index, index + num_shards, index + 2 num_shards, ... */
LIANA_API liana_dataset *liana_dataset_shard(liana_dataset *dataset, int64_t num_shards, int64_t index);

typedef enum liana_remainder {
    LIANA_REMAINDER_KEEP, /* a smaller last batch: the first dimension is unknown */
    LIANA_REMAINDER_DROP,
    LIANA_REMAINDER_PAD, /* zeros, and a component `mask` (bool [batch_size]) that says which are elements */
} liana_remainder;

typedef struct liana_batch_options {
    int64_t batch_size;
    liana_remainder remainder;
} liana_batch_options;
LIANA_API liana_dataset *liana_dataset_batch(liana_dataset *dataset, const liana_batch_options *options);
/* An element for each index of the components' first dimension. */
LIANA_API liana_dataset *liana_dataset_unbatch(liana_dataset *dataset);

/* ---- from several ---- */

/* The components of all, as far as the shortest goes; their names must differ. */
LIANA_API liana_dataset *liana_dataset_zip(liana_dataset *const *datasets, size_t num_datasets);
/* One after the other; their components must be the same. */
LIANA_API liana_dataset *liana_dataset_concatenate(liana_dataset *const *datasets, size_t num_datasets);

/* Each next element is one of a dataset that is drawn by weight. One that has ended is drawn no more, or ends all. */
typedef struct liana_sample_options {
    const double *weights; /* [num_datasets] of at least 0; NULL: all the same */
    uint64_t seed;
    bool stop_on_empty_dataset;
} liana_sample_options;
LIANA_API liana_dataset *liana_dataset_sample_from_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                            const liana_sample_options *options);

/* Elements of `cycle_length` datasets at a time, `block_length` of each in turn; one that has ended makes room for the
 * next. Random-access where all of them are. */
typedef struct liana_interleave_datasets_options {
    int64_t cycle_length; /* 1 to 1024; 0: all of them */
    int64_t block_length; /* 0: 1 */
} liana_interleave_datasets_options;
LIANA_API liana_dataset *liana_dataset_interleave_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                           const liana_interleave_datasets_options *options);

/* Makes a dataset of an element, in the context that is given and only there; NULL for a failure, whose message is that
 * context's. The dataset is closed by the stage. */
typedef liana_dataset *(*liana_dataset_function)(void *user, liana_context *context,
                                                 const liana_example_address *address, const liana_element *element);

/* The elements of the datasets that the function makes: of `cycle_length` at a time, `block_length` of each in turn. */
typedef struct liana_interleave_options {
    const char *name;
    liana_dataset_function function;
    void *user;
    const liana_component *components; /* of the datasets that the function makes; NULL: those of the input */
    size_t num_components;
    int64_t cycle_length; /* 0: 1 */
    int64_t block_length; /* 0: 1 */
} liana_interleave_options;
LIANA_API liana_dataset *liana_dataset_interleave(liana_dataset *dataset, const liana_interleave_options *options);
/* One dataset after the other: a cycle of 1. */
LIANA_API liana_dataset *liana_dataset_flat_map(liana_dataset *dataset, const liana_interleave_options *options);

/* ---- speed ---- */

/* Keeps the elements of the first epoch in memory. */
LIANA_API liana_dataset *liana_dataset_cache(liana_dataset *dataset);
/* The same in a file, for later programs too. It is written once, by going through the data when an element is first
 * asked for, appears whole, and is made anew where the stages before it, their options, the files that they read or
 * `version` are others, or it is damaged. Functions are known by their names only: give another `version` when what one
 * does has changed. A full disk is an IO_ERROR that leaves the file that was there. */
typedef struct liana_cache_file_options {
    const char *path;    /* of the file; its folder is made */
    const char *version; /* any text; NULL: none */
} liana_cache_file_options;
LIANA_API liana_dataset *liana_dataset_cache_file(liana_dataset *dataset, const liana_cache_file_options *options);
/* The bytes that caches of the dataset and of those that it is made of have taken. */
LIANA_API size_t liana_dataset_cached_bytes(const liana_dataset *dataset);
/* Elements are made ahead by the iterator's threads, as many as turn out to be needed. Stages that work (map,
 * parse_example, decode_images) are made ahead as it is. */
LIANA_API liana_dataset *liana_dataset_prefetch(liana_dataset *dataset);

/* The range that pixels of `image` enter a model in; LIANA_SCALE_AUTO unless the dataset was opened with another one.
 * NULL is allowed. */
LIANA_API void liana_dataset_set_scale(liana_dataset *dataset, liana_scale scale);

#ifdef __cplusplus
}
#endif
#endif
