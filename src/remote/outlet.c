/* Sends a local folder to a bucket, in a thread. */
#include "remote/outlet.h"

#include "base/descriptor.h"
#include "base/file_view.h"
#include "base/scoped.h"
#include "base/thread_start.h"
#include "remote/outlet_scan.h"
#include "remote/remote_internal.h"
#include "remote/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A network that is down for some minutes does not end a run of many hours. Waits between attempts are at most 30 s. */
enum { MAX_ATTEMPTS = 12, OPEN_TOGETHER = 16 };

/* An object, and the state of the local file that it was made of. */
typedef struct sent_object {
    char *name;
    liana__outlet_identity identity; /* zeros: not known */
} sent_object;

struct liana__outlet {
    liana__arena arena;
    liana__remote *remote; /* the thread's, from its start */
    bool (*goes_on)(void *user);
    bool (*progress)(void *user, const liana__remote_progress *progress);
    void *user;
    const char *url; /* without '/' at the end */
    const char *root;
    const char *folder; /* below root; ends as the URL does */
    const char *last;
    const char *hint;
    int lock;
    bool lock_works;
    liana_status (*may_write)(void *user, liana__error *error); /* NULL: always */
    void *guard;
    sent_object *sent; /* the thread's, from its start */
    size_t num_sent;
    size_t sent_capacity;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex; /* for the members below */
    pthread_cond_t work;
    pthread_cond_t idle;
    uint64_t wanted; /* counts the calls for the thread */
    uint64_t done;   /* the last one that it has served */
    bool stop;
    liana_status status;
    liana__error error;
};

/* ---- sent files ---- */

static sent_object *find_sent(const liana__outlet *outlet, const char *name)
{
    for (size_t i = 0; i < outlet->num_sent; i++) {
        if (strcmp(outlet->sent[i].name, name) == 0) return &outlet->sent[i];
    }
    return NULL;
}

static liana_status note_sent(liana__outlet *outlet, const char *name, const liana__outlet_identity *identity,
                              liana__error *error)
{
    sent_object *known = find_sent(outlet, name);
    if (!known) {
        bool enough = liana__grow(&outlet->sent, outlet->num_sent, &outlet->sent_capacity, sizeof *outlet->sent);
        char *copy = enough ? strdup(name) : NULL;
        if (!copy) return liana__fail_memory(error, outlet->url);
        known = &outlet->sent[outlet->num_sent++];
        known->name = copy;
    }
    known->identity = *identity;
    return LIANA_OK;
}

static void forget_sent(liana__outlet *outlet, size_t index)
{
    free(outlet->sent[index].name);
    outlet->sent[index] = outlet->sent[--outlet->num_sent];
}

static bool is_sent(const liana__outlet *outlet, const liana__outlet_file *file)
{
    const sent_object *known = find_sent(outlet, file->name);
    return known && memcmp(&known->identity, &file->identity, sizeof file->identity) == 0;
}

/* ---- sending ---- */

static liana_status send_file(liana__outlet *outlet, const liana__outlet_file *file, int descriptor,
                              liana__arena *arena, liana__error *error)
{
    const char *url = liana__path_join(arena, outlet->url, file->name);
    const char *path = liana__path_join(arena, outlet->folder, file->name);
    liana__outlet_identity identity;
    if (!url || !path) return liana__fail_memory(error, outlet->url);
    if (!liana__outlet_identify(descriptor, &identity)) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", path, strerror(errno));
    }
    if (outlet->may_write) LIANA_TRY(outlet->may_write(outlet->guard, error));
    LIANA_TRY(liana__store_file(outlet->remote, url, descriptor, path, error));
    return note_sent(outlet, file->name, &identity, error);
}

/* Opens files that belong together. -1: it is sent already. False: one of them is gone. */
static bool open_files(const liana__outlet *outlet, const liana__outlet_file *files, size_t count, int *descriptors,
                       liana__arena *arena)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        descriptors[i] = -1;
        if (is_sent(outlet, &files[i])) continue;
        const char *path = liana__path_join(arena, outlet->folder, files[i].name);
        descriptors[i] = path ? liana__open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
        all = all && descriptors[i] >= 0;
    }
    return all;
}

