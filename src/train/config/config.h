/* config.h - the configuration of a run: the contents of the YAML file, checked, with absolute paths.
 *
 * The structs below are filled by field tables (config_fields.c), which are also the reference of the keys. Values
 * whose keys belong to another table (an optimizer, a layer) stay values. They are checked against their comments, and
 * their owner reads them with liana__fields_read, which also names file, line and column. */
#ifndef LIANA_TRAIN_CONFIG_H
#define LIANA_TRAIN_CONFIG_H

#include "data/loader/loader.h"
#include "distribute/transport/cluster_options.h"
#include "models/models.h"
#include "train/checkpoint/warm_start.h"
#include "train/job/job_options.h"

#include <liana/model.h>

typedef struct liana__shard_config {
    int64_t count; /* 0: not sharded */
    int64_t index;
} liana__shard_config;

/* Sources that are taken in turn: a list of sources, or the files of `paths`. */
typedef struct liana__interleave_config {
    const liana__value *sources; /* as concatenate; NULL: files */
    int64_t cycle_length;        /* 0: all sources; files one after the other */
    int64_t block_length;
} liana__interleave_config;

/* A source of examples: one of `paths`, `images`, `concatenate`, `sample_from` and `interleave.sources`, or none (no
 * such data). The other members choose examples of it, in their order below. */
typedef struct liana__window_config {
    int64_t size; /* 0: no windows */
    int64_t shift;
    int64_t stride;
    liana__strings targets; /* components with one value for a window */
    int64_t target_offset;
} liana__window_config;

typedef struct liana__resample_config {
    const liana__value *target_dist; /* a list of numbers, or NULL: none are left out */
    const liana__value *initial_dist;
    bool same_each_epoch;
} liana__resample_config;

typedef struct liana__source_config {
    liana__strings paths; /* TFRecord files, patterns of them, or folders of class folders */
    const char *images;   /* a pair of IDX files (MNIST); labels NULL: looked for in the folder of the images */
    const char *labels;
    const char *kind; /* format of the files, a name in src/data/sources.def; NULL: detected */
    /* Lists of mappings, each a source (read with liana__config_read_source): one after the other, or mixed by weight.
     * NULL: none. */
    const liana__value *concatenate;
    const liana__value *sample_from;
    liana__interleave_config interleave;
    double weight;      /* in sample_from */
    const char *filter; /* names of functions that a program has registered, or NULL */
    const char *map;
    const char *take_while;
    bool unique;
    liana__resample_config rejection_resample;
    liana__window_config window;
    liana__shard_config shard;
    int64_t skip;
    int64_t take;             /* 0: all */
    const char *snapshot;     /* a folder for the elements; NULL: none */
    int snapshot_compression; /* 0: none, 1: GZIP */
} liana__source_config;

typedef struct liana__features_config {
    const char *image; /* NULL: found by looking */
    const char *label;
    const char *id;
} liana__features_config;

typedef struct liana__resize_config {
    int method; /* LIANA__RESIZE_BILINEAR */
    bool antialias;
    bool round; /* to whole numbers */
} liana__resize_config;

enum { LIANA__RESIZE_BILINEAR };

/* Where decoded images are kept for the next epochs. */
typedef enum liana__cache_kind {
    LIANA__CACHE_NONE,
    LIANA__CACHE_MEMORY, /* at most a quarter of the machine's memory */
    LIANA__CACHE_FILE,   /* for all runs on the same data */
    LIANA__CACHE_DEVICE, /* as in memory, and the training data on the devices too */
} liana__cache_kind;

typedef enum liana__decode_quality {
    LIANA__DECODE_FULL, /* all pixels, as other readers give them */
    LIANA__DECODE_FAST, /* JPEGs at a reduced size if that is enough */
} liana__decode_quality;

typedef struct liana__oversample_config {
    int64_t target_count; /* about this many examples of each class in an epoch, at least; 0: no oversampling */
} liana__oversample_config;

