/* s3_upload.h - objects of S3 that are written: a small one by one request, a large one in parts (multipart upload).
 *
 * Source: docs.aws.amazon.com/AmazonS3/latest/API (PutObject, CreateMultipartUpload, UploadPart,
 * CompleteMultipartUpload, AbortMultipartUpload) and .../userguide/checking-object-integrity.html. */
#ifndef LIANA_REMOTE_S3_UPLOAD_H
#define LIANA_REMOTE_S3_UPLOAD_H

#include "remote/remote_internal.h"

/* liana__scheme.put */
liana_status liana__s3_put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                           liana__error *error);

/* A request to S3, to be signed. */
typedef struct liana__s3_call {
    const char *method;
    const char *bucket;
    const char *key;   /* "": the bucket itself */
    const char *query; /* percent-encoded, sorted by name; may be "" */
    bool has_body;
    const void *body;
    size_t body_size;
    const char *crc32c;  /* of the body, in base64: the server compares it; NULL: none */
    bool begins;         /* a multipart upload whose parts will have a CRC-32C */
    const char *only_if; /* the version that is written or removed; "": none may be there; NULL: whatever is there */
    const char *upload;  /* metadata "liana-upload" of the object; NULL: none */
} liana__s3_call;

/* s3.c: makes the request. */
liana_status liana__s3_request(liana__remote *remote, const liana__s3_call *call, liana__http_request *request,
                               liana__error *error);

#endif
