/* Draws plans of clusters, for docs/guides/scaling.md.
 *
 *   plot_scaling OUT.svg|OUT.png NAME=FILE...
 *
 * Each FILE is the output of `liana plan --json`. One panel shows the examples a second of each worker, by the number
 * of workers, as a share of one worker's alone. The other panel shows the share of the exchange in a step. Prints the
 * rows of a table with some of the same numbers. */
#include "base/file.h"
#include "formats/json.h"
#include "report/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLANS = LIANA__FIGURE_INKS, MOST_ROWS = 64, MOST_BYTES = 1 << 20 };

typedef struct plan {
    char name[128];
    double workers[MOST_ROWS], rate[MOST_ROWS];
    double efficiency[MOST_ROWS], exchange[MOST_ROWS]; /* percent */
    size_t count;
} plan;

static double number_of(const liana__value *event, const char *key)
{
    const liana__value *value = liana__value_get(event, key);
    return value ? value->number : 0;
}

static bool is_plan(const liana__value *event)
{
    const liana__value *name = liana__value_get(event, "event");
    return name && name->string && strcmp(name->string, "plan") == 0;
}

static liana_status read_line(plan *own, const char *line, size_t length, const char *path, liana__arena *arena,
                              liana__error *error)
{
    liana__value *event;
    LIANA_TRY(liana__json_parse(line, length, path, arena, &event, error));
    if (!is_plan(event) || own->count == MOST_ROWS) return LIANA_OK;
    own->workers[own->count] = number_of(event, "workers");
    own->rate[own->count] = number_of(event, "examples_per_second");
    own->efficiency[own->count] = 100 * number_of(event, "efficiency");
    own->exchange[own->count++] = 100 * number_of(event, "exchange_share");
    return LIANA_OK;
}

static liana_status read_plan(plan *own, const char *argument, liana__arena *arena, liana__error *error)
{
    const char *path = strchr(argument, '=');
    char *text = NULL;
    size_t size;
    if (!path) return liana__fail(error, LIANA_INVALID_ARGUMENT, "found '%s', expected NAME=FILE", argument);
    snprintf(own->name, sizeof own->name, "%.*s", (int)(path - argument), argument);
    LIANA_TRY(liana__file_read(path + 1, MOST_BYTES, &text, &size, error));
    liana_status status = LIANA_OK;
    for (size_t at = 0; status == LIANA_OK && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        if (length) status = read_line(own, text + at, length, path + 1, arena, error);
        at += length + 1;
    }
    free(text);
    if (status != LIANA_OK || own->count) return status;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no plan; 'liana plan --json' prints them", path + 1);
}

/* Markdown: examples a second, then the efficiency: their share of what as many independent workers would reach. */
static void print_rows(const plan *own)
{
    static const double shown[] = {1, 16, 256, 1024, 4096};
    enum { SHOWN = sizeof shown / sizeof *shown };
    for (int shares = 0; shares < 2; shares++) {
        printf(shares ? "| efficiency |" : "| %s: examples/s |", own->name);
        for (size_t i = 0; i < SHOWN; i++) {
            size_t row = 0;
            while (row < own->count && own->workers[row] != shown[i]) row++;
            if (row == own->count) {
                printf(" |");
            } else {
                printf(shares ? " %.0f%% |" : " %.0f |", shares ? own->efficiency[row] : own->rate[row]);
            }
        }
        printf("\n");
    }
}

static liana_status draw(const plan *plans, size_t count, const char *path, liana__error *error)
{
    liana__figure_key keys[MOST_PLANS] = {0};
    liana__figure_line efficiency[MOST_PLANS] = {0}, exchange[MOST_PLANS] = {0};
    for (size_t i = 0; i < count; i++) {
        const plan *one = &plans[i];
        const liana__ink ink = liana__figure_inks[i];
        keys[i] = (liana__figure_key){.name = one->name, .ink = ink};
        efficiency[i] = (liana__figure_line){.x = one->workers, .y = one->efficiency, .count = one->count, .ink = ink};
        exchange[i] = (liana__figure_line){.x = one->workers, .y = one->exchange, .count = one->count, .ink = ink};
    }
    const liana__figure_panel panels[] = {
        {.title = "examples/s of a worker, % of one alone",
         .x_label = "workers",
         .log_x = true,
         .lines = efficiency,
         .num_lines = count},
        {.title = "exchange, % of a step", .x_label = "workers", .log_x = true, .lines = exchange, .num_lines = count},
    };
    const liana__figure figure = {.title = "Steps on many workers, as liana plan foretells them",
                                  .keys = keys,
                                  .num_keys = count,
                                  .panels = panels,
                                  .num_panels = 2,
                                  .columns = 2};
    return liana__figure_write(path, &figure, error);
}

int main(int argc, char **argv)
{
    liana__arena arena = {0};
    liana__error error = {0};
    const size_t count = argc > 2 ? (size_t)argc - 2 : 0;
    plan *plans = calloc(MOST_PLANS, sizeof *plans);
    if (count < 1 || count > MOST_PLANS || !plans) {
        fprintf(stderr, "usage: plot_scaling OUT.svg NAME=FILE... (1 to %d plans)\n", MOST_PLANS);
        free(plans);
        return 2;
    }
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < count; i++) {
        status = read_plan(&plans[i], argv[i + 2], &arena, &error);
    }
    if (status == LIANA_OK) status = draw(plans, count, argv[1], &error);
    for (size_t i = 0; status == LIANA_OK && i < count; i++) print_rows(&plans[i]);
    if (status != LIANA_OK) fprintf(stderr, "plot_scaling: %s\n", error.message);
    liana__arena_free(&arena);
    free(plans);
    return status == LIANA_OK ? 0 : 1;
}
