/* Finds the members of tar archives. */
#include "formats/tar.h"

#include "base/file_view.h"
#include "formats/gzip.h"
#include "formats/sniff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512,
    NAME_SIZE = 100,
    SIZE_AT = 124,
    SIZE_SIZE = 12,
    CHECKSUM_AT = 148,
    CHECKSUM_SIZE = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_SIZE = 155,
    MAX_EXTENDED = 1 << 20, /* bytes of an extended header */
};

/* The facts of extended headers about the next member. */
typedef struct extension {
    const char *name;
    bool has_size;
    uint64_t size;
} extension;

/* Octal digits among spaces, up to a NUL; or GNU's binary form, big-endian, with the first bit set. */
static bool parse_number(const uint8_t *field, size_t size, uint64_t *value)
{
    *value = 0;
    size_t i = 0;
    if (field[0] & 0x80) {
        if (field[0] & 0x7F) return false; /* negative, or beyond 88 bits */
        for (i = 1; i < size; i++) {
            if (*value >> 56) return false;
            *value = *value << 8 | field[i];
        }
        return true;
    }
    while (i < size && field[i] == ' ') i++;
    size_t first = i;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) *value = *value << 3 | (uint64_t)(field[i] - '0');
    return i > first && (i == size || field[i] == 0 || field[i] == ' ');
}

/* The sum of the header's bytes with the checksum itself taken as spaces. */
static uint64_t header_sum(const uint8_t *header)
{
    uint64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        sum += i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_SIZE ? ' ' : header[i];
    }
    return sum;
}

static bool header_is_right(const uint8_t *header)
{
    uint64_t said;
    return parse_number(header + CHECKSUM_AT, CHECKSUM_SIZE, &said) && said == header_sum(header);
}

bool liana__is_tar(const uint8_t *bytes, size_t size)
{
    return size >= BLOCK && memcmp(bytes + MAGIC_AT, "ustar", 5) == 0 && header_is_right(bytes);
}

static bool is_zero(const uint8_t *block)
{
    for (int i = 0; i < BLOCK; i++) {
        if (block[i]) return false;
    }
    return true;
}

static size_t field_length(const uint8_t *field, size_t size)
{
    const uint8_t *end = memchr(field, 0, size);
    return end ? (size_t)(end - field) : size;
}

static const char *member_name(liana__tar *tar, const uint8_t *header, const extension *extended)
{
    if (extended->name) return extended->name;
    int name_size = (int)field_length(header, NAME_SIZE);
    bool posix = memcmp(header + MAGIC_AT, "ustar\0", 6) == 0;
    int prefix_size = posix ? (int)field_length(header + PREFIX_AT, PREFIX_SIZE) : 0;
    return liana__arena_format(&tar->arena, "%.*s%s%.*s", prefix_size, (const char *)header + PREFIX_AT,
                               prefix_size ? "/" : "", name_size, (const char *)header);
}

/* One "LENGTH KEY=VALUE\n" of a pax header; LENGTH counts the whole of it. 0: not well-formed. */
static size_t parse_pax_record(liana__tar *tar, const char *bytes, size_t size, extension *extended)
{
    size_t length = 0, i = 0;
    for (; i < size && bytes[i] >= '0' && bytes[i] <= '9' && length <= MAX_EXTENDED; i++) {
        length = length * 10 + (size_t)(bytes[i] - '0');
    }
    if (i == 0 || i == size || bytes[i] != ' ' || length > size || length < i + 3 || bytes[length - 1] != '\n')
        return 0;
    const char *key = bytes + i + 1, *equals = memchr(key, '=', length - i - 2);
    if (!equals) return 0;
    const char *value = equals + 1;
    size_t key_size = (size_t)(equals - key), value_size = (size_t)(bytes + length - 1 - value);
    if (key_size == 4 && memcmp(key, "path", 4) == 0) {
        extended->name = liana__arena_format(&tar->arena, "%.*s", (int)value_size, value);
    } else if (key_size == 4 && memcmp(key, "size", 4) == 0) {
        uint64_t number = 0;
        if (value_size == 0 || value_size > 19) return 0;
        for (size_t k = 0; k < value_size; k++) {
            if (value[k] < '0' || value[k] > '9') return 0;
            number = number * 10 + (uint64_t)(value[k] - '0');
        }
        extended->has_size = true;
        extended->size = number;
    }
    return length;
}

