/* Threads that tell each other what processes do. */
#include "harness/harness.h"

#include "harness/cluster/input_hub.h"

#include <stdlib.h>
#include <string.h>

/* Nearly equal ranges; with a shift the first process gives that many shards to the last one, as far as it has them. */
static void divide(void *user, int64_t num_shards, int64_t *bounds)
{
    const liana__input_hub *hub = ((const liana__hub_member *)user)->hub;
    int64_t working = (int64_t)hub->num_working, least = num_shards / working;
    int64_t shift = (int64_t)hub->shift < least ? (int64_t)hub->shift : least;
    for (int64_t i = 0; i <= (int64_t)hub->count; i++) {
        bounds[i] = i >= working ? num_shards : i * num_shards / working;
        if (i > 0 && i < working) bounds[i] -= shift;
    }
}

/* Waits for the others; the last one to come sends all on. */
static void meet(liana__input_hub *hub)
{
    uint64_t round = hub->round;
    if (++hub->arrived == hub->count) {
        hub->arrived = 0;
        hub->round++;
        pthread_cond_broadcast(&hub->all_here);
    }
    while (hub->round == round) pthread_cond_wait(&hub->all_here, &hub->mutex);
}

static liana_status gather(void *user, const void *data, size_t size, liana__told *all, liana__error *error)
{
    liana__hub_member *self = user;
    liana__input_hub *hub = self->hub;
    pthread_mutex_lock(&hub->mutex);
    hub->data[self->workers.self] = data;
    hub->sizes[self->workers.self] = size;
    self->rounds++;
    meet(hub);
    bool enough = true;
    for (size_t i = 0; i < hub->count; i++) {
        all[i].size = hub->sizes[i] - (i == hub->spoils && hub->sizes[i] > 0);
        all[i].data = malloc(all[i].size + 1);
        enough = enough && all[i].data;
        if (all[i].data) memcpy(all[i].data, hub->data[i], all[i].size);
    }
    meet(hub); /* from here on the data may change */
    pthread_mutex_unlock(&hub->mutex);
    return enough ? LIANA_OK : liana__fail_memory(error, "a message");
}

static liana_status scatter(void *user, size_t from, const liana__told *messages, liana__told *own, liana__error *error)
{
    liana__hub_member *self = user;
    liana__input_hub *hub = self->hub;
    bool enough = true;
    pthread_mutex_lock(&hub->mutex);
    if (messages) hub->messages = messages;
    meet(hub);
    if (!messages) {
        const liana__told *sent = &hub->messages[self->workers.self];
        own->size = sent->size - (hub->spoils == from && sent->size > 0);
        own->data = malloc(own->size + 1);
        enough = own->data;
        if (own->data) memcpy(own->data, sent->data, own->size);
    }
    meet(hub);
    pthread_mutex_unlock(&hub->mutex);
    return enough ? LIANA_OK : liana__fail_memory(error, "a message");
}

void liana__input_hub_open(liana__input_hub *hub, size_t count, size_t num_working, int64_t microbatch)
{
    *hub = (liana__input_hub){.count = count, .num_working = num_working, .spoils = count};
    pthread_mutex_init(&hub->mutex, NULL);
    pthread_cond_init(&hub->all_here, NULL);
    for (size_t i = 0; i < count; i++) {
        liana__hub_member *member = &hub->members[i];
        *member = (liana__hub_member){.hub = hub,
                                      .workers = {.count = count,
                                                  .self = i,
                                                  .microbatch = microbatch,
                                                  .divide = divide,
                                                  .gather = gather,
                                                  .scatter = scatter,
                                                  .user = member}};
    }
}

void liana__input_hub_close(liana__input_hub *hub)
{
    pthread_cond_destroy(&hub->all_here);
    pthread_mutex_destroy(&hub->mutex);
}

void liana__input_hub_run(const liana__input_hub *hub, void *(*run)(void *user), void *const *users)
{
    pthread_t threads[LIANA__HUB_MOST];
    for (size_t i = 0; i < hub->count; i++) assert_int_equal(pthread_create(&threads[i], NULL, run, users[i]), 0);
    for (size_t i = 0; i < hub->count; i++) pthread_join(threads[i], NULL);
}
