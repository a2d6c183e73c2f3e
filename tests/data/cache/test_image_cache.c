/* The cache of decoded images: in memory, and in files that outlive runs, crashes and other processes. */
#include "harness/harness.h"

#include "base/crc32c.h"
#include "base/memory.h"
#include "data/cache/decoded_file.h"
#include "data/cache/image_cache.h"
#include "data/loader/loader.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the file ---- */

enum { COUNT = 20, SIZE = 100, PAGE = 4096, HEAD = 256, STRIDE = HEAD + 128 };

static liana__decoded_file_contents usual_contents(void)
{
    return (liana__decoded_file_contents){COUNT, SIZE, {{1, 2}}, {{3, 4}}};
}

static liana__decoded_file *open_file(const char *path, const liana__decoded_file_contents *contents, const char *why)
{
    liana__error error = {0};
    liana__decoded_file *file;
    char replaced[80] = "?";
    assert_ok(liana__decoded_file_open(path, contents, &file, replaced, sizeof replaced, &error), &error);
    assert_string_equal(replaced, why);
    return file;
}

static void fill(uint8_t pixels[SIZE], uint64_t record)
{
    for (int i = 0; i < SIZE; i++) pixels[i] = (uint8_t)(record * 7 + (uint64_t)i * 3);
}

static void write_entry(const liana__decoded_file *file, uint64_t record)
{
    liana__error error = {0};
    uint8_t pixels[SIZE];
    char id[20];
    fill(pixels, record);
    liana__decoded_file_entry entry = {.pixels = pixels,
                                       .label = (int32_t)record - 1,
                                       .id = record % 3 ? id : NULL,
                                       .id_size = record % 3 ? 4 : 0};
    snprintf(id, sizeof id, "id%02d", (int)record);
    assert_ok(liana__decoded_file_write(file, record, &entry, &error), &error);
}

/* Reads an entry to memory of the test's, which the next one overwrites. */
static liana__decoded_file_state find_entry(const liana__decoded_file *file, uint64_t record,
                                            liana__decoded_file_entry *entry)
{
    static uint8_t pixels[SIZE];
    static liana__decoded_file_room room;
    room.pixels = pixels;
    return liana__decoded_file_find(file, record, &room, entry);
}

static void assert_entry(const liana__decoded_file *file, uint64_t record)
{
    liana__decoded_file_entry entry;
    uint8_t pixels[SIZE];
    fill(pixels, record);
    assert_int_equal(find_entry(file, record, &entry), LIANA__DECODED_FILE_WHOLE);
    assert_memory_equal(entry.pixels, pixels, SIZE);
    assert_int_equal(entry.label, (int32_t)record - 1);
    assert_int_equal(entry.id_size, record % 3 ? 4 : 0);
    char id[20];
    snprintf(id, sizeof id, "id%02d", (int)record);
    if (record % 3) assert_memory_equal(entry.id, id, 4);
    if (record % 3 == 0) assert_null(entry.id);
}

static void assert_state(const liana__decoded_file *file, uint64_t record, liana__decoded_file_state expected)
{
    liana__decoded_file_entry entry;
    assert_int_equal(find_entry(file, record, &entry), expected);
}

