/* listing.h - lists of a bucket's objects: the answers to GCS's objects.list (JSON) and S3's ListObjectsV2 (XML).
 *
 * expat reads XML: servers differ in white space, entities and namespaces, and a reader of our own would be right only
 * for the servers that it was tested with. Document types are refused, since they are XML's security risks. */
#ifndef LIANA_REMOTE_LISTING_H
#define LIANA_REMOTE_LISTING_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__listed {
    const char *key;
    uint64_t size;
    const char *version; /* the generation, or the ETag with its quotes */
    bool has_crc32c;
    uint32_t crc32c;
    bool has_md5;
    uint8_t md5[16];
} liana__listed;

/* Zero-initialise. `items` is malloc'ed; strings are in the given arena. */
typedef struct liana__listing {
    liana__listed *items;
    size_t count;
    size_t capacity;
    const char *next; /* the token of the next page, or NULL */
} liana__listing;
void liana__listing_free(liana__listing *listing);

/* Each function adds the items of one page, and sets `next`. Errors: INVALID_DATA (not such an answer),
 * OUT_OF_MEMORY. */
liana_status liana__listing_read_json(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                      liana__error *error) LIANA_MUST_USE;
liana_status liana__listing_read_xml(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                     liana__error *error) LIANA_MUST_USE;

/* One object of GCS: the answer to objects.get, or an item of a list. */
liana_status liana__listing_read_object(const char *bytes, size_t size, liana__arena *arena, liana__listed *listed,
                                        liana__error *error) LIANA_MUST_USE;

/* The UploadId in S3's answer to CreateMultipartUpload. Errors: INVALID_DATA, OUT_OF_MEMORY. */
liana_status liana__listing_read_upload(const char *bytes, size_t size, liana__arena *arena, const char **upload,
                                        liana__error *error) LIANA_MUST_USE;

/* The message of a refusal, "AccessDenied: Access Denied" from S3's XML or the message of Google's JSON, cleaned for a
 * terminal and cut; "" for anything else. */
typedef struct liana__refusal {
    char text[256];
} liana__refusal;
liana__refusal liana__listing_read_refusal(const char *bytes, size_t size);

/* The MD5 in an ETag of S3; false if the ETag is not an MD5. It is one if the object was uploaded in one part, and not
 * encrypted with the customer's key (a response tells that). */
bool liana__etag_md5(const char *etag, uint8_t md5[16]);

/* A CRC-32C as both clouds write it: big-endian, in base64. */
typedef struct liana__base64_crc32c {
    char text[9];
} liana__base64_crc32c;
liana__base64_crc32c liana__base64_crc32c_of(uint32_t crc32c);

/* Decodes standard base64 into exactly `size` bytes; false if that is not possible. */
bool liana__base64_decode(const char *text, uint8_t *bytes, size_t size);

#endif
