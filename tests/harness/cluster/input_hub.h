/* input_hub.h - the processes that share a loader's steps, as threads of a test. */
#ifndef LIANA_TESTS_INPUT_HUB_H
#define LIANA_TESTS_INPUT_HUB_H

#include "data/loader/workers.h"

#include <pthread.h>
#include <stdbool.h>

enum { LIANA__HUB_MOST = 8 };

typedef struct liana__input_hub liana__input_hub;

/* One of them. */
typedef struct liana__hub_member {
    liana__input_hub *hub;
    liana__input_workers workers;
    size_t rounds; /* of messages */
} liana__hub_member;

struct liana__input_hub {
    size_t count;       /* of processes */
    size_t num_working; /* the first `num_working` make examples */
    size_t shift;       /* moves the bounds, for another division of the same shards */
    pthread_mutex_t mutex;
    pthread_cond_t all_here;
    size_t arrived;
    uint64_t round;
    const void *data[LIANA__HUB_MOST];
    size_t sizes[LIANA__HUB_MOST];
    const liana__told *messages; /* of process 0 */
    size_t spoils;               /* the process whose messages arrive cut by a byte; `count`: none */
    liana__hub_member members[LIANA__HUB_MOST];
};

void liana__input_hub_open(liana__input_hub *hub, size_t count, size_t num_working, int64_t microbatch);
void liana__input_hub_close(liana__input_hub *hub);

/* Calls `run` for each process, in a thread of its own, and waits for all. `users` has the argument of each. */
void liana__input_hub_run(const liana__input_hub *hub, void *(*run)(void *user), void *const *users);

#endif
