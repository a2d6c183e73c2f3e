/* Reads zip archives through libzip, with limits. */
#include "formats/zip.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/thread_start.h"
#include "formats/zip_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRIES = 10000, MAX_NAME = 4096, FREE_SIZE = 64 << 20, MAX_RATIO = 100 };

struct liana__zip {
    const char *path;
    zip_t *handle;
    liana__zip_entry *entries;
    size_t num_entries;
    liana__arena arena;
};

/* ---- the count of entries, before libzip makes room for them ---- */

static uint64_t number_at(const uint8_t *bytes, int size)
{
    uint64_t number = 0;
    for (int i = size - 1; i >= 0; i--) number = number << 8 | bytes[i];
    return number;
}

/* The count in an end record at `at`; in an archive of the 64-bit form it stands elsewhere. 0: none can be read. */
static uint64_t count_at(int descriptor, const uint8_t *tail, size_t at)
{
    enum { LOCATOR = 20, WIDE = 40 };
    uint8_t wide[WIDE];
    const uint8_t *record = tail + at;
    bool has_wide = at >= LOCATOR && memcmp(record - LOCATOR, "PK\6\7", 4) == 0 &&
                    liana__file_read_at(descriptor, (size_t)number_at(record - LOCATOR + 8, 8), wide, WIDE) &&
                    memcmp(wide, "PK\6\6", 4) == 0;
    return has_wide ? number_at(wide + 32, 8) : number_at(record + 10, 2);
}

/* libzip takes one of the records in the last bytes that look like the archive's end. */
static liana_status check_count(const char *path, int descriptor, size_t size, liana__error *error)
{
    enum { RECORD = 22, LOCATOR = 20, MOST = 0xffff + RECORD + LOCATOR };
    size_t length = size < MOST ? size : MOST;
    uint8_t *tail = malloc(length + 1);
    if (!tail) return liana__fail_memory(error, path);
    uint64_t count = 0;
    bool found = false;
    if (liana__file_read_at(descriptor, size - length, tail, length)) {
        for (size_t at = 0; at + RECORD <= length; at++) {
            if (memcmp(tail + at, "PK\5\6", 4) != 0) continue;
            found = true;
            uint64_t one = count_at(descriptor, tail, at);
            if (one > count) count = one;
        }
    }
    free(tail);
    if (!found) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' (%zu bytes): the zip archive is cut: its list of entries, "
                           "which stands at its end, is missing",
                           path, size);
    }
    if (count <= MAX_ENTRIES) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s': the zip archive says that it has %llu entries, at most %d are "
                       "read",
                       path, (unsigned long long)count, MAX_ENTRIES);
}

/* ---- entries ---- */

/* Why a name is refused: it would lead out of the folder into which the archive is unpacked, or cannot be shown.
 * NULL: it is good. */
static const char *fault_of_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > MAX_NAME) return "is empty or longer than 4096 bytes";
    if (name[0] == '/' || name[0] == '\\' || (length > 1 && name[1] == ':')) return "is absolute";
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) return "has a control character";
    }
    for (const char *part = name; *part;) {
        size_t size = strcspn(part, "/\\");
        if (size == 2 && part[0] == '.' && part[1] == '.') return "leads up with '..'";
        part += size;
        part += *part != 0;
    }
    return NULL;
}

static bool is_link(zip_t *handle, zip_uint64_t index)
{
    zip_uint8_t system;
    zip_uint32_t attributes;
    return zip_file_get_external_attributes(handle, index, 0, &system, &attributes) == 0 && system == ZIP_OPSYS_UNIX &&
           S_ISLNK(attributes >> 16);
}

static liana_status check_entry(const liana__zip *archive, zip_uint64_t index, const zip_stat_t *stat,
                                liana__error *error)
{
    const char *path = archive->path;
    const char *fault = fault_of_name(stat->name);
    if (fault) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': the name of entry %llu of the zip archive %s", path,
                           (unsigned long long)index, fault);
    }
    if (is_link(archive->handle, index)) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': the entry '%.200s' is a link, expected files", path,
                           stat->name);
    }
    if (stat->encryption_method != ZIP_EM_NONE) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': the entry '%.200s' is encrypted; liana reads none such",
                           path, stat->name);
    }
    if (stat->size > FREE_SIZE && stat->size / MAX_RATIO > stat->comp_size) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "'%s': the entry '%.200s' says that %llu bytes unpack to %llu, more than %d times as many",
                           path, stat->name, (unsigned long long)stat->comp_size, (unsigned long long)stat->size,
                           MAX_RATIO);
    }
    return LIANA_OK;
}

static int compare_names(const void *a, const void *b)
{
    const char *first, *second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return strcmp(first, second);
}

