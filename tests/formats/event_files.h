/* event_files.h - what a folder of event files says, read by protobuf's own fields. */
#ifndef LIANA_TESTS_EVENT_FILES_H
#define LIANA_TESTS_EVENT_FILES_H

#include "harness/harness.h"

#include "formats/event.pb-c.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS_MOST = 4000 };

typedef struct events_value {
    char tag[120], plugin[24];
    int64_t step;
    double number;                   /* of a scalar */
    double least, greatest, counted; /* of a histogram */
    int64_t pictures;                /* of images */
} events_value;

/* Pictures that a reader looks for; zeros: none. */
typedef struct events_wish {
    const char *tag;
    int64_t step;
    size_t index;
    liana__image *image;
} events_wish;

typedef struct events {
    events_value items[EVENTS_MOST];
    size_t count, num_files, num_graphs;
    events_wish wish;
} events;

/* The first two texts are the width and the height. */
static inline void events_add_pictures(events *all, events_value *own, const Liana__Event__Tensor *tensor)
{
    liana__error error = {0};
    const events_wish *wish = &all->wish;
    assert_compare(tensor->n_string_val, >, 2);
    own->pictures = (int64_t)tensor->n_string_val - 2;
    if (!wish->tag || strcmp(wish->tag, own->tag) != 0 || wish->step != own->step) return;
    const ProtobufCBinaryData *bytes = &tensor->string_val[2 + wish->index];
    assert_ok(liana__image_decode(bytes->data, bytes->len, &(liana__image_options){0}, wish->image, &error), &error);
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)wish->image->width);
    assert_memory_equal(tensor->string_val[0].data, text, tensor->string_val[0].len);
}

static inline void events_add(events *all, int64_t step, const Liana__Event__SummaryValue *value)
{
    assert_compare(all->count, <, EVENTS_MOST);
    events_value *own = &all->items[all->count++];
    const Liana__Event__Tensor *tensor = value->tensor;
    *own = (events_value){.step = step, .number = (double)NAN};
    snprintf(own->tag, sizeof own->tag, "%s", value->tag);
    snprintf(own->plugin, sizeof own->plugin, "%s", value->metadata->plugin_data->plugin_name);
    if (strcmp(own->plugin, "images") == 0) events_add_pictures(all, own, tensor);
    if (strcmp(own->plugin, "scalars") == 0) own->number = (double)tensor->float_val[0];
    if (strcmp(own->plugin, "histograms") != 0) return;
    const double *rows = tensor->double_val;
    const size_t count = tensor->n_double_val / 3;
    own->least = rows[0];
    own->greatest = rows[(count - 1) * 3 + 1];
    for (size_t i = 0; i < count; i++) own->counted += rows[i * 3 + 2];
}

static inline void events_add_file(events *all, const char *path)
{
    liana__error error = {0};
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    all->num_files++;
    for (size_t i = 0; i < liana__tfrecord_count(file); i++) {
        const uint8_t *bytes;
        size_t size;
        assert_ok(liana__tfrecord_get(file, i, &bytes, &size, &error), &error);
        Liana__Event__Event *event = liana__event__event__unpack(NULL, size, bytes);
        assert_non_null(event);
        all->num_graphs += event->what_case == LIANA__EVENT__EVENT__WHAT_GRAPH_DEF;
        const size_t count = event->what_case == LIANA__EVENT__EVENT__WHAT_SUMMARY ? event->summary->n_value : 0;
        for (size_t k = 0; k < count; k++) events_add(all, event->step, event->summary->value[k]);
        liana__event__event__free_unpacked(event, NULL);
    }
    liana__tfrecord_close(file);
}

static inline void events_read_files(events *all, const char *path)
{
    DIR *entries = opendir(path);
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        char file[2048];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strstr(entry->d_name, "tfevents")) events_add_file(all, file);
    }
    if (entries) closedir(entries);
}

/* All values of a folder of the test's folder, file by file. A folder that is not there has none. */
static inline void events_read(events *all, const char *folder)
{
    char path[1024];
    *all = (events){0};
    snprintf(path, sizeof path, "%s", liana__test_path(folder));
    events_read_files(all, path);
}

/* A picture of a folder; free it. */
static inline void events_read_picture(events *all, const char *folder, const char *tag, int64_t step, size_t index,
                                       liana__image *image)
{
    char path[1024];
    *all = (events){.wish = {tag, step, index, image}};
    snprintf(path, sizeof path, "%s", liana__test_path(folder));
    *image = (liana__image){0};
    events_read_files(all, path);
    if (!image->pixels) fail_msg("%s has no image %zu of '%s' at step %lld", folder, index, tag, (long long)step);
}

/* The value of a tag at a step, which is there once. */
static inline const events_value *events_find(const events *all, const char *tag, int64_t step)
{
    const events_value *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].step != step || strcmp(all->items[i].tag, tag) != 0) continue;
        found = &all->items[i];
        count++;
    }
    if (count != 1) fail_msg("%s has %zu values at step %lld", tag, count, (long long)step);
    return found;
}

/* The steps of a tag, in order: "1 10 20". */
static inline const char *events_steps(const events *all, const char *tag, char *text, size_t size)
{
    int64_t last = INT64_MIN;
    text[0] = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (size_t i = 0; i < all->count; i++) {
            if (strcmp(all->items[i].tag, tag) == 0 && all->items[i].step > last && all->items[i].step < next) {
                next = all->items[i].step;
            }
        }
        if (next == INT64_MAX) return text;
        (void)events_find(all, tag, next);
        const size_t length = strlen(text);
        snprintf(text + length, size - length, "%s%lld", length ? " " : "", (long long)next);
        last = next;
    }
}
#define assert_steps(all, tag, expected)                                                            \
    do {                                                                                            \
        char steps_text[512];                                                                       \
        assert_string_equal(events_steps((all), (tag), steps_text, sizeof steps_text), (expected)); \
    } while (0)

#endif