/* Fewer training examples of each class than of the one before it. */
typedef struct liana__imbalance_config {
    double ratio;    /* of the largest class to the smallest; 1: the data stay as they are */
    int64_t largest; /* examples of the first class; 0: as many as give the ratio */
} liana__imbalance_config;

/* The policy for a record that cannot be used. */
typedef enum liana__on_bad_record {
    LIANA__ON_BAD_RECORD_FAIL, /* the run ends */
    LIANA__ON_BAD_RECORD_SKIP, /* its place stays empty */
} liana__on_bad_record;

/* The kind of labels in the data. */
typedef enum liana__label_kind {
    LIANA__LABELS_AUTO,  /* as the training data have them; with class_names, names or numbers */
    LIANA__LABELS_NAMES, /* names of classes; numbers are refused */
} liana__label_kind;

/* Which component of the data is which input or output of the model. */
typedef struct liana__component_map {
    size_t count;
    const char *const *names;      /* of inputs or outputs; NULL as the only one: the model has only one */
    const char *const *components; /* of the data */
} liana__component_map;

typedef struct liana__data_config {
    liana__source_config train;
    liana__source_config validation;
    liana__source_config test;
    liana__strings class_names; /* the names, also if the YAML names a file of them; may be empty */
    int label_kind;             /* liana__label_kind */
    int64_t num_classes;        /* the number of class_names if given; 0: found in the data */
    int64_t image_size[2];      /* height, width; 0, 0: size of the images */
    int64_t channels;           /* 1 or 3; 0: that of the model or the format, else 3 */
    liana__features_config features;
    const liana__value *columns;       /* as it is written; NULL: none */
    liana__columns components;         /* the same, read; once the training data are open, completed from them */
    int header;                        /* liana__header, of tables */
    const char *field_delim;           /* of tables: one byte; NULL: a comma, or a tab for NAME.tsv */
    bool use_quote_delim;              /* of tables: cells may be in quotes */
    const char *na_value;              /* of tables: another text of a missing value; NULL: none */
    const liana__value *inputs;        /* as they are written; NULL: components are called as inputs and outputs are */
    const liana__value *targets;       /* ... */
    liana__component_map model_inputs; /* the same, read */
    liana__component_map model_targets;
    const char *example_weight; /* a component with a weight for each example; NULL: each counts 1 */
    double validation_split;    /* share of the training data to validate with instead; 0: none */
    int64_t label_offset;       /* added to every label */
    int scale;                  /* liana_scale; AUTO: as the backbone was trained, 0..1 without one */
    int decode;                 /* liana__decode_quality */
    liana__resize_config resize;
    bool shuffle;
    bool repeat;                 /* repeat the data; an epoch is train.steps_per_epoch long */
    int64_t take;                /* number of records of each source, from the first; 0: all */
    int cache;                   /* liana__cache_kind */
    const char *cache_dir;       /* folder of cache files; NULL: "cache" in the run folder */
    int64_t memory;              /* MiB for reading, decoding and batches made ahead; 0: 1024 */
    int64_t threads;             /* threads that decode; 0: as many as compute */
    const liana__value *augment; /* augmentation of training images: a list of stages (data/augment/augment.h), or
                                  * NULL */
    liana__imbalance_config imbalance;
    liana__oversample_config oversample;
    const char *remote_cache;           /* folder for copies of remote files; NULL: as in remote/remote.h */
    int64_t remote_cache_limit;         /* limit for them in MiB; 0: as much as the file system has */
    const liana__value *sample_weights; /* weights of training examples: "balanced", a map by class, or NULL */
    int on_bad_record;                  /* liana__on_bad_record */
    int64_t max_bad;                    /* with `skip`: more bad records end the run; 0: no limit */
    const char *quarantine;             /* a list of records to leave out (data/check/bad_records.h), or NULL */
} liana__data_config;

typedef enum liana__pooling {
    LIANA__POOLING_AUTO, /* none if `layers` are the head, else avg */
    LIANA__POOLING_NONE,
    LIANA__POOLING_AVG,
    LIANA__POOLING_MAX,
} liana__pooling;

