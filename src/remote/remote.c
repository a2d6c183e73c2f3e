/* Turns names of remote files, patterns and folders into local paths. */
#include "remote/remote.h"

#include "base/file.h"
#include "base/named.h"
#include "base/scoped.h"
#include "remote/query.h"
#include "remote/remote_internal.h"

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

/* ---- creating ---- */

liana_status liana__remote_find_cache(liana__remote *remote, const char **found, liana__error *error)
{
    const char *folder = remote->options.cache_folder;
    if (!folder) folder = liana__cache_folder(&remote->arena);
    if (remote->arena.failed) return liana__fail_memory(error, "the cache of remote files");
    if (!folder) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "there is no folder for copies of remote files: set LIANA_CACHE to a folder (HOME is not set)");
    }
    *found = folder;
    return LIANA_OK;
}

static liana_status open_cache(liana__remote *remote, liana__error *error)
{
    const char *folder;
    LIANA_TRY(liana__remote_find_cache(remote, &folder, error));
    return liana__remote_cache_open(&remote->cache, folder, remote->options.cache_limit, &remote->arena, error);
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
    if (remote->arena.failed) {
        liana__remote_destroy(remote);
        return liana__fail_memory(error, "remote files");
    }
    *out = remote;
    return LIANA_OK;
}

liana_status liana__remote_connect(liana__remote *remote, liana__error *error)
{
    if (remote->http.asking) return LIANA_OK;
    LIANA_TRY(liana__remote_load(error));
    /* Counts its calls, and may be called in any thread (libcurl 7.84). */
    if (!remote->is_started && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return liana__fail_memory(error, "remote files");
    }
    remote->is_started = true;
    remote->http.stall_seconds = remote->options.stall_seconds;
    remote->http.max_attempts = remote->options.max_attempts;
    remote->http.first_delay = remote->options.first_delay;
    remote->http.seed = remote->options.seed;
    remote->http.goes_on = remote->options.goes_on;
    remote->http.user = remote->options.user;
    if (!remote->http.multi) remote->http.multi = curl_multi_init();
    if (!remote->http.asking) remote->http.asking = curl_multi_init();
    return remote->http.multi && remote->http.asking ? LIANA_OK : liana__fail_memory(error, "remote files");
}

/* Done at the first URL: local files need no connections and no cache. */
static liana_status open_remote(liana__remote *remote, liana__error *error)
{
    if (remote->cache.view) return LIANA_OK;
    LIANA_TRY(liana__remote_connect(remote, error));
    liana_status status = open_cache(remote, error);
    if (status != LIANA_OK) liana__remote_cache_close(&remote->cache);
    return status;
}

void liana__remote_destroy(liana__remote *remote)
{
    if (!remote) return;
    if (remote->http.multi) curl_multi_cleanup(remote->http.multi);
    if (remote->http.asking) curl_multi_cleanup(remote->http.asking);
    if (remote->is_started) curl_global_cleanup();
    liana__remote_cache_close(&remote->cache);
    liana__arena_free(&remote->arena);
    free(remote);
}

/* ---- names ---- */

static liana_status find_scheme(const char *name, const liana__scheme **scheme, liana__error *error)
{
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, ":"), name);
    const char *nearest;
    size_t index = liana__named_find(LIANA__NAMED_POINTERS(liana__scheme, SCHEMES, NUM_SCHEMES), word, &nearest);
    *scheme = index < NUM_SCHEMES ? SCHEMES[index] : NULL;
    if (*scheme) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s://' cannot be read; expected https, gs or s3%s", word,
                       liana__hint(nearest).text);
}

/* The shown form of "https://host/path?query": a query without its signature becomes eight digits, since it may still
 * be a secret. */
static const char *shown_name(const char *identity, liana__arena *arena)
{
    size_t length = strcspn(identity, "?");
    if (!identity[length]) return identity;
    liana__remote_cache_id hash = liana__remote_cache_id_of(identity + length, "", 0);
    return liana__arena_format(arena, "%.*s?%.8s", (int)length, identity, hash.text);
}

