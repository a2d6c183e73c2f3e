/* scheme.h - what a kind of URL is, and the inside of a liana__remote. */
#ifndef LIANA_REMOTE_SCHEME_H
#define LIANA_REMOTE_SCHEME_H

#include "remote/aws_credentials.h"
#include "remote/cache.h"
#include "remote/google_credentials.h"
#include "remote/http.h"
#include "remote/listing.h"
#include "remote/remote.h"

/* A file on a server. Strings live in the arena of the call that found it. */
typedef struct liana__remote_object {
    const struct liana__scheme *scheme;
    const char *name;   /* the URL as people see it: a query, which may hold a secret, is a short hash there */
    const char *bucket; /* gs, s3 */
    const char *key;    /* gs, s3: the name in the bucket; https: the URL as it is fetched */
    uint64_t size;
    /* What the server calls this state of the file: an ETag, a generation, a date; "" where it says nothing, and then
     * the file is fetched anew each time. */
    const char *version;
    bool whole; /* the server gives no ranges */
    liana__cache_id id;
    bool has_crc32c;
    uint32_t crc32c;
    bool has_md5;
    uint8_t md5[16];
} liana__remote_object;

/* Every function may ask the server, with retries; errors are those of liana__remote_resolve. */
typedef struct liana__scheme {
    const char *name;
    /* Finds endpoint and credentials, once; NULL: none are needed. */
    liana_status (*prepare)(liana__remote *remote, liana__error *error);
    /* Which server names belong to, where that is configured; NULL: they say it. */
    const char *(*endpoint)(const liana__remote *remote);
    /* Fills in size, version, whole and checksums of scheme, name, bucket and key. */
    liana_status (*describe)(liana__remote *remote, liana__remote_object *object, liana__arena *arena,
                             liana__error *error);
    /* One page of what a bucket holds below a prefix: the page after listing->next, "" at first. `flat`: not what has a
     * '/' behind the prefix. NULL: there are no lists. */
    liana_status (*list)(liana__remote *remote, const char *bucket, const char *prefix, bool flat, liana__arena *arena,
                         liana__listing *listing, liana__error *error);
    /* Makes the request for the object's bytes; the caller sets the range and frees it. */
    liana_status (*request)(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                            liana__error *error);
    /* Whether a 200 or 206 answers for this version of the object. */
    bool (*same)(const liana__remote_object *object, const liana__http_response *response);
    /* "with the access key AKIA...": how requests were made, for messages about refused ones. */
    void (*explain_access)(const liana__remote *remote, liana__text *text);
} liana__scheme;

struct liana__remote {
    liana__arena arena;
    liana__remote_options options; /* defaults filled in */
    liana__http http;
    liana__cache cache;
    bool prepared_aws;
    liana__aws_credentials aws;
    bool prepared_google;
    liana__google_credentials google;
};

#define LIANA__SCHEME(stem, name) extern const liana__scheme liana__scheme_##name;
#include "remote/schemes.def"
#undef LIANA__SCHEME

/* fetch.c: brings objects into the cache, all of them or an error; checks versions, lengths and checksums. */
liana_status liana__remote_fetch(liana__remote *remote, const liana__remote_object *objects, size_t count,
                                 liana__error *error);

/* message.c: sends, and makes an error of a response that is no success. */
liana_status liana__remote_ask(liana__remote *remote, const liana__scheme *scheme, const char *name,
                               const liana__http_request *request, liana__http_response *response, liana__error *error);
/* The error for a response that refuses. */
liana_status liana__remote_refused(const liana__remote *remote, const liana__scheme *scheme, const char *name,
                                   const liana__http_response *response, liana__error *error);
/* The error for a file that is not what it was. */
liana_status liana__remote_changed(const char *name, liana__error *error);

#endif
