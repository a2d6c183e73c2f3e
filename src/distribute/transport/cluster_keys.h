/* cluster_keys.h - the secret of a cluster: its holders get in, and nobody else reads their messages.
 *
 * A cluster has one secret, a CURVE25519 key in the file cluster.secret of a folder of mode 0700. Every process uses it
 * at both ends of its connections; each connection then has session keys of its own. docs/guides/cluster.md says why
 * there is one and not one for each process. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_KEYS_H
#define LIANA_DISTRIBUTE_TRANSPORT_CLUSTER_KEYS_H

#include "base/error.h"

/* Z85 text, as libzmq has it. */
enum { LIANA__CLUSTER_KEY_SIZE = 41 };

typedef struct liana__cluster_keys {
    char public_key[LIANA__CLUSTER_KEY_SIZE];
    char secret_key[LIANA__CLUSTER_KEY_SIZE];
} liana__cluster_keys;

/* Makes a new secret in a folder, which is made if it is missing. Errors: INVALID_CONFIG if there is one already or
 * others may enter the folder; IO_ERROR; UNIMPLEMENTED without libzmq. */
liana_status liana__cluster_keys_make(const char *folder, liana__error *error) LIANA_MUST_USE;

/* Errors: INVALID_CONFIG if there is none, others could read it, or it is no key; UNIMPLEMENTED. */
liana_status liana__cluster_keys_read(const char *folder, liana__cluster_keys *keys, liana__error *error)
    LIANA_MUST_USE;
/* Overwrites them. */
void liana__cluster_keys_forget(liana__cluster_keys *keys);

/* Fails with INVALID_CONFIG unless the folder belongs to this user and nobody else may enter it. `what` names the
 * folder in the message: "the folder of keys". */
liana_status liana__check_private_folder(const char *folder, const char *what, liana__error *error) LIANA_MUST_USE;

#endif
