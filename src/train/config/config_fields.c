/* The tables of all options of a configuration. */
#include "train/config/config_internal.h"

#include "data/dataset/turns.h"
#include "data/source/source.h"
#include "known/data_set.h"
#include "known/known_weights.h"
#include "models/preprocessing.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SIDE = 16384, MAX_THREADS = 1024 };

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__shard_config, member, kind, __VA_ARGS__)
static const liana__field shard_items[] = {
    ROW(count, INT, .maximum = INFINITY, .doc = "number of shards (0: one shard with everything)"),
    ROW(index, INT, .maximum = INFINITY, .doc = "number of the shard to use, from 0"),
};
static const liana__fields shard_fields = LIANA__FIELD_TABLE("shard", liana__shard_config, shard_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__interleave_config, member, kind, __VA_ARGS__)
static const liana__field interleave_items[] = {
    ROW(sources, VALUE, .doc = "a list of sources, as for concatenate (null: the files of paths)"),
    ROW(cycle_length, INT, .maximum = LIANA__MAX_TURNS,
        .doc = "number of sources that are read in turn; the next source takes the place of one that has ended (0: all "
               "sources; files: one after the other)"),
    ROW(block_length, INT, .default_text = "1", .minimum = 1, .maximum = INFINITY,
        .doc = "number of examples taken from each in turn"),
};
static const liana__fields interleave_fields =
    LIANA__FIELD_TABLE("interleave", liana__interleave_config, interleave_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__window_config, member, kind, __VA_ARGS__)
static const liana__field window_items[] = {
    ROW(size, INT, .maximum = 1 << 20, .doc = "number of examples of a window (0: no windows)"),
    ROW(shift, INT, .default_text = "1", .minimum = 1, .maximum = INT32_MAX,
        .doc = "number of examples from the first one of a window to that of the next"),
    ROW(stride, INT, .default_text = "1", .minimum = 1, .maximum = 1 << 20,
        .doc = "number of examples from one of a window to the next in it"),
    ROW(targets, STRINGS,
        .doc =
            "components that have one value for a window, that of an example, while the others have a value for each "
            "example of it"),
    ROW(target_offset, INT, .maximum = (1 << 20) - 1,
        .doc = "which example has the targets, counted from the window's first one (0)"),
};
static const liana__fields window_fields = LIANA__FIELD_TABLE("window", liana__window_config, window_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__resample_config, member, kind, __VA_ARGS__)
static const liana__field resample_items[] = {
    ROW(target_dist, VALUE, .doc = "how often each class shall come: a list of shares (null: all examples stay)"),
    ROW(initial_dist, VALUE, .doc = "how often it comes in the files (null: counted as the examples are read)"),
    ROW(same_each_epoch, BOOL, .default_text = "false",
        .doc = "the same examples stay in each epoch (false: others; an epoch has as many as the first one)"),
};
static const liana__fields resample_fields =
    LIANA__FIELD_TABLE("rejection_resample", liana__resample_config, resample_items);
#undef ROW

