/* dataset.h - datasets: labelled images in files, or any other elements. Stages change, choose and mix elements.
 *
 * Models are fitted to datasets, evaluated on them, and predict for them. An iterator gives the elements to a program.
 * Stages have tf.data's names and meaning, and are written as expressions:
 *
 *     liana_dataset *numbers = liana_dataset_range(context, 0, 100, 1);
 *     numbers = liana_dataset_filter(numbers, &(liana_filter_options){.function = is_odd});
 *     numbers = liana_dataset_batch(numbers, &(liana_batch_options){.batch_size = 8});
 *     if (liana_iterator_create(numbers, NULL, &iterator) != LIANA_OK) puts(liana_context_message(context));
 *
 * Ownership: a stage takes over its inputs, so a program closes only the last dataset. liana_dataset_retain gives
 * another reference to a dataset that is used twice.
 *
 * Errors: a stage that fails leaves a message in the context, closes its inputs and returns NULL. A stage whose input
 * is NULL returns NULL. So it is enough to check the last dataset. The options of a stage must be given, unless its
 * comment says that they may be NULL. Questions about NULL are answered with 0 or false.
 *
 * Order: an element is a function of seed, epoch and position, on any number of threads. Most stages are random-access:
 * any element can be computed directly. These are replayed, one element after the other: filter, take_while, unique,
 * rejection_resample, flat_map, interleave, group_by_window, bucket_by_sequence_length, scan, reduce, from_generator,
 * sample_from_datasets, choose_from_datasets, window with `reduce`, unbatch of batches of unknown size, and all stages
 * on top of them. */
#ifndef LIANA_DATASET_H
#define LIANA_DATASET_H

#include <liana/array.h>
#include <liana/augment.h>
#include <liana/context.h>
#include <liana/preprocessing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_dataset liana_dataset;

/* ---- elements ----
 *
 * An element consists of named components. All elements of a dataset have the same components: same names, dtypes and
 * shapes. They are known before the first element is made. The first and the second dimension may be unknown
 * (LIANA_UNKNOWN_DIM): then each element has its own. Strings are any bytes; they stay on the host. */

typedef struct liana_element liana_element;

/* The components of an element, as those of its dataset. Returns their number; 0 for NULL. They are valid as long as
 * the dataset. */
LIANA_API size_t liana_element_components(const liana_element *element, const liana_component **components);
/* A component of an element, with its shape in this element: without unknown dimensions. Of strings `data` is NULL, and
 * liana_element_string gives them. Zeros: there is no such component. Valid as long as the element. */
LIANA_API liana_array liana_element_array(const liana_element *element, const char *name);

/* String `index` of a component, from 0. {NULL, 0} if there is none. Not NUL-terminated. */
LIANA_API liana_bytes liana_element_string(const liana_element *element, const char *name, int64_t index);

/* For functions that make an element: the memory for the numbers of a component. NULL as above. */
LIANA_API void *liana_element_output(liana_element *element, const char *name);
/* Sets a string to a copy of `bytes`, which may be NULL if `size` is 0. Errors: INVALID_ARGUMENT (no such string),
 * OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_element_set_string(liana_element *element, const char *name, int64_t index,
                                                               const void *bytes, size_t size);
/* Sets the first dimension of a component, where it is unknown and the second one is known. The values become zeros and
 * empty strings; liana_element_output gives their memory. Without it a component of an own map has no values. Errors:
 * INVALID_ARGUMENT (no such component, another shape), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_element_set_rows(liana_element *element, const char *name, int64_t rows);
/* Stores the sentence why the element cannot be made; NULL: none. Returns `status`, so that the function can return
 * it. */
LIANA_API liana_status liana_element_fail(liana_element *element, liana_status status, const char *message);

/* ---- datasets ---- */

/* Whether the first line of a table has the names of its columns. */
typedef enum liana_header {
    LIANA_HEADER_AUTO, /* if no cell of it is a number */
    LIANA_HEADER_YES,
    LIANA_HEADER_NO, /* the columns are called "0", "1", ... */
} liana_header;

