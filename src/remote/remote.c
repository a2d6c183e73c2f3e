#include "remote/remote.h"

#include "base/text.h"
#include "remote/scheme.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const liana__scheme *const SCHEMES[] = {
#define LIANA__SCHEME(stem, name) &liana__scheme_##name,
#include "remote/schemes.def"
#undef LIANA__SCHEME
};
enum { NUM_SCHEMES = sizeof SCHEMES / sizeof *SCHEMES };

/* A list that is longer than this is no data set, or a server that never ends. */
enum { MAX_LISTED = 20000000 };

/* ---- creating ---- */

static liana_status find_cache(liana__remote *remote, liana__error *error)
{
    const char *folder = remote->options.cache_folder, *cache = getenv("LIANA_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!folder && cache && *cache) folder = cache;
    if (!folder && xdg && *xdg == '/') folder = liana__arena_format(&remote->arena, "%s/liana", xdg);
    if (!folder && home && *home) folder = liana__arena_format(&remote->arena, "%s/.cache/liana", home);
    if (remote->arena.failed) return liana__fail_memory(error, "the cache of remote files");
    if (!folder) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no place to keep remote files: set LIANA_CACHE to a folder (HOME is not set)");
    }
    return liana__cache_open(&remote->cache, folder, remote->options.cache_limit, &remote->arena, error);
}

static void fill_defaults(liana__remote_options *options)
{
    if (options->connections <= 0) options->connections = 8;
    if (options->connections > 64) options->connections = 64;
    if (!options->piece_size) options->piece_size = (uint64_t)8 << 20;
    if (options->max_attempts <= 0) options->max_attempts = 6;
    if (options->first_delay <= 0) options->first_delay = 500;
    if (options->stall_seconds <= 0) options->stall_seconds = 30;
    /* Many machines that were refused together should not come back together. */
    if (!options->seed && getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed) {
        options->seed = (uint64_t)getpid();
    }
}

liana_status liana__remote_create(const liana__remote_options *options, liana__remote **out, liana__error *error)
{
    static const liana__remote_options defaults;
    *out = NULL;
    liana__remote *remote = calloc(1, sizeof *remote);
    if (!remote) return liana__fail_memory(error, "remote files");
    remote->cache.lock = -1;
    remote->options = options ? *options : defaults;
    fill_defaults(&remote->options);
    remote->options.cache_folder = liana__arena_string(&remote->arena, remote->options.cache_folder);
    remote->http = (liana__http){.stall_seconds = remote->options.stall_seconds,
                                 .max_attempts = remote->options.max_attempts,
                                 .first_delay = remote->options.first_delay,
                                 .seed = remote->options.seed};
    /* Counts its calls, and may be called in any thread (libcurl 7.84). */
    bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    remote->http.multi = started ? curl_multi_init() : NULL;
    liana_status status = remote->http.multi && !remote->arena.failed ? find_cache(remote, error)
                                                                      : liana__fail_memory(error, "remote files");
    if (status != LIANA_OK) {
        liana__remote_destroy(remote);
        return status;
    }
    *out = remote;
    return LIANA_OK;
}

void liana__remote_destroy(liana__remote *remote)
{
    if (!remote) return;
    if (remote->http.multi) curl_multi_cleanup(remote->http.multi);
    curl_global_cleanup();
    liana__cache_close(&remote->cache);
    liana__arena_free(&remote->arena);
    free(remote);
}

/* ---- names ---- */

static liana_status find_scheme(const char *name, const liana__scheme **scheme, liana__error *error)
{
    size_t length = strcspn(name, ":");
    const char *names[NUM_SCHEMES];
    for (size_t i = 0; i < NUM_SCHEMES; i++) {
        *scheme = SCHEMES[i];
        names[i] = SCHEMES[i]->name;
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return LIANA_OK;
    }
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s://' is no kind of URL that can be read; https, gs and s3 are%s", word,
                       liana__hint(liana__nearest(word, names, NUM_SCHEMES)).text);
}

/* "https://host/path?query" as it is shown: the query becomes eight digits, for it may be a signature. */
static const char *shown_name(const char *url, liana__arena *arena)
{
    size_t length = strcspn(url, "?#");
    if (!url[length]) return liana__arena_string(arena, url);
    liana__cache_id hash = liana__cache_id_of(url + length, "", 0);
    return liana__arena_format(arena, "%.*s?%.8s", (int)length, url, hash.text);
}

