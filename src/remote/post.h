/* post.h - sends a text to a server by HTTP POST. */
#ifndef LIANA_REMOTE_POST_H
#define LIANA_REMOTE_POST_H

#include "base/error.h"

typedef struct liana__posting {
    const char *url; /* http:// or https:// */
    const char *content_type;
    const char *const *headers; /* name, value, name, value, ..., NULL; NULL: none */
    const char *body;
} liana__posting;

/* Once, without another attempt. Errors: IO_ERROR (no connection, or a status of 400 and above), UNIMPLEMENTED (a build
 * without libcurl), OUT_OF_MEMORY. */
liana_status liana__remote_post(const liana__posting *posting, liana__error *error) LIANA_MUST_USE;

#endif