/* Zeros are the defaults. */
typedef struct liana_dataset_options {
    liana_scale scale;         /* LIANA_SCALE_AUTO: the model's scale (preprocessing.h) */
    bool unlabelled;           /* do not read labels; only for liana_predict */
    const char *labels;        /* IDX: the file of labels; NULL: it is looked for in the folder of the images */
    const char *image_feature; /* names of tf.Example features; NULL: the usual names are tried */
    const char *label_feature;
    const char *id_feature;
    /* Use the class numbers and the vocabularies of this dataset. It must be open only for this call. An unknown
     * class name is refused; so are numbers where this dataset has names. NULL: classes are numbered in the byte order
     * of their names. Set it for validation data: if they lacked a class, all later classes would get other numbers. */
    const liana_dataset *classes_of;
    /* Instead of classes_of: the names in the order of their numbers, then NULL; for example a model's
     * (liana_model_preprocessing). If the labels are numbers, this gives their names. */
    const char *const *class_names;
    /* More components, made of columns of CSV files or features of tf.Examples; as data.columns in YAML:
     * "{features: [width, height], city: {category: true}, words: {length: 32}}". NULL: those of classes_of, if it has
     * some; else of a table each column, of other files none. */
    const char *columns;
    liana_header header;  /* of tables */
    int64_t label_offset; /* added to every label; -1 if the files count classes from 1 */
    int64_t take;         /* use only the first `take` examples; 0: all */
    bool antialias;       /* average over all pixels when images are shrunk to the model's input. Pillow and torchvision
                           * do so; TensorFlow and Keras do not, by default. A model that was trained so always has its
                           * images averaged */
    char field_delim;     /* of tables: the byte between cells; 0: a tab for NAME.tsv, else a comma */
    bool plain_quotes;    /* of tables: a quote is a character like others (tf.data: use_quote_delim = false) */
    const char *na_value; /* of tables: one more text that stands for a missing value; NULL: none */
    /* Of tables: means, medians and boundaries of bins are found in the rows that a fit with this validation_split and
     * this seed trains on. 0: in all rows. */
    double validation_split;
    uint64_t split_seed;
} liana_dataset_options;

/* Opens TFRecord files, IDX files (MNIST), files of CIFAR, CSV lists of images, WebDataset tar archives, or folders of
 * JPEG and PNG files with one folder for each class. `pattern` is a file, a folder or a shell pattern; or the name of a
 * data set ("mnist", "mnist/test", docs/guides/data.md), which is fetched once. This call reads only names, sizes and
 * the first record. `options` may be NULL. The context must outlive the dataset. Errors: NOT_FOUND,
 * INVALID_DATA (no labels, ...), DATA_LOSS, IO_ERROR. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_open(liana_context *context, const char *pattern,
                                                         const liana_dataset_options *options, liana_dataset **dataset);
/* Opens training data as a configuration describes them: "{concatenate: [a.tfrec, {paths: b.tfrec, take: 100}]}",
 * "{sample_from: [{paths: a, weight: 3}, b], filter: NAME}". The keys are those of data.train. `options` are as above,
 * but `take` counts for each file or pattern. Errors: also INVALID_CONFIG, with line and key. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_configure(liana_context *context, const char *text,
                                                              const liana_dataset_options *options,
                                                              liana_dataset **dataset);

/* Gives another reference to the dataset. It must be closed too. NULL gives NULL. */
LIANA_API liana_dataset *liana_dataset_retain(liana_dataset *dataset);
/* NULL is allowed. */
LIANA_API void liana_dataset_close(liana_dataset *dataset);

enum { LIANA_INFINITE = -1, LIANA_UNKNOWN = -2 };

/* Facts of a dataset that are known before its elements are made. */
typedef struct liana_dataset_facts {
    int64_t num_examples; /* elements; LIANA_INFINITE or LIANA_UNKNOWN */
    int64_t batch_size;   /* of the batches that the elements are; 0: they are single */
    bool random_access;   /* any element can be computed directly; false: the elements before it are replayed */
    size_t num_components;
    const liana_component *components; /* of the elements; valid as long as the dataset */
    size_t cached_bytes;               /* used by the caches of the dataset, and of those that it is made of */
} liana_dataset_facts;
LIANA_API liana_dataset_facts liana_dataset_info(const liana_dataset *dataset);

/* Reads all labels. The number of classes is the largest label plus one. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_count_classes(const liana_dataset *dataset, int64_t *num_classes);

/* The height, width and number of channels of a dataset that has an image component. Height and width are those of the
 * first image. For pixels, channels is their number of channels; for encoded files it is 3. A model's input may have
 * another size, or 1 channel: images are converted. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_image_shape(const liana_dataset *dataset, int64_t shape[3]);

/* ---- sources ----
 *
 * The usual source is liana_dataset_open. Its elements have these components:
 * - `image`: a string (the encoded file), or u8 [height, width, channels] if the files hold pixels;
 * - `label`: s64, with the offset added; missing if the data have no labels;
 * - `id`: a string, empty if there is none. */