/* Whether an EfficientNet has Keras's second Rescaling. */
typedef enum liana__imagenet_rescaling {
    LIANA__IMAGENET_RESCALING_AUTO, /* if its weights are Keras's of ImageNet */
    LIANA__IMAGENET_RESCALING_YES,
    LIANA__IMAGENET_RESCALING_NO,
} liana__imagenet_rescaling;

/* A model: `base` with its head, `base` with `layers` as the head, `layers` alone, or `file`. */
typedef struct liana__model_config {
    const char *base; /* the name of an architecture, or NULL */
    double alpha;
    const liana__value *base_options; /* further options of the architecture, by their names; NULL: none */
    bool include_top;                 /* the architecture's own head instead of dropout, pooling and a Dense layer */
    int pooling;                      /* liana__pooling */
    double dropout;                   /* before the pooling; 0: none */
    int imagenet_rescaling;           /* liana__imagenet_rescaling; of EfficientNets */
    const char *weights;              /* a weight file that is loaded by layer name, or NULL */
    const char *weights_sha256;       /* of the file that a name in `weights` meant; NULL: any */
    bool partial_weights;             /* layers that are not in it keep their initial weights */
    bool optimizer_state;             /* training goes on from the optimizer's state in `file`, if it has one */
    liana__warm_start warm_start;     /* after `weights` */
    bool trainable;                   /* whether the layers of `base` are trained */
    bool training;                    /* whether they compute as in training then */
    const char *trainable_from;       /* the first layer that is trained, or NULL */
    double batch_norm_momentum;       /* of all batch normalisations; NaN: as their layers say */
    const char *name;                 /* NULL: the base's, or "sequential" */
    const liana__value *layers;       /* a list of at least one layer, or NULL */
    const char *file;                 /* Keras's architecture (model.json), or NULL */
    const liana__value *outputs;      /* a name or names of layers, or NULL: the last layer */
} liana__model_config;

typedef struct liana__config {
    const liana_context *context; /* whose own parts may be named; NULL: none */
    liana__data_config data;
    liana__model_config model;
    liana__job_options job; /* `train`, `checkpoint` and `stages` */
    liana__cluster_options cluster;
    liana__strings plugins; /* shared libraries with own parts */
    const char *output;     /* the run folder, or NULL */
    /* The tree that was read, with overrides applied and short forms written out; messages name its places. */
    const liana__value *root;
    const char *file;
    bool is_older; /* an older liana began the run: it has resize.round: true, and Keras 2's hard_sigmoid */
} liana__config;

/* config_base.c: the architecture of that name. Errors: INVALID_CONFIG at `place`, with the nearest name. */
liana_status liana__config_find_base(const char *name, const liana__place *place, const liana__architecture **found,
                                     liana__error *error) LIANA_MUST_USE;

/* config_older.c: whether the file or an override gives this dotted key. */
bool liana__config_gives(const liana__config *config, const char *key);
/* config_older.c: hard_sigmoid in model.layers keeps its meaning of Keras 2. Changes the tree. */
void liana__config_keep_keras2(const liana__value *root);

/* The table of the whole configuration, for lists of keys. */
const liana__fields *liana__config_fields(void);

/* The policy for plugins that a configuration names. */
typedef enum liana__plugin_rule {
    LIANA__PLUGINS_IGNORED, /* own parts are those that the context has; no device of the configuration is opened */
    LIANA__PLUGINS_LOADED, /* if liana__plugin_gate lets them in; PJRT plugins too, which devices name by their paths */
} liana__plugin_rule;

/* Reads a YAML file, applies the overrides ("train.epochs=3", "model.layers[0].Dense.units=5": dotted keys, list
 * items by index from 0, the value as in YAML), checks it, and reads the file of class names if there is one. Paths
 * are relative to the folder of the file; those in overrides to the current folder. Own parts of the context (NULL:
 * there are none) may be named. Everything is in the arena. Errors: INVALID_CONFIG ("file:line:column: key: ...",
 * "command line: key: ..."), also for a missing file; OUT_OF_MEMORY; IO_ERROR. */