static liana_status read_web_name(const char *url, liana__remote_object *object, liana__arena *arena,
                                  liana__error *error)
{
    object->identity = liana__url_identity(arena, url);
    object->name = object->identity ? shown_name(object->identity, arena) : NULL;
    object->key = liana__arena_string(arena, url);
    if (!object->name || !object->key) return liana__fail_memory(error, "a URL");
    const char *host = strstr(url, "://") + 3;
    size_t length = strcspn(host, "/?#");
    if (memchr(host, '@', length)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a URL at '%.*s' has a user name or password, which would be written into logs and "
                           "configurations; put them into ~/.netrc",
                           (int)(host + length - (const char *)memchr(host, '@', length) - 1),
                           (const char *)memchr(host, '@', length) + 1);
    }
    if (length == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' has no server name", object->name);
    if (liana__ends_with(url, "?REDACTED")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is a URL from a run's configuration, without its query, which may be a signature; "
                           "give the whole URL (as data.train=URL, data.validation=URL, ...)",
                           url);
    }
    if (strpbrk(object->name, "*[")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is a pattern, but a web server does not list its files; name each file (patterns work "
                           "with gs:// and s3://)",
                           object->name);
    }
    if (!liana__url_is_private(url)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' would not be encrypted; http:// is only for servers on this machine, use https://",
                           object->name);
    }
    return LIANA_OK;
}

liana_status liana__remote_web_name(liana__remote *remote, const char *url, liana__arena *arena,
                                    liana__remote_object *object, liana__error *error)
{
    LIANA_TRY(liana__remote_connect(remote, error));
    *object = (liana__remote_object){0};
    LIANA_TRY(find_scheme(url, &object->scheme, error));
    if (!object->scheme->ask_list) return read_web_name(url, object, arena, error);
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is in a bucket, expected the address of a web server", url);
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
                       "'%s': '%s' is not the name of a bucket, expected lower case letters, digits, '-', '_' and '.'",
                       url, object->bucket);
}

liana_status liana__remote_bucket_name(liana__remote *remote, const char *url, liana__arena *arena,
                                       liana__remote_object *object, liana__error *error)
{
    *object = (liana__remote_object){0};
    LIANA_TRY(find_scheme(url, &object->scheme, error));
    if (!object->scheme->put) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "cannot write to '%.*s': results go to local folders, gs:// and s3:// (web servers take no "
                           "files)",
                           (int)strcspn(url, "?"), url);
    }
    LIANA_TRY(read_bucket_name(url, object, arena, error));
    if (strpbrk(object->key, "*?[")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is a pattern, expected the name of a result", url);
    }
    return object->scheme->prepare ? object->scheme->prepare(remote, error) : LIANA_OK;
}

static liana_status set_id(const liana__remote *remote, liana__remote_object *object, liana__error *error)
{
    const liana__scheme *scheme = object->scheme;
    const char *url = scheme->endpoint ? object->name : object->identity;
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s\n%s", scheme->endpoint ? scheme->endpoint(remote) : "", url);
    /* Nobody can say whether this is still the file that it was. */
    uint64_t chance = 0;
    if (!*object->version && getrandom(&chance, sizeof chance, 0) == (ssize_t)sizeof chance) {
        liana__text_add(&text, "\n%llu", (unsigned long long)chance);
    }
    object->id = liana__remote_cache_id_of(text.data ? text.data : "", object->version, object->size);
    return text.failed ? liana__fail_memory(error, object->name) : LIANA_OK;
}

/* ---- the files of names ---- */

/* The findings of a call of resolve. */
typedef struct found_objects {
    liana__remote *remote;
    liana__arena arena;
    liana__remote_object *items;
    size_t count;
    size_t capacity;
} found_objects;

static void found_objects_free(found_objects *found)
{
    free(found->items);
    liana__arena_free(&found->arena);
}

/* A list of paths that grows. */
typedef struct path_list {
    liana__paths paths;
    size_t capacity;
} path_list;

static void path_list_free(path_list *list)
{
    free(list->paths.items);
}

static liana_status add_path(path_list *list, const char *path, liana__error *error)
{
    liana__paths *paths = &list->paths;
    if (!path || !liana__grow(&paths->items, paths->count, &list->capacity, sizeof *paths->items)) {
        return liana__fail_memory(error, "a list of remote files");
    }
    paths->items[paths->count++] = (char *)path;
    return LIANA_OK;
}

static liana_status add_object(found_objects *found, liana__remote_object object, liana__error *error)
{
    LIANA_TRY(set_id(found->remote, &object, error));
    if (!liana__grow(&found->items, found->count, &found->capacity, sizeof *found->items)) {
        return liana__fail_memory(error, "a list of remote files");
    }
    found->items[found->count++] = object;
    return LIANA_OK;
}

