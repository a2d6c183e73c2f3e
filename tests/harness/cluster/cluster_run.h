/* cluster_run.h - clusters for tests: each process is a thread with a transport of its own, or a real process. */
#ifndef LIANA_TESTS_CLUSTER_RUN_H
#define LIANA_TESTS_CLUSTER_RUN_H

#include "distribute/transport/cluster_place.h"
#include "distribute/transport/transport.h"

#include <sys/types.h>

enum { LIANA__TEST_MEMBERS = 8 };

typedef struct liana__test_member liana__test_member;

struct liana__test_member {
    liana__cluster_place place;
    const liana__transport *transport;
    liana__transport_instance *instance; /* NULL: it has not met the others; `status` says why */
    liana_status status;
    liana__error error;
    void (*body)(liana__test_member *member); /* its work; sets `status` */
    void *user;
};

/* Addresses for `count` processes in a new folder of mode 0700, or on free ports of this machine. Static. */
const char *const *liana__test_sockets(size_t count);
const char *const *liana__test_ports(size_t count);
/* A free port of this machine, which no other test and no connection takes until this process ends. */
int liana__test_free_port(void);
/* A folder with new keys. Static. */
const char *liana__test_keys(void);

/* Places of `count` workers with short times; members may be changed before they run. */
void liana__test_members(liana__test_member *members, size_t count, const char *const *addresses, const char *keys);

/* Each member opens its transport in a thread of its own, runs its body and closes. */
void liana__test_run_members(liana__test_member *members, size_t count);

/* Starts a member in a process of its own, which ends with 0 if its status is OK and with 1 otherwise. */
pid_t liana__test_start_member(liana__test_member *member);
/* Waits for it; as a shell reports it. */
int liana__test_end_member(pid_t process);

#endif
