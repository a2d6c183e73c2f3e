/* Programs on disk. */
#include "backends/pjrt/program_cache.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file: this, and the four parts one after the other. Numbers are this machine's. */
typedef struct file_head {
    char magic[8];
    uint32_t version;
    uint32_t checksum; /* of all behind it */
    uint64_t sizes[4]; /* identity, options, text, program */
} file_head;

enum { VERSION = 1, NUM_PARTS = 4, PROGRAM = 3 };
static const char MAGIC[8] = "lianapro", ENDING[] = ".program";

typedef struct part {
    const char *bytes;
    size_t size;
} part;

const char *liana__program_cache_folder(liana__arena *arena)
{
    struct stat facts;
    liana__error error;
    const char *folder = getenv("LIANA_PROGRAM_CACHE");
    if (!folder) {
        const char *caches = liana__cache_folder(arena);
        folder = caches ? liana__arena_format(arena, "%s/programs", caches) : NULL;
    }
    if (!folder || !*folder || liana__folder_make(folder, &error) != LIANA_OK) return NULL;
    if (stat(folder, &facts) != 0 || facts.st_uid != geteuid()) return NULL;
    /* liana__folder_make may have left it open for others. */
    const bool is_open = facts.st_mode & (S_IWGRP | S_IWOTH);
    return is_open && chmod(folder, S_IRWXU) != 0 ? NULL : folder;
}

/* Facts that distinguish programs of equal texts and options. */
static const char *identity_of(const liana__pjrt_client *client, liana__arena *arena)
{
    struct stat facts = {0};
    liana__pjrt_device_facts device = {0};
    const char *flags = getenv("XLA_FLAGS"), *tpu_flags = getenv("LIBTPU_INIT_ARGS");
    if (stat(client->plugin.path, &facts) != 0) return NULL;
    if (liana__pjrt_device_describe(client, 0, &device, NULL) != LIANA_OK) return NULL;
    return liana__arena_format(arena, "liana %s\n%s, %lld bytes of %lld.%09ld\nPJRT %d.%d\n%s\n%s\n%zu x %s\n%s\n%s\n",
                               LIANA_VERSION, client->plugin.path, (long long)facts.st_size,
                               (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                               client->plugin.api->version.major, client->plugin.api->version.minor, client->platform,
                               client->version, client->num_devices, device.kind, flags ? flags : "",
                               tpu_flags ? tpu_flags : "");
}

/* The parts that a file must have, but the program; false: nothing can be kept. */
static bool find_parts(const liana__pjrt_client *client, const liana__program_source *source, liana__arena *arena,
                       part parts[NUM_PARTS], const char **path)
{
    const char *folder = liana__program_cache_folder(arena), *identity = folder ? identity_of(client, arena) : NULL;
    if (!identity) return false;
    parts[0] = (part){identity, strlen(identity)};
    parts[1] = (part){source->options, source->options_size};
    parts[2] = (part){source->text, source->text_size};
    const uint32_t name = liana__crc32c_extend(liana__crc32c(identity, parts[0].size), source->options, parts[1].size);
    *path = liana__arena_format(arena, "%s/%08x-%08x-%zu%s", folder, name,
                                liana__crc32c(source->text, source->text_size), source->text_size, ENDING);
    return *path;
}

/* ---- reading ---- */

/* Whether the file is whole and of the same parts; *program is then its last one. */
static bool check_file(const char *bytes, size_t size, const part parts[NUM_PARTS], part *program)
{
    file_head head;
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    const size_t before = offsetof(file_head, sizes);
    if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || head.version != VERSION) return false;
    if (liana__crc32c(bytes + before, size - before) != head.checksum) return false;
    const char *at = bytes + sizeof head;
    size_t left = size - sizeof head;
    for (int i = 0; i < NUM_PARTS; i++) {
        if (head.sizes[i] > left) return false;
        const size_t length = (size_t)head.sizes[i];
        if (i < PROGRAM && (length != parts[i].size || memcmp(at, parts[i].bytes, length) != 0)) return false;
        if (i == PROGRAM) *program = (part){at, length};
        at += length;
        left -= length;
    }
    return left == 0;
}

/* The options that it was compiled with are in the program. */
static void *load(const liana__pjrt_client *client, const part *program)
{
    liana__pjrt_deserialize_args args = {.client = client->handle, .bytes = program->bytes, .size = program->size};
    return liana__pjrt_call(&client->plugin, LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD, &args, NULL) == LIANA_OK
               ? args.executable
               : NULL;
}

