/* remote_internal.h - the contract of a kind of URL, and the inside of a liana__remote. */
#ifndef LIANA_REMOTE_REMOTE_INTERNAL_H
#define LIANA_REMOTE_REMOTE_INTERNAL_H

#include "remote/aws_credentials.h"
#include "remote/google_credentials.h"
#include "remote/http.h"
#include "remote/listing.h"
#include "remote/remote.h"
#include "remote/remote_cache.h"

/* Bytes that become an object: an open file, or memory. */
typedef struct liana__upload {
    const char *path; /* for messages */
    int descriptor;
    const void *bytes; /* NULL: the descriptor is read */
    uint64_t size;
    uint32_t crc32c;
    /* Only if the object is of this version, or with "" if there is no object. NULL: in any case. */
    const char *only_if;
    bool *refused; /* with only_if: it was not so, and nothing was written */
} liana__upload;

/* upload.c: copies bytes of an upload. Errors: IO_ERROR; DATA_LOSS if the file is shorter now. */
liana_status liana__upload_read(const liana__upload *upload, uint64_t offset, void *to, size_t size,
                                liana__error *error);

/* A file on a server. Its strings are in the arena of the call that found it. */
typedef struct liana__remote_object {
    const struct liana__scheme *scheme;
    const char *name;     /* the URL as it is shown: a query, which may hold a secret, is a short hash */
    const char *bucket;   /* gs, s3 */
    const char *key;      /* gs, s3: the name in the bucket; https: the URL to fetch */
    const char *identity; /* https: the URL without its signature */
    uint64_t size;
    /* The server's name for this state of the file: an ETag, a generation, a date. "": it has none, and the file is
     * fetched again each time. */
    const char *version;
    bool whole; /* the server gives no ranges */
    liana__remote_cache_id id;
    bool has_crc32c;
    uint32_t crc32c;
    bool has_md5;
    uint8_t md5[16];
    /* An optional object may fail alone: `status` and `reason` then say why, and the call goes on. */
    bool optional;
    liana_status status;
    const char *reason;
} liana__remote_object;

/* Functions that make requests may ask a server for a token. Their errors are those of liana__remote_resolve. The
 * caller frees requests, also after errors. */
typedef struct liana__scheme {
    const char *name;
    /* Finds endpoint and credentials, once. NULL: none are needed. */
    liana_status (*prepare)(liana__remote *remote, liana__error *error);
    /* The server of all names, if it is configured. NULL: the name has the server. */
    const char *(*endpoint)(const liana__remote *remote);
    /* Makes the request for the object's properties. Scheme, name, bucket and key are set. */
    liana_status (*ask)(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                        liana__error *error);
    liana__http_sink ask_sink; /* receives its answer; NULL: the body is collected */
    /* Sets size, version, whole and checksums from an answer that is not a refusal. */
    liana_status (*take)(liana__remote_object *object, const liana__http_response *response, liana__arena *arena,
                         liana__error *error);
    /* Makes the request for a page of the list of objects below a prefix: the page after `next` ("" or NULL: the
     * first). `flat`: without objects that have a '/' after the prefix. NULL: there are no lists. */
    liana_status (*ask_list)(liana__remote *remote, const char *name, const char *bucket, const char *prefix, bool flat,
                             const char *next, liana__http_request *request, liana__error *error);
    /* Adds the objects of such a page to the list. */
    liana_status (*take_list)(const char *bytes, size_t size, liana__arena *arena, liana__listing *listing,
                              liana__error *error);
    /* Makes the request for the object's bytes, of its version or with "" the newest; the caller sets the range. */
    liana_status (*request)(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                            liana__error *error);
    /* Whether an answer with 200 or 206 is of this version of the object. */
    bool (*same)(const liana__remote_object *object, const liana__http_response *response);
    /* Makes an object of bytes. It is visible when it is complete. NULL: nothing is written there. Errors: as above,
     * and those of reading the bytes. */
    liana_status (*put)(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                        liana__error *error);
    /* Makes the request that removes the object, if it has a version only that one. */
    liana_status (*ask_removal)(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                                liana__error *error);
    /* "with the access key AKIA...": how requests are made, for messages about refusals. */
    void (*explain_access)(const liana__remote *remote, liana__text *text);
} liana__scheme;

struct liana__remote {
    liana__arena arena;
    liana__remote_options options; /* defaults filled in */
    bool is_started;               /* libcurl is started */
    liana__http http;
    liana__remote_cache cache;
    bool prepared_aws;
    liana__aws_credentials aws;
    bool prepared_google;
    liana__google_credentials google;
};

/* Sets size, version and checksums from an item of a list. */
void liana__remote_object_set(liana__remote_object *object, const liana__listed *listed);

#define LIANA__SCHEME(stem, name) extern const liana__scheme liana__scheme_##name;
#include "remote/schemes.def"
#undef LIANA__SCHEME

/* remote.c: opens the connections, without a cache. */
liana_status liana__remote_connect(liana__remote *remote, liana__error *error);
/* remote.c: the folder of the cache, which need not exist. */
liana_status liana__remote_find_cache(liana__remote *remote, const char **folder, liana__error *error);
/* remote.c: reads "gs://bucket/key" (the key may be empty), to write there or to list. The object's strings are in the
 * arena. Errors: INVALID_ARGUMENT, and those of finding credentials. */
liana_status liana__remote_bucket_name(liana__remote *remote, const char *url, liana__arena *arena,
                                       liana__remote_object *object, liana__error *error);

/* remote.c: opens the connections and reads "https://host/path", a file. Errors: INVALID_ARGUMENT. */
liana_status liana__remote_web_name(liana__remote *remote, const char *url, liana__arena *arena,
                                    liana__remote_object *object, liana__error *error);

/* fetch.c: fetches objects into the cache: all of them except failed optional ones, or an error. Checks versions,
 * lengths and checksums. */
liana_status liana__remote_fetch(liana__remote *remote, liana__remote_object *objects, size_t count,
                                 liana__error *error);

/* ask.c: asks for the properties of objects, many at a time. An object that is not optional fails alone only with
 * NOT_FOUND; the caller makes an error of it. */
liana_status liana__remote_describe(liana__remote *remote, liana__remote_object *objects, size_t count,
                                    liana__arena *arena, liana__error *error);
/* ask.c: adds all objects of a bucket below a prefix to the list, page by page. */
liana_status liana__remote_list(liana__remote *remote, const liana__remote_object *where, const char *prefix, bool flat,
                                liana__arena *arena, liana__listing *listing, liana__error *error);

/* message.c: what a refusal says, and the error for it. */
liana__refusal liana__http_refusal(const liana__http_response *response);
liana_status liana__remote_refused(const liana__remote *remote, const liana__scheme *scheme, const char *name,
                                   const liana__http_response *response, liana__error *error);
/* The error for a file that has changed. */
liana_status liana__remote_changed(const char *name, liana__error *error);

#endif