static liana_status check_unique(const liana__zip *archive, liana__error *error)
{
    const char **names = malloc((archive->num_entries + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, archive->path);
    for (size_t i = 0; i < archive->num_entries; i++) names[i] = archive->entries[i].name;
    qsort(names, archive->num_entries, sizeof *names, compare_names);
    const char *twice = NULL;
    for (size_t i = 1; i < archive->num_entries; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) twice = names[i];
    }
    free(names);
    if (!twice) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': the zip archive has two entries '%.200s'", archive->path,
                       twice);
}

static liana_status list_entries(liana__zip *archive, size_t file_size, liana__error *error)
{
    zip_int64_t count = zip_get_num_entries(archive->handle, 0);
    archive->entries = liana__arena_allocate(&archive->arena, ((size_t)count + 1) * sizeof *archive->entries);
    if (!archive->entries) return liana__fail_memory(error, archive->path);
    uint64_t left = file_size;
    for (zip_uint64_t i = 0; i < (zip_uint64_t)count; i++) {
        const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_ENCRYPTION_METHOD;
        zip_stat_t stat;
        if (zip_stat_index(archive->handle, i, 0, &stat) != 0 || (stat.valid & needed) != needed) {
            return liana__zip_fail(error, archive->path, NULL, "the zip archive's list of entries is damaged",
                                   zip_get_error(archive->handle));
        }
        LIANA_TRY(check_entry(archive, i, &stat, error));
        if (stat.comp_size > left) {
            return liana__fail(error, LIANA_DATA_LOSS,
                               "'%s': the entries of the zip archive overlap or lie outside of the file",
                               archive->path);
        }
        left -= stat.comp_size;
        liana__zip_entry *entry = &archive->entries[archive->num_entries++];
        *entry = (liana__zip_entry){liana__arena_string(&archive->arena, stat.name), stat.size, stat.comp_size};
        if (!entry->name) return liana__fail_memory(error, archive->path);
    }
    return check_unique(archive, error);
}

/* ---- the archive ---- */

static liana_status open_handle(liana__zip *archive, int descriptor, liana__error *error)
{
    int code;
    archive->handle = zip_fdopen(descriptor, 0, &code);
    if (archive->handle) return LIANA_OK;
    zip_error_t reason;
    zip_error_init_with_code(&reason, code);
    liana_status status = liana__zip_fail(error, archive->path, NULL, "the zip archive cannot be opened", &reason);
    zip_error_fini(&reason);
    return status;
}

static liana_status open_archive(liana__zip *archive, liana__error *error)
{
    int descriptor;
    liana__file_version version;
    LIANA_TRY(liana__file_open(archive->path, &descriptor, &version, error));
    const size_t size = (size_t)version.size;
    uint8_t head[4] = {0};
    liana_status status = LIANA_OK;
    if (size < sizeof head || !liana__file_read_at(descriptor, 0, head, sizeof head) ||
        memcmp(head, "PK\3\4", 4) != 0) {
        status = liana__fail(error, LIANA_INVALID_DATA, "'%s' (%zu bytes) is not a zip archive", archive->path, size);
    }
    if (status == LIANA_OK) status = check_count(archive->path, descriptor, size, error);
    if (status == LIANA_OK) status = open_handle(archive, descriptor, error);
    /* An open archive owns the descriptor. */
    if (!archive->handle) close(descriptor);
    return status == LIANA_OK ? list_entries(archive, size, error) : status;
}

liana_status liana__zip_open(const char *path, liana__zip **out, liana__error *error)
{
    *out = NULL;
    if (liana__zip_load(error) != LIANA_OK) return liana__fail_within(error, "'%s'", path);
    liana__zip *archive = calloc(1, sizeof *archive);
    if (!archive) return liana__fail_memory(error, path);
    archive->path = liana__arena_string(&archive->arena, path);
    liana_status status = archive->path ? open_archive(archive, error) : liana__fail_memory(error, path);
    if (status != LIANA_OK) {
        liana__zip_close(archive);
        return status;
    }
    *out = archive;
    return LIANA_OK;
}

void liana__zip_close(liana__zip *archive)
{
    if (!archive) return;
    if (archive->handle) zip_discard(archive->handle);
    liana__arena_free(&archive->arena);
    free(archive);
}

const liana__zip_entry *liana__zip_entries(const liana__zip *archive, size_t *count)
{
    *count = archive->num_entries;
    return archive->entries;
}

const liana__zip_entry *liana__zip_find(const liana__zip *archive, const char *name)
{
    for (size_t i = 0; i < archive->num_entries; i++) {
        if (strcmp(archive->entries[i].name, name) == 0) return &archive->entries[i];
    }
    return NULL;
}

/* ---- reading ---- */