liana_status liana__config_load(liana_context *context, liana__plugin_rule plugins, const char *path,
                                const char *const *overrides, size_t num_overrides, liana__arena *arena,
                                liana__config *config, liana__error *error) LIANA_MUST_USE;

/* A change of a configuration by a dotted key, as another file writes it. Paths in the value are relative to the folder
 * of that file. */
typedef struct liana__config_change {
    const char *key;
    const liana__value *value;
} liana__config_change;

/* Reads a YAML file, and makes the changes in their order. Errors: as above; those of a change have its place. */
liana_status liana__config_load_changed(liana_context *context, liana__plugin_rule plugins, const char *path,
                                        const liana__config_change *changes, size_t num_changes, liana__arena *arena,
                                        liana__config *config, liana__error *error) LIANA_MUST_USE;

/* The same from a text. `file` is its name in messages; paths are relative to its folder. */
liana_status liana__config_parse(liana_context *context, liana__plugin_rule plugins, const char *text, size_t size,
                                 const char *file, const char *const *overrides, size_t num_overrides,
                                 liana__arena *arena, liana__config *config, liana__error *error) LIANA_MUST_USE;

/* Reads a member of `concatenate` or `sample_from`. Errors: INVALID_CONFIG. */
liana_status liana__config_read_source(const liana__value *value, const char *where, liana__arena *arena,
                                       liana__source_config *source, liana__error *error) LIANA_MUST_USE;
/* Whether there are data at all; whether they are more than plain files. */
bool liana__config_has_source(const liana__source_config *source);
bool liana__config_combines(const liana__source_config *source);
/* All files and patterns of a source and of its members. Errors: OUT_OF_MEMORY. */
liana_status liana__config_files(const liana__source_config *source, liana__arena *arena, liana__strings *files,
                                 liana__error *error) LIANA_MUST_USE;

/* The options for opening a source of the configuration, without those for labels. */
liana__source_options liana__config_source_options(const liana__config *config, const liana__source_config *where);

/* Keeps the facts found for the columns of the training data (a source's `columns`): the configuration then names
 * dtypes and vocabularies, for other data and for later. In model.layers, {vocabulary: COMPONENT} becomes the number of
 * names of a category. Errors: INVALID_CONFIG (no such category), OUT_OF_MEMORY. */
liana_status liana__config_keep_columns(liana__config *config, const liana__columns *found, liana__arena *arena,
                                        liana__error *error) LIANA_MUST_USE;
/* The component for an input or output of that name: that of the map, else the one of the same name. `only`: the model
 * has just one of its kind. */
const char *liana__component_for(const liana__component_map *map, const char *name, bool only);

/* How messages about the job speak of its options: by their keys, with the places where these were written. */
liana__job_door liana__config_door(const liana__config *config);

/* Refuses a configuration without training data. Errors: INVALID_CONFIG. */
liana_status liana__config_require_training_data(const liana__config *config, liana__error *error) LIANA_MUST_USE;

/* Finds the dotted key of an option by its own name, also as written after dashes: "train.batch_size" for "batch-size".
 * False: there is no such key. */
bool liana__config_find_option(const char *name, char *key, size_t size);

/* The place where a dotted key such as "train.loss" was written; if it was not, the place of the nearest mapping around
 * it. For liana__fail_at, when an option turns out to be wrong later. */
liana__place liana__config_place(const liana__config *config, const char *key);

/* Whether the value of a dotted key that is given comes from an override on the command line. */
bool liana__config_is_override(const liana__config *config, const char *key);

/* Writes the whole configuration as YAML. It loads to the same configuration from any folder, except for the queries of
 * https:// URLs (liana__path_shown). */
void liana__config_write(const liana__config *config, liana__text *text);
/* The same as a tree, in the arena: one that an older liana wrote lacks some keys, which are at their defaults here. */
liana_status liana__config_tree(const liana__config *config, liana__arena *arena, liana__value **tree,
                                liana__error *error) LIANA_MUST_USE;

#endif
