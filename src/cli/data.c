/* liana data: pictures of the data that a run would be trained on, and what is in its batches. */
#include "base/file.h"
#include "base/scoped.h"
#include "cli/findings.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "report/reports.h"
#include "report/web/augment_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for the pictures (required, unless there is --html or --batch)")},
    {"html", "FILE", "a page to try out augmentation in a browser, on some of the training images"},
    {"part", "PART", "the data: training, validation, test or all (default: all; of a batch training)"},
    {"seed", "N", "which set of images is drawn, from 1 (default: the next one after the folder's last)"},
    {"batch", "[N]", "print the components of batch N of the first epoch, from 0 (default: 0), instead of drawing"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

static void print_note(void *user, const char *note)
{
    liana__invocation *invocation = user;
    if (!liana__invocation_has(invocation, "json")) {
        liana__print_plainly(invocation->out, note);
        fputc('\n', invocation->out);
        return;
    }
    liana__value *event = liana__session_event(invocation, "note");
    liana__value_set(&invocation->arena, event, "text", liana__value_string(&invocation->arena, note));
    liana__invocation_print_json(invocation, event);
}

/* ---- the parts ---- */

static liana_status read_part(liana__invocation *invocation, liana__report_part *part)
{
    const char *word = liana__invocation_text(invocation, "part");
    liana__nearest_search search = liana__nearest_begin(word ? word : "");
    if (!word) return LIANA_OK;
    for (*part = LIANA__PART_TRAINING; liana__report_part_names[*part]; (*part)++) {
        if (strcmp(word, liana__report_part_names[*part]) == 0) return LIANA_OK;
        liana__nearest_add(&search, liana__report_part_names[*part]);
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "data: --part: found '%.100s', expected training, validation, test or all%s", word,
                       search.nearest ? liana__hint(search.nearest).text : "");
}

static liana_status refuse_part(liana__invocation *invocation, liana__report_part part)
{
    static const char *const keys[] = {"data.train", "data.validation", "data.test"};
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "data: --part %s: the configuration has no %s; set it in the file, or with %s=PATTERN",
                       liana__report_part_names[part], keys[part], keys[part]);
}

/* Validation and test data may be looked at where the training data are not configured. */
static liana_status open_run(liana__invocation *invocation, liana__session *session, liana__report_part part,
                             liana__run *run)
{
    liana__error *error = &invocation->error;
    const liana__data_config *data = &session->config.data;
    const bool trains = liana__config_has_source(&data->train);
    const bool needs_training = part == LIANA__PART_ALL || part == LIANA__PART_TRAINING;
    liana__run_options wanted = {.training = trains, .on_note = print_note, .user = invocation};
    if (needs_training) LIANA_TRY(liana__config_require_training_data(&session->config, error));
    const bool validates = liana__config_has_source(&data->validation) || (trains && data->validation_split > 0);
    if (part == LIANA__PART_VALIDATION && !validates) return refuse_part(invocation, part);
    if (part == LIANA__PART_TEST && !liana__config_has_source(&data->test)) return refuse_part(invocation, part);
    wanted.validation = !trains && part == LIANA__PART_VALIDATION;
    LIANA_TRY(liana__run_open_model(session->context, &session->config, &wanted, run, error));
    return part == LIANA__PART_TEST ? liana__run_open_test(run, error) : LIANA_OK;
}

/* ---- pictures ---- */

/* The number of the last set that was drawn into a folder; 0: none was, or the file is another program's. */
static uint64_t read_last(const char *path)
{
    enum { LONGEST = 20 };
    char *text = NULL, *end;
    size_t size;
    liana__error nobody = {0};
    if (!liana__file_exists(path)) return 0;
    if (liana__file_read(path, LONGEST, &text, &size, &nobody) != LIANA_OK) return 0;
    const long long last = strtoll(text, &end, 10);
    const bool is_number = end != text && *end == '\n' && last > 0 && last < INT32_MAX;
    free(text);
    return is_number ? (uint64_t)last : 0;
}

static void tell_seed(liana__invocation *invocation, uint64_t seed)
{
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "seed");
        liana__event_int(invocation, event, "seed", (int64_t)seed);
        liana__invocation_print_json(invocation, event);
        return;
    }
    fprintf(invocation->out, "set %" PRIu64 " of the images: --seed %" PRIu64 " draws it again\n", seed, seed);
}

/* A correlation; null where it is not defined. */
static liana__value *correlation_value(liana__arena *arena, double value)
{
    return isnan(value) ? liana__value_null(arena) : liana__value_float(arena, value);
}

static void tell_correlations(liana__invocation *invocation, const char *name, const liana__correlation_matrix *matrix)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "correlations"), *columns = liana__value_list(arena),
                 *values = liana__value_list(arena);
    liana__value_set(arena, event, "name", liana__value_string(arena, name));
    for (size_t i = 0; i < matrix->count; i++) {
        liana__value *column = liana__value_map(arena), *row = liana__value_list(arena);
        liana__value_set(arena, column, "name", liana__value_string(arena, matrix->names[i]));
        liana__value_set(arena, column, "category", liana__value_bool(arena, matrix->categories[i]));
        liana__value_add(arena, columns, column);
        for (size_t k = 0; k < matrix->count; k++) {
            liana__value_add(arena, row, correlation_value(arena, matrix->values[i * matrix->count + k]));
        }
        liana__value_add(arena, values, row);
    }
    liana__value_set(arena, event, "columns", columns);
    liana__value_set(arena, event, "values", values);
    liana__invocation_print_json(invocation, event);
}