static void change_byte(const char *path, off_t offset)
{
    int descriptor = open(path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(descriptor, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(descriptor, &byte, 1, offset), 1);
    close(descriptor);
}

static void test_entries_come_back(void **state)
{
    (void)state;
    const char *path = liana__test_path("entries.images");
    liana__decoded_file_contents contents = usual_contents();
    liana__decoded_file *file = open_file(path, &contents, ""), *other = open_file(path, &contents, "");
    for (uint64_t i = 0; i < COUNT; i++) assert_state(file, i, LIANA__DECODED_FILE_EMPTY);
    for (uint64_t i = 0; i < COUNT; i += 2) write_entry(i % 4 ? file : other, i);
    for (uint64_t i = 0; i < COUNT; i++) {
        if (i % 2 == 0) assert_entry(file, i);
        if (i % 2) assert_state(other, i, LIANA__DECODED_FILE_EMPTY);
    }
    liana__decoded_file_close(file);
    liana__decoded_file_close(other);
    file = open_file(path, &contents, "");
    for (uint64_t i = 0; i < COUNT; i += 2) assert_entry(file, i);
    /* An id that does not fit, and one that just does. */
    char id[LIANA__DECODED_FILE_ID_SIZE + 1];
    uint8_t pixels[SIZE] = {0};
    memset(id, 'x', sizeof id);
    liana__error error = {0};
    liana__decoded_file_entry entry = {.pixels = pixels, .label = 1, .id = id, .id_size = sizeof id};
    assert_ok(liana__decoded_file_write(file, 1, &entry, &error), &error);
    assert_state(file, 1, LIANA__DECODED_FILE_EMPTY);
    entry.id_size--;
    assert_ok(liana__decoded_file_write(file, 1, &entry, &error), &error);
    assert_int_equal(find_entry(file, 1, &entry), LIANA__DECODED_FILE_WHOLE);
    assert_int_equal(entry.id_size, LIANA__DECODED_FILE_ID_SIZE);
    liana__decoded_file_close(file);
}

/* Whatever byte of an entry changes, it is found; the others stay, and it can be written again. */
static void test_each_damage_is_found(void **state)
{
    (void)state;
    const char *path = liana__test_path("damage.images");
    liana__decoded_file_contents contents = usual_contents();
    liana__decoded_file *file = open_file(path, &contents, "");
    for (uint64_t i = 0; i < COUNT; i++) write_entry(file, i);
    for (off_t i = 0; i < HEAD + SIZE; i++) {
        change_byte(path, PAGE + 7 * STRIDE + i);
        assert_state(file, 7, LIANA__DECODED_FILE_DAMAGED);
        assert_entry(file, 6);
        assert_entry(file, 8);
        write_entry(file, 7);
        assert_entry(file, 7);
    }
    /* An entry in another's place is whole, but not the right one. */
    int descriptor = open(path, O_RDWR);
    uint8_t bytes[STRIDE];
    assert_int_equal(pread(descriptor, bytes, STRIDE, PAGE + 3 * STRIDE), STRIDE);
    assert_int_equal(pwrite(descriptor, bytes, STRIDE, PAGE + 4 * STRIDE), STRIDE);
    assert_state(file, 4, LIANA__DECODED_FILE_DAMAGED);
    assert_entry(file, 3);
    /* Of a file that is cut while it is in use, the part before the cut is there, wherever the cut is. */
    for (off_t end = PAGE + 3 * STRIDE; end > PAGE + 2 * STRIDE; end -= 40) {
        assert_int_equal(ftruncate(descriptor, end), 0);
        for (uint64_t i = 0; i < 2; i++) assert_entry(file, i);
        liana__decoded_file_entry entry;
        bool cut = end < PAGE + 2 * STRIDE + HEAD + SIZE;
        assert_int_equal(find_entry(file, 2, &entry), cut ? LIANA__DECODED_FILE_SHORTER : LIANA__DECODED_FILE_WHOLE);
        for (uint64_t i = 3; i < COUNT; i++) assert_state(file, i, LIANA__DECODED_FILE_SHORTER);
    }
    close(descriptor);
    liana__decoded_file_close(file);
}

static void test_other_files_are_replaced(void **state)
{
    (void)state;
    const char *path = liana__test_path("replaced.images");
    liana__decoded_file_contents contents = usual_contents(), changed = contents;
    liana__decoded_file *file = open_file(path, &contents, ""), *other;
    write_entry(file, 5);
    changed.sources.words[0]++;
    other = open_file(path, &changed, "the source files changed");
    assert_state(other, 5, LIANA__DECODED_FILE_EMPTY);
    assert_entry(file, 5); /* of the file that was */
    liana__decoded_file_close(other);
    liana__decoded_file_close(file);
    changed.settings.words[1]++;
    liana__decoded_file_close(open_file(path, &changed, "the images are decoded in another way"));
    changed.image_size++;
    liana__decoded_file_close(open_file(path, &changed, "the images are decoded in another way"));

    char text[] = "id,label\n1,2\n";
    liana__decoded_file_close(
        open_file(liana__test_write("text.images", text, sizeof text), &contents, "it is not a cache of images"));
    liana__decoded_file_close(
        open_file(liana__test_write("empty.images", text, 0), &contents, "it is not a cache of images"));
    for (off_t i = 0; i < PAGE; i++) {
        liana__decoded_file_close(open_file(path, &contents, i == 0 ? "the source files changed" : ""));
        change_byte(path, i);
        const char *why = i < 8    ? "it is not a cache of images"
                          : i < 12 ? "it was made on a machine with another byte order"
                          : i < 16 ? "it was made by another version of liana"
                                   : "its header is damaged";
        liana__decoded_file_close(open_file(path, &contents, why));
        if (i == 200) i = PAGE - 8;
    }
    assert_int_equal(truncate(path, PAGE + STRIDE), 0);
    liana__decoded_file_close(open_file(path, &contents, "its length has changed"));
}

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__decoded_file *file;
    liana__decoded_file_contents contents = usual_contents();
    assert_fails(liana__decoded_file_open(liana__test_path("none/x.images"), &contents, &file, NULL, 0, &error),
                 LIANA_NOT_FOUND, &error, "none/x.images");
    contents.num_records = UINT64_MAX / 2;
    assert_fails(liana__decoded_file_open(liana__test_path("x.images"), &contents, &file, NULL, 0, &error),
                 LIANA_OUT_OF_RANGE, &error, "x.images", "100 bytes");
    mkdir(liana__test_path("folder.images"), 0777);
    contents = usual_contents();
    assert_fails(liana__decoded_file_open(liana__test_path("folder.images"), &contents, &file, NULL, 0, &error),
                 LIANA_IO_ERROR, &error, "folder.images", "directory");
}

