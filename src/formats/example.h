/* example.h - tf.Example: what a record of a TFRecord file usually holds. Named features, each a list of byte strings,
 * of floats or of 64-bit integers. The wire format is in proto/example.proto. */
#ifndef LIANA_FORMATS_EXAMPLE_H
#define LIANA_FORMATS_EXAMPLE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/memory_pool.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__feature_kind {
    LIANA__FEATURE_EMPTY, /* a name without a list: what TensorFlow writes for a missing value */
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
    size_t count; /* of values; only the list of its kind is set */
    const ProtobufCBinaryData *bytes;
    const float *floats;
    const int64_t *int64s;
} liana__feature;

/* A parsed example. Zero-initialise; parse any number of records into it, one after the other; free it at the end.
 * It keeps its memory from record to record, so that a reading thread soon allocates nothing. One thread at a time. */
typedef struct liana__example {
    struct Liana__Example *message;
    /* Where the record comes from, for messages. Borrowed; NULL for nowhere. */
    const char *file;
    size_t record;
    struct liana__example_block *blocks;
    size_t reserve;             /* bytes to allocate at once */
    size_t budget;              /* bytes that this record may still take */
    liana_status memory;        /* why the last allocation failed */
    liana__memory_share *share; /* that memory is taken from; NULL: without a bound */
} liana__example;

/* Parses a record. `file` and `record` name it in this call's and all getters' messages and must live as long as the
 * example is used; `file` may be NULL. The former contents become invalid; `bytes` is not needed afterwards.
 * Errors: INVALID_DATA (not a tf.Example), OUT_OF_MEMORY. */
liana_status liana__example_parse(liana__example *example, const char *file, size_t record, const uint8_t *bytes,
                                  size_t size, liana__error *error) LIANA_MUST_USE;
/* Bytes that it keeps from record to record. */
size_t liana__example_memory(const liana__example *example);
void liana__example_free(liana__example *example);

size_t liana__example_num_features(const liana__example *example);
/* The feature at an index in [0, num_features), in the order of the file. */
liana__feature liana__example_feature(const liana__example *example, size_t index);
/* Looks a feature up by name; false if there is none. Of several of one name the last counts (protocol buffers' rule
 * for maps). */
bool liana__example_find(const liana__example *example, const char *name, liana__feature *feature);

/* The feature of that name, which must be of that kind, with any number of values.
 * Errors: NOT_FOUND (lists the features that there are), INVALID_DATA (another kind). */
liana_status liana__example_list(const liana__example *example, const char *name, liana__feature_kind kind,
                                 liana__feature *feature, liana__error *error) LIANA_MUST_USE;

/* The value of a feature that must have exactly one. Errors: as above, INVALID_DATA for another number of values. */
liana_status liana__example_bytes(const liana__example *example, const char *name, const uint8_t **bytes, size_t *size,
                                  liana__error *error) LIANA_MUST_USE;
liana_status liana__example_int64(const liana__example *example, const char *name, int64_t *value, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__example_float(const liana__example *example, const char *name, float *value, liana__error *error)
    LIANA_MUST_USE;

/* Writes examples: add features, then pack; packing empties the builder for the next example. Zero-initialise, free at
 * the end. Names and values are borrowed until the example is packed. Running out of memory is reported by the pack. */
typedef struct liana__example_builder {
    liana__arena arena;
    size_t count;
    size_t capacity;
    struct Liana__FeatureEntry **entries;
    uint8_t *packed;
    bool failed;
} liana__example_builder;

void liana__example_add_bytes(liana__example_builder *builder, const char *name, const void *bytes, size_t size);
void liana__example_add_int64s(liana__example_builder *builder, const char *name, const int64_t *values, size_t count);
void liana__example_add_floats(liana__example_builder *builder, const char *name, const float *values, size_t count);
/* The packed bytes live until the next pack or free. */
liana_status liana__example_pack(liana__example_builder *builder, const uint8_t **bytes, size_t *size,
                                 liana__error *error) LIANA_MUST_USE;
void liana__example_builder_free(liana__example_builder *builder);

#endif