static liana_status read_web_name(const char *url, liana__remote_object *object, liana__arena *arena,
                                  liana__error *error)
{
    object->name = shown_name(url, arena);
    object->key = liana__arena_string(arena, url);
    if (!object->name || !object->key) return liana__fail_memory(error, "a URL");
    const char *host = strstr(url, "://") + 3;
    size_t length = strcspn(host, "/?#");
    if (memchr(host, '@', length)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a URL at '%.*s' has a user name or password in it, which would be written into logs and "
                           "configurations; put them into ~/.netrc",
                           (int)(host + length - (const char *)memchr(host, '@', length) - 1),
                           (const char *)memchr(host, '@', length) + 1);
    }
    if (length == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' names no server", object->name);
    if (strpbrk(object->name, "*[")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is a pattern, but a web server gives no lists of its files; name each file (gs:// and "
                           "s3:// know patterns)",
                           object->name);
    }
    if (!liana__url_is_private(url)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' would come unencrypted, and from anybody; http:// is for servers on this machine, use "
                           "https://",
                           object->name);
    }
    return LIANA_OK;
}

/* "gs://bucket/key" */
static liana_status read_bucket_name(const char *url, liana__remote_object *object, liana__arena *arena,
                                     liana__error *error)
{
    const char *bucket = strstr(url, "://") + 3;
    size_t length = strcspn(bucket, "/");
    object->name = liana__arena_string(arena, url);
    object->bucket = liana__arena_format(arena, "%.*s", (int)length, bucket);
    object->key = liana__arena_string(arena, bucket + length + (bucket[length] == '/'));
    if (arena->failed) return liana__fail_memory(error, url);
    bool plain = length > 0 && strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == length;
    if (plain && bucket[0] != '.') return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s': '%s' is no name of a bucket: lower case letters, digits, '-', '_' and '.'", url,
                       object->bucket);
}

static liana_status set_id(const liana__remote *remote, liana__remote_object *object, liana__error *error)
{
    const liana__scheme *scheme = object->scheme;
    const char *url = scheme->endpoint ? object->name : object->key;
    liana__text text = {0};
    liana__text_add(&text, "%s\n%s", scheme->endpoint ? scheme->endpoint(remote) : "", url);
    /* Nobody can say whether this is still the file that it was. */
    uint64_t chance = 0;
    if (!*object->version && getrandom(&chance, sizeof chance, 0) == (ssize_t)sizeof chance) {
        liana__text_add(&text, "\n%llu", (unsigned long long)chance);
    }
    object->id = liana__cache_id_of(text.data ? text.data : "", object->version, object->size);
    bool failed = text.failed;
    liana__text_free(&text);
    return failed ? liana__fail_memory(error, object->name) : LIANA_OK;
}

/* ---- what names stand for ---- */

/* What a call of resolve finds. */
typedef struct found_objects {
    liana__remote *remote;
    liana__arena arena;
    liana__remote_object *items;
    size_t count;
    size_t capacity;
} found_objects;

static liana_status add_object(found_objects *found, liana__remote_object object, liana__error *error)
{
    LIANA_TRY(set_id(found->remote, &object, error));
    if (!liana__grow(&found->items, found->count, &found->capacity, sizeof *found->items)) {
        return liana__fail_memory(error, "a list of remote files");
    }
    found->items[found->count++] = object;
    return LIANA_OK;
}

static liana_status list_all(found_objects *found, const liana__remote_object *where, const char *prefix, bool flat,
                             liana__listing *listing, liana__error *error)
{
    const char *last = NULL;
    do {
        last = listing->next;
        LIANA_TRY(where->scheme->list(found->remote, where->bucket, prefix, flat, &found->arena, listing, error));
        bool endless = listing->next && last && strcmp(listing->next, last) == 0;
        if (endless || listing->count > MAX_LISTED) {
            return liana__fail(error, LIANA_IO_ERROR, "cannot list '%s': the server's list does not end", where->name);
        }
    } while (listing->next);
    return LIANA_OK;
}

static liana_status add_listed(found_objects *found, const liana__remote_object *where, const liana__listed *listed,
                               liana__error *error)
{
    liana__remote_object object = {.scheme = where->scheme,
                                   .bucket = where->bucket,
                                   .key = listed->key,
                                   .size = listed->size,
                                   .version = listed->version,
                                   .has_crc32c = listed->has_crc32c,
                                   .crc32c = listed->crc32c,
                                   .has_md5 = listed->has_md5};
    memcpy(object.md5, listed->md5, sizeof object.md5);
    object.name = liana__arena_format(&found->arena, "%s://%s/%s", where->scheme->name, where->bucket, listed->key);
    if (!object.name) return liana__fail_memory(error, "a list of remote files");
    return add_object(found, object, error);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const liana__remote_object *)a)->name, ((const liana__remote_object *)b)->name);
}