void *liana__program_cache_read(const liana__pjrt_client *client, const liana__program_source *source)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_MEMORY char *bytes = NULL;
    part parts[NUM_PARTS], program = {0};
    const char *path;
    size_t size;
    if (!liana__pjrt_has(&client->plugin, LIANA__PJRT_EXECUTABLE_DESERIALIZE_AND_LOAD)) return NULL;
    if (!find_parts(client, source, &arena, parts, &path)) return NULL;
    if (liana__file_read(path, SIZE_MAX / 2, &bytes, &size, NULL) != LIANA_OK) return NULL;
    return check_file(bytes, size, parts, &program) ? load(client, &program) : NULL;
}

/* ---- writing ---- */

typedef struct kept_file {
    const char *path;
    uint64_t size;
    struct timespec changed;
} kept_file;

static int by_age(const void *a, const void *b)
{
    const struct timespec *one = &((const kept_file *)a)->changed, *two = &((const kept_file *)b)->changed;
    if (one->tv_sec != two->tv_sec) return one->tv_sec < two->tv_sec ? -1 : 1;
    return one->tv_nsec < two->tv_nsec ? -1 : one->tv_nsec > two->tv_nsec;
}

/* A folder that the user names may have other files. A process that was killed leaves a ".program.tmp". */
static bool is_program(const char *name)
{
    return liana__ends_with(name, ENDING) || liana__ends_with(name, ".program.tmp");
}

void liana__program_cache_trim(const char *folder, uint64_t most)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names = {0};
    uint64_t total = 0;
    size_t count = 0;
    if (liana__folder_list(folder, &arena, &names, NULL) != LIANA_OK) names.count = 0;
    kept_file *files = liana__arena_allocate(&arena, (names.count + 1) * sizeof *files);
    for (size_t i = 0; files && i < names.count; i++) {
        struct stat facts;
        if (!is_program(names.items[i])) continue;
        const char *path = liana__path_join(&arena, folder, names.items[i]);
        if (!path || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        files[count++] = (kept_file){path, (uint64_t)facts.st_size, facts.st_mtim};
        total += (uint64_t)facts.st_size;
    }
    if (count) qsort(files, count, sizeof *files, by_age);
    for (size_t i = 0; i < count && total > most; i++) {
        if (unlink(files[i].path) == 0) total -= files[i].size;
    }
}

static void write_parts(const char *path, const part parts[NUM_PARTS])
{
    file_head head = {.version = VERSION};
    liana__file_writer writer;
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    for (int i = 0; i < NUM_PARTS; i++) head.sizes[i] = parts[i].size;
    head.checksum = liana__crc32c(head.sizes, sizeof head.sizes);
    for (int i = 0; i < NUM_PARTS; i++) {
        head.checksum = liana__crc32c_extend(head.checksum, parts[i].bytes, parts[i].size);
    }
    if (liana__file_begin(&writer, path, NULL) != LIANA_OK) return;
    liana_status status = liana__file_write(&writer, &head, sizeof head, NULL);
    for (int i = 0; i < NUM_PARTS && status == LIANA_OK; i++) {
        status = liana__file_write(&writer, parts[i].bytes, parts[i].size, NULL);
    }
    if (status != LIANA_OK) {
        liana__file_abandon(&writer);
    } else if (liana__file_commit(&writer, false, NULL) != LIANA_OK) {
        unlink(path);
    }
}

bool liana__program_serialize(const liana__pjrt_plugin *plugin, void *loaded, liana__pjrt_serialize_args *args)
{
    liana__pjrt_pointer_args executable = {.object = loaded};
    if (!liana__pjrt_has(plugin, LIANA__PJRT_EXECUTABLE_SERIALIZE)) return false;
    if (liana__pjrt_call(plugin, LIANA__PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE, &executable, NULL) != LIANA_OK) {
        return false;
    }
    args->executable = executable.pointer;
    const liana_status status = liana__pjrt_call(plugin, LIANA__PJRT_EXECUTABLE_SERIALIZE, args, NULL);
    liana__pjrt_destroy(plugin, LIANA__PJRT_EXECUTABLE_DESTROY, executable.pointer);
    return status == LIANA_OK;
}

void liana__program_cache_write(const liana__pjrt_client *client, const liana__program_source *source, void *executable)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    part parts[NUM_PARTS];
    const char *path;
    liana__pjrt_serialize_args args = {0};
    if (!find_parts(client, source, &arena, parts, &path)) return;
    if (!liana__program_serialize(&client->plugin, executable, &args)) return;
    parts[PROGRAM] = (part){args.bytes, args.size};
    write_parts(path, parts);
    const char *folder = liana__path_folder(&arena, path);
    if (folder) liana__program_cache_trim(folder, LIANA__PROGRAM_CACHE_LIMIT);
    if (args.release) args.release(args.keeper);
}
