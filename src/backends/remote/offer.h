/* offer.h - a server's list of its devices. */
#ifndef LIANA_BACKENDS_REMOTE_OFFER_H
#define LIANA_BACKENDS_REMOTE_OFFER_H

#include "backends/remote/account.h"
#include "base/text.h"

#include <liana/context.h>

/* A device in words, of at most LIANA__SERVED_TEXT bytes: "2 threads, avx512, 7.6 GiB for clients". */
void liana__served_describe(const liana_context *context, const liana__served_account *account, const char *name,
                            char *text);
/* Writes the answer to DEVICES (wire.h). GPUs and TPUs are opened to be looked at. Errors: OUT_OF_MEMORY. */
liana_status liana__served_offer(liana_context *context, const liana__served_account *account, liana__text *out,
                                 liana__error *error) LIANA_MUST_USE;

#endif