/* Sends some files of one folder. They are opened together, so that removing them meanwhile changes nothing. Sets
 * *gone if one had been removed before; then none is sent. */
static liana_status send_together(liana__outlet *outlet, const liana__outlet_file *files, size_t count, bool *gone,
                                  liana__error *error)
{
    int descriptors[OPEN_TOGETHER];
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_status status = LIANA_OK;
    bool all = open_files(outlet, files, count, descriptors, &arena);
    for (size_t i = 0; i < count && all && status == LIANA_OK; i++) {
        if (descriptors[i] >= 0) status = send_file(outlet, &files[i], descriptors[i], &arena, error);
    }
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] >= 0) close(descriptors[i]);
    }
    if (!all) *gone = true;
    return status;
}

static liana_status send_new(liana__outlet *outlet, const liana__outlet_files *files, bool *gone, liana__error *error)
{
    bool skips = false; /* the rest of this folder: without all of its files, the last one must not be sent */
    for (size_t first = 0; first < files->count;) {
        const liana__outlet_file *items = files->items + first;
        size_t count = 1;
        while (first + count < files->count && count < OPEN_TOGETHER &&
               liana__outlet_same_folder(items, items + count)) {
            count++;
        }
        bool follows = first > 0 && liana__outlet_same_folder(items - 1, items);
        bool ends_all = items->is_last && !strchr(items->name, '/');
        skips = (skips && follows) || (*gone && ends_all);
        bool missing = false;
        if (!skips) LIANA_TRY(send_together(outlet, items, count, &missing, error));
        skips = skips || missing;
        *gone = *gone || skips;
        first += count;
    }
    return LIANA_OK;
}

/* First the files that make folders valid, then the others. */
static liana_status remove_old(liana__outlet *outlet, const liana__outlet_files *files, liana__error *error)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = outlet->num_sent; i-- > 0;) {
            const char *name = outlet->sent[i].name;
            bool first = outlet->last && strcmp(liana__path_name(name), outlet->last) == 0;
            if (liana__outlet_find(files, name) || (pass == 0 && !first)) continue;
            LIANA_TRY(liana__outlet_remove(outlet, name, error));
        }
    }
    return LIANA_OK;
}

static liana_status send_all(liana__outlet *outlet, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__outlet_files) files = {0};
    bool gone = false;
    LIANA_TRY(liana__outlet_scan(outlet->folder, outlet->last, &arena, &files, error));
    LIANA_TRY(send_new(outlet, &files, &gone, error));
    /* Where a new file went before its turn, older ones are still needed. */
    return gone ? LIANA_OK : remove_old(outlet, &files, error);
}

/* ---- the thread ---- */

static void *thread_main(void *user)
{
    liana__outlet *outlet = user;
    pthread_mutex_lock(&outlet->mutex);
    while (!outlet->stop) {
        if (outlet->wanted == outlet->done) {
            pthread_cond_wait(&outlet->work, &outlet->mutex);
            continue;
        }
        uint64_t wanted = outlet->wanted;
        pthread_mutex_unlock(&outlet->mutex);
        liana__error error = {0};
        liana_status status = send_all(outlet, &error);
        pthread_mutex_lock(&outlet->mutex);
        outlet->done = wanted;
        outlet->status = status;
        if (status != LIANA_OK) outlet->error = error;
        pthread_cond_broadcast(&outlet->idle);
    }
    pthread_mutex_unlock(&outlet->mutex);
    return NULL;
}

static liana_status start_thread(liana__outlet *outlet, liana__error *error)
{
    if (outlet->has_thread) return LIANA_OK;
    int code = liana__thread_start(&outlet->thread, thread_main, outlet);
    outlet->has_thread = code == 0;
    if (code == 0) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot start a thread to send '%s': %s", outlet->url, strerror(code));
}

