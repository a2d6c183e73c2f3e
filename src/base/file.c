/* Whole files, atomic replacement, folders and patterns. */
#include "base/file.h"

#include "base/descriptor.h"
#include "base/file_target.h"
#include "base/scoped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static liana_status fail_errno(liana__error *error, const char *what, const char *path)
{
    int code = errno;
    /* Too many open files say nothing about this one: it is not to be taken for a bad record or a damaged
     * checkpoint. */
    const bool lacks = code == ENOMEM || code == EMFILE || code == ENFILE;
    liana_status status = code == ENOENT ? LIANA_NOT_FOUND : lacks ? LIANA_OUT_OF_MEMORY : LIANA_IO_ERROR;
    const char *hint = code == ENOSPC  ? "; free some space and run again"
                       : code == EFBIG ? "; the limit on the size of files is reached (ulimit -f, or the disk)"
                       : liana__path_is_remote(path)
                           ? ": only a local file can be used here; download it and pass the local path"
                           : "";
    return liana__fail(error, status, "cannot %s '%s': %s%s", what, path, strerror(code), hint);
}

static const char TEMPORARY[] = ".tmp";

static liana_status refuse_remote(const char *path, liana__error *error)
{
    if (!liana__path_is_remote(path)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "cannot write to '%s': only a local file or folder can be written here", path);
}

static liana_status open_for_reading(const char *path, int *descriptor, struct stat *info, liana__error *error)
{
    /* Opening a pipe without a writer would wait for ever. For files O_NONBLOCK has no effect. */
    *descriptor = liana__open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (*descriptor < 0) return fail_errno(error, "open", path);
    if (fstat(*descriptor, info) != 0) {
        liana_status status = fail_errno(error, "read", path);
        close(*descriptor);
        return status;
    }
    if (!S_ISREG(info->st_mode)) {
        close(*descriptor);
        return liana__fail(error, LIANA_IO_ERROR, "'%s' is %s, expected a file", path,
                           S_ISDIR(info->st_mode) ? "a folder" : "not a regular file");
    }
    return LIANA_OK;
}

static liana__file_version version_of(const struct stat *info)
{
    return (liana__file_version){.device = (uint64_t)info->st_dev,
                                 .inode = (uint64_t)info->st_ino,
                                 .size = (int64_t)info->st_size,
                                 .time = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec};
}

static bool is_same_file(const liana__file_version *a, const liana__file_version *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool is_unchanged(const liana__file_version *a, const liana__file_version *b)
{
    return a->size == b->size && a->time == b->time;
}

bool liana__file_version_find(const char *path, liana__file_version *version)
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    *version = version_of(&info);
    return true;
}

liana_status liana__file_open(const char *path, int *descriptor, liana__file_version *version, liana__error *error)
{
    struct stat info;
    LIANA_TRY(open_for_reading(path, descriptor, &info, error));
    *version = version_of(&info);
    return LIANA_OK;
}

liana_status liana__file_map(const char *path, liana__mapping *mapping, liana__error *error)
{
    *mapping = (liana__mapping){0};
    int descriptor;
    struct stat info;
    LIANA_TRY(open_for_reading(path, &descriptor, &info, error));
    if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) {
            liana_status status = fail_errno(error, "map", path);
            close(descriptor);
            return status;
        }
        *mapping = (liana__mapping){.data = data, .size = (size_t)info.st_size, .version = version_of(&info)};
    }
    close(descriptor);
    return LIANA_OK;
}

void liana__file_unmap(liana__mapping *mapping)
{
    if (mapping->data) munmap((void *)mapping->data, mapping->size);
    *mapping = (liana__mapping){0};
}

liana_status liana__mapping_check(const liana__mapping *mapping, const char *path, liana__error *error)
{
    liana__file_version now;
    const bool same = mapping->data && liana__file_version_find(path, &now) && is_same_file(&now, &mapping->version);
    if (!same || is_unchanged(&now, &mapping->version)) return LIANA_OK;
    static const char advice[] = "to change a file, write a new one and rename it";
    if (now.size < mapping->version.size) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' became shorter while it was in use: it has %lld of %zu bytes; %s", path,
                           (long long)now.size, mapping->size, advice);
    }
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' was written to while it was in use; %s", path, advice);
}