/* Reads all bytes, and one more: at the end libzip compares size and CRC. */
static liana_status read_file(const liana__zip *archive, const liana__zip_entry *entry, zip_file_t *file, char *bytes,
                              liana__error *error)
{
    uint64_t have = 0;
    zip_int64_t got = 1;
    while (got > 0 && have <= entry->size) {
        got = zip_fread(file, bytes + have, entry->size - have + 1);
        if (got > 0) have += (uint64_t)got;
    }
    bytes[entry->size] = 0;
    if (got == 0 && have == entry->size) return LIANA_OK;
    if (got < 0) {
        return liana__zip_fail(error, archive->path, entry->name, "the entry is damaged", zip_file_get_error(file));
    }
    return liana__fail(error, LIANA_DATA_LOSS, "'%s': '%.200s': the entry has %s than %llu bytes", archive->path,
                       entry->name, have < entry->size ? "less" : "more", (unsigned long long)entry->size);
}

liana_status liana__zip_read(const liana__zip *archive, const liana__zip_entry *entry, char **bytes,
                             liana__error *error)
{
    liana__error own;
    if (!error) error = &own;
    *bytes = entry->size < SIZE_MAX / 2 ? malloc((size_t)entry->size + 1) : NULL;
    if (!*bytes) return liana__fail_memory(error, archive->path);
    zip_file_t *file = zip_fopen_index(archive->handle, (zip_uint64_t)(entry - archive->entries), 0);
    liana_status status;
    if (file) {
        status = read_file(archive, entry, file, *bytes, error);
        zip_fclose(file);
    } else {
        status = liana__zip_fail(error, archive->path, entry->name, "the entry cannot be read",
                                 zip_get_error(archive->handle));
    }
    if (status == LIANA_OK) return LIANA_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

/* ---- writing ---- */

static bool add_entry(zip_t *handle, const liana__zip_new_entry *entry)
{
    enum { FIRST_OF_JANUARY_1980 = 1 << 5 | 1 };
    zip_source_t *source = zip_source_buffer(handle, entry->bytes, entry->size, 0);
    if (!source) return false;
    zip_int64_t index = zip_file_add(handle, entry->name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
    return index >= 0 && zip_set_file_compression(handle, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_dostime(handle, (zip_uint64_t)index, 0, FIRST_OF_JANUARY_1980, 0) == 0;
}

/* Bytes for one place of the file. */
typedef struct piece {
    char *bytes;
    size_t filled;
    zip_int64_t begin;
} piece;

/* The file that libzip writes into, in any order. A thread writes one piece while libzip fills the next one and
 * computes its checksum, which takes as long. */
typedef struct sink {
    liana__file_writer writer;
    piece pieces[2];
    piece *filling;
    zip_int64_t position; /* where libzip writes next */
    zip_int64_t end;
    zip_error_t failure; /* libzip's words for it ... */
    liana__error *error; /* ... and ours */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    const piece *writing; /* NULL: all is written */
    bool ends;
    liana__error written; /* of the thread */
} sink;

enum { PIECE = 1 << 19 };

static void write_piece(sink *own, const piece *from)
{
    if (own->written.status != LIANA_OK) return;
    if (lseek(own->writer.descriptor, from->begin, SEEK_SET) < 0) {
        liana__fail(&own->written, LIANA_IO_ERROR, "cannot write a zip archive to '%s': it is no file",
                    own->writer.path);
    } else if (liana__file_write(&own->writer, from->bytes, from->filled, &own->written) == LIANA_OK) {
        /* The disk begins at once; the sync at the end then waits for less. */
        sync_file_range(own->writer.descriptor, from->begin, (off_t)from->filled, SYNC_FILE_RANGE_WRITE);
    }
}

static void *write_pieces(void *user)
{
    sink *own = user;
    pthread_mutex_lock(&own->mutex);
    while (own->writing || !own->ends) {
        const piece *next = own->writing;
        if (!next) {
            pthread_cond_wait(&own->changed, &own->mutex);
            continue;
        }
        pthread_mutex_unlock(&own->mutex);
        write_piece(own, next);
        pthread_mutex_lock(&own->mutex);
        own->writing = NULL;
        pthread_cond_broadcast(&own->changed);
    }
    pthread_mutex_unlock(&own->mutex);
    return NULL;
}

/* Waits for the piece before, and hands on the one that is filled. */
static bool flush(sink *own)
{
    pthread_mutex_lock(&own->mutex);
    while (own->writing) pthread_cond_wait(&own->changed, &own->mutex);
    if (own->filling->filled) {
        own->writing = own->filling;
        own->filling = own->filling == own->pieces ? own->pieces + 1 : own->pieces;
        own->filling->filled = 0;
        pthread_cond_broadcast(&own->changed);
    }
    const bool good = own->written.status == LIANA_OK;
    pthread_mutex_unlock(&own->mutex);
    return good;
}

/* Writes all that is filled. */
static bool drain(sink *own)
{
    return flush(own) && flush(own);
}

static liana_status begin_writing(sink *own, char *bytes)
{
    for (size_t i = 0; i < 2; i++) own->pieces[i].bytes = bytes + i * PIECE;
    own->filling = own->pieces;
    pthread_mutex_init(&own->mutex, NULL);
    pthread_cond_init(&own->changed, NULL);
    const int code = liana__thread_start(&own->thread, write_pieces, own);
    if (code == 0) return LIANA_OK;
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->mutex);
    return liana__fail(own->error, LIANA_OUT_OF_MEMORY, "'%s': no thread can be started: %s", own->writer.path,
                       strerror(code));
}

static void end_writing(sink *own)
{
    pthread_mutex_lock(&own->mutex);
    own->ends = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->thread, NULL);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->mutex);
}

