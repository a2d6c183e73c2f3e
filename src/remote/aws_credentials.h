/* aws_credentials.h - who we are to S3, and where S3 is: environment variables, then the files of the AWS tools. */
#ifndef LIANA_REMOTE_AWS_CREDENTIALS_H
#define LIANA_REMOTE_AWS_CREDENTIALS_H

#include "base/memory.h"
#include "remote/http.h"

#include <time.h>

typedef enum liana__aws_kind {
    LIANA__AWS_FIXED,     /* keys of the environment or a file, or none */
    LIANA__AWS_CONTAINER, /* a server beside the container gives keys that end (ECS, EKS Pod Identity) */
    LIANA__AWS_INSTANCE,  /* a machine at AWS: its metadata server (IMDSv2) gives keys that end */
} liana__aws_kind;

typedef struct liana__aws_credentials {
    liana__aws_kind kind;
    const char *access_key; /* NULL: none, requests are not signed */
    const char *secret_key;
    const char *session_token; /* NULL: none */
    const char *region;        /* never NULL */
    const char *endpoint;      /* "http://127.0.0.1:9000", or NULL: AWS itself */
    bool region_is_known;      /* and no guess */
    const char *origin;        /* where the keys were found, for messages */
    const char *exchange;      /* where keys are got: the whole URL, or that of the metadata server */
    time_t expires;            /* 0: never */
} liana__aws_credentials;

/* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") in
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config). AWS_REGION, AWS_DEFAULT_REGION,
 * else the profile's region, else us-east-1. AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else the profile's endpoint_url.
 * Without keys, where they are to be got: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, else the machine's
 * metadata server, if AWS_EC2_METADATA_SERVICE_ENDPOINT is set or the machine says that it is Amazon's, unless
 * AWS_EC2_METADATA_DISABLED is true. Without any there are no keys. Everything in the arena.
 * Errors: INVALID_CONFIG (one key without the other; a profile that is named but not there; a FULL_URI to which no
 * secret may be sent), OUT_OF_MEMORY, and those of reading files. No message contains what a file says. */
liana_status liana__aws_credentials_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

/* aws_metadata.c: the part of the above that is about servers. */
liana_status liana__aws_metadata_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

/* aws_metadata.c: makes keys that are got from a server good for some minutes. A metadata server that does not answer,
 * or has no role to give, leaves requests unsigned. `name` is what they are wanted for. Errors: IO_ERROR (refused, not
 * reached, an answer without keys). */
liana_status liana__aws_credentials_refresh(liana__http *http, const char *name, liana__arena *arena,
                                            liana__aws_credentials *credentials, liana__error *error) LIANA_MUST_USE;
/* The keys in such a server's answer. Errors: INVALID_DATA (there are none), OUT_OF_MEMORY. */
liana_status liana__aws_credentials_read(const char *text, size_t size, liana__arena *arena,
                                         liana__aws_credentials *credentials, liana__error *error) LIANA_MUST_USE;

/* The value of a key in a section of an INI text ("[section]", "key = value"; lines that begin with # or ; and indented
 * lines do not count), in the arena; NULL if there is none. The last of several wins. */
const char *liana__ini_value(const char *text, size_t size, const char *section, const char *key, liana__arena *arena);

#endif