/* The rows of CSV or TSV tables. A column is s64 if all its cells are whole numbers, f32 if all are numbers, else a
 * string; options->columns may say otherwise. A column `label` (or `class`, `class_name`, `target`) of whole numbers or
 * names is the class label: `label` (s64), as in files of images. A column `id` or `image_id` is the `id`. An empty
 * cell is an error, unless `columns` gives a value for it; messages name file, line and column. `options` may be NULL.
 * Random-access. */
LIANA_API liana_dataset *liana_dataset_csv(liana_context *context, const char *pattern,
                                           const liana_dataset_options *options);

/* One element that consists of all arrays; or one element for each index of the arrays' first dimension, which must be
 * the same for all. Values are copied. */
LIANA_API liana_dataset *liana_dataset_from_tensors(liana_context *context, const liana_array *arrays,
                                                    size_t num_arrays);
LIANA_API liana_dataset *liana_dataset_from_tensor_slices(liana_context *context, const liana_array *arrays,
                                                          size_t num_arrays);
/* `value` (s64): start, start + step, ... before stop. */
LIANA_API liana_dataset *liana_dataset_range(liana_context *context, int64_t start, int64_t stop, int64_t step);
/* Pseudo-random whole numbers from 0 to 2^32 - 1, without end: `value` (s64). `options` may be NULL. Random-access. */
typedef struct liana_random_options {
    uint64_t seed;
    bool rerandomize_each_iteration; /* other numbers in each epoch */
} liana_random_options;
LIANA_API liana_dataset *liana_dataset_random(liana_context *context, const liana_random_options *options);
/* `record` (a string): the records of TFRecord files, plain or compressed with GZIP or ZLIB. Files are read in the
 * order of their names. `pattern` is a file or a shell pattern. */
LIANA_API liana_dataset *liana_dataset_tfrecord(liana_context *context, const char *pattern);

typedef enum liana_compression {
    LIANA_COMPRESSION_AUTO, /* GZIP by its first bytes, else none */
    LIANA_COMPRESSION_NONE,
    LIANA_COMPRESSION_GZIP,
    LIANA_COMPRESSION_ZLIB,
} liana_compression;

/* `line` (a string): the lines of text files, without their ends (LF or CR LF). The last line needs no end. One pass
 * finds the lines when the files are opened; a compressed file is inflated into memory. Random-access. Files are read
 * in the order of their names. `pattern` is a file or a shell pattern. `options` may be NULL. */
typedef struct liana_text_line_options {
    liana_compression compression;
} liana_text_line_options;
LIANA_API liana_dataset *liana_dataset_text_line(liana_context *context, const char *pattern,
                                                 const liana_text_line_options *options);

/* `record` (a string): pieces of `record_bytes` of each file, after its header and before its footer. A file with a
 * remainder is refused. Random-access. */
typedef struct liana_fixed_length_record_options {
    int64_t record_bytes; /* at least 1 */
    int64_t header_bytes;
    int64_t footer_bytes;
    liana_compression compression;
} liana_fixed_length_record_options;
LIANA_API liana_dataset *liana_dataset_fixed_length_record(liana_context *context, const char *pattern,
                                                           const liana_fixed_length_record_options *options);

/* Elements that a function makes one after the other. Each iterator has a state of its own. */
typedef struct liana_generator_options {
    const char *name; /* the name in messages; NULL: none */
    /* Begins an epoch, on any thread. To fail, return liana_element_fail(failure, ...). NULL: there is no state. */
    liana_status (*begin)(void *user, uint64_t epoch, void **state, liana_element *failure);
    /* Makes the element address->position; its components are zeros at first. LIANA_END_OF_DATA: there is no more. */
    liana_status (*next)(void *user, void *state, const liana_example_address *address, liana_element *element);
    void (*end)(void *user, void *state); /* frees the state; NULL: nothing to free */
    void *user;
    const liana_component *components;
    size_t num_components;
} liana_generator_options;
LIANA_API liana_dataset *liana_dataset_from_generator(liana_context *context, const liana_generator_options *options);

/* `text` (a string: a file), `label` (s64) and `id` (the path below the folder): the files NAME.txt in a folder that
 * has a folder for each class. `options` as for liana_dataset_open; it may be NULL. Random-access. */
LIANA_API liana_dataset *liana_dataset_text_from_directory(liana_context *context, const char *directory,
                                                           const liana_dataset_options *options);