static liana_status parse_extended(liana__tar *tar, liana__file_view *view, uint64_t offset, char type, size_t size,
                                   extension *extended, liana__error *error)
{
    if (size > MAX_EXTENDED) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s': the extended header at offset %" PRIu64 " has %zu bytes, more "
                           "than the %d that are read",
                           tar->name, offset, size, MAX_EXTENDED);
    }
    const uint8_t *text;
    LIANA_TRY(liana__file_view_get(view, (size_t)offset, size, &text, error));
    const char *bytes = (const char *)text;
    if (type == 'L') {
        extended->name = liana__arena_format(&tar->arena, "%.*s", (int)field_length(text, size), bytes);
        return extended->name ? LIANA_OK : liana__fail_memory(error, tar->name);
    }
    for (size_t at = 0; at < size;) {
        size_t length = parse_pax_record(tar, bytes + at, size - at, extended);
        if (!length) {
            return liana__fail(error, LIANA_DATA_LOSS,
                               "'%s': the extended header at offset %" PRIu64 " is damaged: expected lines of 'LENGTH "
                               "KEY=VALUE'",
                               tar->name, offset);
        }
        at += length;
    }
    return tar->arena.failed ? liana__fail_memory(error, tar->name) : LIANA_OK;
}

static liana_status fail_header(const liana__tar *tar, liana__file_view *view, uint64_t offset, liana__error *error)
{
    if (offset == 0) {
        const uint8_t *bytes;
        size_t size = tar->mapping.size < BLOCK ? tar->mapping.size : BLOCK;
        LIANA_TRY(liana__file_view_get(view, 0, size, &bytes, error));
        const char *looks = liana__sniff(bytes, size);
        bool packed = liana__is_gzip(bytes, size);
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not a tar archive%s%s%s", tar->name,
                           looks ? ": it looks like " : "", looks ? looks : "",
                           packed ? "; uncompress it (gunzip), so that its images can be read in any order" : "");
    }
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s': the checksum of the header at offset %" PRIu64 " is wrong; the file is damaged; copy or "
                       "download it again",
                       tar->name, offset);
}

static liana_status fail_short(const liana__tar *tar, uint64_t offset, const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is truncated: %s at offset %" PRIu64 ", where the file has %zu "
                       "bytes; copy or download it again",
                       tar->name, what, offset, tar->mapping.size);
}

static liana_status add_member(liana__tar *tar, const char *name, uint64_t offset, uint64_t size, liana__error *error)
{
    if (!name || !liana__grow(&tar->members, tar->count, &tar->capacity, sizeof *tar->members)) {
        return liana__fail_memory(error, tar->name);
    }
    tar->members[tar->count++] = (liana__tar_member){name, offset, size};
    return LIANA_OK;
}

static liana_status find_members(liana__tar *tar, liana__file_view *view, liana__error *error)
{
    extension extended = {0};
    uint64_t offset = 0;
    for (;;) {
        if (tar->mapping.size - offset < BLOCK) {
            return offset == 0 ? fail_header(tar, view, 0, error)
                               : fail_short(tar, offset, "there is no end mark (two blocks of zeros)", error);
        }
        const uint8_t *header;
        LIANA_TRY(liana__file_view_get(view, (size_t)offset, BLOCK, &header, error));
        if (is_zero(header) && offset > 0) return LIANA_OK;
        uint64_t size;
        if (!header_is_right(header) || !parse_number(header + SIZE_AT, SIZE_SIZE, &size)) {
            return fail_header(tar, view, offset, error);
        }
        char type = (char)header[TYPE_AT];
        bool extends = type == 'x' || type == 'L' || type == 'g' || type == 'K';
        if (!extends && extended.has_size) size = extended.size;
        bool has_data = extends || !(type >= '1' && type <= '6');
        uint64_t data = offset + BLOCK, left = tar->mapping.size - data;
        if (!has_data) size = 0;
        if (size > left) return fail_short(tar, offset, "a member that continues after the end begins", error);
        if (type == 'x' || type == 'L') {
            LIANA_TRY(parse_extended(tar, view, data, type, (size_t)size, &extended, error));
        } else if (!extends) {
            bool regular = type == '0' || type == 0 || type == '7';
            const char *name = member_name(tar, header, &extended);
            if (regular) LIANA_TRY(add_member(tar, name, data, size, error));
            if (!name) return liana__fail_memory(error, tar->name);
            if (!regular && type != '5' && !tar->special) tar->special = name;
            extended = (extension){0};
        }
        uint64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
        if (padded > left)
            return fail_short(tar, offset, "the last member, without the zeros behind it, begins", error);
        offset = data + padded;
    }
}

liana_status liana__tar_open(const char *path, liana__tar *tar, liana__error *error)
{
    enum { AHEAD = 4096 }; /* the next headers, where members are small */
    *tar = (liana__tar){0};
    tar->name = liana__arena_string(&tar->arena, path);
    if (!tar->name) return liana__fail_memory(error, path);
    LIANA_TRY(liana__file_map(path, &tar->mapping, error));
    liana__file_view view = liana__file_view_of(path, &tar->mapping, AHEAD);
    liana_status status = find_members(tar, &view, error);
    /* If the file was cut, the missing part read as zeros, and may have caused any message, or an end. */
    liana_status cut = liana__file_view_check(&view, error);
    liana__file_view_free(&view);
    return cut == LIANA_OK ? status : cut;
}

void liana__tar_close(liana__tar *tar)
{
    liana__file_unmap(&tar->mapping);
    liana__arena_free(&tar->arena);
    free(tar->members);
    *tar = (liana__tar){0};
}
