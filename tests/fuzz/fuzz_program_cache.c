/* The cache of compiled programs: whatever bytes a file has, a program is taken from it only if all that made it is the
 * same, and it lies within the file. The plugin is this file's own. */
#include "backends/pjrt/program_cache.h"
#include "base/crc32c.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Before the checksum, and up to its bytes (src/backends/pjrt/program_cache.c). */
enum { CHECKSUM_AT = 12, CHECKED_FROM = 16, NUM_FUNCTIONS = 97 };
static char made[] = "a program", kind[] = "a kind of device";
static const liana__program_source source = {"options", 7, "text", 4};
static size_t num_loaded;

static void demand(bool condition)
{
    if (!condition) abort();
}

/* ---- a plugin ---- */

static liana__pjrt_failure *give_object(void *args)
{
    ((liana__pjrt_pointer_args *)args)->pointer = made;
    return NULL;
}

static liana__pjrt_failure *give_kind(void *args)
{
    ((liana__pjrt_list_args *)args)->items = kind;
    ((liana__pjrt_list_args *)args)->count = strlen(kind);
    return NULL;
}

static liana__pjrt_failure *give_number(void *args)
{
    ((liana__pjrt_int_args *)args)->number = 0;
    return NULL;
}

static liana__pjrt_failure *destroy(void *args)
{
    (void)args;
    return NULL;
}

static liana__pjrt_failure *serialize(void *args)
{
    ((liana__pjrt_serialize_args *)args)->bytes = made;
    ((liana__pjrt_serialize_args *)args)->size = sizeof made;
    return NULL;
}

static liana__pjrt_failure *load(void *args)
{
    liana__pjrt_deserialize_args *own = args;
    for (size_t i = 0; i < own->size; i++) (void)((const volatile char *)own->bytes)[i];
    own->executable = made;
    num_loaded++;
    return NULL;
}

static const liana__pjrt_client *make_client(void)
{
    static liana__pjrt_client client = {.plugin = {.path = "/proc/self/exe", .num_functions = NUM_FUNCTIONS},
                                        .handle = made,
                                        .num_devices = 1};
    static void *devices[] = {made};
    if (client.plugin.api) return &client;
    liana__pjrt_api *api = calloc(1, sizeof *api + NUM_FUNCTIONS * sizeof *api->functions);
    demand(api);
    api->functions[LIANA__PJRT_DEVICE_GET_DESCRIPTION] = give_object;
    api->functions[LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE] = give_object;
    api->functions[LIANA__PJRT_DEVICE_DESCRIPTION_KIND] = give_kind;
    api->functions[LIANA__PJRT_DEVICE_DESCRIPTION_ID] = give_number;
    api->functions[LIANA__PJRT_EXECUTABLE_DESTROY] = destroy;
    api->functions[LIANA__PJRT_EXECUTABLE_SERIALIZE] = serialize;
    api->functions[LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD] = load;
    client.plugin.api = api;
    client.devices = devices;
    return &client;
}

/* ---- its files ---- */

/* The one file of a folder. */
static void find_file(const char *folder, char path[600])
{
    liana__arena arena = {0};
    liana__paths names;
    demand(liana__folder_list(folder, &arena, &names, NULL) == LIANA_OK && names.count == 1);
    snprintf(path, 600, "%s/%s", folder, names.items[0]);
    liana__arena_free(&arena);
}

/* A writer's bytes, up to a place, and then other bytes. */
static void damage(const char *path, const uint8_t *bytes, size_t size)
{
    char *whole, *changed;
    size_t length;
    demand(liana__file_read(path, 1 << 20, &whole, &length, NULL) == LIANA_OK && length > CHECKED_FROM);
    const bool repairs = size > 0 && bytes[0] & 1;
    const size_t place = size > 2 ? (bytes[1] | (size_t)bytes[2] << 8) % (length + 1) : 0;
    const size_t more = size > 3 ? size - 3 : 0;
    /* In the midst of it, or instead of its end. */
    const size_t end = size > 0 && bytes[0] & 2 && place + more < length ? length : place + more;
    demand((changed = malloc(end + length)) != NULL);
    memcpy(changed, whole, length);
    if (more) memcpy(changed + place, bytes + 3, more);
    if (repairs && end > CHECKED_FROM) {
        const uint32_t sum = liana__crc32c(changed + CHECKED_FROM, end - CHECKED_FROM);
        memcpy(changed + CHECKSUM_AT, &sum, sizeof sum);
    }
    FILE *file = fopen(path, "wb");
    demand(file && fwrite(changed, 1, end, file) == end && fclose(file) == 0);
    /* The program is behind all else: it may be another one, but only with the right checksum. */
    const size_t before = num_loaded;
    const void *found = liana__program_cache_read(make_client(), &source);
    const bool same = end == length && memcmp(changed, whole, end) == 0;
    demand(num_loaded - before == (found != NULL) && (!same || found));
    demand(!found || same || repairs);
    free(changed);
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char folder[512], path[600];
    const char *base = getenv("TMPDIR"); /* /dev/shm is many times faster than a disk */
    snprintf(folder, sizeof folder, "%s/liana-fuzz-%ld", base ? base : "/tmp", (long)getpid());
    setenv("LIANA_PROGRAM_CACHE", folder, true);
    liana__program_cache_write(make_client(), &source, made);
    find_file(folder, path);
    damage(path, bytes, size);
    demand(unlink(path) == 0 && rmdir(folder) == 0);
    return 0;
}