static zip_int64_t write_bytes(sink *own, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const piece *before = own->filling;
        bool follows = own->position == before->begin + (zip_int64_t)before->filled;
        if ((!follows || before->filled == PIECE) && before->filled && !flush(own)) return -1;
        piece *to = own->filling;
        if (to->filled == 0) to->begin = own->position;
        size_t part = size - done < PIECE - to->filled ? size - done : PIECE - to->filled;
        memcpy(to->bytes + to->filled, bytes + done, part);
        to->filled += part;
        own->position += (zip_int64_t)part;
        done += part;
    }
    if (own->position > own->end) own->end = own->position;
    return (zip_int64_t)size;
}

/* What libzip asks of a file that is made. */
static zip_int64_t serve(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    sink *own = user;
    zip_int64_t result = 0;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&own->failure, data, length);
    case ZIP_SOURCE_STAT: zip_error_set(&own->failure, ZIP_ER_READ, ENOENT); return -1;
    case ZIP_SOURCE_WRITE: result = write_bytes(own, data, (size_t)length); break;
    case ZIP_SOURCE_TELL_WRITE: return own->position;
    case ZIP_SOURCE_SEEK_WRITE:
        result = zip_source_seek_compute_offset((zip_uint64_t)own->position, (zip_uint64_t)own->end, data, length,
                                                &own->failure);
        if (result < 0) return -1;
        own->position = result;
        return 0;
    case ZIP_SOURCE_COMMIT_WRITE: result = drain(own) ? 0 : -1; break;
    default: return 0;
    }
    if (result < 0) zip_error_set(&own->failure, ZIP_ER_WRITE, EIO);
    return result;
}

static liana_status fill(sink *own, const char *path, const liana__zip_new_entry *entries, size_t count)
{
    zip_error_t reason;
    zip_error_init(&reason);
    zip_source_t *source = zip_source_function_create(serve, own, &reason);
    zip_t *handle = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &reason) : NULL;
    liana_status status =
        handle ? LIANA_OK : liana__zip_fail(own->error, path, NULL, "a zip archive cannot be made", &reason);
    zip_error_fini(&reason);
    if (!handle && source) zip_source_free(source);
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        if (add_entry(handle, &entries[i])) continue;
        status =
            liana__zip_fail(own->error, path, entries[i].name, "the entry cannot be written", zip_get_error(handle));
    }
    if (status == LIANA_OK && zip_close(handle) == 0) return LIANA_OK;
    /* The disk's words say more than libzip's. */
    drain(own);
    if (status == LIANA_OK) {
        status = own->written.status != LIANA_OK
                     ? liana__fail_as(own->error, &own->written)
                     : liana__zip_fail(own->error, path, NULL, "the zip archive cannot be made", zip_get_error(handle));
    }
    if (handle) zip_discard(handle);
    return status;
}

static liana_status check_names(const char *path, const liana__zip_new_entry *entries, size_t count,
                                liana__error *error)
{
    for (size_t i = 0; i < count; i++) {
        const char *fault = fault_of_name(entries[i].name);
        if (!fault) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': the name of entry %zu %s", path, i, fault);
    }
    return LIANA_OK;
}

liana_status liana__zip_write(const char *path, const liana__zip_new_entry *entries, size_t count, liana__error *error)
{
    liana__error unused;
    sink own = {.error = error ? error : &unused};
    if (liana__zip_load(own.error) != LIANA_OK) return liana__fail_within(own.error, "'%s'", path);
    LIANA_TRY(check_names(path, entries, count, own.error));
    LIANA__SCOPED_MEMORY char *buffer = malloc(2 * PIECE);
    if (!buffer) return liana__fail_memory(own.error, path);
    LIANA_TRY(liana__file_begin(&own.writer, path, own.error));
    zip_error_init(&own.failure);
    liana_status status = begin_writing(&own, buffer);
    if (status == LIANA_OK) {
        status = fill(&own, path, entries, count);
        end_writing(&own);
    }
    zip_error_fini(&own.failure);
    if (status == LIANA_OK) return liana__file_commit(&own.writer, true, own.error);
    liana__file_abandon(&own.writer);
    return status;
}
