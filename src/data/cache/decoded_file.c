/* Makes, opens, fills and reads a file of decoded images. */
#include "data/cache/decoded_file.h"

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { VERSION = 1, PAGE = 4096 };

static const char MAGIC[8] = "LIANAIMG";

typedef struct header {
    char magic[8];
    uint32_t byte_order; /* 1 */
    uint32_t version;
    uint64_t num_records;
    uint64_t image_size;
    uint64_t stride; /* from entry to entry */
    liana__fingerprint settings;
    liana__fingerprint sources;
    uint8_t unused[PAGE - 8 - 2 * 4 - 3 * 8 - 2 * sizeof(liana__fingerprint) - 4];
    uint32_t checksum; /* of the bytes before it */
} header;

/* The head of an entry; its pixels follow. */
typedef struct entry_head {
    uint64_t mark; /* 0: empty; else MARK and the checksum of all that follows, the record's number first */
    int32_t label;
    uint32_t id_size; /* NO_ID: none */
    char id[LIANA__DECODED_FILE_ID_SIZE];
} entry_head;

_Static_assert(sizeof(header) == PAGE, "the header is a page");
_Static_assert(sizeof(entry_head) == 256, "pixels begin on a cache line");

#define NO_ID UINT32_MAX
#define MARK ((uint64_t)0x454E5452 << 32)

struct liana__decoded_file {
    char *path;
    int descriptor;
    bool writable;
    uint64_t size;
    header header;
};

static liana_status fail_errno(const char *what, const char *path, liana__error *error)
{
    int code = errno;
    const char *hint = code == ENOSPC || code == EDQUOT ? "; free some space, or set data.cache_dir or data.cache" : "";
    return liana__fail(error, code == ENOENT ? LIANA_NOT_FOUND : LIANA_IO_ERROR, "cannot %s '%s': %s%s", what, path,
                       strerror(code), hint);
}

/* ---- header ---- */

static uint32_t header_checksum(const header *head)
{
    return liana__crc32c(head, offsetof(header, checksum));
}

static liana_status make_header(const char *path, const liana__decoded_file_contents *contents, header *head,
                                uint64_t *size, liana__error *error)
{
    *head = (header){.byte_order = 1,
                     .version = VERSION,
                     .num_records = contents->num_records,
                     .image_size = contents->image_size,
                     .settings = contents->settings,
                     .sources = contents->sources};
    memcpy(head->magic, MAGIC, sizeof MAGIC);
    bool fits = contents->image_size <= UINT32_MAX;
    head->stride = sizeof(entry_head) + (contents->image_size + 63) / 64 * 64;
    fits = fits && !__builtin_mul_overflow(head->stride, head->num_records, size) &&
           !__builtin_add_overflow(*size, (uint64_t)PAGE, size) && *size <= INT64_MAX && *size <= SIZE_MAX;
    head->checksum = header_checksum(head);
    if (fits) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s': %" PRIu64 " images of %" PRIu64 " bytes do not fit into a file", path,
                       contents->num_records, contents->image_size);
}

/* Why a file is not the one that is wanted; NULL if it is. */
static const char *find_difference(const header *found, uint64_t size, const header *wanted, uint64_t wanted_size)
{
    if (size < PAGE || memcmp(found->magic, MAGIC, sizeof MAGIC) != 0) return "it is not a cache of images";
    if (found->byte_order != 1) return "it was made on a machine with another byte order";
    if (found->version != VERSION) return "it was made by another version of liana";
    if (found->checksum != header_checksum(found)) return "its header is damaged";
    if (memcmp(&found->sources, &wanted->sources, sizeof found->sources) != 0) return "the source files changed";
    if (memcmp(found, wanted, sizeof *found) != 0) return "the images are decoded in another way";
    if (size != wanted_size) return "its length has changed";
    return NULL;
}

/* ---- opening ---- */

