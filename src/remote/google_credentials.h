/* google_credentials.h - credentials for Google Cloud Storage, and its endpoint. */
#ifndef LIANA_REMOTE_GOOGLE_CREDENTIALS_H
#define LIANA_REMOTE_GOOGLE_CREDENTIALS_H

#include "base/memory.h"
#include "remote/http.h"

#include <time.h>

typedef enum liana__google_kind {
    LIANA__GOOGLE_ANONYMOUS,
    LIANA__GOOGLE_TOKEN,    /* given in the environment */
    LIANA__GOOGLE_SERVICE,  /* a service account: a signed JWT is exchanged for a token (RFC 7523) */
    LIANA__GOOGLE_USER,     /* an authorized_user: a refresh token is exchanged (RFC 6749) */
    LIANA__GOOGLE_METADATA, /* a machine at Google: its metadata server gives tokens */
} liana__google_kind;

typedef struct liana__google_credentials {
    liana__google_kind kind;
    const char *origin;   /* where they were found, for messages */
    const char *endpoint; /* "https://storage.googleapis.com", or STORAGE_EMULATOR_HOST */
    const char *account;  /* SERVICE: client_email; USER: client_id */
    const char *secret;   /* SERVICE: the private key (PEM); USER: client_secret */
    const char *key_id;   /* SERVICE: private_key_id, or NULL */
    const char *refresh;  /* USER: refresh_token */
    const char *exchange; /* where tokens are fetched */
    bool writes;          /* tokens are requested for writing as well */
    const char *token;    /* NULL: none yet */
    time_t expires;       /* 0: not known */
} liana__google_credentials;

/* Finds credentials and endpoint, in this order:
 *
 * - CLOUDSDK_AUTH_ACCESS_TOKEN or GOOGLE_OAUTH_ACCESS_TOKEN (a token itself);
 * - the file GOOGLE_APPLICATION_CREDENTIALS, or the file that `gcloud auth application-default login` writes;
 * - the metadata server, if GCE_METADATA_HOST is set or the machine says that it is Google's;
 * - else anonymous.
 *
 * STORAGE_EMULATOR_HOST is another endpoint. Requests to it are anonymous, unless the environment names a token or a
 * file. Everything is in the arena. Errors: INVALID_CONFIG (a file without credentials), OUT_OF_MEMORY, and those of
 * reading files. No message quotes the contents of a file. */
liana_status liana__google_credentials_find(liana__arena *arena, liana__google_credentials *credentials,
                                            liana__error *error) LIANA_MUST_USE;

/* The same from the text of a file. */
liana_status liana__google_credentials_read(const char *text, size_t size, const char *path, liana__arena *arena,
                                            liana__google_credentials *credentials, liana__error *error) LIANA_MUST_USE;

/* Makes credentials->token valid for some minutes at least; NULL if anonymous. `name` is the file that it is for.
 * Errors: IO_ERROR (refused, not reached), INVALID_CONFIG (an invalid private key). */
liana_status liana__google_credentials_refresh(liana__http *http, const char *name, liana__arena *arena,
                                               liana__google_credentials *credentials, liana__error *error)
    LIANA_MUST_USE;

#endif
