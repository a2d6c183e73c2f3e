/* Makes tar archives: ustar headers as POSIX describes them. */
#include "harness/tar_file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

static void put_octal(char *field, size_t size, unsigned long long value)
{
    snprintf(field, size, "%0*llo", (int)size - 1, value);
}

void liana__test_tar_add(liana__text *tar, const char *name, char type, const char *link, const void *data, size_t size)
{
    char header[BLOCK] = {0};
    unsigned sum = 0;
    strncpy(header, name, 100);
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + 124, 12, size);
    put_octal(header + 136, 12, 0);
    memset(header + 148, ' ', 8);
    header[156] = type;
    if (link) strncpy(header + 157, link, 100);
    memcpy(header + 257, "ustar", 6);
    memcpy(header + 263, "00", 2);
    for (int i = 0; i < BLOCK; i++) sum += (uint8_t)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    liana__text_add_bytes(tar, header, BLOCK);
    static const char zeros[BLOCK];
    if (size) liana__text_add_bytes(tar, data, size);
    if (size % BLOCK) liana__text_add_bytes(tar, zeros, BLOCK - size % BLOCK);
}

void liana__test_tar_end(liana__text *tar)
{
    static const char zeros[2 * BLOCK];
    liana__text_add_bytes(tar, zeros, sizeof zeros);
}
