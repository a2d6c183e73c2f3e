/* Writes checkpoints in a thread. */
#include "train/checkpoint/checkpoint_writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* `image` belongs to the thread while `writing`, else to the caller; `error` is the last write's, until it is told. */
struct liana__checkpoint_writer {
    liana__checkpoint_writer_options options;
    liana__checkpoint_image image;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool writing, ending;
    liana_status status;
    liana__error error;
};

static liana_status write_image(liana__checkpoint_writer *own, liana__error *error)
{
    const liana__checkpoint_writer_options *options = &own->options;
    LIANA_TRY(liana__checkpoint_image_write(&own->image, options->folder, options->keep, error));
    return options->outlet ? liana__outlet_changed(options->outlet, error) : LIANA_OK;
}

static void *thread_main(void *user)
{
    liana__checkpoint_writer *own = user;
    pthread_mutex_lock(&own->mutex);
    for (;;) {
        while (!own->writing && !own->ending) pthread_cond_wait(&own->changed, &own->mutex);
        if (!own->writing) break;
        pthread_mutex_unlock(&own->mutex);
        liana__error error = {0};
        liana_status status = write_image(own, &error);
        pthread_mutex_lock(&own->mutex);
        own->status = status;
        own->error = error;
        own->writing = false;
        pthread_cond_broadcast(&own->changed);
    }
    pthread_mutex_unlock(&own->mutex);
    return NULL;
}

static void free_parts(liana__checkpoint_writer *own)
{
    liana__checkpoint_image_free(&own->image);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->mutex);
    free(own);
}

liana_status liana__checkpoint_writer_create(const liana__checkpoint_writer_options *options,
                                             const liana__variables *variables, liana__checkpoint_writer **writer,
                                             liana__error *error)
{
    *writer = NULL;
    liana__checkpoint_writer *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the writer of checkpoints");
    own->options = *options;
    pthread_mutex_init(&own->mutex, NULL);
    pthread_cond_init(&own->changed, NULL);
    /* If the folder cannot be written, the first save says so. */
    const liana_status removed = liana__checkpoints_remove_unfinished(options->folder, NULL);
    (void)removed;
    liana_status status = liana__checkpoint_image_reserve(&own->image, variables, error);
    int code = status == LIANA_OK ? pthread_create(&own->thread, NULL, thread_main, own) : 0;
    if (code != 0) {
        status =
            liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread can be started for checkpoints: %s", strerror(code));
    }
    if (status == LIANA_OK) {
        *writer = own;
        return LIANA_OK;
    }
    free_parts(own);
    return status;
}

liana_status liana__checkpoint_writer_finish(liana__checkpoint_writer *own, liana__error *error)
{
    pthread_mutex_lock(&own->mutex);
    while (own->writing) pthread_cond_wait(&own->changed, &own->mutex);
    liana_status status = own->status;
    if (status != LIANA_OK && error) *error = own->error;
    own->status = LIANA_OK;
    pthread_mutex_unlock(&own->mutex);
    return status;
}

liana_status liana__checkpoint_writer_save(liana__checkpoint_writer *own, const liana__variables *variables,
                                           const liana__training_state *state, liana__error *error)
{
    LIANA_TRY(liana__checkpoint_writer_finish(own, error));
    LIANA_TRY(liana__checkpoint_image_take(&own->image, variables, state, error));
    pthread_mutex_lock(&own->mutex);
    own->writing = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
    return LIANA_OK;
}

void liana__checkpoint_writer_send(liana__checkpoint_writer *own, liana__outlet *outlet)
{
    pthread_mutex_lock(&own->mutex);
    while (own->writing) pthread_cond_wait(&own->changed, &own->mutex);
    own->options.outlet = outlet;
    pthread_mutex_unlock(&own->mutex);
}

static void destroy(liana__checkpoint_writer *own)
{
    pthread_mutex_lock(&own->mutex);
    own->ending = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->thread, NULL);
    free_parts(own);
}

liana_status liana__checkpoint_writer_close(liana__checkpoint_writer *own, liana_status status, liana__error *error)
{
    liana__error unwritten = {0};
    if (!own) return status;
    liana_status written = liana__checkpoint_writer_finish(own, &unwritten);
    destroy(own);
    if (written == LIANA_OK || (status != LIANA_OK && status != LIANA_CANCELLED)) return status;
    if (error) *error = unwritten;
    return written;
}
