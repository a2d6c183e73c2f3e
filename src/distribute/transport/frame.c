/* Writes and reads frames and greetings. Its input comes from a network: nothing in it is believed. */
#include "distribute/transport/frame.h"

#include "base/little_endian.h"
#include "distribute/transport/cluster_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "liana" and a byte that no text has. */
static const uint8_t magic[6] = {'l', 'i', 'a', 'n', 'a', 0x9d};

/* ---- frames ---- */

void liana__frame_write(const liana__frame *frame, uint8_t *header)
{
    memset(header, 0, LIANA__FRAME_HEADER);
    memcpy(header, magic, sizeof magic);
    header[6] = LIANA__FRAME_PROTOCOL;
    header[7] = (uint8_t)frame->kind;
    liana__store_u32(header + 8, frame->sender);
    liana__store_u64(header + 16, frame->cluster);
    liana__store_u64(header + 24, frame->incarnation);
    liana__store_u64(header + 32, frame->sequence);
    liana__store_u64(header + 40, frame->key.generation);
    liana__store_u64(header + 48, frame->key.step);
    liana__store_u32(header + 56, frame->key.kind);
    liana__store_u32(header + 60, frame->key.part);
    liana__store_u64(header + 64, frame->size);
    liana__store_u64(header + 72, frame->offset);
    liana__store_u64(header + 80, frame->num_bytes);
}

static void read_fields(const uint8_t *header, liana__frame *frame)
{
    frame->kind = (liana__frame_kind)header[7];
    frame->sender = liana__load_u32(header + 8);
    frame->cluster = liana__load_u64(header + 16);
    frame->incarnation = liana__load_u64(header + 24);
    frame->sequence = liana__load_u64(header + 32);
    frame->key.generation = liana__load_u64(header + 40);
    frame->key.step = liana__load_u64(header + 48);
    frame->key.kind = liana__load_u32(header + 56);
    frame->key.part = liana__load_u32(header + 60);
    frame->size = liana__load_u64(header + 64);
    frame->offset = liana__load_u64(header + 72);
}

static liana_status check_sizes(const liana__frame *frame, liana__error *error)
{
    size_t most = frame->kind == LIANA__FRAME_DATA ? LIANA__FRAME_PIECE : LIANA__FRAME_CONTROL;
    if (frame->num_bytes > most) {
        return liana__fail(error, LIANA_INVALID_DATA, "a frame has %zu bytes, at most %zu", frame->num_bytes, most);
    }
    if (frame->kind == LIANA__FRAME_DATA) {
        bool fits = frame->offset <= frame->size && frame->num_bytes <= frame->size - frame->offset;
        if (fits && (frame->num_bytes > 0 || frame->size == 0)) return LIANA_OK;
    } else if (frame->offset == 0 && frame->size == frame->num_bytes) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "a frame says that it has %zu bytes at %" PRIu64 " of a message of %" PRIu64, frame->num_bytes,
                       frame->offset, frame->size);
}

liana_status liana__frame_read(const uint8_t *bytes, size_t size, liana__frame *frame, liana__error *error)
{
    memset(frame, 0, sizeof *frame);
    if (size < sizeof magic + 2 || memcmp(bytes, magic, sizeof magic) != 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "%zu bytes have come that are no frame of liana", size);
    }
    if (bytes[6] != LIANA__FRAME_PROTOCOL) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "the process speaks version %d of the protocol, this one version %d: all processes of a "
                           "cluster must run the same version of liana",
                           bytes[6], LIANA__FRAME_PROTOCOL);
    }
    if (size < LIANA__FRAME_HEADER) {
        return liana__fail(error, LIANA_INVALID_DATA, "a frame has %zu bytes, expected a header of %d", size,
                           LIANA__FRAME_HEADER);
    }
    read_fields(bytes, frame);
    frame->bytes = bytes + LIANA__FRAME_HEADER;
    frame->num_bytes = size - LIANA__FRAME_HEADER;
    bool known = frame->kind >= LIANA__FRAME_HELLO && frame->kind < LIANA__FRAME_KINDS;
    if (!known || liana__load_u32(bytes + 12) || liana__load_u64(bytes + 88)) {
        return liana__fail(error, LIANA_INVALID_DATA, "a frame is of the unknown kind %d", bytes[7]);
    }
    if (liana__load_u64(bytes + 80) != frame->num_bytes) {
        return liana__fail(error, LIANA_INVALID_DATA, "a frame of %" PRIu64 " bytes has %zu",
                           liana__load_u64(bytes + 80), frame->num_bytes);
    }
    return check_sizes(frame, error);
}

/* ---- greetings ---- */

