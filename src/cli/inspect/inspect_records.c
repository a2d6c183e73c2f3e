/* Describes files of records for liana inspect. */
#include "cli/inspect/inspect.h"
#include "formats/example.h"
#include "formats/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A file may hold any number of names and labels; a report does not. */
enum { MAX_FEATURES = 1000, MAX_LABELS = 10000 };

typedef struct extent {
    int64_t low, high;
} extent;

/* The sum over all records for one feature. */
typedef struct feature_sum {
    const char *name;
    liana__feature_kind kind;
    bool mixed; /* of several kinds */
    size_t records;
    extent values; /* number of values in a record */
    extent bytes;  /* size of a byte string */
    bool has_bytes;
    extent height, width;
    size_t jpegs, pngs;
    size_t broken; /* images whose header cannot be read */
} feature_sum;

typedef struct label_count {
    int64_t label;
    int64_t records;
} label_count;

typedef struct survey {
    liana__arena *arena;
    feature_sum *features;
    size_t num_features, feature_capacity;
    const char *label_feature;
    label_count *labels; /* in ascending order */
    size_t num_labels, label_capacity;
    size_t num_damaged; /* wrong checksums */
    size_t num_others;  /* no tf.Example */
    liana__error first_damage;
    liana__error first_other;
    bool failed; /* out of memory */
} survey;

static void widen(extent *range, int64_t value, bool first)
{
    if (first || value < range->low) range->low = value;
    if (first || value > range->high) range->high = value;
}

static feature_sum *find_feature(survey *all, const liana__feature *feature)
{
    for (size_t i = 0; i < all->num_features; i++) {
        if (strcmp(all->features[i].name, feature->name) == 0) return &all->features[i];
    }
    if (all->num_features == MAX_FEATURES) return NULL;
    char *name = liana__arena_string(all->arena, feature->name);
    if (!name || !liana__grow(&all->features, all->num_features, &all->feature_capacity, sizeof *all->features)) {
        all->failed = true;
        return NULL;
    }
    feature_sum *sum = &all->features[all->num_features++];
    *sum = (feature_sum){.name = name, .kind = feature->kind};
    return sum;
}

static void add_image(feature_sum *sum, const ProtobufCBinaryData *bytes)
{
    liana__image_kind kind = liana__image_sniff(bytes->data, bytes->len);
    if (kind == LIANA__IMAGE_UNKNOWN) return;
    liana__image image = {0};
    bool first = sum->jpegs + sum->pngs == sum->broken;
    sum->jpegs += kind == LIANA__IMAGE_JPEG;
    sum->pngs += kind == LIANA__IMAGE_PNG;
    if (liana__image_probe(bytes->data, bytes->len, NULL, &image, NULL) == LIANA_OK) {
        widen(&sum->height, image.height, first);
        widen(&sum->width, image.width, first);
    } else {
        sum->broken++;
    }
    liana__image_free(&image);
}

static void add_feature(survey *all, const liana__feature *feature)
{
    feature_sum *sum = find_feature(all, feature);
    if (!sum) return;
    /* A missing value is of no kind. */
    if (sum->kind == LIANA__FEATURE_EMPTY) sum->kind = feature->kind;
    sum->mixed |= feature->kind != LIANA__FEATURE_EMPTY && feature->kind != sum->kind;
    widen(&sum->values, (int64_t)feature->count, sum->records == 0);
    for (size_t i = 0; feature->kind == LIANA__FEATURE_BYTES && i < feature->count; i++) {
        widen(&sum->bytes, (int64_t)feature->bytes[i].len, !sum->has_bytes);
        sum->has_bytes = true;
        add_image(sum, &feature->bytes[i]);
    }
    sum->records++;
}

static void add_label(survey *all, int64_t label)
{
    size_t low = 0, high = all->num_labels;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->labels[middle].label < label) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == all->num_labels || all->labels[low].label != label) {
        if (all->num_labels == MAX_LABELS) return;
        if (!liana__grow(&all->labels, all->num_labels, &all->label_capacity, sizeof *all->labels)) {
            all->failed = true;
            return;
        }
        memmove(all->labels + low + 1, all->labels + low, (all->num_labels - low) * sizeof *all->labels);
        all->labels[low] = (label_count){label, 0};
        all->num_labels++;
    }
    all->labels[low].records++;
}

/* The names under which the known data sets keep their classes. */
static void count_label(survey *all, const liana__example *example)
{
    static const char *const names[] = {"class", "label", "image/class/label"};
    liana__feature feature;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool usable = liana__example_find(example, names[i], &feature) && feature.kind == LIANA__FEATURE_INT64 &&
                      feature.count == 1;
        if (!usable || (all->label_feature && strcmp(all->label_feature, names[i]) != 0)) continue;
        all->label_feature = names[i];
        add_label(all, feature.int64s[0]);
        return;
    }
}

static void look_at(survey *all, const liana__tfrecord *file, size_t record, liana__example *example)
{
    const uint8_t *bytes;
    size_t size;
    liana__error error;
    if (liana__tfrecord_get(file, record, &bytes, &size, &error) != LIANA_OK) {
        if (all->num_damaged++ == 0) all->first_damage = error;
    } else if (liana__example_parse(example, liana__tfrecord_name(file), record, bytes, size, &error) != LIANA_OK) {
        if (all->num_others++ == 0) all->first_other = error;
    } else {
        for (size_t i = 0; i < liana__example_num_features(example); i++) {
            liana__feature feature = liana__example_feature(example, i);
            add_feature(all, &feature);
        }
        count_label(all, example);
    }
}

