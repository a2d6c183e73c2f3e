/* crc32c.h - CRC-32C (Castagnoli), the checksum of TFRecord files, checkpoints, caches and serialised graphs.
 *
 * The polynomial is 0x1EDC6F41, processed bit-reversed (0x82F63B78), with all bits inverted before and after: RFC 3720,
 * appendix B.4. */
#ifndef LIANA_BASE_CRC32C_H
#define LIANA_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `size` bytes that follow bytes whose checksum is `crc` (0 for none before). Uses the processor's own
 * instruction where it has one. */
uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size);

/* The same by table on any processor; the two are checked against each other. */
uint32_t liana__crc32c_extend_portable(uint32_t crc, const void *bytes, size_t size);

static inline uint32_t liana__crc32c(const void *bytes, size_t size)
{
    return liana__crc32c_extend(0, bytes, size);
}

/* TFRecord stores its checksums rotated and offset, so that a checksum of data that holds checksums stays useful. */
static inline uint32_t liana__crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

#endif
