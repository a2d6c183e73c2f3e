/* Reads servers' lists of a bucket's objects. */
#include "remote/listing.h"

#include "base/scoped.h"
#include "formats/json.h"
#include "remote/calls.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Keys have at most 1024 bytes, tokens a few hundred. */
enum { MAX_TEXT = 8192, MAX_DEPTH = 16 };

void liana__listing_free(liana__listing *listing)
{
    free(listing->items);
    *listing = (liana__listing){0};
}

static liana_status add_item(liana__listing *listing, const liana__listed *item, liana__error *error)
{
    if (!liana__grow(&listing->items, listing->count, &listing->capacity, sizeof *listing->items)) {
        return liana__fail_memory(error, "a list of remote files");
    }
    listing->items[listing->count++] = *item;
    return LIANA_OK;
}

static bool read_size(const char *text, uint64_t *size)
{
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    char *end;
    *size = strtoull(text, &end, 10);
    return !*end && errno == 0 && *size <= INT64_MAX;
}

bool liana__base64_decode(const char *text, uint8_t *bytes, size_t size)
{
    uint8_t decoded[96];
    size_t length = strlen(text), padding = 0;
    while (padding < length && text[length - 1 - padding] == '=') padding++;
    if (length == 0 || length % 4 || length > 124 || padding > 2 || length / 4 * 3 - padding != size) return false;
    if (EVP_DecodeBlock(decoded, (const unsigned char *)text, (int)length) < 0) return false;
    memcpy(bytes, decoded, size);
    return true;
}

liana__base64_crc32c liana__base64_crc32c_of(uint32_t crc32c)
{
    const uint8_t bytes[4] = {(uint8_t)(crc32c >> 24), (uint8_t)(crc32c >> 16), (uint8_t)(crc32c >> 8),
                              (uint8_t)crc32c};
    liana__base64_crc32c made;
    EVP_EncodeBlock((unsigned char *)made.text, bytes, sizeof bytes);
    return made;
}

/* ---- JSON ---- */

static const char *text_of(const liana__value *map, const char *key)
{
    const liana__value *value = map && map->kind == LIANA__VALUE_MAP ? liana__value_get(map, key) : NULL;
    return value && value->kind == LIANA__VALUE_STRING ? value->string : NULL;
}

/* https://cloud.google.com/storage/docs/json_api/v1/objects: 64-bit numbers are texts, checksums big-endian base64. */
static liana_status read_gcs_object(const liana__value *value, liana__listed *listed, liana__error *error)
{
    const char *crc32c = text_of(value, "crc32c"), *md5 = text_of(value, "md5Hash");
    *listed = (liana__listed){.key = text_of(value, "name"), .version = text_of(value, "generation")};
    if (!listed->key || !listed->version || !read_size(text_of(value, "size"), &listed->size)) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the server's answer has an object without name, generation or size");
    }
    uint8_t bytes[4];
    if (crc32c && liana__base64_decode(crc32c, bytes, sizeof bytes)) {
        listed->has_crc32c = true;
        listed->crc32c = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    }
    listed->has_md5 = md5 && liana__base64_decode(md5, listed->md5, sizeof listed->md5);
    return LIANA_OK;
}

static liana_status parse_json(const char *bytes, size_t size, liana__arena *arena, liana__value **root,
                               liana__error *error)
{
    LIANA_TRY(liana__json_parse(bytes, size, "the server's answer", arena, root, error));
    if ((*root)->kind == LIANA__VALUE_MAP) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "the server's answer is %s, expected a mapping",
                       liana__value_kind_name((*root)->kind));
}

liana_status liana__listing_read_object(const char *bytes, size_t size, liana__arena *arena, liana__listed *listed,
                                        liana__error *error)
{
    liana__value *root;
    LIANA_TRY(parse_json(bytes, size, arena, &root, error));
    return read_gcs_object(root, listed, error);
}

liana_status liana__listing_read_json(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                      liana__error *error)
{
    liana__value *root;
    listing->next = NULL;
    LIANA_TRY(parse_json(bytes, size, arena, &root, error));
    const liana__value *items = liana__value_get(root, "items");
    if (items && items->kind != LIANA__VALUE_LIST) {
        return liana__fail(error, LIANA_INVALID_DATA, "the server's answer has items that are %s, expected a list",
                           liana__value_kind_name(items->kind));
    }
    for (size_t i = 0; items && i < items->count; i++) {
        liana__listed listed;
        LIANA_TRY(read_gcs_object(items->items[i], &listed, error));
        LIANA_TRY(add_item(listing, &listed, error));
    }
    listing->next = text_of(root, "nextPageToken");
    if (listing->next && !*listing->next) listing->next = NULL;
    return LIANA_OK;
}