/* A program gets the numbers of the correlations, too: they are in no other file. */
static liana_status write_drawing(void *user, const liana__drawing *drawing, liana__error *error)
{
    liana__drawing_files *files = user;
    liana__invocation *invocation = files->user;
    LIANA_TRY(liana__drawing_write_files(files, drawing, error));
    if (drawing->kind == LIANA__DRAWING_CORRELATIONS && liana__invocation_has(invocation, "json")) {
        tell_correlations(invocation, drawing->name, drawing->correlations);
    }
    return LIANA_OK;
}

/* Each call draws the set after the folder's last one, unless --seed names one. */
static liana_status draw(liana__invocation *invocation, liana__run *run, liana__report_part part, const char *folder)
{
    liana__error *error = &invocation->error;
    const char *path = liana__path_join(&invocation->arena, folder, "seed.txt");
    if (!path) return liana__fail_memory(error, "the pictures");
    int64_t seed = (int64_t)read_last(path) + 1;
    LIANA_TRY(liana__invocation_int(invocation, "seed", 1, INT32_MAX - 1, &seed));
    const liana__data_report_options wanted = {.part = part, .seed = (uint64_t)seed, .batches = true};
    liana__drawing_files files = {folder, liana__session_picture, invocation};
    LIANA_TRY(liana__report_data(run, &wanted, &(liana__drawings){write_drawing, &files}, error));
    if (!run->image_shape[0]) return LIANA_OK;
    tell_seed(invocation, (uint64_t)seed);
    char text[32];
    const int length = snprintf(text, sizeof text, "%" PRId64 "\n", seed);
    return liana__file_replace(path, text, (size_t)length, error);
}

static liana_status draw_pictures(liana__invocation *invocation, liana__run *run, liana__report_part part)
{
    liana__sending sending;
    char missing[512];
    liana__fonts_note(run->class_names.items, run->class_names.count, missing, sizeof missing);
    if (*missing) {
        liana__print_plainly(invocation->err, missing);
        fputc('\n', invocation->err);
    }
    LIANA_TRY(liana__sending_start(invocation, liana__invocation_text(invocation, "out"), &sending));
    return liana__sending_end(invocation, &sending, draw(invocation, run, part, sending.folder));
}

static liana_status write_page(liana__invocation *invocation, liana__run *run)
{
    const char *path = liana__invocation_text(invocation, "html");
    LIANA_TRY(liana__augment_page_write(run, invocation->operands[0], path, &invocation->error));
    liana__session_picture(invocation, path);
    return LIANA_OK;
}

/* ---- a batch ---- */

static liana_status print_batch(liana__invocation *invocation, liana__run *run, liana__report_part part)
{
    int64_t number = 0;
    if (*liana__invocation_text(invocation, "batch")) {
        LIANA_TRY(liana__invocation_int(invocation, "batch", 0, INT64_MAX, &number));
    }
    liana__value *report = liana__session_event(invocation, "batch");
    LIANA_TRY(liana__report_batch(run, part, (uint64_t)number, &invocation->arena, report, &invocation->error));
    if (liana__invocation_has(invocation, "json")) {
        liana__invocation_print_json(invocation, report);
    } else {
        liana__findings_print(report, invocation->out);
    }
    return LIANA_OK;
}

static liana_status refuse_with_batch(liana__invocation *invocation)
{
    static const char *const others[] = {"out", "seed", "html"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!liana__invocation_has(invocation, others[i])) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "data: --batch prints and draws nothing, so --%s does not belong to it", others[i]);
    }
    return LIANA_OK;
}

/* Which parts of the data the options are about. */
static liana_status find_part(liana__invocation *invocation, liana__report_part *part)
{
    const bool of_batch = liana__invocation_has(invocation, "batch"), page = liana__invocation_has(invocation, "html");
    *part = of_batch ? LIANA__PART_TRAINING : LIANA__PART_ALL;
    if (of_batch) LIANA_TRY(refuse_with_batch(invocation));
    if (!of_batch && !page) LIANA_TRY(liana__invocation_require(invocation, "out", "the folder for the pictures"));
    LIANA_TRY(read_part(invocation, part));
    if (of_batch && *part == LIANA__PART_ALL) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "data: --batch is of one part: --part training, validation or test");
    }
    if (page && *part != LIANA__PART_ALL && *part != LIANA__PART_TRAINING) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "data: --html is of training images, which are augmented: leave out --part %s",
                           liana__report_part_names[*part]);
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    liana__report_part part;
    LIANA_TRY(find_part(invocation, &part));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(open_run(invocation, &session, part, &run));
    if (liana__invocation_has(invocation, "batch")) return print_batch(invocation, &run, part);
    if (liana__invocation_has(invocation, "out")) LIANA_TRY(draw_pictures(invocation, &run, part));
    return liana__invocation_has(invocation, "html") ? write_page(invocation, &run) : LIANA_OK;
}

const liana__command liana__subcommand_data = {
    .name = "data",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Draw the data that a model would be trained on",
    .help = "Draws as .png and as .svg: samples of the training, validation and test images with their classes;\n"
            "the frequency of the classes in training and validation, before and after oversampling; the sizes\n"
            "of the images; originals beside their augmented images; and batches beside their originals, where\n"
            "the data are sampled or augmented. Of tables: the frequency of the classes, and of the values of\n"
            "each column, and the correlations of the columns.\n"
            "Each call into the same folder draws the next set of images (seed.txt there is the last one).\n"
            "--part draws one part with all that there is to draw of it; test data need no labels, and\n"
            "validation and test data no training data.\n"
            "--batch prints what is in a batch: each component with its dtype, its shape, its smallest, mean and\n"
            "largest value, and its first values.\n"
            "--html writes one file, which a browser opens without a network: some of the images, and all\n"
            "augmentations with a slider for each option, drawn by liana's own code in WebAssembly.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
