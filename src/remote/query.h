/* query.h - the identity of a URL: the part that identifies the file, and the part that only permits reading it. */
#ifndef LIANA_REMOTE_QUERY_H
#define LIANA_REMOTE_QUERY_H

#include "base/memory.h"

/* The URL without its fragment and without the parameters of signatures, which change from day to day for the same
 * file: those of AWS (X-Amz-..., and the older Signature, Expires, AWSAccessKeyId), Google (X-Goog-...,
 * GoogleAccessId), CloudFront (Policy, Key-Pair-Id), and Azure's if there is a `sig`. In the arena; NULL: out of
 * memory. */
const char *liana__url_identity(liana__arena *arena, const char *url);

#endif
