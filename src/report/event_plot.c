/* Draws the numbers of event files. */
#include "report/event_plot.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/event.h"
#include "formats/tfrecord.h"
#include "report/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, DEEPEST = 6 };

/* A number of a tag. */
typedef struct point {
    double step, number;
    size_t order; /* in which it was written */
} point;

typedef struct series {
    const char *tag;
    point *points;
    size_t count, capacity;
} series;

/* A folder with event files, or a file that is named. */
typedef struct source {
    const char *name;
    series *items;
    size_t count, capacity;
} source;

typedef struct reading {
    source sources[LIANA__FIGURE_INKS];
    size_t count;
    const char *damage;
    size_t num_points;
    liana__arena *arena;
    liana__error *error;
} reading;

/* ---- files ---- */

static bool is_event_file(const char *path)
{
    liana__tfrecord *file;
    const uint8_t *bytes;
    size_t size;
    static const liana__tfrecord_options options = {.keep_start = true};
    if (liana__tfrecord_open(path, &options, &file, NULL) != LIANA_OK) return false;
    const bool is_one = liana__tfrecord_count(file) && liana__tfrecord_get(file, 0, &bytes, &size, NULL) == LIANA_OK &&
                        liana__event_begins_file(bytes, size);
    liana__tfrecord_close(file);
    return is_one;
}

/* As TensorBoard finds them: by their names. */
static bool has_name_of_events(const char *name)
{
    return strstr(name, "tfevents") != NULL;
}

static bool has_files(const char *folder, int depth)
{
    liana__arena arena = {0};
    liana__paths names;
    bool found = false;
    const liana_status status = liana__folder_list(folder, &arena, &names, NULL);
    for (size_t i = 0; status == LIANA_OK && !found && i < names.count; i++) {
        const char *path = liana__path_join(&arena, folder, names.items[i]);
        const bool is_folder = path && liana__folder_exists(path);
        found =
            path && (is_folder ? depth < DEEPEST && has_files(path, depth + 1) : has_name_of_events(names.items[i]));
    }
    liana__arena_free(&arena);
    return found;
}

bool liana__event_plot_takes(const char *path)
{
    char history[4096];
    if (!liana__folder_exists(path)) return liana__file_exists(path) && is_event_file(path);
    snprintf(history, sizeof history, "%s/history.json", path);
    return !liana__file_exists(history) && has_files(path, 0);
}

/* ---- reading ---- */

static bool add_point(reading *own, source *to, const char *tag, point added)
{
    size_t i = 0;
    while (i < to->count && strcmp(to->items[i].tag, tag) != 0) i++;
    if (i == to->count) {
        const char *name = liana__arena_string(own->arena, tag);
        if (!name || !liana__grow(&to->items, to->count, &to->capacity, sizeof *to->items)) return false;
        to->items[to->count++] = (series){.tag = name};
    }
    series *of = &to->items[i];
    if (!liana__grow(&of->points, of->count, &of->capacity, sizeof *of->points)) return false;
    of->points[of->count++] = added;
    return true;
}

static bool add_event(reading *own, source *to, const liana__event_record *event)
{
    bool added = true;
    for (size_t i = 0; added && i < event->num_values; i++) {
        const liana__event_value *value = &event->values[i];
        if (!value->has_number) continue;
        added = add_point(own, to, value->tag, (point){(double)event->step, value->number, own->num_points++});
    }
    return added;
}

static void note_damage(reading *own, const char *path, const char *what)
{
    if (!own->damage) own->damage = liana__arena_format(own->arena, "'%s': %s", path, what);
}

static liana_status read_file(reading *own, source *to, const char *path)
{
    static const liana__tfrecord_options options = {.keep_start = true};
    liana__tfrecord *file;
    uint64_t offset, lost;
    LIANA_TRY(liana__tfrecord_open(path, &options, &file, own->error));
    bool added = true;
    for (size_t i = 0; added && i < liana__tfrecord_count(file); i++) {
        const uint8_t *bytes;
        size_t size;
        liana__error fault = {0};
        liana__event_record event = {0};
        if (liana__tfrecord_get(file, i, &bytes, &size, &fault) != LIANA_OK ||
            liana__event_parse(bytes, size, &event, &fault) != LIANA_OK) {
            note_damage(own, path, fault.message);
        } else {
            added = add_event(own, to, &event);
        }
        liana__event_free(&event);
    }
    const char *damage = liana__tfrecord_damage(file, &offset, &lost);
    if (damage) note_damage(own, path, damage);
    liana__tfrecord_close(file);
    return added ? LIANA_OK : liana__fail_memory(own->error, path);
}

