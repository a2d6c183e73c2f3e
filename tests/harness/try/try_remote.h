/* try_remote.h - feeds any bytes to the readers of what servers answer and of files of credentials. */
#ifndef LIANA_TESTS_TRY_REMOTE_H
#define LIANA_TESTS_TRY_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each aborts where a promise is broken: a list of S3 or of GCS, an object of GCS, a refusal; INI and Google's JSON. */
bool liana__try_listing(const uint8_t *bytes, size_t size);
bool liana__try_credentials(const uint8_t *bytes, size_t size);

#endif