int liana__mapping_open(const liana__mapping *mapping, const char *path)
{
    struct stat info;
    int descriptor = liana__open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    liana__file_version now;
    if (fstat(descriptor, &info) == 0) {
        now = version_of(&info);
        if (is_same_file(&now, &mapping->version)) return descriptor;
    }
    close(descriptor);
    return -1;
}

bool liana__file_read_at(int descriptor, size_t offset, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(descriptor, (char *)to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* Reads the bytes from the file at the path, if it is still the mapped one. */
static bool copy_from_path(const liana__mapping *mapping, const char *path, size_t offset, void *to, size_t size)
{
    int descriptor = liana__mapping_open(mapping, path);
    if (descriptor < 0) return false;
    bool whole = liana__file_read_at(descriptor, offset, to, size);
    close(descriptor);
    return whole;
}

void liana__mapping_expect(const liana__mapping *mapping, size_t offset, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGE_SIZE), begin = offset / page * page;
    /* It is advice: its failure shows when the bytes are read. */
    madvise((void *)(mapping->data + begin), offset + size - begin, MADV_WILLNEED);
}

void liana__file_expect(const char *path)
{
    int descriptor = liana__open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (descriptor < 0) return;
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED);
    close(descriptor);
}

liana_status liana__mapping_copy(const liana__mapping *mapping, const char *path, size_t offset, void *to, size_t size,
                                 liana__error *error)
{
    LIANA_TRY(liana__mapping_check(mapping, path, error));
    return liana__mapping_copy_quick(mapping, path, offset, to, size, error);
}

liana_status liana__mapping_copy_quick(const liana__mapping *mapping, const char *path, size_t offset, void *to,
                                       size_t size, liana__error *error)
{
    size_t done = 0;
    while (done < size) {
        /* The kernel copies, and returns how many bytes it copied if a page is missing. */
        struct iovec into = {(char *)to + done, size - done};
        struct iovec from = {(void *)(mapping->data + offset + done), size - done};
        ssize_t got = process_vm_readv(getpid(), &into, 1, &from, 1, 0);
        if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
            /* A sandbox may forbid the call. */
            if (copy_from_path(mapping, path, offset, to, size)) return LIANA_OK;
            LIANA_TRY(liana__mapping_check(mapping, path, error));
            /* The file was replaced or removed, so it cannot be cut by its name any more. */
            memcpy(to, mapping->data + offset, size);
            return LIANA_OK;
        }
        if (got <= 0) {
            LIANA_TRY(liana__mapping_check(mapping, path, error));
            return liana__fail(error, LIANA_IO_ERROR,
                               "cannot read '%s' at offset %zu: it was cut, or its disk cannot be read", path,
                               offset + done);
        }
        done += (size_t)got;
    }
    return LIANA_OK;
}

static liana_status read_all(int descriptor, const char *path, char *data, size_t size, liana__error *error)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(descriptor, data + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(error, "read", path);
        if (got == 0) {
            return liana__fail(error, LIANA_DATA_LOSS, "'%s' became shorter while it was read: %zu of %zu bytes", path,
                               done, size);
        }
        done += (size_t)got;
    }
    return LIANA_OK;
}

void liana__file_buffer_free(liana__file_buffer *buffer)
{
    liana__free_large(buffer->bytes, buffer->capacity);
    buffer->bytes = NULL;
    buffer->capacity = 0;
}

liana_status liana__file_buffer_reserve(liana__file_buffer *buffer, size_t size, const char *what, liana__error *error)
{
    if (size < buffer->capacity) return LIANA_OK;
    if (size == SIZE_MAX) return liana__fail_memory(error, what);
    LIANA_TRY(liana__memory_share_ask(buffer->share, size + 1 - buffer->capacity, what, error));
    liana__file_buffer_free(buffer);
    buffer->bytes = malloc(size + 1);
    if (!buffer->bytes) return liana__fail_memory(error, what);
    buffer->capacity = size + 1;
    return LIANA_OK;
}

liana_status liana__mapping_read(const liana__mapping *mapping, const char *path, size_t offset, size_t size,
                                 liana__file_buffer *buffer, liana__error *error)
{
    LIANA_TRY(liana__file_buffer_reserve(buffer, size, path, error));
    return liana__mapping_copy(mapping, path, offset, buffer->bytes, size, error);
}

