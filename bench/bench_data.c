/* The speed of the input pipeline, against bare libjpeg-turbo's decoding: for bench_data.sh.
 *
 *   bench_data PATTERN FOLDER [ROUNDS]
 *
 * PATTERN: TFRecords of JPEGs of one size, FOLDER: for the cache file, which is left there, and for a large one. All
 * contenders take turns, ROUNDS (7) times, and the medians are printed as JSON lines: {"name", "threads", "rate",
 * "unit", "share"}; share is that of libjpeg-turbo with as many threads. Files come from the page cache but where it
 * says otherwise. */
#include "base/clock.h"
#include "base/context.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/recorder.h"
#include "data/augment/augment.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/tfrecord.h"
#include "formats/yaml.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* jpeglib.h needs FILE and size_t from the headers above. */
#include <jpeglib.h>

enum { MAX_ROUNDS = 99, MAX_FILES = 4096, BATCH = 64, MOST_THREADS = 64 };

static const char AUGMENT[] =
    "[random_perspective, random_flip, {random_brightness: {factor: 0.2}}, {random_contrast: {factor: 0.2}}, "
    "{random_saturation: {factor: 0.2}}]";

static const char BF16_NOTE[] = "u8 to bf16 in [-1, 1]";

typedef struct blob {
    const uint8_t *bytes;
    size_t size;
} blob;

typedef struct bench {
    liana_context *context;
    const char *pattern;
    const char *folder;
    liana__source *source;
    void *scratch;
    size_t count;
    blob *blobs; /* the encoded images */
    int64_t height;
    int64_t width;
    int threads;
    liana__error error;
} bench;

static void fail(const char *message)
{
    fprintf(stderr, "bench_data: %s\n", message);
    exit(1);
}

static void demand(bench *b, liana_status status)
{
    if (status != LIANA_OK) fail(b->error.message);
}

/* ---- libjpeg-turbo alone: one decoder for each thread, rows as many at once as it gives ---- */

typedef struct bare_part {
    const bench *bench;
    size_t begin;
    size_t end;
} bare_part;

static void *decode_bare(void *argument)
{
    const bare_part *part = argument;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_decompress(&jpeg);
    uint8_t *pixels = malloc((size_t)(part->bench->height * part->bench->width * 3));
    for (size_t i = part->begin; pixels && i < part->end; i++) {
        jpeg_mem_src(&jpeg, part->bench->blobs[i].bytes, part->bench->blobs[i].size);
        jpeg_read_header(&jpeg, TRUE);
        jpeg.out_color_space = JCS_RGB;
        jpeg_start_decompress(&jpeg);
        while (jpeg.output_scanline < jpeg.output_height) {
            JSAMPROW rows[16];
            JDIMENSION left = jpeg.output_height - jpeg.output_scanline, count = left < 16 ? left : 16;
            for (JDIMENSION k = 0; k < count; k++) {
                rows[k] = pixels + (size_t)(jpeg.output_scanline + k) * jpeg.output_width * 3;
            }
            jpeg_read_scanlines(&jpeg, rows, count);
        }
        jpeg_finish_decompress(&jpeg);
    }
    jpeg_destroy_decompress(&jpeg);
    free(pixels);
    return NULL;
}

static double run_bare(bench *b)
{
    pthread_t threads[MOST_THREADS];
    bare_part parts[MOST_THREADS];
    double begin = liana__clock_seconds();
    for (int i = 0; i < b->threads; i++) {
        size_t count = b->count, n = (size_t)b->threads, k = (size_t)i;
        parts[i] = (bare_part){b, count * k / n, count * (k + 1) / n};
        if (pthread_create(&threads[i], NULL, decode_bare, &parts[i]) != 0) fail("no thread");
    }
    for (int i = 0; i < b->threads; i++) pthread_join(threads[i], NULL);
    return (double)b->count / (liana__clock_seconds() - begin);
}

/* ---- the pipeline: one epoch after another that warms up ---- */

typedef void (*consumer)(const liana__batch *batch, size_t image_size, void *memory);