static liana_status add_source(reading *own, const char *name, source **added)
{
    if (own->count == LIANA__FIGURE_INKS) {
        return liana__fail(own->error, LIANA_INVALID_CONFIG,
                           "plot: more than %d folders of event files, '%s' among them; name those that are wanted",
                           LIANA__FIGURE_INKS, name);
    }
    *added = &own->sources[own->count++];
    **added = (source){.name = name};
    return LIANA_OK;
}

/* The files of a folder are one source: a process that goes on writes another file. `name`: the folder's in the key. */
static liana_status read_folder(reading *own, const char *folder, const char *name, int depth)
{
    liana__paths names;
    source *to = NULL;
    LIANA_TRY(liana__folder_list(folder, own->arena, &names, own->error));
    for (size_t i = 0; i < names.count; i++) {
        const char *path = liana__path_join(own->arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(own->error, folder);
        if (liana__folder_exists(path)) {
            const char *inner = liana__arena_format(own->arena, "%s%s%s", name, *name ? "/" : "", names.items[i]);
            if (!inner) return liana__fail_memory(own->error, folder);
            if (depth < DEEPEST) LIANA_TRY(read_folder(own, path, inner, depth + 1));
            continue;
        }
        if (!has_name_of_events(names.items[i])) continue;
        if (!to) LIANA_TRY(add_source(own, *name ? name : liana__path_name(folder), &to));
        LIANA_TRY(read_file(own, to, path));
    }
    /* A folder without numbers, such as that of hyperparameters, takes no colour. */
    if (to && !to->count && to == &own->sources[own->count - 1]) own->count--;
    return LIANA_OK;
}

static liana_status read_all(reading *own, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        source *to = NULL;
        if (liana__folder_exists(paths[i])) {
            /* Of several folders each is named; of one those in it. */
            LIANA_TRY(read_folder(own, paths[i], count > 1 ? paths[i] : "", 0));
        } else {
            LIANA_TRY(add_source(own, liana__path_name(paths[i]), &to));
            LIANA_TRY(read_file(own, to, paths[i]));
        }
    }
    return LIANA_OK;
}

static void free_all(reading *own)
{
    for (size_t i = 0; i < own->count; i++) {
        for (size_t k = 0; k < own->sources[i].count; k++) free(own->sources[i].items[k].points);
        free(own->sources[i].items);
    }
}

/* ---- tags ---- */

typedef struct tag_list {
    const char **items;
    size_t count;
} tag_list;

static bool has_tag(const tag_list *list, const char *tag)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], tag) == 0) return true;
    }
    return false;
}

/* Those without a group first, each in the order of the files. */
static bool list_tags(const reading *own, tag_list *list)
{
    size_t most = 1;
    for (size_t i = 0; i < own->count; i++) most += own->sources[i].count;
    *list = (tag_list){.items = liana__arena_allocate(own->arena, most * sizeof *list->items)};
    for (int grouped = 0; list->items && grouped < 2; grouped++) {
        for (size_t i = 0; i < own->count; i++) {
            for (size_t k = 0; k < own->sources[i].count; k++) {
                const char *tag = own->sources[i].items[k].tag;
                const bool is_grouped = strchr(tag, '/') != NULL;
                if (is_grouped == (grouped == 1) && !has_tag(list, tag)) list->items[list->count++] = tag;
            }
        }
    }
    return list->items != NULL;
}