/* A file system in user space may give an unchanged file another number each time that it is opened. */
static bool has_lasting_numbers(int descriptor)
{
    enum { FUSE = 0x65735546 };
    struct statfs system;
    return fstatfs(descriptor, &system) != 0 || system.f_type != FUSE;
}

liana_status liana__file_check_version(const char *path, int descriptor, const liana__file_version *before,
                                       liana__error *error)
{
    struct stat info;
    if (!before) return LIANA_OK;
    if (fstat(descriptor, &info) != 0) return fail_errno(error, "read", path);
    const liana__file_version now = version_of(&info);
    const bool same = is_same_file(&now, before) || !has_lasting_numbers(descriptor);
    if (same && is_unchanged(&now, before)) return LIANA_OK;
    return liana__fail(
        error, LIANA_DATA_LOSS,
        "'%s' was %s while it was in use (it had %lld bytes and has %lld now): put the old file back, or "
        "begin again with the new one",
        path, same ? "written to" : "replaced by another file", (long long)before->size, (long long)now.size);
}

liana_status liana__file_read_again(const char *path, const liana__file_version *before, size_t limit,
                                    liana__file_buffer *buffer, liana__error *error)
{
    buffer->size = 0;
    int descriptor;
    struct stat info;
    LIANA_TRY(open_for_reading(path, &descriptor, &info, error));
    size_t size = (size_t)info.st_size;
    liana_status status = size <= limit ? liana__file_buffer_reserve(buffer, size, path, error)
                                        : liana__fail(error, LIANA_OUT_OF_RANGE,
                                                      "'%s' has %zu bytes, expected at most %zu", path, size, limit);
    if (status == LIANA_OK) status = read_all(descriptor, path, buffer->bytes, size, error);
    /* After the bytes: they may have changed while they were read. */
    if (status == LIANA_OK || status == LIANA_DATA_LOSS) {
        const liana_status changed = liana__file_check_version(path, descriptor, before, error);
        if (changed != LIANA_OK) status = changed;
    }
    close(descriptor);
    if (status != LIANA_OK) return status;
    buffer->bytes[size] = 0;
    buffer->size = size;
    return LIANA_OK;
}

liana_status liana__file_read(const char *path, size_t limit, char **data, size_t *size, liana__error *error)
{
    liana__file_buffer buffer = {0};
    liana_status status = liana__file_read_again(path, NULL, limit, &buffer, error);
    if (status != LIANA_OK) {
        free(buffer.bytes);
        buffer.bytes = NULL;
    }
    *data = buffer.bytes;
    *size = buffer.size;
    return status;
}

liana_status liana__file_read_head(const char *path, void *head, size_t most, size_t *size, liana__error *error)
{
    int descriptor;
    struct stat info;
    liana_status status = LIANA_OK;
    *size = 0;
    LIANA_TRY(open_for_reading(path, &descriptor, &info, error));
    while (status == LIANA_OK && *size < most) {
        ssize_t got = read(descriptor, (char *)head + *size, most - *size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = fail_errno(error, "read", path);
        if (got == 0) break;
        *size += got > 0 ? (size_t)got : 0;
    }
    close(descriptor);
    return status;
}

liana_status liana__file_begin(liana__file_writer *writer, const char *path, liana__error *error)
{
    *writer = (liana__file_writer){.descriptor = -1};
    LIANA_TRY(refuse_remote(path, error));
    liana__file_target target;
    LIANA_TRY(liana__file_target_find(path, &target, error));
    writer->path = strdup(path);
    writer->target = target.path;
    writer->descriptor = target.descriptor;
    size_t size = strlen(target.path) + sizeof TEMPORARY;
    if (target.descriptor < 0) writer->temporary = malloc(size);
    if (!writer->path || (target.descriptor < 0 && !writer->temporary)) {
        liana__file_abandon(writer);
        return liana__fail_memory(error, path);
    }
    if (target.descriptor >= 0) return LIANA_OK;
    snprintf(writer->temporary, size, "%s%s", target.path, TEMPORARY);
    writer->descriptor = liana__open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->descriptor < 0) {
        liana_status status = fail_errno(error, "write", path);
        liana__file_abandon(writer);
        return status;
    }
    return LIANA_OK;
}

liana_status liana__file_write(liana__file_writer *writer, const void *data, size_t size, liana__error *error)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t done = write(writer->descriptor, bytes, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_errno(error, "write", writer->path);
        bytes += done;
        size -= (size_t)done;
    }
    return LIANA_OK;
}