static liana__loader_options plain_options(const bench *b)
{
    return (liana__loader_options){.image = {.height = b->height, .width = b->width, .channels = 3},
                                   .batch_size = BATCH,
                                   .shuffle = true,
                                   .seed = 1,
                                   .num_threads = b->threads};
}

static double run_loader(bench *b, const char *augment_list, bool cached, consumer consume, void *memory)
{
    liana__arena arena = {0};
    liana__augment *augment = NULL;
    liana__image_cache_file_options file = {.folder = b->folder, .name = "bench", .settings = ""};
    liana__loader_options options = plain_options(b);
    if (cached) options.cache_file = &file;
    if (augment_list) {
        liana__value *list;
        liana_image_shape shape = {b->height, b->width, 3};
        demand(b, liana__yaml_parse(augment_list, strlen(augment_list), "list", &arena, &list, &b->error));
        demand(b, liana__augment_create(b->context, list, "augment", &shape, &augment, &b->error));
        options.augment = augment;
    }
    liana__loader *loader;
    demand(b, liana__loader_create(b->source, &options, &loader, &b->error));
    demand(b, liana__loader_begin(loader, 0, 0, &b->error));
    uint64_t steps = liana__loader_steps_per_epoch(loader, 0), epochs = cached ? 6 : 2;
    double begin = liana__clock_seconds();
    int64_t images = 0;
    for (uint64_t step = 0; step < epochs * steps; step++) {
        liana__batch *batch;
        demand(b, liana__loader_next(loader, &batch, &b->error));
        if (step == steps) {
            begin = liana__clock_seconds();
            images = 0;
        }
        images += batch->count;
        if (consume) consume(batch, (size_t)(b->height * b->width * 3), memory);
        liana__loader_release(loader, batch);
    }
    double rate = (double)images / (liana__clock_seconds() - begin);
    liana__loader_destroy(loader);
    liana__augment_destroy(augment);
    liana__arena_free(&arena);
    return rate;
}

static double run_decode(bench *b)
{
    return run_loader(b, NULL, false, NULL, NULL);
}

static double run_augment(bench *b)
{
    return run_loader(b, AUGMENT, false, NULL, NULL);
}

static double run_cached(bench *b)
{
    return run_loader(b, NULL, true, NULL, NULL);
}

static double run_cached_augment(bench *b)
{
    return run_loader(b, AUGMENT, true, NULL, NULL);
}

/* As a graph in mixed precision begins: each byte becomes a bf16 of x / 127.5 - 1. On the consumer's thread. */
#if defined(LIANA_X86) && !defined(__clang__)
__attribute__((target("avx2"), optimize("O3")))
#endif
static void
to_bf16(const liana__batch *batch, size_t image_size, void *memory)
{
    uint16_t *restrict out = memory;
    const uint8_t *restrict images = batch->images;
    for (size_t i = 0; i < (size_t)batch->count * image_size; i++) {
        union {
            float number;
            uint32_t bits;
        } value = {(float)images[i] * (1 / 127.5f) - 1};
        out[i] = (uint16_t)((value.bits + 0x7FFF + (value.bits >> 16 & 1)) >> 16);
    }
}

static double run_cached_bf16(bench *b)
{
    void *memory = liana__allocate_large((size_t)(BATCH * b->height * b->width * 3) * 2);
    if (!memory) fail("out of memory");
    double rate = run_loader(b, NULL, true, to_bf16, memory);
    free(memory);
    return rate;
}

/* ---- files ---- */

/* Every record of every file, lengths and data checked, by one thread: GB/s. */
static double run_scan(bench *b)
{
    liana__arena arena = {0};
    liana__paths paths;
    size_t bytes = 0;
    demand(b, liana__file_match(b->pattern, &arena, &paths, &b->error));
    double begin = liana__clock_seconds();
    for (int turn = 0; turn < 8; turn++) {
        for (size_t i = 0; i < paths.count; i++) {
            liana__tfrecord *file;
            demand(b, liana__tfrecord_open(paths.items[i], NULL, &file, &b->error));
            for (size_t record = 0; record < liana__tfrecord_count(file); record++) {
                const uint8_t *data;
                size_t size;
                demand(b, liana__tfrecord_get(file, record, &data, &size, &b->error));
                bytes += size;
            }
            liana__tfrecord_close(file);
        }
    }
    double rate = (double)bytes * 1e-9 / (liana__clock_seconds() - begin);
    liana__arena_free(&arena);
    return rate;
}