/* The thread has failed; it holds the mutex no more. */
static liana_status fail_kept(const liana__outlet *outlet, const liana__error *why, liana__error *error)
{
    return liana__fail(error, why->status, "%s; what was not sent is kept in '%s'%s%s", why->message, outlet->folder,
                       outlet->hint ? "; " : "", outlet->hint ? outlet->hint : "");
}

static liana_status wake(liana__outlet *outlet, bool wait, liana__error *error)
{
    LIANA_TRY(start_thread(outlet, error));
    liana__error why = {0};
    pthread_mutex_lock(&outlet->mutex);
    liana_status status = wait ? LIANA_OK : outlet->status;
    if (status == LIANA_OK) {
        uint64_t wanted = ++outlet->wanted;
        pthread_cond_signal(&outlet->work);
        while (wait && outlet->done < wanted) pthread_cond_wait(&outlet->idle, &outlet->mutex);
        if (wait) status = outlet->status;
    }
    if (status != LIANA_OK) why = outlet->error;
    pthread_mutex_unlock(&outlet->mutex);
    return status == LIANA_OK ? LIANA_OK : fail_kept(outlet, &why, error);
}

liana_status liana__outlet_changed(liana__outlet *outlet, liana__error *error)
{
    return wake(outlet, false, error);
}

liana_status liana__outlet_flush(liana__outlet *outlet, liana__error *error)
{
    return wake(outlet, true, error);
}

/* ---- objects ---- */

liana_status liana__outlet_list(liana__outlet *outlet, liana__arena *arena, liana__paths *names, liana__error *error)
{
    return liana__store_list(outlet->remote, outlet->url, arena, names, error);
}

liana_status liana__outlet_mark(liana__outlet *outlet, const char *name, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__outlet_identity identity = {0};
    const char *path = liana__path_join(&arena, outlet->folder, name);
    if (!path) return liana__fail_memory(error, name);
    int descriptor = liana__open(path, O_RDONLY | O_CLOEXEC, 0);
    const bool is_known = liana__outlet_identify(descriptor, &identity);
    const int reason = errno;
    if (descriptor >= 0) close(descriptor);
    if (is_known) return note_sent(outlet, name, &identity, error);
    return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", path, strerror(reason));
}

liana_status liana__outlet_adopt(liana__outlet *outlet, const char *name, liana__error *error)
{
    return note_sent(outlet, name, &(liana__outlet_identity){0}, error);
}

liana_status liana__outlet_remove(liana__outlet *outlet, const char *name, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *url = liana__path_join(&arena, outlet->url, name);
    if (outlet->may_write) LIANA_TRY(outlet->may_write(outlet->guard, error));
    if (!url) return liana__fail_memory(error, outlet->url);
    LIANA_TRY(liana__store_remove(outlet->remote, url, error));
    const sent_object *known = find_sent(outlet, name);
    if (known) forget_sent(outlet, (size_t)(known - outlet->sent));
    return LIANA_OK;
}

static liana_status copy_bytes(const char *from, const liana__mapping *mapping, liana__file_writer *writer,
                               liana__error *error)
{
    enum { PIECE = 1 << 20 };
    LIANA__SCOPED(liana__file_view) view = liana__file_view_of(from, mapping, PIECE);
    size_t size;
    for (size_t at = 0; at < mapping->size; at += size) {
        const uint8_t *bytes;
        LIANA_TRY(liana__file_view_next(&view, at, &bytes, &size, error));
        LIANA_TRY(liana__file_write(writer, bytes, size, error));
    }
    return liana__file_view_check(&view, error);
}

