/* account.h - the memory of a server that all its clients share. */
#ifndef LIANA_BACKENDS_REMOTE_ACCOUNT_H
#define LIANA_BACKENDS_REMOTE_ACCOUNT_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct liana__served_account {
    size_t limit; /* bytes */
    _Atomic size_t held;
} liana__served_account;

#endif