/* From before the files are opened to the first batch: ms. */
static double run_start(bench *b)
{
    double begin = liana__clock_seconds();
    liana__source *source;
    liana__loader *loader;
    liana__batch *batch;
    demand(b, liana__source_open(&b->pattern, 1, NULL, &source, &b->error));
    liana__loader_options options = plain_options(b);
    demand(b, liana__loader_create(source, &options, &loader, &b->error));
    demand(b, liana__loader_begin(loader, 0, 0, &b->error));
    demand(b, liana__loader_next(loader, &batch, &b->error));
    double seconds = liana__clock_seconds() - begin;
    liana__loader_destroy(loader);
    liana__source_close(source);
    return seconds * 1e3;
}

/* ---- from the disk: a large file that is not in the page cache, in no order ---- */

enum { LARGE_FILE = 1 << 30, COLD_STEPS = 30 };

static void append(FILE *out, const char *path)
{
    char buffer[1 << 16];
    size_t size;
    FILE *in = fopen(path, "rb");
    if (!in) fail(path);
    while ((size = fread(buffer, 1, sizeof buffer, in)) > 0) {
        if (fwrite(buffer, 1, size, out) != size) fail("the disk is full");
    }
    fclose(in);
}

/* The records of all files, again and again. */
static void write_large(const bench *b, const char *path)
{
    glob_t files;
    FILE *out = fopen(path, "wb");
    if (!out || glob(b->pattern, 0, NULL, &files) != 0) fail(path);
    for (size_t i = 0; ftell(out) < LARGE_FILE; i = (i + 1) % files.gl_pathc) append(out, files.gl_pathv[i]);
    if (fflush(out) != 0 || fsync(fileno(out)) != 0) fail("the disk is full");
    fclose(out);
    globfree(&files);
}

static double run_cold(bench *b, bool announced)
{
    liana__arena arena = {0};
    const char *path = liana__path_join(&arena, b->folder, "large.tfrec");
    liana__source *source;
    liana__loader *loader;
    if (!path) fail("out of memory");
    if (!liana__file_exists(path)) write_large(b, path);
    demand(b, liana__source_open(&path, 1, NULL, &source, &b->error));
    liana_source_type kind = *source->kind;
    if (!announced) kind.expect = NULL;
    source->kind = &kind;
    int descriptor = open(path, O_RDONLY);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
    liana__loader_options options = plain_options(b);
    demand(b, liana__loader_create(source, &options, &loader, &b->error));
    double begin = liana__clock_seconds();
    demand(b, liana__loader_begin(loader, 0, 0, &b->error));
    for (int step = 0; step < COLD_STEPS; step++) {
        liana__batch *batch;
        demand(b, liana__loader_next(loader, &batch, &b->error));
        liana__loader_release(loader, batch);
    }
    double rate = COLD_STEPS * BATCH / (liana__clock_seconds() - begin);
    liana__loader_destroy(loader);
    liana__source_close(source);
    liana__arena_free(&arena);
    return rate;
}

static double run_cold_announced(bench *b)
{
    return run_cold(b, true);
}

static double run_cold_plain(bench *b)
{
    return run_cold(b, false);
}

static void remove_large(const bench *b)
{
    liana__arena arena = {0};
    const char *path = liana__path_join(&arena, b->folder, "large.tfrec");
    if (path) remove(path);
    liana__arena_free(&arena);
}

/* ---- all in turns ---- */

typedef struct contender {
    const char *name;
    double (*run)(bench *b);
    int threads; /* 0: as many as there are */
    const char *unit;
    bool decodes; /* and is compared with libjpeg-turbo */
    double rates[MAX_ROUNDS];
} contender;