/* Sequences of consecutive rows: Keras's timeseries_dataset_from_array. Sequence i begins at row
 * start_index + i * sequence_stride of `data`, and has `sequence_length` rows, `sampling_rate` apart. With targets, the
 * components of row start_index + i * sequence_stride of `targets` are added. Random-access. */
typedef struct liana_timeseries_options {
    int64_t sequence_length;
    int64_t sequence_stride; /* 0: 1 */
    int64_t sampling_rate;   /* 0: 1 */
    int64_t batch_size;      /* 0: 128; below 0: no batches */
    bool shuffle;
    uint64_t seed;
    int64_t start_index; /* the first row that is used */
    int64_t end_index;   /* the row after the last one; 0: all rows */
} liana_timeseries_options;
LIANA_API liana_dataset *liana_dataset_timeseries_from_array(liana_context *context, const liana_array *data,
                                                             size_t num_data, const liana_array *targets,
                                                             size_t num_targets,
                                                             const liana_timeseries_options *options);

/* ---- stages that make one element from one element ---- */

/* Computes an output element from an input element. Called on several threads at the same time. At the start the output
 * is a copy of the input, or zeros if the stage declares components of its own. Random numbers come from
 * liana_example_uniform. address->position is the element's position in the order of the input; address->record is its
 * place in the data. To fail, return liana_element_fail(...): the iteration ends at this element. */
typedef liana_status (*liana_map_function)(void *user, const liana_example_address *address, const liana_element *input,
                                           liana_element *output);

typedef struct liana_map_options {
    const char *name; /* the name in messages; NULL: none */
    liana_map_function function;
    void *user;
    const liana_component *components; /* of the output; NULL: the same as the input's */
    size_t num_components;
} liana_map_options;
/* Replaces each element by the one that the function computes from it. */
LIANA_API liana_dataset *liana_dataset_map(liana_dataset *dataset, const liana_map_options *options);

/* Parses tf.Example records. `record` is replaced by the components. Each is the feature of that name; its shape gives
 * the number of values. Dtypes are LIANA_STRING, LIANA_S64 and LIANA_F32. A missing feature is an error. */
LIANA_API liana_dataset *liana_dataset_parse_example(liana_dataset *dataset, const liana_component *features,
                                                     size_t num_features);

/* A component that is made of a feature. Its dtype is LIANA_STRING, LIANA_S64 or LIANA_F32. Its shape gives the number
 * of values; an unknown first dimension is as long as the feature has values (tf.io.VarLenFeature, RaggedFeature). */
typedef struct liana_example_feature {
    liana_component component;
    const char *key; /* the name of the feature; NULL: that of the component */
    /* Stands for each value of a missing feature; of its dtype, liana_bytes for a string. NULL: a missing feature is an
     * error, or has no values if the first dimension is unknown. */
    const void *default_value;
    /* tf.io.SparseFeature: the feature with the index of each value. The component, of shape [size], is zero or empty
     * elsewhere. NULL: values stand one after the other. */
    const char *index_key;
} liana_example_feature;

/* Parses tf.SequenceExample and tf.Example records. `context` are features of the example. `sequence` are feature
 * lists: their first dimension is the number of steps, the others say how many values each step has. If the second
 * dimension of a list is unknown, it is the largest number of values of a step; zeros and empty strings fill the other
 * steps. `record` is replaced. */
typedef struct liana_sequence_example_options {
    const liana_example_feature *context;
    size_t num_context;
    const liana_example_feature *sequence;
    size_t num_sequence;
} liana_sequence_example_options;
LIANA_API liana_dataset *liana_dataset_parse_sequence_example(liana_dataset *dataset,
                                                              const liana_sequence_example_options *options);

/* How a component is padded. */
typedef struct liana_component_padding {
    const char *component;
    /* The dimensions to pad to, of the component's rank. LIANA_UNKNOWN_DIM: of padded_batch, the longest of the batch;
     * of pad, as it is. Rank 0: LIANA_UNKNOWN_DIM for each dimension that is unknown. */
    liana_shape shape;
    double value;     /* of the filling numbers */
    const char *text; /* of the filling strings; NULL: "" */
    /* Names of two more components. `lengths` (s32 []) is the first dimension before padding; `mask` (bool, of the
     * padded first dimension) is true for real values. NULL: none. */
    const char *lengths;
    const char *mask;
} liana_component_padding;

/* Pads values at their ends to a known length. A model needs elements of one shape. A longer value is an error, unless
 * `truncate` is set. */