static liana_status copy_file(const char *from, const char *to, liana__error *error)
{
    liana__mapping mapping;
    liana__file_writer writer;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *folder = liana__path_folder(&arena, to);
    if (!folder) return liana__fail_memory(error, to);
    LIANA_TRY(liana__folder_make(folder, error));
    LIANA_TRY(liana__file_map(from, &mapping, error));
    liana_status status = liana__file_begin(&writer, to, error);
    if (status == LIANA_OK) {
        status = copy_bytes(from, &mapping, &writer, error);
        if (status == LIANA_OK) {
            status = liana__file_commit(&writer, true, error);
        } else {
            liana__file_abandon(&writer);
        }
    }
    liana__file_unmap(&mapping);
    return status;
}

liana_status liana__outlet_fetch(liana__outlet *outlet, const char *const *names, size_t count, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char **urls = liana__arena_allocate(&arena, (count + 1) * sizeof *urls);
    if (!urls) return liana__fail_memory(error, outlet->url);
    for (size_t i = 0; i < count; i++) urls[i] = liana__path_join(&arena, outlet->url, names[i]);
    liana__paths paths;
    if (arena.failed) return liana__fail_memory(error, outlet->url);
    LIANA_TRY(liana__remote_resolve(outlet->remote, urls, count, &arena, &paths, error));
    for (size_t i = 0; i < count; i++) {
        const char *to = liana__path_join(&arena, outlet->folder, names[i]);
        if (!to) return liana__fail_memory(error, outlet->url);
        LIANA_TRY(copy_file(paths.items[i], to, error));
        LIANA_TRY(liana__outlet_mark(outlet, names[i], error));
    }
    return LIANA_OK;
}

/* ---- opening and closing ---- */

static bool goes_on(void *user)
{
    liana__outlet *outlet = user;
    pthread_mutex_lock(&outlet->mutex);
    bool stop = outlet->stop;
    pthread_mutex_unlock(&outlet->mutex);
    return !stop && (!outlet->goes_on || outlet->goes_on(outlet->user));
}

static bool on_progress(void *user, const liana__remote_progress *progress)
{
    const liana__outlet *outlet = user;
    return outlet->progress(outlet->user, progress);
}

static liana_status create_remote(liana__outlet *outlet, const liana__remote_options *wanted, liana__error *error)
{
    liana__remote_options options = wanted ? *wanted : (liana__remote_options){0};
    outlet->goes_on = options.goes_on;
    outlet->progress = options.progress;
    outlet->user = options.user;
    options.writes = true;
    options.goes_on = goes_on;
    options.progress = options.progress ? on_progress : NULL;
    options.user = outlet;
    if (!options.max_attempts) options.max_attempts = MAX_ATTEMPTS;
    return liana__remote_create(&options, &outlet->remote, error);
}

static liana_status find_folder(liana__outlet *outlet, const char *url, liana__error *error)
{
    liana__arena *arena = &outlet->arena;
    liana__remote_object object;
    size_t length = strlen(url);
    while (length && url[length - 1] == '/') length--;
    outlet->url = liana__arena_format(arena, "%.*s", (int)length, url);
    if (!outlet->url) return liana__fail_memory(error, url);
    LIANA_TRY(liana__remote_connect(outlet->remote, error));
    LIANA_TRY(liana__remote_bucket_name(outlet->remote, outlet->url, arena, &object, error));
    const char *cache;
    LIANA_TRY(liana__remote_find_cache(outlet->remote, &cache, error));
    liana__remote_cache_id id = liana__remote_cache_id_of(outlet->url, object.scheme->endpoint(outlet->remote), 0);
    const char *root = liana__arena_format(arena, "%s/out/%s", cache, id.text);
    if (!root) return liana__fail_memory(error, url);
    LIANA_TRY(liana__folder_make(root, error));
    char *absolute = realpath(root, NULL);
    outlet->root = absolute ? liana__arena_string(arena, absolute) : root;
    free(absolute);
    outlet->folder = liana__arena_format(arena, "%s/%s", outlet->root, outlet->url);
    return arena->failed ? liana__fail_memory(error, url) : LIANA_OK;
}

