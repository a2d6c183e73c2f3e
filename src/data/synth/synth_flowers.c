/* Draws a data set of flowers and writes its shards. */
#include "data/synth/synth_flowers.h"

#include "base/cpu.h"
#include "base/random.h"
#include "base/scoped.h"
#include "base/threads.h"
#include "data/convert/shards.h"
#include "data/synth/synth_draw.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Images drawn at a time: enough to keep the threads busy, few enough to hold in memory. */
enum { BLOCK = 256, MAX_IMAGES = 100000000, MAX_SHARDS = 10000 };

#define OPTION(member, type, text, low, high, sentence)                                                        \
    {                                                                                                          \
        .name = #member, .kind = type, .offset = offsetof(liana__synth_options, member), .default_text = text, \
        .minimum = low, .maximum = high, .doc = sentence                                                       \
    }

static const liana__field option_fields[] = {
    OPTION(classes, LIANA__FIELD_INT, "10", 2, LIANA__MAX_FLOWER_CLASSES, "number of classes"),
    OPTION(images, LIANA__FIELD_INT, "2000", 2, MAX_IMAGES, "number of images, of all splits together"),
    OPTION(image_size, LIANA__FIELD_INT, "96", 16, 2048, "width and height in pixels"),
    OPTION(validation, LIANA__FIELD_FLOAT, "0.15", 0, 0.9, "share of the images in the validation split"),
    OPTION(test, LIANA__FIELD_FLOAT, "0.15", 0, 0.9, "share of the images in the test split, which has no classes"),
    OPTION(shards, LIANA__FIELD_INT, "4", 1, MAX_SHARDS, "files of the train split; the others get a quarter as many"),
    OPTION(seed, LIANA__FIELD_INT, "1", 0, 9007199254740992.0, "another seed draws other images"),
    OPTION(quality, LIANA__FIELD_INT, "90", 1, 100, "quality of the JPEGs"),
    OPTION(overwrite, LIANA__FIELD_BOOL, "false", 0, 0, "replace the shards that the folder holds"),
};

const liana__fields liana__synth_fields = {
    .name = "synth flowers",
    .size = sizeof(liana__synth_options),
    .count = sizeof option_fields / sizeof *option_fields,
    .items = option_fields,
};

/* One run. */
typedef struct drawing_run {
    const char *folder;
    const liana__synth_options *options;
    liana__flower_shape *shapes;
    liana__pool *pool;
    liana__shards shards;
    liana__example_builder builder;
    liana__synth_progress progress;
    void *user;
    int64_t done;
    int64_t total;
    liana__error *error;
} drawing_run;

typedef struct split {
    uint32_t number; /* part of each image's address */
    const char *name;
    int64_t count;
    int64_t shards;
    bool labelled;
} split;

/* Images in the making: tasks write to slots of their own. */
typedef struct block {
    const drawing_run *run;
    const split *split;
    int64_t first;
    liana__text jpegs[BLOCK];
    int64_t classes[BLOCK];
    liana__error errors[BLOCK];
    uint8_t *pixels; /* one image for each thread */
} block;

/* --- Drawing ----------------------------------------------------------------------------------------------------- */

static void draw_one(void *user, size_t task, int worker)
{
    block *images = user;
    const drawing_run *run = images->run;
    const liana__synth_options *options = run->options;
    int size = (int)options->image_size;
    uint8_t *pixels = images->pixels + (size_t)worker * (size_t)size * (size_t)size * 3;
    /* Images are numbered with their classes going round, and stored in a random order. */
    uint64_t index = liana__permute((uint64_t)options->seed, images->split->number, (uint64_t)images->first + task,
                                    (uint64_t)images->split->count);
    liana__synth_address address = {(uint64_t)options->seed, images->split->number, (uint32_t)index};
    images->classes[task] = (int64_t)(index % (uint64_t)options->classes);
    liana__error *error = &images->errors[task];
    liana__text *jpeg = &images->jpegs[task];
    jpeg->length = 0;
    error->status = liana__synth_draw(&run->shapes[images->classes[task]], &address, size, pixels, error);
    if (error->status != LIANA_OK) return;
    error->status = liana__jpeg_encode(pixels, size, size, 3, (int)options->quality, jpeg, error);
}