typedef struct liana_pad_options {
    const liana_component_padding *paddings;
    size_t num_paddings;
    bool truncate; /* cut longer values to the length */
} liana_pad_options;
LIANA_API liana_dataset *liana_dataset_pad(liana_dataset *dataset, const liana_pad_options *options);

/* Decodes `image` if it is a string, and resizes it: u8 [height, width, channels], rounded. */
typedef struct liana_decode_options {
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3 */
    bool antialias;
} liana_decode_options;
LIANA_API liana_dataset *liana_dataset_decode_images(liana_dataset *dataset, const liana_decode_options *options);

/* Adds a first component `index` (s64), counted from `start`. */
LIANA_API liana_dataset *liana_dataset_enumerate(liana_dataset *dataset, int64_t start);
LIANA_API liana_dataset *liana_dataset_rename(liana_dataset *dataset, const char *from, const char *to);

/* ---- choosing, repeating and ordering elements ---- */

/* Whether an element is kept. Called like a map function. */
typedef bool (*liana_filter_function)(void *user, const liana_example_address *address, const liana_element *element);

typedef struct liana_filter_options {
    const char *name;
    liana_filter_function function;
    void *user;
} liana_filter_options;
/* Keeps the elements for which the function returns true. */
LIANA_API liana_dataset *liana_dataset_filter(liana_dataset *dataset, const liana_filter_options *options);

/* The elements before the first one that is not kept. */
LIANA_API liana_dataset *liana_dataset_take_while(liana_dataset *dataset, const liana_filter_options *options);
/* Leaves out elements whose components are, byte for byte, those of an element before. They are kept in the iterator's
 * memory. */
LIANA_API liana_dataset *liana_dataset_unique(liana_dataset *dataset);

/* Leaves out elements by chance, so that their classes come with the frequencies of target_dist. The chance that an
 * element stays is proportional to target_dist[class] / initial_dist[class]. An element is drawn by its position and
 * its epoch. So epochs differ in their number of elements; a fit without steps_per_epoch takes as many in each epoch as
 * the first one has, and goes on in the next one where one has fewer. */
typedef struct liana_rejection_resample_options {
    const char *name;
    /* The class of an element, from 0 to num_classes - 1. NULL: the component `label`. */
    int64_t (*class_of)(void *user, const liana_example_address *address, const liana_element *element);
    void *user;
    const double *target_dist; /* [num_classes], each at least 0 */
    size_t num_classes;
    /* [num_classes] of the input. NULL: counted as the elements come, each class beginning with 10, as in tf.data. */
    const double *initial_dist;
    uint64_t seed;
    bool same_each_epoch; /* the same elements stay in each epoch */
} liana_rejection_resample_options;
LIANA_API liana_dataset *liana_dataset_rejection_resample(liana_dataset *dataset,
                                                          const liana_rejection_resample_options *options);

/* A state that goes from element to element. Its values at the start are those of `initial_state`, which are copied. */
typedef struct liana_state_options {
    const char *name;
    /* Changes the state at an element (liana_element_output of `state`). Of scan it also makes the output, whose
     * components are zeros at first; of reduce `output` is NULL. To fail, return liana_element_fail(state, ...). */
    liana_status (*function)(void *user, const liana_example_address *address, liana_element *state,
                             const liana_element *input, liana_element *output);
    void *user;
    const liana_array *initial_state;
    size_t num_states;
    const liana_component *components; /* of scan's output; NULL: the same as the input's */
    size_t num_components;
} liana_state_options;
/* An element for each element and the state before it. */
LIANA_API liana_dataset *liana_dataset_scan(liana_dataset *dataset, const liana_state_options *options);
/* One element: the state after the last element. */
LIANA_API liana_dataset *liana_dataset_reduce(liana_dataset *dataset, const liana_state_options *options);

/* Elements that cannot be made: a damaged record, an image that cannot be decoded, a function that fails. ignore_errors
 * leaves them out, and later elements move up. mark_errors replaces them by zeros and empty strings (none, where the
 * first dimension is unknown); another component, `valid` (bool), is false for them, and the dataset stays
 * random-access. The input must be random-access, with a known length. `options` may be NULL. */
typedef struct liana_ignore_errors_options {
    /* Called for each such element, on any thread; address->record is the position. If it returns false, the element is
     * an error. NULL: the elements are logged (LIANA_LOG=data). */
    bool (*on_error)(void *user, const liana_example_address *address, const char *message);
    void *user;
} liana_ignore_errors_options;
LIANA_API liana_dataset *liana_dataset_ignore_errors(liana_dataset *dataset,
                                                     const liana_ignore_errors_options *options);