/* ---- two processes, and a kill at any moment ---- */

static void write_for_ever(const char *path)
{
    liana__error error = {0};
    liana__decoded_file_contents contents = usual_contents();
    liana__decoded_file *file;
    if (liana__decoded_file_open(path, &contents, &file, NULL, 0, &error) != LIANA_OK) _exit(1);
    for (uint64_t i = 0;; i++) {
        uint8_t pixels[SIZE];
        fill(pixels, i % COUNT);
        liana__decoded_file_entry entry = {.pixels = pixels, .label = (int32_t)(i % COUNT) - 1};
        if (liana__decoded_file_write(file, i % COUNT, &entry, &error) != LIANA_OK) _exit(1);
    }
}

static void test_killed_writers_leave_whole_entries(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path("killed.images"));
    liana__decoded_file_contents contents = usual_contents();
    int num_whole = 0;
    /* Where the writers come to nothing in so short a time, later trials give them more. */
    for (int trial = 0; trial < 30 || num_whole <= 100; trial++) {
        if (trial % 5 == 0) unlink(path);
        pid_t writers[2];
        for (int i = 0; i < 2; i++) {
            writers[i] = fork();
            assert_compare(writers[i], >=, 0, i);
            if (writers[i] == 0) write_for_ever(path);
        }
        usleep((useconds_t)(300 * trial));
        for (int i = 0; i < 2; i++) kill(writers[i], SIGKILL);
        for (int i = 0; i < 2; i++) {
            int status;
            waitpid(writers[i], &status, 0);
            assert_true(WIFSIGNALED(status));
        }
        liana__decoded_file *file = open_file(path, &contents, "");
        for (uint64_t i = 0; i < COUNT; i++) {
            liana__decoded_file_entry entry;
            uint8_t pixels[SIZE];
            fill(pixels, i);
            liana__decoded_file_state found = find_entry(file, i, &entry);
            if (found != LIANA__DECODED_FILE_WHOLE) continue; /* the one that was being written */
            assert_memory_equal(entry.pixels, pixels, SIZE);
            num_whole++;
        }
        liana__decoded_file_close(file);
    }
}

/* ---- under a loader ---- */

enum { SIDE = 4, RECORDS = 50 };

typedef struct counted_source {
    liana__source base;
    const char *file;
    int num_reads;
    pthread_mutex_t mutex;
} counted_source;

static liana_record_address counted_address(const void *base, uint64_t index)
{
    const counted_source *source = (const counted_source *)base;
    return (liana_record_address){.file = source->file, .record = (int64_t)index};
}

typedef struct counted_scratch {
    uint8_t pixels[SIDE * SIDE];
    char id[16];
} counted_scratch;