static liana_status write_example(drawing_run *run, liana__tfrecord_writer *writer, const block *images, size_t slot)
{
    char id[64];
    snprintf(id, sizeof id, "%s%08" PRId64, images->split->name, images->first + (int64_t)slot);
    liana__example_add_bytes(&run->builder, "image", images->jpegs[slot].data, images->jpegs[slot].length);
    if (images->split->labelled) liana__example_add_int64s(&run->builder, "class", &images->classes[slot], 1);
    liana__example_add_bytes(&run->builder, "id", id, strlen(id));
    const uint8_t *bytes;
    size_t size;
    LIANA_TRY(liana__example_pack(&run->builder, &bytes, &size, run->error));
    return liana__tfrecord_writer_add(writer, bytes, size, run->error);
}

static liana_status write_block(drawing_run *run, liana__tfrecord_writer *writer, block *images, size_t count)
{
    liana__pool_run(run->pool, count, draw_one, images);
    for (size_t slot = 0; slot < count; slot++) {
        if (images->errors[slot].status != LIANA_OK) return liana__fail_as(run->error, &images->errors[slot]);
        LIANA_TRY(write_example(run, writer, images, slot));
    }
    run->done += (int64_t)count;
    if (!run->progress || run->progress(run->user, run->done, run->total)) return LIANA_OK;
    return liana__fail(run->error, LIANA_CANCELLED, "'%s': stopped after %" PRId64 " of %" PRId64 " images",
                       run->folder, run->done, run->total);
}

static liana_status write_shard(drawing_run *run, block *images, const char *path, int64_t first, int64_t last)
{
    liana__tfrecord_writer writer;
    LIANA_TRY(liana__tfrecord_writer_begin(&writer, path, run->error));
    liana_status status = LIANA_OK;
    for (images->first = first; images->first < last && status == LIANA_OK; images->first += BLOCK) {
        int64_t left = last - images->first;
        status = write_block(run, &writer, images, (size_t)(left < BLOCK ? left : BLOCK));
    }
    if (status == LIANA_OK) return liana__tfrecord_writer_commit(&writer, true, run->error);
    liana__tfrecord_writer_abandon(&writer);
    return status;
}

static liana_status write_shards(drawing_run *run, block *images, const split *part)
{
    for (int64_t shard = 0; shard < part->shards; shard++) {
        int64_t first = part->count * shard / part->shards, last = part->count * (shard + 1) / part->shards;
        const char *path;
        LIANA_TRY(liana__shards_path(&run->shards, part->name, (size_t)shard, (size_t)part->shards,
                                     (size_t)(last - first), &path, run->error));
        LIANA_TRY(write_shard(run, images, path, first, last));
    }
    return LIANA_OK;
}

static liana_status write_split(drawing_run *run, const split *part)
{
    if (part->count == 0) return LIANA_OK;
    size_t size = (size_t)run->options->image_size;
    block *images = calloc(1, sizeof *images);
    uint8_t *pixels = malloc(size * size * 3 * (size_t)liana__pool_num_threads(run->pool));
    liana_status status = LIANA_OK;
    if (!images || !pixels) {
        status = liana__fail_memory(run->error, "drawn images");
    } else {
        images->run = run;
        images->split = part;
        images->pixels = pixels;
        status = write_shards(run, images, part);
        for (int slot = 0; slot < BLOCK; slot++) liana__text_free(&images->jpegs[slot]);
    }
    free(images);
    free(pixels);
    return status;
}

/* --- The folder -------------------------------------------------------------------------------------------------- */

