/* aws_credentials.h - who we are to S3, and where S3 is: environment variables, then the files of the AWS tools. */
#ifndef LIANA_REMOTE_AWS_CREDENTIALS_H
#define LIANA_REMOTE_AWS_CREDENTIALS_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>

typedef struct liana__aws_credentials {
    const char *access_key; /* NULL: none, requests are not signed */
    const char *secret_key;
    const char *session_token; /* NULL: none */
    const char *region;        /* never NULL */
    const char *endpoint;      /* "http://127.0.0.1:9000", or NULL: AWS itself */
    const char *origin;        /* where the keys were found, for messages */
} liana__aws_credentials;

/* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") in
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config). AWS_REGION, AWS_DEFAULT_REGION,
 * else the profile's region, else us-east-1. AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else the profile's endpoint_url.
 * Without any there are no keys. Everything in the arena.
 * Errors: INVALID_CONFIG (one key without the other; a profile that is named but not there), OUT_OF_MEMORY, and those
 * of reading files. No message contains what a file says. */
liana_status liana__aws_credentials_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

/* The value of a key in a section of an INI text ("[section]", "key = value"; lines that begin with # or ; and indented
 * lines do not count), in the arena; NULL if there is none. The last of several wins. */
const char *liana__ini_value(const char *text, size_t size, const char *section, const char *key, liana__arena *arena);

#endif