static liana_status read_counted(void *base, liana_source_record *record)
{
    const uint64_t index = record->index;
    void *memory = record->scratch;
    counted_source *source = (counted_source *)(uintptr_t)base;
    counted_scratch *scratch = memory;
    pthread_mutex_lock(&source->mutex);
    source->num_reads++;
    pthread_mutex_unlock(&source->mutex);
    memset(scratch->pixels, (int)index * 5, sizeof scratch->pixels);
    snprintf(scratch->id, sizeof scratch->id, "n%d", (int)index);
    *record = (liana_source_record){.pixels = scratch->pixels,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .channels = 1,
                                    .has_label = true,
                                    .label = (int64_t)index,
                                    .id = scratch->id,
                                    .id_size = strlen(scratch->id)};
    return LIANA_OK;
}

static const liana_source_type counted_kind = {.part = {.name = "counted"},
                                               .read = read_counted,
                                               .address = counted_address,
                                               .scratch_size = sizeof(counted_scratch)};

/* One epoch through the cache in a folder, checked; returns how many records were read, and the note in `note`. */
static int run_epoch(const char *file, const char *folder, const char *settings, int side, liana__text *note)
{
    liana__error error = {0};
    counted_source source = {.base = {.kind = &counted_kind, .num_records = RECORDS, .has_labels = true},
                             .file = file,
                             .mutex = PTHREAD_MUTEX_INITIALIZER};
    liana__image_cache_file_options cache = {.folder = folder, .name = "training", .settings = settings};
    liana__loader_options options = {.image = {.height = side, .width = side, .channels = 1},
                                     .batch_size = 8,
                                     .num_threads = 2,
                                     .num_epochs = 1,
                                     .shuffle = true,
                                     .cache_file = &cache};
    liana__loader *loader;
    assert_ok(liana__loader_create(&source.base, &options, &loader, &error), &error);
    assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
    int count = 0;
    for (;;) {
        liana__batch *batch;
        assert_ok(liana__loader_next(loader, &batch, &error), &error);
        if (!batch) break;
        for (int64_t i = 0; i < batch->count; i++, count++) {
            char id[16];
            snprintf(id, sizeof id, "n%d", (int)batch->records[i]);
            assert_string_equal(batch->ids[i], id);
            assert_compare(batch->labels[i], ==, batch->records[i], i);
            for (int k = 0; k < side * side; k++) {
                assert_compare(batch->images[i * side * side + k], ==, (uint8_t)(batch->records[i] * 5), i, k);
            }
        }
        liana__loader_release(loader, batch);
    }
    assert_int_equal(count, RECORDS);
    note->length = 0;
    bool any = liana__image_cache_take_note(liana__loader_cache(loader), note);
    assert_int_equal(any, note->length > 0);
    assert_false(liana__image_cache_take_note(liana__loader_cache(loader), note));
    liana__loader_destroy(loader);
    return source.num_reads;
}

static void test_runs_share_a_file(void **state)
{
    (void)state;
    char data[512], folder[512];
    snprintf(data, sizeof data, "%s", liana__test_write("data.bin", "data", 4));
    snprintf(folder, sizeof folder, "%s", liana__test_path("shared/cache"));
    liana__text note = {0};
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), RECORDS);
    assert_int_equal(note.length, 0);
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), 0);
    assert_int_equal(note.length, 0);
    /* Other settings and other sizes have files of their own. */
    assert_int_equal(run_epoch(data, folder, "b", SIDE, &note), RECORDS);
    assert_int_equal(run_epoch(data, folder, "a", SIDE + 1, &note), RECORDS);
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), 0);
    assert_int_equal(run_epoch(data, folder, "b", SIDE, &note), 0);
    assert_int_equal(note.length, 0);
    /* Another file of the same name: of another size, of another time. */
    liana__test_write("data.bin", "longer", 6);
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), RECORDS);
    assert_says(note.data, "the source files changed");
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), 0);
    struct timespec times[2] = {{1, 0}, {1, 5}};
    assert_int_equal(utimensat(AT_FDCWD, data, times, 0), 0);
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), RECORDS);
    assert_int_equal(run_epoch(data, folder, "a", SIDE, &note), 0);
    liana__text_free(&note);
}

/* The only file in a folder. */
static const char *only_file(const char *folder)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    static char path[1024];
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    assert_int_equal(names.count, 1);
    snprintf(path, sizeof path, "%s/%s", folder, names.items[0]);
    liana__arena_free(&arena);
    return path;
}

