/* sigv4.h - AWS Signature Version 4, which S3 and servers like it need.
 *
 * Source: AWS, "Signature Version 4 signing process" (canonical request, string to sign, signing key). S3 encodes a
 * path once and does not normalise it; other services encode it twice. */
#ifndef LIANA_REMOTE_SIGV4_H
#define LIANA_REMOTE_SIGV4_H

#include "base/text.h"

#include <time.h>

typedef struct liana__sigv4_header {
    const char *name; /* lower case */
    const char *value;
} liana__sigv4_header;

typedef struct liana__sigv4_request {
    const char *method;
    const char *path;                   /* as in the request, percent-encoded; at least "/" */
    const char *query;                  /* the same, without '?'; sorted by name, "name=value" each; may be empty */
    const liana__sigv4_header *headers; /* the signed headers, sorted by name, with x-amz-date */
    size_t num_headers;
    const char *payload_hash; /* hexadecimal SHA-256 of the body */
} liana__sigv4_request;

typedef struct liana__sigv4_key {
    const char *access_key;
    const char *secret_key;
    const char *region;
    const char *service;
} liana__sigv4_key;

/* SHA-256 in hexadecimal. */
typedef struct liana__sha256_text {
    char text[65];
} liana__sha256_text;
liana__sha256_text liana__sha256_of(const void *bytes, size_t size);

/* SHA-256 of no bytes. */
#define LIANA__SHA256_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* "20150830T123600Z" */
typedef struct liana__sigv4_time {
    char text[17];
} liana__sigv4_time;
liana__sigv4_time liana__sigv4_time_of(time_t seconds);

/* Appends the value of the Authorization header. */
void liana__sigv4_authorize(const liana__sigv4_request *request, const liana__sigv4_key *key,
                            const liana__sigv4_time *time, liana__text *authorization);

/* Percent-encodes all bytes but A-Z a-z 0-9 - . _ ~ (RFC 3986); '/' too if `slashes`. */
void liana__url_encode(liana__text *text, const char *bytes, bool slashes);

#endif