static liana_status add_listed(found_objects *found, const liana__remote_object *where, const liana__listed *listed,
                               liana__error *error)
{
    liana__remote_object object = {.scheme = where->scheme, .bucket = where->bucket, .key = listed->key};
    liana__remote_object_set(&object, listed);
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
    LIANA__SCOPED(liana__listing) listing = {0};
    size_t before = found->count;
    bool flat = !strchr(where->key + length, '/');
    LIANA_TRY(liana__remote_list(found->remote, where, prefix, flat, &found->arena, &listing, error));
    for (size_t i = 0; i < listing.count; i++) {
        const char *key = listing.items[i].key;
        /* A file with the name of the pattern is meant literally, as on disk. */
        bool literal = strcmp(key, where->key) == 0;
        if (literal) found->count = before;
        if (!literal && (liana__ends_with(key, "/") || fnmatch(where->key, key, FNM_PATHNAME | FNM_PERIOD) != 0))
            continue;
        LIANA_TRY(add_listed(found, where, &listing.items[i], error));
        if (literal) break;
    }
    if (found->count == before) return liana__fail(error, LIANA_NOT_FOUND, "no file matches '%s'", where->name);
    qsort(found->items + before, found->count - before, sizeof *found->items, compare_names);
    return LIANA_OK;
}

/* Adds the files in a folder and in its folders, as in folders of records or of classes. */
static liana_status add_folder(found_objects *found, const liana__remote_object *where, liana__error *error)
{
    const char *end = !*where->key || liana__ends_with(where->key, "/") ? "" : "/";
    const char *prefix = liana__arena_format(&found->arena, "%s%s", where->key, end);
    if (!prefix) return liana__fail_memory(error, where->name);
    LIANA__SCOPED(liana__listing) listing = {0};
    size_t before = found->count, length = strlen(prefix);
    LIANA_TRY(liana__remote_list(found->remote, where, prefix, false, &found->arena, &listing, error));
    for (size_t i = 0; i < listing.count; i++) {
        const char *key = listing.items[i].key, *slash = strchr(key + length, '/');
        bool deeper = slash && strchr(slash + 1, '/');
        /* Some tools make "folder/" to show that there is a folder. */
        if (deeper || liana__ends_with(key, "/")) continue;
        LIANA_TRY(add_listed(found, where, &listing.items[i], error));
    }
    if (found->count > before) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND, "there is no '%s': no file with this name, and none below it",
                       where->name);
}

/* The possible meaning of a name, before a server is asked. */
typedef enum name_kind { LOCAL, A_FILE, FILE_OR_FOLDER, FOLDER, PATTERN } name_kind;

static liana_status read_name(found_objects *found, const char *name, bool must_be_file, liana__remote_object *object,
                              name_kind *kind, liana__error *error)
{
    *object = (liana__remote_object){0};
    *kind = LOCAL;
    if (!liana__path_is_remote(name)) return LIANA_OK;
    LIANA_TRY(find_scheme(name, &object->scheme, error));
    const liana__scheme *scheme = object->scheme;
    LIANA_TRY(scheme->ask_list ? read_bucket_name(name, object, &found->arena, error)
                               : read_web_name(name, object, &found->arena, error));
    if (scheme->prepare) LIANA_TRY(scheme->prepare(found->remote, error));
    bool folder = scheme->ask_list && (!*object->key || liana__ends_with(object->key, "/"));
    if (folder && must_be_file) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is a folder, expected a file", object->name);
    }
    bool pattern = !must_be_file && scheme->ask_list && strpbrk(object->key, "*?[");
    *kind = folder ? FOLDER : pattern ? PATTERN : must_be_file || !scheme->ask_list ? A_FILE : FILE_OR_FOLDER;
    return LIANA_OK;
}

static bool is_asked_for(name_kind kind)
{
    return kind == A_FILE || kind == FILE_OR_FOLDER;
}

static liana_status add_name(found_objects *found, const liana__remote_object *object, name_kind kind,
                             liana__error *error)
{
    switch (kind) {
    case LOCAL: return LIANA_OK;
    case FOLDER: return add_folder(found, object, error);
    case PATTERN: return add_pattern(found, object, error);
    case FILE_OR_FOLDER:
        if (object->status == LIANA_NOT_FOUND) return add_folder(found, object, error);
        break;
    case A_FILE: break;
    }
    if (object->status != LIANA_OK) return liana__fail(error, object->status, "%s", object->reason);
    return add_object(found, *object, error);
}