static void test_damaged_images_are_made_anew(void **state)
{
    (void)state;
    char data[512], folder[512];
    snprintf(data, sizeof data, "%s", liana__test_write("damaged.bin", "data", 4));
    snprintf(folder, sizeof folder, "%s", liana__test_path("damaged"));
    liana__text note = {0};
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), RECORDS);
    const char *path = only_file(folder);
    assert_says(path, "training-");
    const off_t stride = HEAD + 64;
    change_byte(path, PAGE + 11 * stride + HEAD + 3);
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), 1);
    assert_says(note.data, "1 image was damaged");
    assert_says(note.data, "damaged.bin', record 11");
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), 0);
    change_byte(path, PAGE + 11 * stride + 20);
    change_byte(path, PAGE + 40 * stride);
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), 2);
    assert_says(note.data, "2 images were damaged");
    /* A run that was killed in the middle goes on where it was. */
    int descriptor = open(path, O_RDWR);
    for (int i = 0; i < 30; i++) {
        uint64_t none = 0;
        assert_int_equal(pwrite(descriptor, &none, sizeof none, PAGE + i * stride), 8);
    }
    close(descriptor);
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), 30);
    assert_int_equal(note.length, 0);
    liana__text_free(&note);
}

/* A limit on the size of files stands for a full disk: writing fails in the middle of the file. */
static void test_a_full_disk_stops_no_run(void **state)
{
    (void)state;
    char data[512], folder[512];
    snprintf(data, sizeof data, "%s", liana__test_write("full.bin", "data", 4));
    snprintf(folder, sizeof folder, "%s", liana__test_path("full"));
    liana__text note = {0};
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), RECORDS);
    const char *path = only_file(folder);
    int descriptor = open(path, O_RDWR);
    for (int i = 0; i < RECORDS; i++) {
        uint64_t none = 0;
        assert_int_equal(pwrite(descriptor, &none, sizeof none, PAGE + i * (HEAD + 64)), 8);
    }
    close(descriptor);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = PAGE + 20 * (HEAD + 64);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int reads = run_epoch(data, folder, "", SIDE, &note);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(reads, RECORDS);
    assert_says(note.data, "decoded in each epoch");
    assert_says(note.data, path);
    reads = run_epoch(data, folder, "", SIDE, &note);
    assert_compare(reads, >, RECORDS - 20);
    assert_compare(reads, <=, RECORDS);
    assert_int_equal(run_epoch(data, folder, "", SIDE, &note), 0);
    liana__text_free(&note);
}

/* ---- in memory ---- */

static void test_memory_keeps_the_first(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image_cache *cache;
    uint8_t a[3] = {1, 2, 3}, b[3] = {4, 5, 6};
    assert_ok(liana__image_cache_create(2, 3, &cache, &error), &error);
    assert_int_equal(liana__image_cache_size(cache), 6);
    assert_null(liana__image_cache_path(cache));
    liana__cached_image image = {.pixels = a, .label = 7, .id = "x\0y", .id_size = 3}, found;
    assert_false(liana__image_cache_find(cache, 1, NULL, &found));
    liana__image_cache_keep(cache, 1, &image);
    image.pixels = b;
    liana__image_cache_keep(cache, 1, &image);
    liana__image_cache_keep(cache, 2, &image); /* there is no such place */
    assert_false(liana__image_cache_find(cache, 2, NULL, &found));
    assert_true(liana__image_cache_find(cache, 1, NULL, &found));
    assert_memory_equal(found.pixels, a, 3);
    assert_int_equal(found.label, 7);
    assert_int_equal(found.id_size, 3);
    assert_memory_equal(found.id, "x\0y", 3);
    liana__image_cache_destroy(cache);
    assert_false(liana__image_cache_find(NULL, 0, NULL, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_come_back),
        cmocka_unit_test(test_each_damage_is_found),
        cmocka_unit_test(test_other_files_are_replaced),
        cmocka_unit_test(test_files_that_cannot_be),
        cmocka_unit_test(test_killed_writers_leave_whole_entries),
        cmocka_unit_test(test_runs_share_a_file),
        cmocka_unit_test(test_damaged_images_are_made_anew),
        cmocka_unit_test(test_a_full_disk_stops_no_run),
        cmocka_unit_test(test_memory_keeps_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