/* ---- XML ---- */

typedef struct xml_reader {
    XML_Parser parser;
    liana__arena *arena;
    liana__listing *listing; /* NULL: only a refusal is read */
    liana__error *error;
    liana_status status;
    int depth;
    bool is_list;
    bool in_contents;
    liana__listed item;
    bool has_size;
    bool truncated;
    const char *next;
    const char *upload;
    char code[128];
    char message[128];
    size_t length;
    char text[MAX_TEXT + 1];
} xml_reader;

static void stop(xml_reader *reader, const char *why)
{
    if (reader->status != LIANA_OK) return;
    reader->status = liana__fail(reader->error, LIANA_INVALID_DATA, "the server's list of objects is wrong: %s", why);
    XML_StopParser(reader->parser, XML_FALSE);
}

/* expat puts "namespace|" before names. */
static const char *local_name(const XML_Char *name)
{
    const char *bar = strrchr(name, '|');
    return bar ? bar + 1 : name;
}

static void on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    (void)attributes;
    xml_reader *reader = user;
    name = local_name(name);
    reader->length = 0;
    reader->depth++;
    if (reader->depth > MAX_DEPTH) stop(reader, "it is nested too deeply");
    if (reader->depth == 1) reader->is_list = strcmp(name, "ListBucketResult") == 0;
    if (reader->listing && reader->depth == 2 && reader->is_list && strcmp(name, "Contents") == 0) {
        reader->in_contents = true;
        reader->has_size = false;
        reader->item = (liana__listed){0};
    }
}

static void on_text(void *user, const XML_Char *bytes, int size)
{
    xml_reader *reader = user;
    if ((size_t)size > MAX_TEXT - reader->length) {
        stop(reader, "a value is too long");
        return;
    }
    memcpy(reader->text + reader->length, bytes, (size_t)size);
    reader->length += (size_t)size;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool liana__etag_md5(const char *etag, uint8_t md5[16])
{
    etag += *etag == '"';
    if (strspn(etag, "0123456789abcdef") != 32 || (etag[32] && strcmp(etag + 32, "\"") != 0)) return false;
    for (size_t i = 0; i < 16; i++) md5[i] = (uint8_t)(hex_digit(etag[2 * i]) << 4 | hex_digit(etag[2 * i + 1]));
    return true;
}

static void end_contents(xml_reader *reader)
{
    reader->in_contents = false;
    if (!reader->item.key || !*reader->item.key || !reader->has_size) {
        stop(reader, "an object has no key or no size");
        return;
    }
    if (!reader->item.version) reader->item.version = "";
    reader->item.has_md5 = liana__etag_md5(reader->item.version, reader->item.md5);
    if (add_item(reader->listing, &reader->item, reader->error) == LIANA_OK) return;
    reader->status = LIANA_OUT_OF_MEMORY;
    XML_StopParser(reader->parser, XML_FALSE);
}

static void copy_text(char *target, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    memcpy(target, text, length);
    target[length] = 0;
}

static void on_end(void *user, const XML_Char *name)
{
    xml_reader *reader = user;
    name = local_name(name);
    reader->text[reader->length] = 0;
    const char *text = reader->text;
    int depth = reader->depth--;
    if (depth == 2 && reader->in_contents) {
        end_contents(reader);
    } else if (depth == 3 && reader->in_contents && strcmp(name, "Key") == 0) {
        reader->item.key = liana__arena_string(reader->arena, text);
    } else if (depth == 3 && reader->in_contents && strcmp(name, "ETag") == 0) {
        reader->item.version = liana__arena_string(reader->arena, text);
    } else if (depth == 3 && reader->in_contents && strcmp(name, "Size") == 0) {
        reader->has_size = read_size(text, &reader->item.size);
    } else if (depth == 2 && strcmp(name, "IsTruncated") == 0) {
        reader->truncated = strcmp(text, "true") == 0;
    } else if (depth == 2 && reader->listing && strcmp(name, "NextContinuationToken") == 0) {
        reader->next = liana__arena_string(reader->arena, text);
    } else if (depth == 2 && reader->arena && strcmp(name, "UploadId") == 0) {
        reader->upload = liana__arena_string(reader->arena, text);
    } else if (depth == 2 && strcmp(name, "Code") == 0) {
        copy_text(reader->code, sizeof reader->code, text);
    } else if (depth == 2 && strcmp(name, "Message") == 0) {
        copy_text(reader->message, sizeof reader->message, text);
    }
    reader->length = 0;
}

static void on_document_type(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                             int has_internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    stop(user, "it declares a document type");
}

static liana_status parse_xml(xml_reader *reader, const char *bytes, size_t size)
{
    reader->parser = size <= INT_MAX ? XML_ParserCreateNS(NULL, '|') : NULL;
    if (!reader->parser) return liana__fail_memory(reader->error, "a list of remote files");
    XML_SetUserData(reader->parser, reader);
    XML_SetElementHandler(reader->parser, on_start, on_end);
    XML_SetCharacterDataHandler(reader->parser, on_text);
    XML_SetStartDoctypeDeclHandler(reader->parser, on_document_type);
    if (XML_Parse(reader->parser, bytes, (int)size, XML_TRUE) != XML_STATUS_OK && reader->status == LIANA_OK) {
        reader->status =
            liana__fail(reader->error, LIANA_INVALID_DATA, "the server's answer is not a list of objects: line %lu: %s",
                        (unsigned long)XML_GetCurrentLineNumber(reader->parser),
                        XML_ErrorString(XML_GetErrorCode(reader->parser)));
    }
    XML_ParserFree(reader->parser);
    return reader->status;
}

liana_status liana__listing_read_xml(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                     liana__error *error)
{
    LIANA__SCOPED_MEMORY xml_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return liana__fail_memory(error, "a list of remote files");
    reader->arena = arena;
    reader->listing = listing;
    reader->error = error;
    listing->next = NULL;
    LIANA_TRY(parse_xml(reader, bytes, size));
    if (arena->failed) return liana__fail_memory(error, "a list of remote files");
    if (!reader->is_list) {
        return liana__fail(error, LIANA_INVALID_DATA, "the server's answer is XML, but not a list of objects");
    }
    if (reader->truncated && (!reader->next || !*reader->next)) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the server's list of objects continues, but does not say where (no NextContinuationToken)");
    }
    if (reader->truncated) listing->next = reader->next;
    return LIANA_OK;
}

