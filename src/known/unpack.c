/* Unpacks gzipped tar archives. */
#include "known/unpack.h"

#include "base/file.h"
#include "base/file_view.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "formats/gzip.h"
#include "formats/gzip_index.h"
#include "formats/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PIECE = 1 << 20, FREE_BYTES = 16 << 20, MOST_NAME = 512 };

typedef struct unpacking {
    const char *archive;
    uint64_t packed; /* bytes of the archive */
    const liana__unpack_limits *limits;
    const char *folder;     /* where files are written, before it is renamed */
    const char *tar;        /* the inflated archive */
    liana__file_writer out; /* of the tar */
    uint64_t inflated;
    liana__arena arena;
} unpacking;

/* ---- inflating ---- */

static liana_status take_piece(void *context, const uint8_t *bytes, size_t size, liana__error *error)
{
    unpacking *own = context;
    own->inflated += size;
    if (own->inflated > own->limits->bytes) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' inflates to more than the limit of %" PRIu64 " bytes",
                           own->archive, own->limits->bytes);
    }
    if (own->inflated > FREE_BYTES && own->inflated / own->limits->ratio > own->packed) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' inflates to more than %u times its %" PRIu64 " bytes",
                           own->archive, own->limits->ratio, own->packed);
    }
    return liana__file_write(&own->out, bytes, size, error);
}

static liana_status inflate_mapped(unpacking *own, const liana__mapping *mapping, liana__error *error)
{
    uint8_t head[2] = {0};
    own->packed = mapping->size;
    if (mapping->size >= sizeof head) {
        LIANA_TRY(liana__mapping_copy(mapping, own->archive, 0, head, sizeof head, error));
    }
    if (!liana__is_gzip(head, sizeof head)) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is not a gzipped archive", own->archive);
    }
    liana__file_view view = liana__file_view_of(own->archive, mapping, PIECE);
    liana__gzip_index *index = NULL;
    liana_status status = liana__file_begin(&own->out, own->tar, error);
    if (status == LIANA_OK) {
        status = liana__gzip_index_build(&view, UINT64_MAX, take_piece, own, &index, error);
        liana__gzip_index_free(index);
        if (status == LIANA_OK)
            status = liana__file_commit(&own->out, false, error);
        else
            liana__file_abandon(&own->out);
    }
    liana__file_view_free(&view);
    return status;
}

static liana_status inflate_archive(unpacking *own, liana__error *error)
{
    liana__mapping mapping;
    LIANA_TRY(liana__file_map(own->archive, &mapping, error));
    liana_status status = inflate_mapped(own, &mapping, error);
    liana__file_unmap(&mapping);
    return status;
}

/* ---- members ---- */

static liana_status refuse(const unpacking *own, const char *name, const char *why, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': nothing is unpacked of it: '%.200s' %s", own->archive, name,
                       why);
}

/* Why a name must not be written to; NULL: it may. */
static const char *fault_of_name(const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length > MOST_NAME) return "is no usable name";
    if (*name == '/') return "is absolute";
    for (const char *at = name; *at;) {
        const size_t part = strcspn(at, "/");
        if (part == 0) return "has an empty part";
        if (part == 2 && at[0] == '.' && at[1] == '.') return "leads out of the folder";
        if (part > 255) return "is no usable name";
        for (size_t i = 0; i < part; i++) {
            if ((unsigned char)at[i] < 0x20 || at[i] == 0x7f || at[i] == '\\') return "is no usable name";
        }
        at += part;
        if (*at == '/' && !*++at) return "is no name of a file";
    }
    return NULL;
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const liana__tar_member *const *)a)->name, (*(const liana__tar_member *const *)b)->name);
}

static liana_status check_names(unpacking *own, const liana__tar *tar, liana__error *error)
{
    const liana__tar_member **sorted = liana__arena_allocate(&own->arena, (tar->count + 1) * sizeof *sorted);
    if (!sorted) return liana__fail_memory(error, own->archive);
    for (size_t i = 0; i < tar->count; i++) {
        const char *fault = fault_of_name(tar->members[i].name);
        if (fault) return refuse(own, tar->members[i].name, fault, error);
        sorted[i] = &tar->members[i];
    }
    qsort(sorted, tar->count, sizeof *sorted, compare_members);
    for (size_t i = 1; i < tar->count; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return refuse(own, sorted[i]->name, "is there twice", error);
    }
    return LIANA_OK;
}