LIANA_API liana_dataset *liana_dataset_mark_errors(liana_dataset *dataset, const liana_ignore_errors_options *options);

/* Shuffles a dataset. A random-access dataset is shuffled as a whole, without a buffer, by a permutation computed from
 * seed and epoch. For compressed files it permutes blocks of records, and then the records within every 8 blocks. Other
 * datasets go through a buffer, from which elements are drawn. `options` may be NULL. */
typedef struct liana_shuffle_options {
    int64_t buffer_size; /* elements, for streams only; 0: 1024 */
    uint64_t seed;
    bool same_each_epoch; /* tf.data: reshuffle_each_iteration = false */
} liana_shuffle_options;
LIANA_API liana_dataset *liana_dataset_shuffle(liana_dataset *dataset, const liana_shuffle_options *options);

/* Repeats the dataset `count` times; without end if `count` is below 0. */
LIANA_API liana_dataset *liana_dataset_repeat(liana_dataset *dataset, int64_t count);
/* take: the first `count` elements (all if `count` is below 0). skip: all but the first `count`. */
LIANA_API liana_dataset *liana_dataset_take(liana_dataset *dataset, int64_t count);
LIANA_API liana_dataset *liana_dataset_skip(liana_dataset *dataset, int64_t count);
/* Elements index, index + num_shards, index + 2 num_shards, ... */
LIANA_API liana_dataset *liana_dataset_shard(liana_dataset *dataset, int64_t num_shards, int64_t index);

typedef enum liana_remainder {
    LIANA_REMAINDER_KEEP, /* the last batch may be smaller: the first dimension is unknown */
    LIANA_REMAINDER_DROP,
    LIANA_REMAINDER_PAD, /* zeros fill the last batch; the component `mask` (bool [batch_size]) is true for real
                          * elements */
} liana_remainder;

typedef struct liana_batch_options {
    int64_t batch_size;
    liana_remainder remainder;
} liana_batch_options;
/* Joins each batch_size elements into one: every component gets a first dimension of this size. */
LIANA_API liana_dataset *liana_dataset_batch(liana_dataset *dataset, const liana_batch_options *options);
/* Splits batches: one element for each index of the components' first dimension. */
LIANA_API liana_dataset *liana_dataset_unbatch(liana_dataset *dataset);
/* Batches of another size: batch of unbatch. */
LIANA_API liana_dataset *liana_dataset_rebatch(liana_dataset *dataset, const liana_batch_options *options);

/* Batches of elements whose dimensions differ. Unknown dimensions that are not named in `paddings` are padded with
 * zeros to the longest of the batch. If all dimensions are then known, this is a batch of pad, and a model can read
 * it. */
typedef struct liana_padded_batch_options {
    int64_t batch_size;
    bool drop_remainder;
    const liana_component_padding *paddings;
    size_t num_paddings;
} liana_padded_batch_options;
LIANA_API liana_dataset *liana_dataset_padded_batch(liana_dataset *dataset, const liana_padded_batch_options *options);

/* Windows of elements. Window i has the elements i * shift + k * stride, for k below size. Without drop_remainder the
 * last windows may be smaller. Each is one element with a new first dimension: tf.data's window, and a batch of each
 * window. That is random-access if the input is. Or `reduce` makes a dataset of each window: tf.data's window and
 * flat_map. */
typedef struct liana_window_options {
    int64_t size;
    int64_t shift;  /* 0: size */
    int64_t stride; /* 0: 1 */
    bool drop_remainder;
    /* Components that have one value for a window, without the new dimension: that of element i * shift +
     * target_offset. Windows whose target lies behind the end are left out. */
    const char *const *targets;
    size_t num_targets;
    int64_t target_offset;
    /* Makes a dataset of a window, whose elements come next: liana_dataset_padded_batch(window, ...) for example. It
     * takes over the window, as a stage does. NULL: windows are elements. Without `targets`. */
    liana_dataset *(*reduce)(void *user, liana_dataset *window);
    void *user;
    const char *name;                  /* of the function, in messages */
    const liana_component *components; /* of the made datasets; NULL: the same as the input's */
    size_t num_components;
} liana_window_options;
LIANA_API liana_dataset *liana_dataset_window(liana_dataset *dataset, const liana_window_options *options);

/* Collects elements by key. When there are window_size elements of a key, `reduce` makes a dataset of them, and its
 * elements come next. At the end come the keys with fewer elements, in ascending order. */