static liana_status write_class_names(drawing_run *run)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (int64_t i = 0; i < run->options->classes; i++) {
        char name[128];
        liana__flower_shape_name(&run->shapes[i], name, sizeof name);
        liana__text_add(&text, "%s\n", name);
    }
    return liana__shards_class_names(&run->shards, &text, run->error);
}

static liana_status write_splits(drawing_run *run, const split *splits, size_t num_splits)
{
    for (size_t i = 0; i < num_splits; i++) LIANA_TRY(write_split(run, &splits[i]));
    LIANA_TRY(write_class_names(run));
    return liana__shards_commit(&run->shards, run->error);
}

static liana_status write_all(drawing_run *run, const split *splits, size_t num_splits)
{
    LIANA_TRY(liana__shards_begin(&run->shards, run->folder, "flowers", run->options->overwrite, "overwrite=true",
                                  run->error));
    liana_status status = write_splits(run, splits, num_splits);
    if (status != LIANA_OK) liana__shards_abandon(&run->shards);
    return status;
}

static liana_status check_options(const liana__synth_options *options, liana__error *error)
{
    for (size_t i = 0; i < liana__synth_fields.count; i++) {
        const liana__field *field = &liana__synth_fields.items[i];
        if (field->kind == LIANA__FIELD_BOOL) continue;
        const char *member = (const char *)options + field->offset;
        double value = field->kind == LIANA__FIELD_FLOAT ? *(const double *)(const void *)member
                                                         : (double)*(const int64_t *)(const void *)member;
        if (value >= field->minimum && value <= field->maximum) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG, "synth flowers: %s is %g, expected %g to %g", field->name,
                           value, field->minimum, field->maximum);
    }
    return LIANA_OK;
}

static liana_status check_counts(const liana__synth_options *options, const liana__synth_counts *counts,
                                 liana__error *error)
{
    int64_t least = options->classes > options->shards ? options->classes : options->shards;
    if (counts->train >= least) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "synth flowers: %" PRId64 " images leave %" PRId64 " to train on after validation %g and test "
                       "%g, expected at least %" PRId64 " (one for each class and shard)",
                       options->images, counts->train, options->validation, options->test, least);
}

static int64_t quarter_of(int64_t shards, int64_t count)
{
    int64_t quarter = shards < 4 ? 1 : shards / 4;
    return quarter < count ? quarter : count;
}

liana_status liana__synth_flowers(const char *folder, const liana__synth_options *options, int num_threads,
                                  liana__synth_progress progress, void *user, liana__synth_counts *counts,
                                  liana__error *error)
{
    LIANA_TRY(check_options(options, error));
    counts->validation = llround((double)options->images * options->validation);
    counts->test = llround((double)options->images * options->test);
    counts->train = options->images - counts->validation - counts->test;
    LIANA_TRY(check_counts(options, counts, error));
    const split splits[] = {
        {0, liana__split_folders[0], counts->train, options->shards, true},
        {1, liana__split_folders[1], counts->validation, quarter_of(options->shards, counts->validation), true},
        {2, liana__split_folders[2], counts->test, quarter_of(options->shards, counts->test), false},
    };
    drawing_run run = {.folder = folder,
                       .options = options,
                       .progress = progress,
                       .user = user,
                       .total = options->images,
                       .error = error};
    run.shapes = malloc((size_t)options->classes * sizeof *run.shapes);
    if (!run.shapes) return liana__fail_memory(error, "the classes' shapes");
    liana__flower_shapes(run.shapes, (size_t)options->classes);
    liana_status status = liana__pool_create(num_threads ? num_threads : liana__cpu_count(), &run.pool, error);
    if (status == LIANA_OK) {
        status = write_all(&run, splits, sizeof splits / sizeof *splits);
        liana__pool_destroy(run.pool);
    }
    liana__example_builder_free(&run.builder);
    free(run.shapes);
    return status;
}
