/* crc32c.h - CRC-32C (Castagnoli), the checksum of TFRecord files, checkpoints, caches and serialised graphs.
 *
 * The polynomial is 0x1EDC6F41, processed bit-reversed (0x82F63B78), with all bits inverted before and after: RFC 3720,
 * appendix B.4. */
#ifndef LIANA_BASE_CRC32C_H
#define LIANA_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extends a checksum: that of bytes with checksum `crc` (0: no bytes), followed by `size` bytes. Uses the processor's
 * own instruction if there is one. */
uint32_t liana__crc32c_extend(uint32_t crc, const void *bytes, size_t size);

/* The same by table, on any processor. Tests compare the two. */
uint32_t liana__crc32c_extend_portable(uint32_t crc, const void *bytes, size_t size);

static inline uint32_t liana__crc32c(const void *bytes, size_t size)
{
    return liana__crc32c_extend(0, bytes, size);
}

/* TFRecord stores checksums rotated and with an offset. So a checksum of data that contain checksums is still
 * useful. */
static inline uint32_t liana__crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

#endif