static void release_writer(liana__file_writer *writer)
{
    free(writer->path);
    free(writer->target);
    free(writer->temporary);
    *writer = (liana__file_writer){.descriptor = -1};
}

static liana_status sync_parent(const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    char *folder = liana__path_folder(&arena, path);
    return folder ? liana__folder_sync(folder, error) : liana__fail_memory(error, path);
}

liana_status liana__file_commit(liana__file_writer *writer, bool durable, liana__error *error)
{
    liana_status status = LIANA_OK;
    bool replaces = writer->temporary != NULL;
    durable = durable && replaces;
    if (durable && fsync(writer->descriptor) != 0) status = fail_errno(error, "sync", writer->path);
    if (close(writer->descriptor) != 0 && status == LIANA_OK) status = fail_errno(error, "write", writer->path);
    writer->descriptor = -1;
    if (status == LIANA_OK && replaces && rename(writer->temporary, writer->target) != 0) {
        status = fail_errno(error, "rename the new file to", writer->path);
    }
    if (status == LIANA_OK && durable) status = sync_parent(writer->target, error);
    if (status == LIANA_OK) release_writer(writer);
    if (status != LIANA_OK) liana__file_abandon(writer);
    return status;
}

void liana__file_abandon(liana__file_writer *writer)
{
    if (writer->descriptor >= 0) close(writer->descriptor);
    if (writer->temporary) unlink(writer->temporary);
    release_writer(writer);
}

liana_status liana__file_replace(const char *path, const void *data, size_t size, liana__error *error)
{
    liana__file_writer writer;
    LIANA_TRY(liana__file_begin(&writer, path, error));
    liana_status status = liana__file_write(&writer, data, size, error);
    if (status == LIANA_OK) return liana__file_commit(&writer, true, error);
    liana__file_abandon(&writer);
    return status;
}

liana_status liana__folder_make(const char *path, liana__error *error)
{
    LIANA_TRY(refuse_remote(path, error));
    char *copy = strdup(path);
    if (!copy) return liana__fail_memory(error, path);
    liana_status status = LIANA_OK;
    size_t length = strlen(copy);
    for (size_t i = 1; i <= length && status == LIANA_OK; i++) {
        if (copy[i] != '/' && copy[i] != 0) continue;
        char kept = copy[i];
        copy[i] = 0;
        if (mkdir(copy, 0777) != 0) {
            int code = errno;
            bool exists = liana__folder_exists(copy);
            errno = code;
            if (!exists) status = fail_errno(error, "make the folder", copy);
        }
        copy[i] = kept;
    }
    free(copy);
    return status;
}

liana_status liana__folder_make_in(const char *path, liana__error *error)
{
    LIANA_TRY(refuse_remote(path, error));
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && liana__folder_exists(path))) return LIANA_OK;
    return fail_errno(error, "make the folder", path);
}

liana_status liana__link_check(const char *path, liana__error *error)
{
    struct stat info;
    char target[1024];
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode) || stat(path, &info) == 0) return LIANA_OK;
    const int reason = errno;
    const ssize_t length = readlink(path, target, sizeof target);
    const int shown = length > 0 ? (int)length : 0;
    return liana__fail(error, LIANA_NOT_FOUND, "'%s' is a link to '%.*s'%s", path, shown, target,
                       reason == ELOOP    ? ", which leads back to itself: make it lead to a file or a folder"
                       : reason == ENOENT ? ", which is not there: make it lead to a file or a folder, or remove it"
                                          : ", which cannot be reached");
}

liana_status liana__folder_sync(const char *path, liana__error *error)
{
    int descriptor = liana__open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (descriptor < 0) return fail_errno(error, "open the folder", path);
    /* Some file systems cannot sync a folder and return EINVAL; nothing more can be done there. */
    bool failed = fsync(descriptor) != 0 && errno != EINVAL;
    liana_status status = failed ? fail_errno(error, "sync the folder", path) : LIANA_OK;
    close(descriptor);
    return status;
}

liana_status liana__folder_rename(const char *from, const char *to, liana__error *error)
{
    LIANA_TRY(liana__folder_sync(from, error));
    if (rename(from, to) != 0) return fail_errno(error, "rename the new folder to", to);
    return sync_parent(to, error);
}

