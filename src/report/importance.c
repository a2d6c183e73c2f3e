/* Measures how much a model depends on each column of its inputs, by permutation (Breiman 2001, "Random forests",
 * section 10): the values of a column are exchanged between examples, and the loss is measured again. */
#include "report/examine.h"
#include "report/reports.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every column costs MOST_REPEATS evaluations of so many examples. */
enum { MOST_EXAMPLES = 4096, MOST_COLUMNS = 64, MOST_REPEATS = 3, LONGEST_NAME = 200 };

typedef struct column {
    size_t component; /* of the batch */
    int64_t index;    /* in its row */
    char name[LONGEST_NAME];
    double rise; /* of the loss */
} column;

typedef struct measuring {
    liana__run *run;
    uint64_t examples; /* at most */
    column *columns;
    size_t num_columns;
    /* All rows of each component of the batches that has columns: [examples]; NULL: none. */
    char *rows[LIANA__MAX_COMPONENTS];
    char *scratch; /* the changed rows of one batch */
    liana__error *error;
} measuring;

/* ---- evaluations ---- */

/* The rows of a component with the values of one column exchanged. */
static void exchange(const measuring *own, const column *of, uint64_t seed, const liana__batch *batch, uint64_t done,
                     uint64_t total)
{
    const liana__batch_component *component = &batch->components[of->component];
    const size_t row = liana__batch_row_size(component), size = liana_dtype_size(component->dtype);
    memcpy(own->scratch, component->rows, (size_t)batch->count * row);
    for (int64_t i = 0; i < batch->count; i++) {
        const uint64_t other = liana__permute(seed, 0, done + (uint64_t)i, total);
        memcpy(own->scratch + (size_t)i * row + (size_t)of->index * size,
               own->rows[of->component] + (size_t)other * row + (size_t)of->index * size, size);
    }
}

static void keep_rows(measuring *own, const liana__batch *batch, uint64_t done)
{
    for (size_t i = 0; i < batch->num_components; i++) {
        const size_t row = liana__batch_row_size(&batch->components[i]);
        if (!own->rows[i]) continue;
        memcpy(own->rows[i] + (size_t)done * row, batch->components[i].rows, (size_t)batch->count * row);
    }
}

/* The loss over the first batches. Without a column, all rows are kept for the others; *count is their number then. */
static liana_status measure(measuring *own, const column *of, uint64_t seed, uint64_t *count, double *loss)
{
    liana__loader *loader = own->run->validation.loader;
    liana__trainer *trainer = own->run->core.trainer;
    liana__totals totals = {0};
    uint64_t done = 0;
    LIANA_TRY(liana__totals_create(liana__trainer_objective(trainer), &totals, own->error));
    liana_status status = liana__loader_begin(loader, 0, 0, own->error);
    for (uint64_t step = 0; status == LIANA_OK && step < liana__loader_steps_per_epoch(loader, 0); step++) {
        liana__batch *batch;
        status = liana__loader_next(loader, &batch, own->error);
        if (status != LIANA_OK || !batch) break;
        if (done + (uint64_t)batch->count > own->examples) {
            liana__loader_release(loader, batch);
            break;
        }
        void *rows = NULL;
        if (!of) keep_rows(own, batch, done);
        if (of) {
            exchange(own, of, seed, batch, done, *count);
            rows = batch->components[of->component].rows;
            batch->components[of->component].rows = own->scratch;
        }
        const float *sums = NULL;
        if (batch->count) status = liana__step_measure(trainer->step, batch, NULL, &sums, own->error);
        if (status == LIANA_OK && sums) liana__totals_add(&totals, sums, batch->count, 0);
        if (of) batch->components[of->component].rows = rows;
        done += (uint64_t)batch->count;
        liana__loader_release(loader, batch);
    }
    *loss = status == LIANA_OK && totals.count ? liana__totals_value(&totals, 0) : NAN;
    if (!of) *count = done;
    liana__totals_free(&totals);
    return status;
}

/* ---- columns ---- */

static size_t find_component(const liana__source *source, const char *name)
{
    size_t i = 0;
    while (i < source->num_components && strcmp(source->components[i].name, name) != 0) i++;
    return i;
}

/* The columns of one input: `at` is its component in the batches, `from` the source's. */
static void add_columns(measuring *own, const liana__batch *batch, size_t at, size_t from, liana__arena *arena)
{
    const liana__batch_component *component = &batch->components[at];
    const int64_t count = liana_shape_size(&component->shape);
    own->rows[at] = liana__arena_allocate(arena, (size_t)own->examples * liana__batch_row_size(component) + 1);
    for (int64_t k = 0; own->rows[at] && k < count && own->num_columns < MOST_COLUMNS; k++) {
        column *of = &own->columns[own->num_columns++];
        *of = (column){.component = at, .index = k};
        liana__column_title(own->run->validation.source, from, k, of->name, sizeof of->name);
    }
}

