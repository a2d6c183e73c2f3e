/* crc32c.table.h - the constants of crc32c.c. crc32c_table[k][b] is the contribution of byte b if k more bytes follow
 * it in its group of eight: the exclusive or of the contributions of the bits of b, which are the constants here. Row 0
 * is the ordinary table of the reversed polynomial 0x82F63B78. Row k is row k - 1 advanced by one zero byte. */
#ifndef LIANA_BASE_CRC32C_TABLE_H
#define LIANA_BASE_CRC32C_TABLE_H

#include <stdint.h>

/* clang-format off */
#define LIANA__CRC_BYTE(b, bit0, bit1, bit2, bit3, bit4, bit5, bit6, bit7) \
    (((b) & 1 ? bit0 : 0) ^ ((b) & 2 ? bit1 : 0) ^ ((b) & 4 ? bit2 : 0) ^ ((b) & 8 ? bit3 : 0) ^ \
     ((b) & 16 ? bit4 : 0) ^ ((b) & 32 ? bit5 : 0) ^ ((b) & 64 ? bit6 : 0) ^ ((b) & 128 ? bit7 : 0))
#define LIANA__CRC_4(b, ...) \
    LIANA__CRC_BYTE(b, __VA_ARGS__), LIANA__CRC_BYTE((b) + 1, __VA_ARGS__), \
    LIANA__CRC_BYTE((b) + 2, __VA_ARGS__), LIANA__CRC_BYTE((b) + 3, __VA_ARGS__)
#define LIANA__CRC_16(b, ...) \
    LIANA__CRC_4(b, __VA_ARGS__), LIANA__CRC_4((b) + 4, __VA_ARGS__), \
    LIANA__CRC_4((b) + 8, __VA_ARGS__), LIANA__CRC_4((b) + 12, __VA_ARGS__)
#define LIANA__CRC_64(b, ...) \
    LIANA__CRC_16(b, __VA_ARGS__), LIANA__CRC_16((b) + 16, __VA_ARGS__), \
    LIANA__CRC_16((b) + 32, __VA_ARGS__), LIANA__CRC_16((b) + 48, __VA_ARGS__)
#define LIANA__CRC_ROW(...) \
    {LIANA__CRC_64(0, __VA_ARGS__), LIANA__CRC_64(64, __VA_ARGS__), \
     LIANA__CRC_64(128, __VA_ARGS__), LIANA__CRC_64(192, __VA_ARGS__)}

static const uint32_t crc32c_table[8][256] = {
    LIANA__CRC_ROW(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
    LIANA__CRC_ROW(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
    LIANA__CRC_ROW(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
    LIANA__CRC_ROW(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
    LIANA__CRC_ROW(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
    LIANA__CRC_ROW(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
    LIANA__CRC_ROW(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
    LIANA__CRC_ROW(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
};
/* clang-format on */

#endif