static const char *const compressions[] = {"none", "GZIP", NULL};

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__source_config, member, kind, __VA_ARGS__)
static const liana__field source_items[] = {
    ROW(paths, PATHS, .is_name = liana__data_set_is_meant,
        .doc = "TFRecord files, CSV lists of images or WebDataset tar archives, or patterns of them; folders with a "
               "folder for each class; or a data set by its name: mnist, cifar-10, ... ('liana fetch')"),
    ROW(images, PATH, .doc = "the IDX file of the images (MNIST)"),
    ROW(labels, PATH, .doc = "the IDX file of their labels (null: it is looked for in the folder of the images)"),
    ROW(kind, STRING,
        .doc = "format of the files: tfrecord, idx, cifar, csv (a list of images), table, webdataset, folder or text "
               "(null: "
               "detected)"),
    ROW(concatenate, VALUE,
        .doc = "a list of sources that are read one after the other; each is a path, a list of paths or a mapping like "
               "this one"),
    ROW(sample_from, VALUE,
        .doc = "a list of sources that are mixed randomly by their weights, each example once (with data.repeat: "
               "without end, so that the weights hold throughout)"),
    ROW(interleave, SECTION, .section = &interleave_fields,
        .doc = "sources, or the files of paths, taken in turn: a few at a time, a block of examples from each (with "
               "shuffle, the order is random anyway)"),
    ROW(weight, FLOAT, .default_text = "1.0", .maximum = INFINITY,
        .doc = "in sample_from: how often this source is drawn, relative to the others"),
    ROW(filter, STRING, .doc = "a function of the program that chooses the examples to keep (liana_stage_type)"),
    ROW(map, STRING, .doc = "a function of the program that changes examples (liana_stage_type)"),
    ROW(take_while, STRING,
        .doc =
            "a function of the program: the examples before the first one that it does not choose (liana_stage_type)"),
    ROW(unique, BOOL, .default_text = "false", .doc = "leave out examples that are equal to one before"),
    ROW(rejection_resample, SECTION, .section = &resample_fields,
        .doc = "leave out examples by chance, so that classes come as often as is wanted"),
    ROW(window, SECTION, .section = &window_fields,
        .doc = "windows of consecutive examples, such as rows of a table, each as one example"),
    ROW(shard, SECTION, .section = &shard_fields,
        .doc = "use only every count-th example, beginning with example `index`"),
    ROW(skip, INT, .maximum = INFINITY, .doc = "number of examples to leave out at the beginning"),
    ROW(take, INT, .maximum = INFINITY, .doc = "number of examples to use after `skip` (0: all)"),
    ROW(snapshot, PATH,
        .doc = "a folder in which the examples are kept as these stages make them, also for later runs (null: none)"),
    ROW(snapshot_compression, ENUM, .default_text = "none", .names = compressions,
        .doc = "compression of the examples of `snapshot`: none or GZIP"),
};
static const liana__fields source_fields = LIANA__FIELD_TABLE("source", liana__source_config, source_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__features_config, member, kind, __VA_ARGS__)
static const liana__field features_items[] = {
    ROW(image, STRING,
        .doc = "the feature with the encoded image (null: the first that exists of image, image/encoded, ...)"),
    ROW(label, STRING,
        .doc = "the feature with the class number (null: the first that exists of class, label, image/class/label)"),
    ROW(id, STRING,
        .doc = "the feature with the name of the example (null: id, image/filename, ..., else the record's number)"),
};
static const liana__fields features_fields = LIANA__FIELD_TABLE("features", liana__features_config, features_items);
#undef ROW

static const char *const resize_methods[] = {"bilinear", NULL};

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__resize_config, member, kind, __VA_ARGS__)
static const liana__field resize_items[] = {
    ROW(method, ENUM, .default_text = "bilinear", .names = resize_methods, .doc = "interpolation between pixels"),
    ROW(antialias, BOOL, .default_text = "false",
        .doc = "average over all pixels when shrinking, as Pillow and torchvision do; TensorFlow and Keras do not, by "
               "default"),
    ROW(round, BOOL, .default_text = "false",
        .doc = "round resized pixels to whole numbers, which takes a quarter of the memory in caches and batches; "
               "TensorFlow and Keras keep fractions"),
};
static const liana__fields resize_fields = LIANA__FIELD_TABLE("resize", liana__resize_config, resize_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__imbalance_config, member, kind, __VA_ARGS__)
static const liana__field imbalance_items[] = {
    ROW(ratio, FLOAT, .default_text = "1.0", .minimum = 1, .maximum = 1e6,
        .doc = "the size of the first class to that of the last; sizes fall by the same factor from class to class (1: "
               "all examples are used)"),
    ROW(largest, INT, .maximum = 1e9,
        .doc = "the number of examples of the first class (0: the most with which every class has its share)"),
};
static const liana__fields imbalance_fields = LIANA__FIELD_TABLE("imbalance", liana__imbalance_config, imbalance_items);
#undef ROW

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__oversample_config, member, kind, __VA_ARGS__)
static const liana__field oversample_items[] = {
    ROW(target_count, INT, .maximum = 1e9,
        .doc = "an example of a rare class is repeated until its class has about this many examples an epoch (0: no "
               "oversampling)"),
};
static const liana__fields oversample_fields =
    LIANA__FIELD_TABLE("oversample", liana__oversample_config, oversample_items);
#undef ROW

static const char *const cache_kinds[] = {"none", "memory", "file", "device", NULL};
static const char *const decode_qualities[] = {"full", "fast", NULL};

static const char *const on_bad_record_names[] = {"fail", "skip", NULL};

static const char *const headers[] = {"auto", "yes", "no", NULL};