/* The wishes of one call. */
typedef struct wishes {
    const char *const *names;
    size_t count;
    bool must_be_files;
    liana__remote_object *objects; /* [count] */
    name_kind *kinds;              /* [count] */
} wishes;

/* Reads the names, and asks for all of them together. */
static liana_status describe_names(found_objects *found, wishes *wanted, liana__error *error)
{
    size_t num_asked = 0;
    wanted->objects = liana__arena_allocate(&found->arena, (wanted->count + 1) * sizeof *wanted->objects);
    wanted->kinds = liana__arena_allocate(&found->arena, (wanted->count + 1) * sizeof *wanted->kinds);
    liana__remote_object *asked = liana__arena_allocate(&found->arena, (wanted->count + 1) * sizeof *asked);
    if (found->arena.failed) return liana__fail_memory(error, "a list of remote files");
    for (size_t i = 0; i < wanted->count; i++) {
        LIANA_TRY(
            read_name(found, wanted->names[i], wanted->must_be_files, &wanted->objects[i], &wanted->kinds[i], error));
        if (is_asked_for(wanted->kinds[i])) asked[num_asked++] = wanted->objects[i];
    }
    LIANA_TRY(liana__remote_describe(found->remote, asked, num_asked, &found->arena, error));
    for (size_t i = wanted->count; i-- > 0;) {
        if (is_asked_for(wanted->kinds[i])) wanted->objects[i] = asked[--num_asked];
    }
    return LIANA_OK;
}

/* ---- resolving ---- */

/* Slashes at the end of a folder's name have no meaning. */
static const char *without_slashes(liana__arena *arena, const char *view, const char *name)
{
    size_t length = strlen(name);
    while (length && name[length - 1] == '/') length--;
    return liana__arena_format(arena, "%s/%.*s", view, (int)length, name);
}

/* Makes the objects [first, last) of `name` visible. */
static liana_status show(found_objects *found, const char *name, size_t first, size_t last, liana__arena *arena,
                         path_list *list, liana__error *error)
{
    bool file = last - first == 1 && strcmp(found->items[first].name, name) == 0;
    bool web = !found->items[first].scheme->ask_list,
         pattern = !web && !file && strpbrk(strstr(name, "://") + 3, "*?[");
    const bool one_by_one = web || file || pattern;
    for (size_t i = first; i < last; i++) {
        const liana__remote_object *object = &found->items[i];
        const char *path;
        LIANA_TRY(liana__remote_cache_show(&found->remote->cache, &object->id, object->name, arena, &path, error));
        if (one_by_one) LIANA_TRY(add_path(list, path, error));
    }
    if (one_by_one) return LIANA_OK;
    return add_path(list, without_slashes(arena, found->remote->cache.view, name), error);
}

static liana_status resolve(found_objects *found, wishes *wanted, liana__arena *arena, path_list *list,
                            liana__error *error)
{
    size_t count = wanted->count;
    size_t *starts = liana__arena_allocate(&found->arena, (count + 1) * sizeof *starts);
    if (!starts) return liana__fail_memory(error, "a list of remote files");
    LIANA_TRY(describe_names(found, wanted, error));
    for (size_t i = 0; i < count; i++) {
        starts[i] = found->count;
        LIANA_TRY(add_name(found, &wanted->objects[i], wanted->kinds[i], error));
    }
    starts[count] = found->count;
    if (found->count) LIANA_TRY(liana__remote_fetch(found->remote, found->items, found->count, error));
    for (size_t i = 0; i < count; i++) {
        const char *name = wanted->names[i];
        LIANA_TRY(starts[i] < starts[i + 1] ? show(found, name, starts[i], starts[i + 1], arena, list, error)
                                            : add_path(list, liana__arena_string(arena, name), error));
    }
    return LIANA_OK;
}

static bool any_url(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (liana__path_is_remote(names[i])) return true;
    }
    return false;
}

