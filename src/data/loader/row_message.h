/* row_message.h - rows of a batch as a message: of a stream, which one process reads for all. */
#ifndef LIANA_DATA_ROW_MESSAGE_H
#define LIANA_DATA_ROW_MESSAGE_H

#include "base/text.h"
#include "data/loader/ring_slot.h"

/* Adds the examples [begin, begin + count) of the batch to a message, with all that belongs to them. */
void liana__row_message_write(const liana__batch *batch, int64_t begin, int64_t count, liana__text *message);

/* Puts the examples of a message into the slot's batch, as its first ones; its count is theirs. Errors: INTERNAL (no
 * such message), OUT_OF_MEMORY. */
liana_status liana__row_message_read(liana__ring_slot *slot, const liana__told *message, int64_t count,
                                     liana__error *error) LIANA_MUST_USE;

/* The process that read the whole step gives each process the rows of its shards: afterwards every batch has these
 * only. Errors: those of `scatter`, and of reading a message. */
liana_status liana__row_message_share(liana__ring_slot *slot, const liana__input_workers *workers, liana__error *error)
    LIANA_MUST_USE;

#endif