static const char *const label_kinds[] = {"auto", "names", NULL};

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__data_config, member, kind, __VA_ARGS__)
static const liana__field data_items[] = {
    ROW(train, SECTION, .section = &source_fields,
        .doc = "the examples to train on: a path, a list of paths, or {images: FILE, labels: FILE}"),
    ROW(validation, SECTION, .section = &source_fields, .doc = "the examples to evaluate on after each epoch"),
    ROW(test, SECTION, .section = &source_fields, .doc = "the examples to predict at the end; labels are not needed"),
    ROW(class_names, STRINGS,
        .doc = "the names of the classes in the order of their numbers: a list, or the path of a file with one name a "
               "line"),
    ROW(label_kind, ENUM, .default_text = "auto", .names = label_kinds,
        .doc = "names: labels are names of classes, and numbers are refused; auto: with class_names, names or numbers, "
               "else what the training data have"),
    ROW(num_classes, INT, .maximum = LIANA__MAX_CLASSES,
        .doc = "the number of classes (0: the number of class_names, else found in the data)"),
    ROW(image_size, INT_PAIR, .maximum = MAX_SIDE,
        .doc = "[height, width] in pixels, to which images are resized (0: the size of the first training image)"),
    ROW(channels, INT, .maximum = 3,
        .doc = "1 for grey, 3 for colour (0: that of the model's InputLayer, else 1 for IDX files, 3 for others)"),
    ROW(features, SECTION, .section = &features_fields,
        .doc = "names of the features of a tf.Example, columns of a CSV list or extensions in a WebDataset"),
    ROW(columns, VALUE,
        .doc = "more components of the examples, made of columns of a CSV file or features of a tf.Example: "
               "{component: column}, {component: [column, column]} or {component: {column's options}} ('liana list "
               "columns'; null: of a table each column, else none)"),
    ROW(header, ENUM, .default_text = "auto", .names = headers,
        .doc = "whether the first line of a table names its columns (auto: if no cell of it is a number; no: they are "
               "called 0, 1, ...)"),
    ROW(field_delim, STRING,
        .doc = "the character between the cells of a table (null: a tab for NAME.tsv, else a comma)"),
    ROW(use_quote_delim, BOOL, .default_text = "true",
        .doc = "cells of a table may be in double quotes; false: a quote is a character like others"),
    ROW(na_value, STRING, .doc = "one more text of a cell that stands for a missing value (null: none)"),
    ROW(inputs, VALUE,
        .doc = "which component is which input of the model: {input: component}, or the component if there is one "
               "input (null: the component of the same name)"),
    ROW(targets, VALUE,
        .doc = "which component is what an output of the model is compared with: {output: component}, or the component "
               "if there is one output (null: the component of the same name, else label)"),
    ROW(example_weight, STRING,
        .doc = "the component with a number by which each example counts in the loss (null: each counts 1)"),
    ROW(validation_split, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 1,
        .doc = "the share of the training examples that is used for validation instead, drawn by the seed, with the "
               "same share of each class (0: none)"),
    ROW(label_offset, INT, .minimum = -1000000, .maximum = 1000000,
        .doc = "added to every label: -1 if the data count classes from 1"),
    ROW(scale, ENUM, .default_text = "auto", .names = liana__scale_names,
        .doc = "how pixels are scaled: to a range (none: 0 to 255), or by ImageNet's mean as for ResNet (caffe) or "
               "DenseNet (torch); auto: as the base model was trained; none if a Rescaling or Normalization stands "
               "first; else 0..1"),
    ROW(decode, ENUM, .default_text = "full", .names = decode_qualities,
        .doc = "full: all pixels; fast: JPEGs are decoded at half, a quarter or an eighth of their size if that is not "
               "below image_size (slightly different from full with resizing)"),
    ROW(resize, SECTION, .section = &resize_fields, .doc = "how to resize"),
    ROW(shuffle, BOOL, .default_text = "true", .doc = "shuffle the training examples anew in each epoch"),
    ROW(repeat, BOOL, .default_text = "false", .doc = "repeat the data if steps_per_epoch needs more than one pass"),
    ROW(take, INT, .maximum = INFINITY,
        .doc = "number of records to use of each source that this configuration names, from the first (0: all)"),
    ROW(cache, ENUM, .default_text = "memory", .names = cache_kinds,
        .doc = "where decoded images are kept for the next epochs: memory (true): at most a quarter of the machine's "
               "memory; device: all training examples on the accelerator too, so that updates send none; file: also "
               "for later runs on the same data; none (false)"),
    ROW(cache_dir, PATH,
        .doc = "the folder for cache: file; several runs may share it (null: 'cache' in the run folder)"),
    ROW(remote_cache, PATH,
        .doc = "where copies of https://, gs:// and s3:// files are kept (null: LIANA_CACHE, else ~/.cache/liana)"),
    ROW(remote_cache_limit, INT, .maximum = 1LL << 40,
        .doc = "limit for these copies in MiB; the least recently used are removed (0: nine tenths of the free disk)"),
    ROW(memory, INT, .maximum = 1 << 24,
        .doc = "limit for reading, decoding and batches made ahead, in MiB (0: 1024); the cache is not included"),
    ROW(threads, INT, .maximum = MAX_THREADS, .doc = "number of threads that read and decode (0: as many as compute)"),
    ROW(augment, VALUE,
        .doc = "how training images are augmented randomly, differently in each epoch: a list of {augmentation: "
               "{option: value}}"),
    ROW(imbalance, SECTION, .section = &imbalance_fields,
        .doc = "how training examples are left out, to study what helps where classes differ in size"),
    ROW(oversample, SECTION, .section = &oversample_fields, .doc = "how rare classes are repeated"),
    ROW(sample_weights, VALUE,
        .doc = "draw training examples with replacement, by weight: balanced, or {class: weight}"),
    ROW(on_bad_record, ENUM, .default_text = "fail", .names = on_bad_record_names,
        .doc = "what happens when a record cannot be used (unreadable, undecodable, wrong label): fail; skip: the "
               "record is left out, and listed in the run folder's bad_records.csv"),
    ROW(max_bad, INT, .maximum = 1e12,
        .doc = "with skip: the largest number of different bad records; one more ends the run (0: no limit)"),
    ROW(quarantine, PATH, .doc = "a list of records to leave out, as 'liana check --quarantine' writes it"),
};
static const liana__fields data_fields = LIANA__FIELD_TABLE("data", liana__data_config, data_items);
#undef ROW