static liana_status lock_folder(liana__outlet *outlet, liana__error *error)
{
    outlet->lock = liana__open(outlet->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (outlet->lock < 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot open the folder '%s': %s", outlet->root, strerror(errno));
    }
    outlet->lock_works = flock(outlet->lock, LOCK_EX | LOCK_NB) == 0;
    if (outlet->lock_works || errno != EWOULDBLOCK) return LIANA_OK;
    close(outlet->lock);
    outlet->lock = -1;
    return liana__fail(error, LIANA_IO_ERROR,
                       "another process of this machine is writing to '%s'; wait for it, or choose another folder",
                       outlet->url);
}

static liana_status open_folder(liana__outlet *outlet, const liana__outlet_options *options, liana__error *error)
{
    outlet->last = options->last ? liana__arena_string(&outlet->arena, options->last) : NULL;
    outlet->hint = options->hint ? liana__arena_string(&outlet->arena, options->hint) : NULL;
    LIANA_TRY(create_remote(outlet, options->remote, error));
    LIANA_TRY(find_folder(outlet, options->url, error));
    LIANA_TRY(lock_folder(outlet, error));
    if (options->fresh) LIANA_TRY(liana__folder_remove(outlet->folder, error));
    return liana__folder_make(outlet->folder, error);
}

liana_status liana__outlet_open(const liana__outlet_options *options, liana__outlet **out, liana__error *error)
{
    *out = NULL;
    liana__outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet) return liana__fail_memory(error, options->url);
    outlet->lock = -1;
    pthread_mutex_init(&outlet->mutex, NULL);
    pthread_cond_init(&outlet->work, NULL);
    pthread_cond_init(&outlet->idle, NULL);
    liana_status status = open_folder(outlet, options, error);
    if (status != LIANA_OK) {
        liana__outlet_close(outlet);
        return liana__fail_within(error, "results for '%s'", options->url);
    }
    *out = outlet;
    return LIANA_OK;
}

static void end_thread(liana__outlet *outlet)
{
    pthread_mutex_lock(&outlet->mutex);
    outlet->stop = true;
    pthread_cond_signal(&outlet->work);
    pthread_mutex_unlock(&outlet->mutex);
    if (outlet->has_thread) pthread_join(outlet->thread, NULL);
    outlet->has_thread = false;
}

/* Whether the folder is of no use any more: all of it was sent, or there is nothing in it. */
static bool is_spent(const liana__outlet *outlet)
{
    if (outlet->lock < 0) return false;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__outlet_files) files = {0};
    bool spent = liana__outlet_scan(outlet->folder, NULL, &arena, &files, NULL) == LIANA_OK;
    for (size_t i = 0; i < files.count && spent; i++) spent = is_sent(outlet, &files.items[i]);
    return spent;
}

void liana__outlet_close(liana__outlet *outlet)
{
    if (!outlet) return;
    end_thread(outlet);
    /* A folder that stays costs space; nothing else can be done about it. */
    if (is_spent(outlet)) (void)!liana__folder_remove(outlet->root, NULL);
    if (outlet->lock >= 0) close(outlet->lock);
    liana__remote_destroy(outlet->remote);
    for (size_t i = 0; i < outlet->num_sent; i++) free(outlet->sent[i].name);
    free(outlet->sent);
    pthread_mutex_destroy(&outlet->mutex);
    pthread_cond_destroy(&outlet->work);
    pthread_cond_destroy(&outlet->idle);
    liana__arena_free(&outlet->arena);
    free(outlet);
}

const char *liana__outlet_folder(const liana__outlet *outlet)
{
    return outlet->folder;
}

const char *liana__outlet_url(const liana__outlet *outlet)
{
    return outlet->url;
}

int liana__outlet_lock(const liana__outlet *outlet)
{
    return outlet->lock_works ? outlet->lock : -1;
}

void liana__outlet_guard(liana__outlet *outlet, liana_status (*may_write)(void *user, liana__error *error), void *user)
{
    outlet->may_write = may_write;
    outlet->guard = user;
}