static liana_status check_tags(const tag_list *known, const char *const *wanted, size_t count, liana__error *error)
{
    if (!known->count) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "plot: the event files have no numbers; 'liana inspect' shows "
                           "what is in them");
    }
    for (size_t i = 0; i < count; i++) {
        liana__nearest_search nearest = liana__nearest_begin(wanted[i]);
        if (has_tag(known, wanted[i])) continue;
        for (size_t k = 0; k < known->count; k++) liana__nearest_add(&nearest, known->items[k]);
        return liana__fail(error, LIANA_INVALID_CONFIG, "plot: none of the event files has numbers of '%.100s'%s",
                           wanted[i], liana__hint(nearest.nearest).text);
    }
    return LIANA_OK;
}

/* ---- lines ---- */

static int by_step(const void *a, const void *b)
{
    const point *left = a, *right = b;
    if (left->step != right->step) return left->step < right->step ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

/* False: there is no memory. */
static bool make_line(const reading *own, series *of, size_t index, liana__figure_line *line)
{
    double *x = liana__arena_allocate(own->arena, (of->count + 1) * sizeof *x);
    double *y = liana__arena_allocate(own->arena, (of->count + 1) * sizeof *y);
    size_t count = 0;
    if (!x || !y) return false;
    qsort(of->points, of->count, sizeof *of->points, by_step);
    for (size_t i = 0; i < of->count; i++) {
        const point *own_point = &of->points[i];
        count -= count > 0 && x[count - 1] == own_point->step;
        x[count] = own_point->step;
        y[count++] = isfinite(own_point->number) ? own_point->number : (double)NAN;
    }
    *line = (liana__figure_line){.x = x, .y = y, .count = count, .ink = liana__figure_inks[index]};
    return true;
}

static bool make_panel(reading *own, const char *tag, liana__figure_panel *panel)
{
    liana__figure_line *lines = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *lines);
    size_t count = 0;
    bool made = lines != NULL;
    for (size_t i = 0; made && i < own->count; i++) {
        source *from = &own->sources[i];
        for (size_t k = 0; made && k < from->count; k++) {
            if (strcmp(from->items[k].tag, tag) == 0) made = make_line(own, &from->items[k], i, &lines[count++]);
        }
    }
    *panel =
        (liana__figure_panel){.title = tag, .x_label = "step", .whole_x = true, .lines = lines, .num_lines = count};
    return made;
}

static liana_status draw(reading *own, const char *const *tags, size_t count, const char *path)
{
    liana__figure_panel *panels = liana__arena_allocate(own->arena, (count + 1) * sizeof *panels);
    liana__figure_key keys[LIANA__FIGURE_INKS];
    bool made = panels != NULL;
    for (size_t i = 0; made && i < count; i++) made = make_panel(own, tags[i], &panels[i]);
    for (size_t i = 0; i < own->count; i++) {
        keys[i] = (liana__figure_key){.name = own->sources[i].name, .ink = liana__figure_inks[i]};
    }
    if (!made || own->arena->failed) return liana__fail_memory(own->error, path);
    const liana__figure figure = {
        .keys = keys, .num_keys = own->count, .panels = panels, .num_panels = count, .columns = COLUMNS};
    return liana__figure_write(path, &figure, own->error);
}

/* ---- all of it ---- */

static liana_status plot(reading *own, const char *const *tags, size_t num_tags, const char *path,
                         liana__event_plot_facts *facts)
{
    tag_list known;
    if (!list_tags(own, &known)) return liana__fail_memory(own->error, path);
    LIANA_TRY(check_tags(&known, tags, num_tags, own->error));
    const size_t most = known.count < LIANA__EVENT_PLOT_PANELS ? known.count : LIANA__EVENT_PLOT_PANELS;
    *facts = (liana__event_plot_facts){.num_tags = known.count,
                                       .num_drawn = num_tags ? num_tags : most,
                                       .damage = own->damage};
    return draw(own, num_tags ? tags : known.items, facts->num_drawn, path);
}

liana_status liana__plot_events(const char *const *paths, size_t count, const char *const *tags, size_t num_tags,
                                const char *path, liana__event_plot_facts *facts, liana__arena *arena,
                                liana__error *error)
{
    reading own = {.arena = arena, .error = error};
    liana_status status = read_all(&own, paths, count);
    if (status == LIANA_OK) status = plot(&own, tags, num_tags, path, facts);
    free_all(&own);
    return status;
}