static int open_descriptor(const char *path, bool *writable)
{
    int descriptor = liana__open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
    *writable = descriptor >= 0;
    if (descriptor < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        descriptor = liana__open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    }
    return descriptor;
}

static bool read_header(int descriptor, header *head, uint64_t *size)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    *size = (uint64_t)info.st_size;
    memset(head, 0, sizeof *head);
    return pread(descriptor, head, sizeof *head, 0) >= 0;
}

/* Opens an existing file. Descriptor -1: there is none, or it has other contents (`why` says so). */
static liana_status try_open(liana__decoded_file *file, const char **why, liana__error *error)
{
    *why = NULL;
    file->descriptor = open_descriptor(file->path, &file->writable);
    if (file->descriptor < 0) return errno == ENOENT ? LIANA_OK : fail_errno("open", file->path, error);
    header found;
    uint64_t size = 0;
    *why = "it cannot be read";
    if (read_header(file->descriptor, &found, &size)) {
        *why = find_difference(&found, size, &file->header, file->size);
    }
    if (!*why) return LIANA_OK;
    close(file->descriptor);
    file->descriptor = -1;
    return LIANA_OK;
}

static bool write_new(const liana__decoded_file *file, int descriptor)
{
    return pwrite(descriptor, &file->header, sizeof file->header, 0) == sizeof file->header &&
           ftruncate(descriptor, (off_t)file->size) == 0;
}

/* The file appears under its name with its header and room for all entries. */
static liana_status create(liana__decoded_file *file, liana__error *error)
{
    char *temporary;
    if (asprintf(&temporary, "%s.%ld.tmp", file->path, (long)getpid()) < 0) {
        return liana__fail_memory(error, file->path);
    }
    liana_status status = LIANA_OK;
    file->descriptor = liana__open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    file->writable = true;
    if (file->descriptor < 0 || !write_new(file, file->descriptor)) {
        status = fail_errno("make", file->path, error);
    } else if (rename(temporary, file->path) != 0) {
        status = fail_errno("rename", file->path, error);
    }
    if (status != LIANA_OK && file->descriptor >= 0) unlink(temporary);
    free(temporary);
    return status;
}

/* One of several processes makes the file. The lock is on the folder, and ends with the process. On a file system
 * without locks, each process may have a file of its own, until the last one remains. */
static liana_status open_or_create(liana__decoded_file *file, const char **why, liana__error *error)
{
    LIANA_TRY(try_open(file, why, error));
    if (file->descriptor >= 0) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *folder = liana__path_folder(&arena, file->path);
    int lock = folder ? liana__open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    if (lock < 0) return fail_errno("open the folder of", file->path, error);
    flock(lock, LOCK_EX);
    liana_status status = try_open(file, why, error);
    if (status == LIANA_OK && file->descriptor < 0) status = create(file, error);
    close(lock);
    return status;
}

liana_status liana__decoded_file_open(const char *path, const liana__decoded_file_contents *contents,
                                      liana__decoded_file **out, char *replaced, size_t replaced_size,
                                      liana__error *error)
{
    *out = NULL;
    liana__decoded_file *file = calloc(1, sizeof *file);
    if (!file) return liana__fail_memory(error, path);
    file->descriptor = -1;
    file->path = strdup(path);
    const char *why = NULL;
    liana_status status = file->path ? LIANA_OK : liana__fail_memory(error, path);
    if (status == LIANA_OK) status = make_header(path, contents, &file->header, &file->size, error);
    if (status == LIANA_OK) status = open_or_create(file, &why, error);
    if (status == LIANA_OK) *out = file;
    if (status == LIANA_OK && replaced) snprintf(replaced, replaced_size, "%s", why ? why : "");
    if (status != LIANA_OK) liana__decoded_file_close(file);
    return status;
}

void liana__decoded_file_close(liana__decoded_file *file)
{
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    free(file);
}

const char *liana__decoded_file_path(const liana__decoded_file *file)
{
    return file->path;
}