static liana_status add_pattern(found_objects *found, const liana__remote_object *where, liana__error *error)
{
    size_t length = strcspn(where->key, "*?[");
    const char *prefix = liana__arena_format(&found->arena, "%.*s", (int)length, where->key);
    if (!prefix) return liana__fail_memory(error, where->name);
    liana__listing listing = {0};
    size_t before = found->count;
    bool flat = !strchr(where->key + length, '/');
    liana_status status = list_all(found, where, prefix, flat, &listing, error);
    for (size_t i = 0; status == LIANA_OK && i < listing.count; i++) {
        const char *key = listing.items[i].key;
        /* A file that is called like the pattern is meant literally, as it is on disk. */
        bool literal = strcmp(key, where->key) == 0;
        if (literal) found->count = before;
        if (!literal && (liana__ends_with(key, "/") || fnmatch(where->key, key, FNM_PATHNAME | FNM_PERIOD) != 0))
            continue;
        status = add_listed(found, where, &listing.items[i], error);
        if (literal) break;
    }
    liana__listing_free(&listing);
    LIANA_TRY(status);
    if (found->count == before) return liana__fail(error, LIANA_NOT_FOUND, "no file matches '%s'", where->name);
    qsort(found->items + before, found->count - before, sizeof *found->items, compare_names);
    return LIANA_OK;
}

/* The files in the folder and in the folders in it: what a folder of records or of classes has. */
static liana_status add_folder(found_objects *found, const liana__remote_object *where, liana__error *error)
{
    const char *end = !*where->key || liana__ends_with(where->key, "/") ? "" : "/";
    const char *prefix = liana__arena_format(&found->arena, "%s%s", where->key, end);
    if (!prefix) return liana__fail_memory(error, where->name);
    liana__listing listing = {0};
    size_t before = found->count, length = strlen(prefix);
    liana_status status = list_all(found, where, prefix, false, &listing, error);
    for (size_t i = 0; status == LIANA_OK && i < listing.count; i++) {
        const char *key = listing.items[i].key, *slash = strchr(key + length, '/');
        bool deeper = slash && strchr(slash + 1, '/');
        /* "folder/" is what some tools make to show that there is a folder. */
        if (deeper || liana__ends_with(key, "/")) continue;
        status = add_listed(found, where, &listing.items[i], error);
    }
    liana__listing_free(&listing);
    LIANA_TRY(status);
    if (found->count > before) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND, "there is no '%s': no file of this name, and none below it",
                       where->name);
}

static liana_status add_name(found_objects *found, const char *name, bool must_be_file, liana__error *error)
{
    liana__remote_object object = {0};
    LIANA_TRY(find_scheme(name, &object.scheme, error));
    const liana__scheme *scheme = object.scheme;
    LIANA_TRY(scheme->list ? read_bucket_name(name, &object, &found->arena, error)
                           : read_web_name(name, &object, &found->arena, error));
    if (scheme->prepare) LIANA_TRY(scheme->prepare(found->remote, error));
    bool folder = scheme->list && (!*object.key || liana__ends_with(object.key, "/"));
    if (folder && must_be_file) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is a folder, expected a file", object.name);
    }
    if (folder) return add_folder(found, &object, error);
    if (!must_be_file && scheme->list && strpbrk(object.key, "*?[")) return add_pattern(found, &object, error);
    liana__error own = {0};
    liana_status status = scheme->describe(found->remote, &object, &found->arena, &own);
    if (status == LIANA_NOT_FOUND && scheme->list && !must_be_file) {
        return add_folder(found, &object, error);
    }
    if (status != LIANA_OK) return liana__fail(error, status, "%s", own.message);
    return add_object(found, object, error);
}

/* ---- resolving ---- */

/* What stands at the end of a name of a folder says nothing about it. */
static const char *without_slashes(liana__arena *arena, const char *view, const char *name)
{
    size_t length = strlen(name);
    while (length && name[length - 1] == '/') length--;
    return liana__arena_format(arena, "%s/%.*s", view, (int)length, name);
}