liana_status liana__listing_read_upload(const char *bytes, size_t size, liana__arena *arena, const char **upload,
                                        liana__error *error)
{
    *upload = NULL;
    LIANA__SCOPED_MEMORY xml_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return liana__fail_memory(error, "an upload");
    reader->arena = arena;
    reader->error = error;
    LIANA_TRY(parse_xml(reader, bytes, size));
    *upload = reader->upload;
    if (arena->failed) return liana__fail_memory(error, "an upload");
    if (*upload && **upload) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "the server's answer has no UploadId");
}

/* ---- refusals ---- */

/* A server's text may hold anything; control characters are not shown. */
static liana__refusal clean(const char *a, const char *b)
{
    liana__refusal refusal;
    snprintf(refusal.text, sizeof refusal.text, "%s%s%s", a ? a : "", a && *a && b && *b ? ": " : "", b ? b : "");
    size_t length = 0;
    for (const char *at = refusal.text; *at; at++) {
        bool shown = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f;
        refusal.text[length++] = shown ? *at : '?';
    }
    while (length && (refusal.text[length - 1] == '.' || refusal.text[length - 1] == ' ')) length--;
    refusal.text[length] = 0;
    return refusal;
}

static liana__refusal read_json_refusal(const char *bytes, size_t size)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *root;
    if (parse_json(bytes, size, &arena, &root, NULL) != LIANA_OK) return (liana__refusal){""};
    /* OAuth: {"error": "invalid_grant", "error_description": "..."} */
    const char *code = text_of(root, "error");
    if (code) return clean(code, text_of(root, "error_description"));
    return clean(text_of(liana__value_get(root, "error"), "message"), NULL);
}

liana__refusal liana__listing_read_refusal(const char *bytes, size_t size)
{
    liana__refusal refusal = {""};
    /* White space keeps a connection alive while a server works. */
    while (size && *bytes && strchr(" \t\r\n", *bytes)) {
        bytes++;
        size--;
    }
    if (size == 0) return refusal;
    if (bytes[0] == '{') return read_json_refusal(bytes, size);
    if (bytes[0] != '<') return refusal;
    LIANA__SCOPED_MEMORY xml_reader *reader = calloc(1, sizeof *reader);
    if (reader && parse_xml(reader, bytes, size) == LIANA_OK) refusal = clean(reader->code, reader->message);
    return refusal;
}
