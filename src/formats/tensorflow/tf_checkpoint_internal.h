/* tf_checkpoint_internal.h - what the files of the reader of TensorFlow's checkpoints share. */
#ifndef LIANA_FORMATS_TENSORFLOW_TF_CHECKPOINT_INTERNAL_H
#define LIANA_FORMATS_TENSORFLOW_TF_CHECKPOINT_INTERNAL_H

#include "base/utf8.h"
#include "formats/checkpoint.pb-c.h"
#include "formats/tensorflow/tf_checkpoint.h"

/* The graph of objects of a checkpoint of TensorFlow 2 is a variable of this name. */
extern const char liana__tf_graph_key[];

/* Whether bytes are UTF-8 without control characters: names are shown on terminals. */
static inline bool liana__tf_is_text(const char *bytes, size_t size)
{
    uint32_t code;
    for (size_t length; size; bytes += length, size -= length) {
        length = liana__utf8_character(bytes, size, &code);
        if (length == 0 || code < 0x20) return false;
    }
    return true;
}

/* A part of a variable that has an entry of its own. */
typedef struct liana__tf_slice {
    int64_t start[LIANA__TF_MAX_RANK];
    int64_t length[LIANA__TF_MAX_RANK];
    const liana__tf_variable *part; /* with the slice's shape */
} liana__tf_slice;

/* A file of data. */
typedef struct liana__tf_data {
    const char *path;
    int descriptor;
    liana__file_version version; /* when it was opened */
} liana__tf_data;

/* protobuf-c's memory for one message. It is in an arena and limited by the size of the message: one that is made of
 * very many copies of one field would have protobuf-c merge them over and over. */
typedef struct liana__tf_memory {
    liana__arena arena;
    size_t budget;
    ProtobufCAllocator allocator;
} liana__tf_memory;
void liana__tf_memory_begin(liana__tf_memory *memory, size_t message_size);
static inline void liana__tf_memory_free(liana__tf_memory *memory)
{
    liana__arena_free(&memory->arena);
}

/* Reads bytes of a variable that has no slices: [begin, begin + size) of them. */
liana_status liana__tf_read_bytes(const liana__tf_checkpoint *checkpoint, const liana__tf_variable *variable,
                                  uint64_t begin, void *to, size_t size, liana__error *error) LIANA_MUST_USE;

/* Gives the variables the names that the graph of objects has. */
liana_status liana__tf_name_variables(liana__tf_checkpoint *checkpoint, liana__tf_variable *variables,
                                      liana__error *error) LIANA_MUST_USE;

#endif