/* The columns of the inputs that are numbers, with room for their rows. */
static liana_status list_columns(measuring *own, const liana__batch *batch, liana__arena *arena)
{
    const liana_model *model = own->run->model;
    const liana__source *source = own->run->validation.source;
    const liana__data_match *match = &own->run->validation.match;
    size_t largest = 1;
    for (size_t i = match->has_image; i < liana__model_num_inputs(model) && i < LIANA__MAX_INPUTS; i++) {
        const liana__component_name name = liana__input_component(model, i);
        const size_t at = liana__batch_find(batch, name.text);
        const size_t from =
            match->inputs[i].name ? find_component(source, match->inputs[i].name) : source->num_components;
        const bool is_text = liana__model_input(model, i).texts != NULL;
        if (is_text || at == batch->num_components || from == source->num_components) continue;
        const size_t row = liana__batch_row_size(&batch->components[at]);
        if (row > largest) largest = row;
        add_columns(own, batch, at, from, arena);
    }
    own->scratch = liana__arena_allocate(arena, largest * (size_t)(batch->num_positions + 1));
    return arena->failed ? liana__fail_memory(own->error, "the importance of columns") : LIANA_OK;
}

static liana_status find_columns(measuring *own, liana__arena *arena)
{
    liana__loader *loader = own->run->validation.loader;
    liana__batch *batch = NULL;
    LIANA_TRY(liana__loader_begin(loader, 0, 0, own->error));
    LIANA_TRY(liana__loader_next(loader, &batch, own->error));
    if (!batch) return LIANA_OK;
    liana_status status = list_columns(own, batch, arena);
    liana__loader_release(loader, batch);
    return status;
}

static int by_falling_rise(const void *a, const void *b)
{
    const double first = ((const column *)a)->rise, second = ((const column *)b)->rise;
    return (first < second) - (first > second);
}

static liana_status measure_all(measuring *own, double *base)
{
    uint64_t count = 0;
    LIANA_TRY(measure(own, NULL, 0, &count, base));
    for (size_t i = 0; i < own->num_columns; i++) {
        column *of = &own->columns[i];
        for (uint64_t repeat = 0; repeat < MOST_REPEATS; repeat++) {
            double loss;
            LIANA_TRY(measure(own, of, 1 + repeat * MOST_COLUMNS + i, &count, &loss));
            of->rise += (loss - *base) / MOST_REPEATS;
        }
        /* A column that the model does not need may lower the loss a little, by chance. */
        if (!(of->rise > 0)) of->rise = 0;
    }
    qsort(own->columns, own->num_columns, sizeof *own->columns, by_falling_rise);
    return LIANA_OK;
}

static liana_status draw(const measuring *own, double base, const liana__drawings *drawings)
{
    char title[120];
    const char *labels[MOST_COLUMNS];
    double rises[MOST_COLUMNS];
    for (size_t i = 0; i < own->num_columns; i++) {
        labels[i] = own->columns[i].name;
        rises[i] = own->columns[i].rise;
    }
    snprintf(title, sizeof title, "How much the loss, %.4g, rises without a column", base);
    const liana__bar_series series = {"rise of the loss", rises, liana__ink_first};
    const liana__bars bars = {.title = title,
                              .labels = labels,
                              .count = own->num_columns,
                              .series = &series,
                              .num_series = 1,
                              .fractions = true};
    const liana__drawing drawing = {.name = "importance", .kind = LIANA__DRAWING_BARS, .bars = &bars};
    return liana__drawings_add(drawings, &drawing, own->error);
}

liana_status liana__report_importance(liana__run *run, const liana__drawings *drawings, liana__error *error)
{
    const uint64_t total = liana__loader_epoch_length(run->validation.loader, 0);
    measuring own = {.run = run, .examples = total < MOST_EXAMPLES ? total : MOST_EXAMPLES, .error = error};
    liana__arena arena = {0};
    double base = NAN;
    own.columns = liana__arena_allocate(&arena, MOST_COLUMNS * sizeof *own.columns);
    liana_status status = own.columns ? find_columns(&own, &arena) : liana__fail_memory(error, "the columns");
    if (status == LIANA_OK && own.num_columns) status = measure_all(&own, &base);
    if (status == LIANA_OK && own.num_columns && isfinite(base)) status = draw(&own, base, drawings);
    liana__arena_free(&arena);
    return status;
}