uint64_t liana__decoded_file_size(const liana__decoded_file *file)
{
    return file->size;
}

/* ---- entries ---- */

static uint64_t entry_offset(const liana__decoded_file *file, uint64_t record)
{
    return PAGE + record * file->header.stride;
}

static size_t pixels_size(const liana__decoded_file *file, const liana__decoded_file_entry *entry)
{
    return (size_t)file->header.image_size - entry->values_size;
}

static uint64_t make_mark(const liana__decoded_file *file, uint64_t record, const entry_head *head,
                          const liana__decoded_file_entry *entry)
{
    uint32_t crc = liana__crc32c(&record, sizeof record);
    crc = liana__crc32c_extend(crc, &head->label, sizeof *head - offsetof(entry_head, label));
    crc = liana__crc32c_extend(crc, entry->pixels, pixels_size(file, entry));
    return MARK | liana__crc32c_extend(crc, entry->values, entry->values_size);
}

liana__decoded_file_state liana__decoded_file_find(const liana__decoded_file *file, uint64_t record,
                                                   liana__decoded_file_room *room, liana__decoded_file_entry *entry)
{
    entry_head head;
    uint64_t offset = entry_offset(file, record);
    if (!liana__file_read_at(file->descriptor, offset, &head, sizeof head)) return LIANA__DECODED_FILE_SHORTER;
    if (head.mark == 0) return LIANA__DECODED_FILE_EMPTY;
    if (!liana__file_read_at(file->descriptor, offset + sizeof head, room->pixels, (size_t)file->header.image_size)) {
        return LIANA__DECODED_FILE_SHORTER;
    }
    const liana__decoded_file_entry read = {.pixels = room->pixels, .label = head.label};
    bool whole =
        (head.id_size <= sizeof head.id || head.id_size == NO_ID) && head.mark == make_mark(file, record, &head, &read);
    if (!whole) return LIANA__DECODED_FILE_DAMAGED;
    *entry = read;
    if (head.id_size != NO_ID) {
        memcpy(room->id, head.id, head.id_size);
        entry->id = room->id;
        entry->id_size = head.id_size;
    }
    return LIANA__DECODED_FILE_WHOLE;
}

bool liana__decoded_file_expect(const liana__decoded_file *file, uint64_t record)
{
    uint64_t mark = 0, offset = entry_offset(file, record);
    if (pread(file->descriptor, &mark, sizeof mark, (off_t)offset) != sizeof mark || mark == 0) return false;
    posix_fadvise(file->descriptor, (off_t)offset, (off_t)file->header.stride, POSIX_FADV_WILLNEED);
    return true;
}

static bool write_all(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    const uint8_t *next = bytes;
    while (size > 0) {
        ssize_t done = pwrite(descriptor, next, size, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        next += done;
        size -= (size_t)done;
        offset += (uint64_t)done;
    }
    return true;
}

liana_status liana__decoded_file_write(const liana__decoded_file *file, uint64_t record,
                                       const liana__decoded_file_entry *entry, liana__error *error)
{
    if (entry->id_size > LIANA__DECODED_FILE_ID_SIZE || !file->writable) return LIANA_OK;
    entry_head head = {.label = entry->label, .id_size = entry->id ? (uint32_t)entry->id_size : NO_ID};
    if (entry->id) memcpy(head.id, entry->id, entry->id_size);
    uint64_t offset = entry_offset(file, record), mark = make_mark(file, record, &head, entry);
    size_t size = pixels_size(file, entry);
    /* A damaged entry is an empty one meanwhile; the mark comes last. */
    bool done = write_all(file->descriptor, &head, sizeof head, offset) &&
                write_all(file->descriptor, entry->pixels, size, offset + sizeof head) &&
                write_all(file->descriptor, entry->values, entry->values_size, offset + sizeof head + size) &&
                write_all(file->descriptor, &mark, sizeof mark, offset);
    return done ? LIANA_OK : fail_errno("write to", file->path, error);
}