/* The objects [first, last) are what `name` stands for. */
static liana_status show(found_objects *found, const char *name, size_t first, size_t last, liana__arena *arena,
                         liana__paths *paths, size_t *capacity, liana__error *error)
{
    bool file = last - first == 1 && strcmp(found->items[first].name, name) == 0;
    bool web = !found->items[first].scheme->list, pattern = !web && !file && strpbrk(strstr(name, "://") + 3, "*?[");
    for (size_t i = first; i < last; i++) {
        const liana__remote_object *object = &found->items[i];
        const char *path;
        LIANA_TRY(liana__cache_show(&found->remote->cache, &object->id, object->name, arena, &path, error));
        if (!web && !file && !pattern) continue;
        if (!liana__grow(&paths->items, paths->count, capacity, sizeof *paths->items)) {
            return liana__fail_memory(error, "a list of remote files");
        }
        paths->items[paths->count++] = (char *)path;
    }
    if (web || file || pattern) return LIANA_OK;
    if (!liana__grow(&paths->items, paths->count, capacity, sizeof *paths->items)) {
        return liana__fail_memory(error, "a list of remote files");
    }
    paths->items[paths->count] = (char *)without_slashes(arena, found->remote->cache.view, name);
    return paths->items[paths->count++] ? LIANA_OK : liana__fail_memory(error, name);
}

static liana_status resolve(found_objects *found, const char *const *names, size_t count, bool must_be_files,
                            liana__arena *arena, liana__paths *paths, liana__error *error)
{
    size_t *starts = liana__arena_allocate(&found->arena, (count + 1) * sizeof *starts), capacity = 0;
    if (!starts) return liana__fail_memory(error, "a list of remote files");
    for (size_t i = 0; i < count; i++) {
        starts[i] = found->count;
        if (liana__path_is_remote(names[i])) LIANA_TRY(add_name(found, names[i], must_be_files, error));
    }
    starts[count] = found->count;
    if (found->count) LIANA_TRY(liana__remote_fetch(found->remote, found->items, found->count, error));
    for (size_t i = 0; i < count; i++) {
        if (starts[i] < starts[i + 1]) {
            LIANA_TRY(show(found, names[i], starts[i], starts[i + 1], arena, paths, &capacity, error));
            continue;
        }
        if (!liana__grow(&paths->items, paths->count, &capacity, sizeof *paths->items)) {
            return liana__fail_memory(error, "a list of remote files");
        }
        paths->items[paths->count++] = liana__arena_string(arena, names[i]);
    }
    return arena->failed ? liana__fail_memory(error, "a list of remote files") : LIANA_OK;
}

static liana_status resolve_names(liana__remote *remote, const char *const *names, size_t count, bool must_be_files,
                                  liana__arena *arena, liana__paths *paths, liana__error *error)
{
    found_objects found = {.remote = remote};
    liana__paths list = {0};
    *paths = list;
    liana_status status = resolve(&found, names, count, must_be_files, arena, &list, error);
    if (status == LIANA_OK) {
        paths->items = liana__arena_copy(arena, list.items, list.count * sizeof *list.items);
        paths->count = list.count;
        if (!paths->items) status = liana__fail_memory(error, "a list of remote files");
    }
    free(list.items);
    free(found.items);
    liana__arena_free(&found.arena);
    return status;
}

liana_status liana__remote_resolve(liana__remote *remote, const char *const *names, size_t count, liana__arena *arena,
                                   liana__paths *paths, liana__error *error)
{
    return resolve_names(remote, names, count, false, arena, paths, error);
}

liana_status liana__remote_file(liana__remote *remote, const char *name, liana__arena *arena, const char **path,
                                liana__error *error)
{
    liana__paths paths;
    LIANA_TRY(resolve_names(remote, &name, 1, true, arena, &paths, error));
    *path = paths.items[0];
    return LIANA_OK;
}

liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name)
{
    liana__remote_version version = {""};
    liana__arena arena = {0};
    char target[4096];
    const char *link = remote ? liana__arena_format(&arena, "%s/%s", remote->cache.view, name) : NULL;
    ssize_t length = link ? readlink(link, target, sizeof target - 1) : -1;
    if (length > 0) {
        target[length] = 0;
        snprintf(version.text, sizeof version.text, "%.32s", liana__path_name(target));
    }
    liana__arena_free(&arena);
    return version;
}

void liana__remote_clean(const liana__remote *remote, char *text)
{
    const char *view = remote ? remote->cache.view : NULL;
    size_t length = view ? strlen(view) : 0;
    for (char *at = view ? strstr(text, view) : NULL; at; at = strstr(at, view)) {
        /* With the slash behind it, if anything is. */
        size_t gone = length + (at[length] == '/');
        memmove(at, at + gone, strlen(at + gone) + 1);
    }
}

liana_status liana__remote_fail_within(const liana__remote *remote, liana__error *error)
{
    if (!error) return LIANA_OK;
    liana__remote_clean(remote, error->message);
    return error->status;
}