/* --- The report -------------------------------------------------------------------------------------------------- */

/* "5" or "3 to 7". */
static void set_range(liana__arena *arena, liana__value *row, const char *key, const extent *range)
{
    if (range->low == range->high) {
        liana__findings_int(arena, row, key, range->low);
        return;
    }
    char *text = liana__arena_format(arena, "%" PRId64 " to %" PRId64, range->low, range->high);
    if (text) liana__findings_text(arena, row, key, text);
}

static void report_feature(survey *all, const feature_sum *sum, liana__value *rows)
{
    liana__arena *arena = all->arena;
    liana__value *row = liana__value_map(arena);
    liana__findings_text(arena, row, "feature", sum->name);
    liana__findings_text(arena, row, "kind", sum->mixed ? "mixed" : liana__feature_kind_name(sum->kind));
    liana__findings_int(arena, row, "records", (int64_t)sum->records);
    set_range(arena, row, "values", &sum->values);
    if (sum->has_bytes) set_range(arena, row, "bytes", &sum->bytes);
    if (sum->jpegs + sum->pngs > 0) {
        char *text = liana__arena_format(arena, "%s%s%s", sum->jpegs ? "JPEG" : "", sum->jpegs && sum->pngs ? ", " : "",
                                         sum->pngs ? "PNG" : "");
        if (text) liana__findings_text(arena, row, "images", text);
    }
    if (sum->jpegs + sum->pngs > sum->broken) {
        set_range(arena, row, "height", &sum->height);
        set_range(arena, row, "width", &sum->width);
    }
    if (sum->broken) liana__findings_int(arena, row, "damaged_images", (int64_t)sum->broken);
    liana__value_add(arena, rows, row);
}

static void report_survey(survey *all, liana__value *report)
{
    liana__arena *arena = all->arena;
    liana__findings_int(arena, report, "wrong_checksums", (int64_t)all->num_damaged);
    if (all->num_others) {
        liana__findings_int(arena, report, "records_that_are_no_example", (int64_t)all->num_others);
        liana__findings_text(arena, report, "first_of_them", all->first_other.message);
    }
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < all->num_features; i++) report_feature(all, &all->features[i], rows);
    liana__value_set(arena, report, "features", rows);
    if (!all->label_feature) return;
    liana__value *labels = liana__value_list(arena);
    for (size_t i = 0; i < all->num_labels; i++) {
        liana__value *row = liana__value_map(arena);
        liana__findings_int(arena, row, "label", all->labels[i].label);
        liana__findings_int(arena, row, "records", all->labels[i].records);
        liana__value_add(arena, labels, row);
    }
    liana__findings_text(arena, report, "label_feature", all->label_feature);
    liana__value_set(arena, report, "labels", labels);
}

/* Opens a file, or the whole records of a cut one: then `damage` is the reason. */
static liana_status open_file(const char *path, liana__tfrecord **file, liana__error *damage, liana__error *error)
{
    liana_status status = liana__tfrecord_open(path, NULL, file, damage);
    if (status == LIANA_OK) return LIANA_OK;
    const liana__tfrecord_options start = {.keep_start = true};
    if (status == LIANA_DATA_LOSS && liana__tfrecord_open(path, &start, file, NULL) == LIANA_OK) return LIANA_OK;
    *error = *damage;
    return status;
}

static void report_end(const liana__tfrecord *file, liana__value *report, liana__arena *arena)
{
    uint64_t end, lost;
    const char *reason = liana__tfrecord_damage(file, &end, &lost);
    if (!reason) return;
    liana__findings_int(arena, report, "whole_until", (int64_t)end);
    liana__findings_int(arena, report, "lost_bytes", (int64_t)lost);
}

static liana_status report_examples(const liana__tfrecord *file, liana__value *report, liana__arena *arena,
                                    liana__error *error)
{
    survey all = {.arena = arena};
    liana__example example = {0};
    for (size_t record = 0; record < liana__tfrecord_count(file); record++) look_at(&all, file, record, &example);
    report_survey(&all, report);
    liana__example_free(&example);
    free(all.features);
    free(all.labels);
    if (all.failed) return liana__fail_memory(error, liana__tfrecord_name(file));
    if (all.num_damaged) *error = all.first_damage;
    return all.num_damaged ? error->status : LIANA_OK;
}

liana_status liana__inspect_tfrecord(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__tfrecord *file;
    liana__error damage = {0};
    LIANA_TRY(open_file(path, &file, &damage, error));
    const bool events = liana__inspect_is_event_file(file);
    liana__findings_text(arena, report, "kind", events ? "TensorBoard event file" : "TFRecord");
    liana__findings_text(arena, report, "compression", liana__tfrecord_compression(file));
    liana__findings_int(arena, report, "records", (int64_t)liana__tfrecord_count(file));
    report_end(file, report, arena);
    liana_status status = (events ? liana__inspect_events : report_examples)(file, report, arena, error);
    liana__tfrecord_close(file);
    if (status == LIANA_OUT_OF_MEMORY || damage.status == LIANA_OK) return status;
    *error = damage;
    return damage.status;
}