static liana_status resolve_names(liana__remote *remote, const char *const *names, size_t count, bool must_be_files,
                                  liana__arena *arena, liana__paths *paths, liana__error *error)
{
    LIANA__SCOPED(found_objects) found = {.remote = remote};
    wishes wanted = {.names = names, .count = count, .must_be_files = must_be_files};
    LIANA__SCOPED(path_list) list = {0};
    *paths = list.paths;
    if (any_url(names, count)) LIANA_TRY(open_remote(remote, error));
    LIANA_TRY(resolve(&found, &wanted, arena, &list, error));
    paths->items = liana__arena_copy(arena, list.paths.items, list.paths.count * sizeof *paths->items);
    paths->count = list.paths.count;
    return paths->items ? LIANA_OK : liana__fail_memory(error, "a list of remote files");
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

/* ---- files that may be missing ---- */

static liana_status describe_files(found_objects *found, liana__remote_file_of_many *files, size_t count,
                                   liana__error *error)
{
    found->items = calloc(count + 1, sizeof *found->items);
    if (!found->items) return liana__fail_memory(error, "a list of remote files");
    for (size_t i = 0; i < count; i++) {
        liana__remote_object *object = &found->items[found->count];
        liana__error own = {0};
        name_kind kind;
        files[i].status = read_name(found, files[i].name, true, object, &kind, &own);
        if (files[i].status == LIANA_INVALID_ARGUMENT) {
            files[i].reason = liana__arena_string(&found->arena, own.message);
        } else if (files[i].status != LIANA_OK) {
            if (error) *error = own;
            return own.status;
        } else if (kind != LOCAL) {
            object->optional = true;
            found->count++;
        }
    }
    LIANA_TRY(liana__remote_describe(found->remote, found->items, found->count, &found->arena, error));
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i].status == LIANA_OK) LIANA_TRY(set_id(found->remote, &found->items[i], error));
    }
    return LIANA_OK;
}

/* Those that are there, closed up. */
static liana_status fetch_files(found_objects *found, liana__error *error)
{
    liana__remote_object *there = liana__arena_allocate(&found->arena, (found->count + 1) * sizeof *there);
    size_t count = 0;
    if (!there) return liana__fail_memory(error, "a list of remote files");
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i].status == LIANA_OK) there[count++] = found->items[i];
    }
    if (count) LIANA_TRY(liana__remote_fetch(found->remote, there, count, error));
    for (size_t i = found->count; i-- > 0;) {
        if (found->items[i].status == LIANA_OK) found->items[i] = there[--count];
    }
    return LIANA_OK;
}

static liana_status show_files(found_objects *found, liana__remote_file_of_many *files, size_t count,
                               liana__arena *arena, liana__error *error)
{
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        liana__remote_file_of_many *file = &files[i];
        file->path = liana__arena_string(arena, file->name);
        if (liana__path_is_remote(file->name) && file->status == LIANA_OK) {
            const liana__remote_object *object = &found->items[next++];
            file->status = object->status;
            file->reason = object->reason;
            liana__error own = {0};
            if (file->status == LIANA_OK) {
                file->status = liana__remote_cache_show(&found->remote->cache, &object->id, object->name, arena,
                                                        &file->path, &own);
            }
            if (file->status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, object->name);
            if (file->status != LIANA_OK && !file->reason) {
                file->reason = liana__arena_string(&found->arena, own.message);
            }
        }
        file->reason = liana__arena_string(arena, file->reason);
    }
    return arena->failed ? liana__fail_memory(error, "a list of remote files") : LIANA_OK;
}

liana_status liana__remote_files(liana__remote *remote, liana__remote_file_of_many *files, size_t count,
                                 liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED(found_objects) found = {.remote = remote};
    LIANA_TRY(open_remote(remote, error));
    LIANA_TRY(describe_files(&found, files, count, error));
    LIANA_TRY(fetch_files(&found, error));
    return show_files(&found, files, count, arena, error);
}

liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name)
{
    liana__remote_version version = {""};
    LIANA__SCOPED(liana__arena) arena = {0};
    char target[4096];
    const char *view = remote ? remote->cache.view : NULL;
    const char *link = view ? liana__arena_format(&arena, "%s/%s", view, name) : NULL;
    ssize_t length = link ? readlink(link, target, sizeof target - 1) : -1;
    if (length > 0) {
        target[length] = 0;
        snprintf(version.text, sizeof version.text, "%.32s", liana__path_name(target));
    }
    return version;
}

void liana__remote_clean(const liana__remote *remote, char *text)
{
    const char *view = remote ? remote->cache.view : NULL;
    size_t length = view ? strlen(view) : 0;
    for (char *at = view ? strstr(text, view) : NULL; at; at = strstr(at, view)) {
        /* With the following slash, if there is one. */
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
