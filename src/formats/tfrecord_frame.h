/* tfrecord_frame.h - the frame of a record in a TFRecord file, shared by its readers. */
#ifndef LIANA_FORMATS_TFRECORD_FRAME_H
#define LIANA_FORMATS_TFRECORD_FRAME_H

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "formats/gzip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes in bytes: of the length, of a checksum, and of both, which are the head of a record. */
enum {
    LIANA__TFRECORD_LENGTH = 8,
    LIANA__TFRECORD_CHECKSUM = 4,
    LIANA__TFRECORD_HEADER = LIANA__TFRECORD_LENGTH + LIANA__TFRECORD_CHECKSUM,
};

static inline uint32_t liana__tfrecord_checksum(const uint8_t *bytes, size_t size)
{
    return liana__crc32c_mask(liana__crc32c(bytes, size));
}

static inline bool liana__tfrecord_header_is_right(const uint8_t *bytes, size_t size)
{
    return size >= LIANA__TFRECORD_HEADER &&
           liana__tfrecord_checksum(bytes, LIANA__TFRECORD_LENGTH) == liana__load_u32(bytes + LIANA__TFRECORD_LENGTH);
}

/* Whether a file begins like a compressed one. The length of a first record can look like the magic number of gzip or
 * zlib; so a correct checksum is tested first. */
static inline bool liana__tfrecord_is_compressed(const uint8_t *bytes, size_t size)
{
    return !liana__tfrecord_header_is_right(bytes, size) &&
           (liana__is_gzip(bytes, size) || liana__is_zlib(bytes, size));
}

#endif