static liana_status check_members(unpacking *own, const liana__tar *tar, liana__error *error)
{
    if (tar->special) return refuse(own, tar->special, "is a link or a device", error);
    if (tar->count == 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is an archive without files", own->archive);
    }
    if (tar->count > own->limits->files) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has %zu files, more than the limit of %zu", own->archive,
                           tar->count, own->limits->files);
    }
    return check_names(own, tar, error);
}

static liana_status write_member(unpacking *own, const liana__tar *tar, const liana__tar_member *member,
                                 liana__file_buffer *buffer, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path = liana__path_join(&arena, own->folder, member->name);
    const char *folder = path ? liana__path_folder(&arena, path) : NULL;
    if (!folder) return liana__fail_memory(error, member->name);
    LIANA_TRY(liana__folder_make(folder, error));
    /* New, and in new folders: so no link is followed. */
    liana__file_writer out = {open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), (char *)path, NULL, NULL};
    if (out.descriptor < 0) {
        return liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be made: %s", path, strerror(errno));
    }
    liana_status status = LIANA_OK;
    for (uint64_t done = 0; status == LIANA_OK && done < member->size;) {
        const uint64_t left = member->size - done;
        const size_t size = left < PIECE ? (size_t)left : PIECE;
        status = liana__mapping_read(&tar->mapping, own->tar, (size_t)(member->offset + done), size, buffer, error);
        if (status == LIANA_OK) status = liana__file_write(&out, buffer->bytes, size, error);
        done += size;
    }
    close(out.descriptor);
    return status;
}

static liana_status write_members(unpacking *own, const liana__tar *tar, liana__error *error)
{
    liana__file_buffer buffer = {0};
    liana_status status = check_members(own, tar, error);
    for (size_t i = 0; status == LIANA_OK && i < tar->count; i++) {
        status = write_member(own, tar, &tar->members[i], &buffer, error);
    }
    liana__file_buffer_free(&buffer);
    return status;
}

/* All files of the folder are on the disk after this, with one call. */
static liana_status sync_all(const char *folder, liana__error *error)
{
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = descriptor >= 0 && syncfs(descriptor) == 0;
    const int why = errno;
    if (descriptor >= 0) close(descriptor);
    return good ? LIANA_OK
                : liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be written to the disk: %s", folder, strerror(why));
}

static liana_status unpack_members(unpacking *own, liana__error *error)
{
    liana__tar tar;
    LIANA_TRY(liana__folder_make(own->folder, error));
    LIANA_TRY(inflate_archive(own, error));
    liana_status status = liana__tar_open(own->tar, &tar, error);
    /* The archive is the file that people know. */
    if (status != LIANA_OK) liana__fail_within(error, "'%s' (inflated)", own->archive);
    if (status == LIANA_OK) status = write_members(own, &tar, error);
    liana__tar_close(&tar);
    unlink(own->tar);
    if (status == LIANA_OK) status = sync_all(own->folder, error);
    return status;
}

static liana_status unpack_into(unpacking *own, const char *folder, liana__error *error)
{
    own->folder = liana__arena_format(&own->arena, "%s.part", folder);
    own->tar = liana__arena_format(&own->arena, "%s.part.tar", folder);
    if (own->arena.failed) return liana__fail_memory(error, folder);
    /* Of a process that was ended. */
    LIANA_TRY(liana__folder_remove(own->folder, error));
    liana_status status = unpack_members(own, error);
    if (status == LIANA_OK) status = liana__folder_rename(own->folder, folder, error);
    if (status != LIANA_OK) (void)!liana__folder_remove(own->folder, NULL);
    return status;
}

liana_status liana__unpack(const char *archive, const char *folder, const liana__unpack_limits *limits,
                           liana__error *error)
{
    unpacking own = {.archive = archive, .limits = limits};
    const char *lock = liana__arena_format(&own.arena, "%s.lock", folder);
    const int descriptor = lock ? open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    liana_status status = LIANA_OK;
    if (!lock) {
        status = liana__fail_memory(error, folder);
    } else if (descriptor < 0) {
        status = liana__fail(error, LIANA_IO_ERROR, "'%s' cannot be made: %s", lock, strerror(errno));
    } else {
        while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
        if (!liana__folder_exists(folder)) status = unpack_into(&own, folder, error);
        close(descriptor);
    }
    liana__arena_free(&own.arena);
    return status;
}
