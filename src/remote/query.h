/* query.h - what of a URL says which file it is, and what only says who may read it. */
#ifndef LIANA_REMOTE_QUERY_H
#define LIANA_REMOTE_QUERY_H

#include "base/memory.h"

/* The URL without fragment and without the parameters of signatures, which differ from one day to the next for the same
 * file: those of AWS (X-Amz-..., and the older Signature, Expires, AWSAccessKeyId), Google (X-Goog-...,
 * GoogleAccessId), CloudFront (Policy, Key-Pair-Id) and, where there is a `sig`, Azure's. In the arena; NULL when
 * memory ran out. */
const char *liana__url_identity(liana__arena *arena, const char *url);

#endif