static const char *const imagenet_rescalings[] = {"auto", "yes", "no", NULL};
static const char *const poolings[] = {"auto", "none", "avg", "max", NULL};

#define ROW(member, kind, ...) LIANA__FIELD_ROW(liana__model_config, member, kind, __VA_ARGS__)
static const liana__field model_items[] = {
    ROW(base, STRING,
        .doc = "the architecture: MobileNetV2, ...; its options are keys of this section, too (liana list models "
               "ResNet50)"),
    ROW(alpha, FLOAT, .default_text = "1.0", .minimum = 0.01, .maximum = 10, .doc = "the width multiplier of the base"),
    ROW(include_top, BOOL, .default_text = "false",
        .doc = "use the base's own classifier instead of Dropout, pooling and Dense"),
    ROW(pooling, ENUM, .default_text = "auto", .names = poolings,
        .doc = "the global pooling of the head; with layers that of the base; auto: avg, with layers none"),
    ROW(dropout, FLOAT, .default_text = "0.0", .maximum = 0.99,
        .doc = "the share of features that the head sets to zero in training; with include_top that of the base's own "
               "classifier (0: as the base has it)"),
    ROW(imagenet_rescaling, ENUM, .default_text = "auto", .names = imagenet_rescalings,
        .doc = "of an EfficientNet: the second Rescaling that Keras (2.9 and later) puts behind the Normalization with "
               "its ImageNet weights; auto: if model.weights are these"),
    ROW(weights, PATH, .is_name = liana__weights_are_named,
        .doc = "Keras HDF5, .keras, .onnx, safetensors or a TensorFlow checkpoint to start from; layers are matched by "
               "name; "
               "or imagenet: those that Keras has for this base (of EfficientNets also noisy-student, autoaugment)"),
    ROW(weights_sha256, STRING,
        .doc = "of weights by name: the SHA-256 of their file, which a run records (null: any)"),
    ROW(partial_weights, BOOL, .default_text = "false",
        .doc = "layers that are not in the file of weights keep their initial weights (a new head)"),
    ROW(optimizer_state, BOOL, .default_text = "true",
        .doc = "training goes on from the state of the optimizer in model.file, if the file has one and the training "
               "has that optimizer; false: the optimizer begins anew"),
    ROW(warm_start, SECTION, .section = &liana__warm_start_fields,
        .doc = "the weights that training begins with, by name, with other names and exceptions"),
    ROW(trainable, BOOL, .default_text = "true", .doc = "false freezes the base: only the head is trained"),
    ROW(training, BOOL, .default_text = "true",
        .doc = "false: the base computes as in inference also while its weights are trained: batch normalisation by "
               "its moving averages, no dropout (Keras's base(inputs, training=False))"),
    ROW(trainable_from, STRING, .doc = "the name of the first layer that is trained; all layers before it are frozen"),
    ROW(batch_norm_momentum, FLOAT, .default_text = "null", .maximum = 1,
        .doc = "the momentum of all batch normalisations (0.9 for short fine-tuning; null: as each layer says)"),
    ROW(name, STRING, .doc = "the name of the model (null: the name of the base)"),
    ROW(layers, VALUE,
        .doc = "the model layer by layer: a list of {Layer: {option: value}}; with base they are its head"),
    ROW(file, PATH, .doc = "the model from a file with Keras's architecture (model.json), instead of base"),
    ROW(outputs, VALUE,
        .doc = "the name of the layer that is the output, or a list of names; only with layers (null: the last layer)"),
};
static const liana__fields model_fields = LIANA__FIELD_TABLE("model", liana__model_config, model_items);
#undef ROW

