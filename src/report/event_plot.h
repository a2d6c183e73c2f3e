/* event_plot.h - figures of the numbers in event files, of TensorFlow as of liana. */
#ifndef LIANA_REPORT_EVENT_PLOT_H
#define LIANA_REPORT_EVENT_PLOT_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>

enum { LIANA__EVENT_PLOT_PANELS = 12 };

/* Whether a path is an event file, or a folder in which (or in whose folders) there are some, and no run's. */
bool liana__event_plot_takes(const char *path);

/* The outcome of a figure. */
typedef struct liana__event_plot_facts {
    size_t num_tags, num_drawn; /* tags with numbers */
    const char *damage;         /* the first file that is cut or damaged, and where; NULL: none is */
} liana__event_plot_facts;

/* Draws a panel for each tag with numbers, by step; each folder, or file that is named, has a colour. Without `tags`
 * those that come first: tags without a group before tags with one ("batch/loss"), up to LIANA__EVENT_PLOT_PANELS. What
 * stands before a damaged place of a file is drawn. Of several values of a step the last written is taken. Texts of
 * `facts` are in the arena. Errors: INVALID_CONFIG (a tag that no file has, with the nearest name; more folders than
 * there are colours; no numbers at all), IO_ERROR, OUT_OF_MEMORY, those of liana__figure_write. */
liana_status liana__plot_events(const char *const *paths, size_t count, const char *const *tags, size_t num_tags,
                                const char *path, liana__event_plot_facts *facts, liana__arena *arena,
                                liana__error *error) LIANA_MUST_USE;

#endif