size_t liana__greeting_write(const liana__greeting *greeting, char text[LIANA__GREETING_SIZE])
{
    int length = snprintf(text, LIANA__GREETING_SIZE,
                          "version %.31s\nworkers %" PRIu64 "\nservers %" PRIu64 "\naddress %.255s\nhost %.127s\n"
                          "process %" PRIu64 "\n",
                          greeting->version, greeting->num_workers, greeting->num_servers, greeting->address,
                          greeting->host, greeting->process);
    return length > 0 && length < LIANA__GREETING_SIZE ? (size_t)length : 0;
}

static bool is_plain(const char *begin, const char *end)
{
    for (const char *at = begin; at < end; at++) {
        if (*at < ' ' || *at > '~') return false;
    }
    return true;
}

/* Takes "key value\n" off the front of *text, and copies the value. */
static bool take_line(const char **text, const char *end, const char *key, char *value, size_t room)
{
    size_t length = strlen(key), left = (size_t)(end - *text);
    if (left <= length || memcmp(*text, key, length) != 0 || (*text)[length] != ' ') return false;
    const char *begin = *text + length + 1, *stop = memchr(begin, '\n', left - length - 1);
    if (!stop || (size_t)(stop - begin) >= room) return false;
    if (!is_plain(begin, stop)) return false;
    memcpy(value, begin, (size_t)(stop - begin));
    value[stop - begin] = '\0';
    *text = stop + 1;
    return true;
}

static bool take_number(const char **text, const char *end, const char *key, uint64_t *number)
{
    char digits[24];
    if (!take_line(text, end, key, digits, sizeof digits)) return false;
    size_t length = strlen(digits);
    if (length == 0 || length > 18 || strspn(digits, "0123456789") != length) return false;
    *number = strtoull(digits, NULL, 10);
    return true;
}

bool liana__frame_next_address(const char **text, const char *end, char address[LIANA__FRAME_ADDRESS])
{
    const char *begin = *text, *stop = begin < end ? memchr(begin, '\n', (size_t)(end - begin)) : NULL;
    if (!stop || stop - begin >= LIANA__FRAME_ADDRESS || !is_plain(begin, stop)) return false;
    memcpy(address, begin, (size_t)(stop - begin));
    address[stop - begin] = '\0';
    *text = stop + 1;
    return true;
}

liana_status liana__greeting_read(const uint8_t *bytes, size_t size, liana__greeting *greeting, liana__error *error)
{
    memset(greeting, 0, sizeof *greeting);
    const char *text = (const char *)bytes, *end = text + size;
    if (take_line(&text, end, "version", greeting->version, sizeof greeting->version) &&
        take_number(&text, end, "workers", &greeting->num_workers) &&
        take_number(&text, end, "servers", &greeting->num_servers) &&
        take_line(&text, end, "address", greeting->address, sizeof greeting->address) &&
        take_line(&text, end, "host", greeting->host, sizeof greeting->host) &&
        take_number(&text, end, "process", &greeting->process) && text == end) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_DATA, "a greeting of %zu bytes cannot be read", size);
}

/* ---- invitations ---- */

liana_status liana__invitation_write(const liana__cluster_round *round, size_t num_ranks, liana__text *text,
                                     liana__error *error)
{
    liana__text_add(text, "round %" PRIu64 "\nchief %zu\nmembers ", round->number, round->chief);
    for (size_t i = 0; i < num_ranks; i++) liana__text_add(text, round->absent && round->absent[i] ? "-" : "+");
    liana__text_add(text, "\n");
    return text->failed ? liana__fail_memory(error, "an invitation") : LIANA_OK;
}

/* "members ++-+\n", to its end. */
static bool take_members(const char *text, const char *end, size_t num_ranks, bool *absent)
{
    static const char key[] = "members ";
    const size_t length = strlen(key);
    if ((size_t)(end - text) != length + num_ranks + 1 || memcmp(text, key, length) != 0 || end[-1] != '\n') {
        return false;
    }
    for (size_t i = 0; i < num_ranks; i++) {
        if (text[length + i] != '+' && text[length + i] != '-') return false;
        absent[i] = text[length + i] == '-';
    }
    return true;
}

liana_status liana__invitation_read(const uint8_t *bytes, size_t size, size_t num_ranks, liana__cluster_round *round,
                                    bool *absent, liana__error *error)
{
    const char *text = (const char *)bytes, *end = text + size;
    uint64_t chief = 0;
    *round = (liana__cluster_round){.absent = absent};
    if (size && take_number(&text, end, "round", &round->number) && take_number(&text, end, "chief", &chief) &&
        take_members(text, end, num_ranks, absent) && chief < num_ranks && !absent[chief]) {
        round->chief = (size_t)chief;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_DATA, "an invitation of %zu bytes cannot be read", size);
}
