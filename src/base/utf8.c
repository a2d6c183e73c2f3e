/* Reads characters of UTF-8, and hides bytes that are not UTF-8. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t liana__utf8_character(const char *bytes, size_t size, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    *code = 0;
    if (size == 0) return 0;
    unsigned char first = (unsigned char)bytes[0];
    *code = first;
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (length > size) return 0;
    *code = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)bytes[i] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | ((unsigned char)bytes[i] & 0x3Fu);
    }
    bool surrogate = *code >= 0xD800 && *code <= 0xDFFF;
    return *code < smallest[length] || surrogate || *code > 0x10FFFF ? 0 : length;
}

void liana__make_visible(char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code;
        size_t step = liana__utf8_character(text + i, length - i, &code);
        if (!step || liana__is_control(code)) memset(text + i, '?', step ? step : 1);
        i += step ? step : 1;
    }
}
