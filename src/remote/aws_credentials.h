/* aws_credentials.h - credentials for S3, and its endpoint: from environment variables, then from the AWS tools'
 * files. */
#ifndef LIANA_REMOTE_AWS_CREDENTIALS_H
#define LIANA_REMOTE_AWS_CREDENTIALS_H

#include "base/memory.h"
#include "remote/http.h"

#include <time.h>

typedef enum liana__aws_kind {
    LIANA__AWS_FIXED,     /* keys from the environment or a file, or none */
    LIANA__AWS_CONTAINER, /* a server of the container's host gives keys that expire (ECS, EKS Pod Identity) */
    LIANA__AWS_INSTANCE,  /* a machine at AWS: its metadata server (IMDSv2) gives keys that expire */
} liana__aws_kind;

typedef struct liana__aws_credentials {
    liana__aws_kind kind;
    const char *access_key; /* NULL: none; requests are not signed */
    const char *secret_key;
    const char *session_token; /* NULL: none */
    const char *region;        /* never NULL */
    const char *endpoint;      /* "http://127.0.0.1:9000", or NULL: AWS itself */
    bool region_is_known;      /* false: it is a guess */
    const char *origin;        /* where the keys were found, for messages */
    const char *exchange;      /* where keys are fetched: the whole URL, or that of the metadata server */
    time_t expires;            /* 0: never */
} liana__aws_credentials;

/* Finds credentials and endpoint:
 *
 * - keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") in
 *   AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config);
 * - region: AWS_REGION, AWS_DEFAULT_REGION, else the profile's region, else us-east-1;
 * - endpoint: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else the profile's endpoint_url;
 * - without keys, the server that gives some: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI; else the machine's
 *   metadata server, if AWS_EC2_METADATA_SERVICE_ENDPOINT is set or the machine says that it is Amazon's, and
 *   AWS_EC2_METADATA_DISABLED is not true;
 * - else there are no keys.
 *
 * Everything is in the arena. Errors: INVALID_CONFIG (one key without the other; AWS_PROFILE names a missing profile; a
 * FULL_URI to which no secret may be sent), OUT_OF_MEMORY, and those of reading files. No message quotes the contents
 * of a file. */
liana_status liana__aws_credentials_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

/* aws_metadata.c: the part of the above about servers. */
liana_status liana__aws_metadata_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

/* aws_metadata.c: fetches new keys if the keys from a server expire within some minutes. If a metadata server does not
 * answer, or has no role to give, requests stay unsigned. `name` is the file that they are for. Errors: IO_ERROR
 * (refused, not reached, an answer without keys). */
liana_status liana__aws_credentials_refresh(liana__http *http, const char *name, liana__arena *arena,
                                            liana__aws_credentials *credentials, liana__error *error) LIANA_MUST_USE;
/* Reads the keys in the answer of such a server. Errors: INVALID_DATA (there are none), OUT_OF_MEMORY. */
liana_status liana__aws_credentials_read(const char *text, size_t size, liana__arena *arena,
                                         liana__aws_credentials *credentials, liana__error *error) LIANA_MUST_USE;

/* The value of a key in a section of an INI text ("[section]", "key = value"), in the arena; NULL if there is none.
 * Indented lines and lines that begin with # or ; do not count. If a key is repeated, the last value counts. */
const char *liana__ini_value(const char *text, size_t size, const char *section, const char *key, liana__arena *arena);

#endif