typedef struct liana_group_by_window_options {
    const char *name;
    int64_t (*key)(void *user, const liana_example_address *address, const liana_element *element);
    int64_t window_size;
    int64_t (*window_size_of)(void *user, int64_t key); /* instead of window_size; NULL: all keys have that one */
    /* Takes over the window, as a stage does: liana_dataset_batch(window, ...) for example. */
    liana_dataset *(*reduce)(void *user, int64_t key, liana_dataset *window);
    void *user;
    const liana_component *components; /* of the made datasets; NULL: the same as the input's */
    size_t num_components;
} liana_group_by_window_options;
LIANA_API liana_dataset *liana_dataset_group_by_window(liana_dataset *dataset,
                                                       const liana_group_by_window_options *options);

/* Batches of elements of about the same length. Bucket i has the lengths from boundaries[i - 1] up to, but without,
 * boundaries[i], and batches of batch_sizes[i]. */
typedef struct liana_bucket_options {
    /* The length of an element. NULL: the first dimension of `component`. */
    int64_t (*length)(void *user, const liana_example_address *address, const liana_element *element);
    void *user;
    const char *component;
    const int64_t *boundaries;  /* [num_boundaries], ascending */
    const int64_t *batch_sizes; /* [num_boundaries + 1] */
    size_t num_boundaries;
    const liana_component_padding *paddings; /* as of padded_batch */
    size_t num_paddings;
    bool pad_to_bucket_boundary; /* pad the first dimensions that are unknown to boundaries[i] - 1. A length of the last
                                  * bucket is then an error */
    bool drop_remainder;
} liana_bucket_options;
LIANA_API liana_dataset *liana_dataset_bucket_by_sequence_length(liana_dataset *dataset,
                                                                 const liana_bucket_options *options);

/* ---- joining datasets ---- */

/* Elements with the components of all datasets, whose names must differ. Ends with the shortest dataset. */
LIANA_API liana_dataset *liana_dataset_zip(liana_dataset *const *datasets, size_t num_datasets);
/* One dataset after the other. Their components must be the same. */
LIANA_API liana_dataset *liana_dataset_concatenate(liana_dataset *const *datasets, size_t num_datasets);

/* Draws a dataset for each next element, by weight. A dataset that has ended is not drawn again; with
 * stop_on_empty_dataset it ends the stage. `options` may be NULL. */
typedef struct liana_sample_options {
    const double *weights; /* [num_datasets], each at least 0; NULL: equal weights */
    uint64_t seed;
    bool stop_on_empty_dataset;
} liana_sample_options;
LIANA_API liana_dataset *liana_dataset_sample_from_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                            const liana_sample_options *options);

/* The elements of `choices` (one component, s64 []) say from which dataset the next element comes. Ends with the
 * choices, or when a dataset is chosen that has ended; with skip_empty_datasets such choices are passed over. `options`
 * may be NULL. */
typedef struct liana_choose_options {
    bool skip_empty_datasets; /* tf.data: stop_on_empty_dataset = false */
} liana_choose_options;
LIANA_API liana_dataset *liana_dataset_choose_from_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                            liana_dataset *choices,
                                                            const liana_choose_options *options);

/* Takes elements from `cycle_length` datasets in turn, `block_length` from each. The next dataset takes the place of
 * one that has ended. Random-access if all datasets are. `options` may be NULL. */
typedef struct liana_interleave_datasets_options {
    int64_t cycle_length; /* 1 to 1024; 0: all datasets */
    int64_t block_length; /* 0: 1 */
} liana_interleave_datasets_options;
LIANA_API liana_dataset *liana_dataset_interleave_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                           const liana_interleave_datasets_options *options);

/* Makes a dataset from an element, in the given context, which it must use. On failure it returns NULL and leaves a
 * message in that context. The stage closes the dataset. */
typedef liana_dataset *(*liana_dataset_function)(void *user, liana_context *context,
                                                 const liana_example_address *address, const liana_element *element);

/* The elements of the datasets that the function makes. They are taken from `cycle_length` datasets in turn,
 * `block_length` from each. */
typedef struct liana_interleave_options {
    const char *name;
    liana_dataset_function function;
    void *user;
    const liana_component *components; /* of the made datasets; NULL: the same as the input's */
    size_t num_components;
    int64_t cycle_length; /* 0: 1 */
    int64_t block_length; /* 0: 1 */
} liana_interleave_options;
LIANA_API liana_dataset *liana_dataset_interleave(liana_dataset *dataset, const liana_interleave_options *options);
/* The same with cycle_length 1: one dataset after the other. */
LIANA_API liana_dataset *liana_dataset_flat_map(liana_dataset *dataset, const liana_interleave_options *options);