static contender contenders[] = {
    {.name = "libjpeg-turbo", .run = run_bare, .threads = 1, .unit = "images/s"},
    {.name = "decode and batch", .run = run_decode, .threads = 1, .unit = "images/s", .decodes = true},
    {.name = "perspective, flip, three of colour",
     .run = run_augment,
     .threads = 1,
     .unit = "images/s",
     .decodes = true},
    {.name = "libjpeg-turbo", .run = run_bare, .unit = "images/s"},
    {.name = "decode and batch", .run = run_decode, .unit = "images/s", .decodes = true},
    {.name = "perspective, flip, three of colour", .run = run_augment, .unit = "images/s", .decodes = true},
    {.name = "cache: file", .run = run_cached, .unit = "images/s"},
    {.name = "cache: file, augmented", .run = run_cached_augment, .unit = "images/s"},
    {.name = "cache: file, made bf16", .run = run_cached_bf16, .unit = "images/s"},
    {.name = "scan with checksums", .run = run_scan, .threads = 1, .unit = "GB/s"},
    {.name = "first batch after opening", .run = run_start, .unit = "ms"},
    {.name = "decode and batch, 1 GiB from the disk", .run = run_cold_announced, .unit = "images/s"},
    {.name = "the same, records not announced", .run = run_cold_plain, .unit = "images/s"},
};
enum { NUM_CONTENDERS = sizeof contenders / sizeof *contenders };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(contender *c, int rounds)
{
    qsort(c->rates, (size_t)rounds, sizeof *c->rates, compare);
    return rounds % 2 ? c->rates[rounds / 2] : (c->rates[rounds / 2 - 1] + c->rates[rounds / 2]) / 2;
}

static void read_images(bench *b)
{
    liana_source_record record;
    b->count = (size_t)b->source->num_records;
    b->blobs = calloc(b->count, sizeof *b->blobs);
    b->scratch = liana__source_scratch_create(b->source);
    if (!b->blobs || !b->scratch) fail("out of memory");
    liana__probe first;
    demand(b, liana__decode_probe(b->source, &first, &b->error));
    b->height = first.height;
    b->width = first.width;
    for (size_t i = 0; i < b->count; i++) {
        demand(b, liana__source_read(b->source, i, b->scratch, &record, &b->error));
        uint8_t *copy = malloc(record.size);
        if (!record.bytes || !copy) fail("these are no encoded images");
        b->blobs[i] = (blob){memcpy(copy, record.bytes, record.size), record.size};
    }
}

static void report(int rounds, int cores)
{
    double bare[2] = {median(&contenders[0], rounds), median(&contenders[3], rounds)};
    for (int i = 0; i < NUM_CONTENDERS; i++) {
        contender *c = &contenders[i];
        printf("{\"name\": \"%s\", \"threads\": %d, \"rate\": %.2f, \"unit\": \"%s\"", c->name,
               c->threads ? c->threads : cores, median(c, rounds), c->unit);
        if (c->decodes) printf(", \"share\": %.3f", median(c, rounds) / bare[c->threads ? 0 : 1]);
        if (c->run == run_cached_bf16) printf(", \"note\": \"%s\"", BF16_NOTE);
        printf("}\n");
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) fail("usage: bench_data PATTERN FOLDER [ROUNDS]");
    bench b = {.pattern = argv[1], .folder = argv[2]};
    int rounds = argc > 3 ? atoi(argv[3]) : 7, cores = liana__cpu_count();
    if (rounds < 1 || rounds > MAX_ROUNDS) fail("ROUNDS is 1 to 99");
    if (liana_context_create(NULL, &b.context) != LIANA_OK) fail("no context");
    demand(&b, liana__source_open(&b.pattern, 1, NULL, &b.source, &b.error));
    read_images(&b);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < NUM_CONTENDERS; i++) {
            b.threads = contenders[i].threads ? contenders[i].threads : cores < MOST_THREADS ? cores : MOST_THREADS;
            contenders[i].rates[round] = contenders[i].run(&b);
        }
    }
    report(rounds, cores);
    remove_large(&b);
    for (size_t i = 0; i < b.count; i++) free((void *)(uintptr_t)b.blobs[i].bytes);
    free(b.blobs);
    liana__source_scratch_destroy(b.source, b.scratch);
    liana__source_close(b.source);
    liana_context_destroy(b.context);
    return 0;
}