#define AT(member) .offset = offsetof(liana__config, member)
static const liana__field config_items[] = {
    {.name = "data", .kind = LIANA__FIELD_SECTION, AT(data), .section = &data_fields, .doc = "the examples"},
    {.name = "model", .kind = LIANA__FIELD_SECTION, AT(model), .section = &model_fields, .doc = "the network"},
    {.name = "train",
     .kind = LIANA__FIELD_SECTION,
     AT(job),
     .section = &liana__job_train_fields,
     .doc = "how it is trained"},
    {.name = "checkpoint",
     .kind = LIANA__FIELD_SECTION,
     AT(job.checkpoint),
     .section = &liana__job_checkpoint_fields,
     .doc = "when the state is saved"},
    {.name = "cluster",
     .kind = LIANA__FIELD_SECTION,
     AT(cluster),
     .section = &liana__cluster_fields,
     .doc = "the processes that train together"},
    {.name = "plugins",
     .kind = LIANA__FIELD_PATHS,
     AT(plugins),
     .doc = "shared libraries with layers, losses, ... of your own"},
#define FIELD(...) __VA_ARGS__
#define LIANA__JOB_TOP(member, field_kind, field, row) \
    {.name = #member, .kind = LIANA__FIELD_##field_kind, AT(job.member), field},
#include "train/job/options.def"
    {.name = "output", .kind = LIANA__FIELD_PATH, AT(output), .doc = "the folder that the run is written to"},
};
static const liana__fields config_fields = LIANA__FIELD_TABLE("configuration", liana__config, config_items);
#undef AT

const liana__fields *liana__config_source_fields(void)
{
    return &source_fields;
}

const liana__fields *liana__config_fields(void)
{
    return &config_fields;
}

/* ---- absolute paths ---- */

/* The path without links, "." and ".." in its folders. A part that does not exist (patterns, a future run folder) is
 * kept as it is. */
static const char *absolute_path(liana__arena *arena, const char *path)
{
    char current[PATH_MAX];
    if (liana__path_is_remote(path)) return path;
    if (*path != '/') {
        if (!getcwd(current, sizeof current)) return path;
        path = liana__path_join(arena, current, path);
    }
    char *head = path ? liana__arena_string(arena, path) : NULL;
    if (!head) return NULL;
    for (char *slash = strrchr(head, '/'); slash && slash > head; slash = strrchr(head, '/')) {
        *slash = 0;
        char real[PATH_MAX];
        if (realpath(head, real)) {
            return liana__arena_format(arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, path + (slash - head));
        }
    }
    return path;
}

static const char *absolute_unless_name(const liana__field *field, liana__arena *arena, const char *path)
{
    return field->is_name && field->is_name(path, path) ? path : absolute_path(arena, path);
}

liana_status liana__config_make_absolute(const liana__fields *fields, liana__arena *arena, void *object,
                                         liana__error *error)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        void *member = (char *)object + field->offset;
        if (field->kind == LIANA__FIELD_SECTION) {
            LIANA_TRY(liana__config_make_absolute(field->section, arena, member, error));
        } else if (field->kind == LIANA__FIELD_PATH && *(const char **)member) {
            *(const char **)member = absolute_unless_name(field, arena, *(const char **)member);
        } else if (field->kind == LIANA__FIELD_PATHS) {
            liana__strings *paths = member;
            const char **items = liana__arena_allocate(arena, (paths->count + 1) * sizeof *items);
            if (!items) break;
            for (size_t j = 0; j < paths->count; j++) {
                items[j] = absolute_unless_name(field, arena, paths->items[j]);
            }
            paths->items = items;
        }
    }
    return arena->failed ? liana__fail_memory(error, "the configuration") : LIANA_OK;
}