/* ---- speed ---- */

/* Keeps the elements of the first epoch: in memory (`options` NULL), or in a file, also for later programs. The file is
 * written in one pass over the data, when an element is first asked for. It appears only when it is complete. It is
 * made again if it is damaged, or if the stages before it, their options, the files that they read or `version` have
 * changed. Of functions only the names are known: give another `version` when a function has changed. A full disk is an
 * IO_ERROR; an older file stays. */
typedef struct liana_cache_options {
    const char *path;              /* of the file; its folder is created */
    const char *version;           /* any text; NULL: none */
    liana_compression compression; /* of each element: NONE or GZIP; AUTO: none. ZLIB is the same as GZIP */
} liana_cache_options;
LIANA_API liana_dataset *liana_dataset_cache(liana_dataset *dataset, const liana_cache_options *options);
/* The same in a folder that several datasets may share: the file's name comes from the stages, their options and their
 * files, so a changed dataset has a file of its own, and older ones stay. `options` must have a path: the folder. */
LIANA_API liana_dataset *liana_dataset_snapshot(liana_dataset *dataset, const liana_cache_options *options);
/* The iterator's threads make elements ahead, as many as are needed. Stages with much work (map, parse_example,
 * decode_images) do so without it. */
LIANA_API liana_dataset *liana_dataset_prefetch(liana_dataset *dataset);

/* Sets the range of pixel values of `image` at a model's input. Default: LIANA_SCALE_AUTO, or the scale of the options
 * that opened the dataset. NULL is allowed. */
LIANA_API void liana_dataset_set_scale(liana_dataset *dataset, liana_scale scale);

/* ---- iterators: the elements of a dataset, one after the other ----
 *
 *     const liana_element *element;
 *     while ((status = liana_iterator_next(iterator, &element)) == LIANA_OK) use(element);
 *     if (status != LIANA_END_OF_DATA) puts(liana_context_message(context));
 *
 * Only one thread at a time may use an iterator. */

typedef struct liana_iterator liana_iterator;

/* Zeros are the defaults. */
typedef struct liana_iterator_options {
    int num_threads; /* for each stage that works ahead. 0: the context's number; below 0: none, `next` does all work */
    size_t memory;   /* bytes, half for elements made ahead, half for shuffle buffers; 0: 1 GiB */
    uint64_t seed;   /* of the random numbers that functions draw */
    uint64_t epoch;  /* decides the order of shuffles */
    uint64_t start;  /* index of the first element: the iterator begins where one from 0 would be then */
} liana_iterator_options;

/* Opens an iterator; `options` may be NULL. It keeps a reference to the dataset; the caller still closes its own.
 * Errors: INVALID_ARGUMENT (the dataset is NULL; its maker has left the message), and errors of the elements before
 * `start` if stages must replay them. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create(const liana_dataset *dataset,
                                                            const liana_iterator_options *options,
                                                            liana_iterator **iterator);
/* NULL is allowed. */
LIANA_API void liana_iterator_destroy(liana_iterator *iterator);

/* The next element, valid until the next call. After the last one: LIANA_END_OF_DATA and NULL, without a message. The
 * message of a failure names the stage and the address. A failure is repeated until liana_iterator_initialize. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_next(liana_iterator *iterator, const liana_element **element);

/* The number of elements since the beginning of the epoch, `start` included; 0 for NULL. An iterator with this `start`
 * goes on here. */
LIANA_API uint64_t liana_iterator_position(const liana_iterator *iterator);

/* Begins again, with another dataset whose elements have the same components, or with the same one (NULL). `options` as
 * for create; NULL: as before, from element 0. Errors: INVALID_ARGUMENT (names the component that differs); the
 * iterator then stays where it was. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_initialize(liana_iterator *iterator, const liana_dataset *dataset,
                                                                const liana_iterator_options *options);

/* A feedable iterator: it gives the elements of another iterator, which may be replaced at any time. It begins with
 * `source`. The iterator that feeds it must live until it is replaced or this one is destroyed. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create_feedable(liana_iterator *source, liana_iterator **iterator);
/* From now on gives the elements of `source`, from its current position. Errors: INVALID_ARGUMENT (components differ,
 * or `source` is itself fed by this iterator). */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_feed(liana_iterator *iterator, liana_iterator *source);

#ifdef __cplusplus
}
#endif
#endif
