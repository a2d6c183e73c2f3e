/* checkpoint_format.h - the common part of writing and reading checkpoints. */
#ifndef LIANA_TRAIN_CHECKPOINT_FORMAT_H
#define LIANA_TRAIN_CHECKPOINT_FORMAT_H

#include "base/value.h"

#define LIANA__CHECKPOINT_PREFIX "step-"
#define LIANA__CHECKPOINT_CHANGED "-changed"     /* behind the number: a callback changed weights after the update */
#define LIANA__CHECKPOINT_CALLBACKS "callbacks/" /* before the names of their arrays */
#define LIANA__CHECKPOINT_CHECKSUM "crc32c"
enum { LIANA__CHECKPOINT_VERSION = 1 };

/* The checksum of the state, written without the checksum itself. Writing is deterministic: a state that was read is
 * written in the same way. False: out of memory. */
bool liana__checkpoint_checksum(const liana__value *state, uint32_t *checksum);

/* Whether a checkpoint is whole as far as its state.json tells, and of this place in a training. */
bool liana__checkpoint_is_at(const char *path, int64_t epoch, int64_t step, bool ended);

#endif