/* Three renames, where the file system cannot exchange names. */
static bool exchange_names(const char *from, const char *to)
{
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    char *aside = malloc(strlen(to) + sizeof ".replaced");
    if (!aside) return false;
    sprintf(aside, "%s.replaced", to);
    bool done = liana__folder_remove(aside, NULL) == LIANA_OK && rename(to, aside) == 0 && rename(from, to) == 0 &&
                rename(aside, from) == 0;
    free(aside);
    return done;
}

liana_status liana__folder_exchange(const char *from, const char *to, liana__error *error)
{
    LIANA_TRY(liana__folder_sync(from, error));
    if (!exchange_names(from, to)) return fail_errno(error, "rename the new folder to", to);
    return sync_parent(to, error);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

liana_status liana__folder_remove(const char *path, liana__error *error)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        return fail_errno(error, "remove", path);
    }
    return LIANA_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

liana_status liana__file_match(const char *pattern, liana__arena *arena, liana__paths *paths, liana__error *error)
{
    *paths = (liana__paths){0};
    glob_t found;
    int code = glob(pattern, GLOB_ERR | GLOB_NOSORT, NULL, &found);
    if (code == GLOB_NOMATCH) {
        return liana__fail(error, LIANA_NOT_FOUND, "no file matches '%s'", pattern);
    }
    if (code != 0) {
        return code == GLOB_NOSPACE ? liana__fail_memory(error, pattern)
                                    : fail_errno(error, "read the folders of", pattern);
    }
    paths->items = liana__arena_allocate(arena, found.gl_pathc * sizeof *paths->items);
    for (size_t i = 0; paths->items && i < found.gl_pathc; i++) {
        paths->items[i] = liana__arena_string(arena, found.gl_pathv[i]);
    }
    paths->count = found.gl_pathc;
    globfree(&found);
    if (arena->failed) return liana__fail_memory(error, pattern);
    /* Sorted by bytes, since glob() sorts by the locale, and the order of the files decides the order of the data. */
    qsort(paths->items, paths->count, sizeof *paths->items, compare_names);
    return LIANA_OK;
}

liana_status liana__folder_list(const char *path, liana__arena *arena, liana__paths *names, liana__error *error)
{
    *names = (liana__paths){0};
    DIR *folder = liana__opendir(path);
    if (!folder) return fail_errno(error, "read the folder", path);
    char **items = NULL;
    size_t count = 0, capacity = 0;
    bool enough = true;
    for (struct dirent *entry; enough && (errno = 0, entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        enough = liana__grow(&items, count, &capacity, sizeof *items);
        if (enough) items[count++] = liana__arena_string(arena, entry->d_name);
    }
    liana_status status = enough && errno ? fail_errno(error, "read the folder", path) : LIANA_OK;
    closedir(folder);
    if (status == LIANA_OK && enough && !arena->failed) {
        if (count) qsort(items, count, sizeof *items, compare_names);
        names->items = liana__arena_copy(arena, items, count * sizeof *items);
        names->count = count;
    }
    free(items);
    return enough && !arena->failed ? status : liana__fail_memory(error, path);
}

bool liana__path_is_remote(const char *path)
{
    size_t length = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return length > 1 && strncmp(path + length, "://", 3) == 0;
}

const char *liana__path_shown(liana__arena *arena, const char *path)
{
    size_t length = strcspn(path, "?");
    bool web = strncmp(path, "https://", 8) == 0 || strncmp(path, "http://", 7) == 0;
    return web && path[length] ? liana__arena_format(arena, "%.*s?REDACTED", (int)length, path) : path;
}

char *liana__path_join(liana__arena *arena, const char *folder, const char *path)
{
    if (path[0] == '/' || liana__path_is_remote(path) || !folder || !folder[0]) return liana__arena_string(arena, path);
    size_t length = strlen(folder);
    return liana__arena_format(arena, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", path);
}

char *liana__path_folder(liana__arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return liana__arena_string(arena, ".");
    if (slash == path) return liana__arena_string(arena, "/");
    return liana__arena_format(arena, "%.*s", (int)(slash - path), path);
}

const char *liana__path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool liana__file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool liana__folder_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char *liana__cache_folder(liana__arena *arena)
{
    const char *cache = getenv("LIANA_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return cache;
    if (xdg && *xdg == '/') return liana__arena_format(arena, "%s/liana", xdg);
    return home && *home ? liana__arena_format(arena, "%s/.cache/liana", home) : NULL;
}
