/* example.h - tf.Example: the usual content of a record of a TFRecord file. It has named features; each is a list of
 * byte strings, of floats or of 64-bit integers. A tf.SequenceExample is one that has feature lists too: by name a
 * feature for each step of a sequence. The wire format is in proto/example.proto. */
#ifndef LIANA_FORMATS_EXAMPLE_H
#define LIANA_FORMATS_EXAMPLE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/memory_pool.h"
#include "base/text.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__feature_kind {
    LIANA__FEATURE_EMPTY, /* a name without a list, which TensorFlow writes for a missing value */
    LIANA__FEATURE_BYTES,
    LIANA__FEATURE_FLOAT,
    LIANA__FEATURE_INT64,
} liana__feature_kind;

/* "empty", "bytes", "float", "int64". */
const char *liana__feature_kind_name(liana__feature_kind kind);

/* One feature of a parsed example; everything is borrowed from the example. */
typedef struct liana__feature {
    const char *name;
    liana__feature_kind kind;
    size_t count; /* number of values; only the list of its kind is set */
    const ProtobufCBinaryData *bytes;
    const float *floats;
    const int64_t *int64s;
} liana__feature;

/* A parsed example. Zero-initialise; parse any number of records into it, one after the other; free it at the end. It
 * keeps its memory from record to record, so a reading thread soon allocates nothing. One thread at a time. */
typedef struct liana__example {
    struct Liana__Example *message;
    /* The record's file and number, for messages. Borrowed; NULL: none. */
    const char *file;
    size_t record;
    struct liana__example_block *blocks;
    size_t reserve;             /* bytes to allocate at once */
    size_t budget;              /* bytes that this record may still take */
    liana_status memory;        /* why the last allocation failed */
    liana__memory_share *share; /* the memory counts for this share; NULL: no limit */
} liana__example;

/* Parses a record. The previous contents become invalid. `bytes` is not needed afterwards. `file` (may be NULL) and
 * `record` name the record in messages, and must stay valid while the example is used. Errors: INVALID_DATA (not a
 * tf.Example), OUT_OF_MEMORY. */
liana_status liana__example_parse(liana__example *example, const char *file, size_t record, const uint8_t *bytes,
                                  size_t size, liana__error *error) LIANA_MUST_USE;
/* Bytes of memory that it keeps from record to record. */
size_t liana__example_memory(const liana__example *example);
void liana__example_free(liana__example *example);

size_t liana__example_num_features(const liana__example *example);
/* The feature at an index in [0, num_features), in the order of the file. */
liana__feature liana__example_feature(const liana__example *example, size_t index);
/* Finds a feature by name; false if there is none. If several have this name, the last one counts (protocol buffers'
 * rule for maps). */
bool liana__example_find(const liana__example *example, const char *name, liana__feature *feature);

/* A feature list: a feature for each step. Borrowed from the example. */
typedef struct liana__feature_list {
    const char *name;
    size_t count; /* steps */
    const struct Liana__FeatureList *steps;
} liana__feature_list;
size_t liana__example_num_lists(const liana__example *example);
/* The list at an index in [0, num_lists), in the order of the file. */
liana__feature_list liana__example_list_at(const liana__example *example, size_t index);
/* Finds a feature list by name, as features are found. */
bool liana__example_find_list(const liana__example *example, const char *name, liana__feature_list *list);
/* The feature of a step in [0, count). */
liana__feature liana__feature_list_step(const liana__feature_list *list, size_t step);
/* The feature list of that name, whose features must be of that kind or empty. Errors: as of liana__example_list. */
liana_status liana__example_sequence(const liana__example *example, const char *name, liana__feature_kind kind,
                                     liana__feature_list *list, liana__error *error) LIANA_MUST_USE;

/* Adds "the record has: image (bytes), area (float), boxes (12 float)", with further facts. */
void liana__example_describe(const liana__example *example, liana__text *text);

/* The feature of that name. It must be of that kind, with any number of values. Errors: NOT_FOUND (lists the existing
 * features), INVALID_DATA (another kind). */
liana_status liana__example_list(const liana__example *example, const char *name, liana__feature_kind kind,
                                 liana__feature *feature, liana__error *error) LIANA_MUST_USE;

/* The value of a feature with exactly one value. Errors: as above, and INVALID_DATA for another number of values. */
liana_status liana__example_bytes(const liana__example *example, const char *name, const uint8_t **bytes, size_t *size,
                                  liana__error *error) LIANA_MUST_USE;
liana_status liana__example_int64(const liana__example *example, const char *name, int64_t *value, liana__error *error)
    LIANA_MUST_USE;

/* Writes examples: add features, then pack. Packing empties the builder for the next example. Zero-initialise; free at
 * the end. Names and values are borrowed until the pack. The pack reports if memory was exhausted. */
typedef struct liana__example_builder {
    liana__arena arena;
    size_t count;
    size_t capacity;
    struct Liana__FeatureEntry **entries;
    uint8_t *packed;
    bool failed;
} liana__example_builder;

void liana__example_add_bytes(liana__example_builder *builder, const char *name, const void *bytes, size_t size);
/* A list of strings; none: an empty list. */
void liana__example_add_strings(liana__example_builder *builder, const char *name, const char *const *strings,
                                size_t count);
void liana__example_add_int64s(liana__example_builder *builder, const char *name, const int64_t *values, size_t count);
void liana__example_add_floats(liana__example_builder *builder, const char *name, const float *values, size_t count);
/* The packed bytes are valid until the next pack or free. */
liana_status liana__example_pack(liana__example_builder *builder, const uint8_t **bytes, size_t *size,
                                 liana__error *error) LIANA_MUST_USE;
void liana__example_builder_free(liana__example_builder *builder);

#endif
