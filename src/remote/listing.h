/* listing.h - what a bucket holds: the answers to GCS's objects.list (JSON) and S3's ListObjectsV2 (XML).
 *
 * XML is read by expat: S3's likes differ in white space, entities and namespaces, and a reader of our own would be
 * right for the servers that it was tried on. Document types, which hold the traps of XML, are refused. */
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

/* Zero-initialise; `items` is malloc'ed, strings are in the arena that is given. */
typedef struct liana__listing {
    liana__listed *items;
    size_t count;
    size_t capacity;
    const char *next; /* the token of the next page, or NULL */
} liana__listing;
void liana__listing_free(liana__listing *listing);

/* Each adds one page's items and sets `next`. Errors: INVALID_DATA (not such an answer), OUT_OF_MEMORY. */
liana_status liana__listing_read_json(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                      liana__error *error) LIANA_MUST_USE;
liana_status liana__listing_read_xml(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                                     liana__error *error) LIANA_MUST_USE;

/* One object of GCS: the answer to objects.get, or an item of a list. */
liana_status liana__listing_read_object(const char *bytes, size_t size, liana__arena *arena, liana__listed *listed,
                                        liana__error *error) LIANA_MUST_USE;

/* What a refusal says: "AccessDenied: Access Denied" of S3's XML, the message of Google's JSON; cleaned for a terminal
 * and cut. Anything else gives "". */
typedef struct liana__refusal {
    char text[256];
} liana__refusal;
liana__refusal liana__listing_read_refusal(const char *bytes, size_t size);

/* The MD5 that an ETag of S3 is if the object was uploaded in one part, and not encrypted with a key of the customer's
 * (which a response tells); false if it is none. */
bool liana__etag_md5(const char *etag, uint8_t md5[16]);

/* Standard base64 into exactly `size` bytes; false if it is not that. */
bool liana__base64_decode(const char *text, uint8_t *bytes, size_t size);

#endif
