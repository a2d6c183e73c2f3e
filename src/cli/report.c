/* liana report: pictures of a run, and pages of runs. */
#include "cli/remote_files.h"
#include "cli/session.h"

#include "base/file.h"
#include "base/scoped.h"
#include "report/examine.h"
#include "report/page/run_page.h"
#include "report/reports.h"

#include <string.h>

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for the pictures, or the page (default: the run folder; report.html in it)")},
    {"html", NULL, "write a page that opens in a browser, of one run or of several"},
    {"curves", NULL, "with --html: read neither data nor checkpoints, show only what the run folders say"},
    {"checkpoint", "DIR", "the checkpoint: best, its name in the run, or a folder (default: the newest)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* ---- pictures ---- */

static liana_status open_validation(liana__invocation *invocation, const liana__session *session, const char *folder,
                                    liana__run *run)
{
    /* A confusion matrix of more classes is no picture. */
    enum { MOST_BY_CLASS = 500 };
    liana__error *error = &invocation->error;
    const bool by_class = session->config.data.num_classes <= MOST_BY_CLASS;
    const liana__run_options wanted = {.validation = true, .by_class = by_class};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, run, error));
    return liana__run_load(run, folder, liana__invocation_text(invocation, "checkpoint"), NULL, error);
}

static void note_fonts(liana__invocation *invocation, const liana__run *run)
{
    char missing[512];
    liana__fonts_note(run->class_names.items, run->class_names.count, missing, sizeof missing);
    if (*missing) {
        liana__print_plainly(invocation->err, missing);
        fputc('\n', invocation->err);
    }
}

static liana_status draw_examined(liana__invocation *invocation, liana__examined *examined, const char *folder)
{
    liana__drawing_files files = {folder, liana__session_picture, invocation};
    const liana__drawings drawings = {liana__drawing_write_files, &files};
    liana__error *error = &invocation->error;
    LIANA_TRY(liana__report_predictions(examined, &drawings, error));
    LIANA_TRY(liana__report_classes(examined, &drawings, error));
    LIANA_TRY(liana__report_numbers(examined, &drawings, error));
    return liana__report_importance(examined->run, &drawings, error);
}

/* The folder is for the pictures. */
static liana_status draw_validation(liana__invocation *invocation, const liana__session *session, const char *folder)
{
    enum { MOST_PICTURES = 24 };
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(open_validation(invocation, session, invocation->operands[0], &run));
    note_fonts(invocation, &run);
    LIANA__SCOPED(liana__examined) examined = {0};
    LIANA_TRY(liana__examine(&run, MOST_PICTURES, &examined, &invocation->error));
    return draw_examined(invocation, &examined, folder);
}

static bool has_validation(const liana__session *session)
{
    const liana__data_config *data = &session->config.data;
    return liana__config_has_source(&data->validation) || data->validation_split > 0;
}

static liana_status draw_curves(liana__invocation *invocation, const char *out)
{
    static const char *const endings[] = {"png", "svg"};
    liana__arena *arena = &invocation->arena;
    liana__error *error = &invocation->error;
    liana__run_files *runs;
    const char **notes;
    LIANA_TRY(liana__run_files_read_any(invocation->operands, 1, arena, &runs, &notes, error));
    if (!runs[0].epochs->count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s/history.json': expected {\"epochs\": [...]} with at least one epoch, as liana train "
                           "writes it: %s",
                           runs[0].folder, notes[0]);
    }
    for (int i = 0; i < 2; i++) {
        const char *path = liana__arena_format(arena, "%s/curves.%s", out, endings[i]);
        if (!path) return liana__fail_memory(error, "the report");
        LIANA_TRY(liana__report_curves(&runs[0], path, arena, error));
        liana__session_picture(invocation, path);
    }
    return LIANA_OK;
}

/* The curves first: they need neither the data nor a checkpoint. */
static liana_status draw(liana__invocation *invocation, liana__session *session, const char *out)
{
    LIANA_TRY(draw_curves(invocation, out));
    if (!has_validation(session)) {
        fprintf(invocation->err, "the run has no validation data, so no predictions and no confusion matrix are drawn; "
                                 "data.validation=PATTERN sets some\n");
        return LIANA_OK;
    }
    if (liana__session_names_validation(session)) liana__session_take_whole(invocation, session);
    return draw_validation(invocation, session, out);
}

static liana_status draw_pictures(liana__invocation *invocation)
{
    const char *config_path, *out = liana__invocation_text(invocation, "out");
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    liana__sending sending;
    if (!out) out = invocation->operands[0];
    LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    LIANA_TRY(liana__session_open(invocation, config_path, &session));
    LIANA_TRY(liana__sending_start(invocation, out, &sending));
    return liana__sending_end(invocation, &sending, draw(invocation, &session, sending.folder));
}

/* ---- pages ---- */

/* What cannot be shown is a note in the page, and a line here. */
static void leave_out(liana__invocation *invocation, liana__run_page *page, size_t index, const char *what)
{
    const char *why = invocation->error.message;
    const char *note = liana__arena_format(&page->arena, "%s: %s", what, why);
    fprintf(invocation->err, "%s: ", page->runs[index].name);
    liana__print_plainly(invocation->err, note ? note : what);
    fputc('\n', invocation->err);
    liana__run_page_note(page, index, note ? note : what);
    invocation->error = (liana__error){0};
}

static liana_status add_predictions(liana__invocation *invocation, liana__session *session, liana__run_page *page,
                                    size_t index)
{
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(open_validation(invocation, session, page->runs[index].folder, &run));
    return liana__run_page_add_predictions(page, index, &run, &invocation->error);
}

/* Opened as for training, without compiling: the data say how many updates an epoch has. */
static liana_status add_data(liana__invocation *invocation, liana__session *session, liana__run_page *page,
                             size_t index)
{
    liana__error *error = &invocation->error;
    const liana__run_options wanted = {.training = true, .unprepared = true};
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(liana__config_require_training_data(&session->config, error));
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    return liana__run_page_add_data(page, index, &run, error);
}

static liana_status describe(liana__invocation *invocation, liana__run_page *page, size_t index)
{
    const char *config = liana__path_join(&page->arena, page->runs[index].folder, "config.yaml");
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    if (!config) return liana__fail_memory(&invocation->error, "the page");
    if (liana__session_open(invocation, config, &session) != LIANA_OK) {
        leave_out(invocation, page, index, "Predictions and data are not shown");
        return LIANA_OK;
    }
    if (liana__session_names_validation(&session)) liana__session_take_whole(invocation, &session);
    if (!has_validation(&session)) {
        liana__run_page_note(page, index, "The run has no validation data, so its predictions are not shown.");
    } else if (add_predictions(invocation, &session, page, index) != LIANA_OK) {
        leave_out(invocation, page, index, "Predictions are not shown");
    }
    if (add_data(invocation, &session, page, index) != LIANA_OK) {
        leave_out(invocation, page, index, "The training data are not shown");
    }
    return LIANA_OK;
}

/* A folder of runs, such as a sweep's, stands for them. */
static liana_status find_runs(liana__invocation *invocation, const char ***folders, size_t *count)
{
    liana__arena *arena = &invocation->arena;
    *folders = NULL;
    *count = 0;
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char *operand = invocation->operands[i], **found = &operand;
        size_t more = 1;
        if (liana__folder_exists(operand) && !liana__is_run_folder(operand)) {
            LIANA_TRY(liana__find_run_folders(operand, arena, &found, &more, &invocation->error));
        }
        const char **all = liana__arena_allocate(arena, (*count + more) * sizeof *all);
        if (!all) return liana__fail_memory(&invocation->error, "the runs");
        for (size_t k = 0; k < *count; k++) all[k] = (*folders)[k];
        for (size_t k = 0; k < more; k++) all[*count + k] = found[k];
        *folders = all;
        *count += more;
    }
    if (*count <= LIANA__RUN_PAGE_MOST_RUNS) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "report: %zu runs, expected up to %d", *count,
                       LIANA__RUN_PAGE_MOST_RUNS);
}

static liana_status write_page(liana__invocation *invocation, liana__run_page *page, const char *out)
{
    liana__error *error = &invocation->error;
    const bool with_details = !liana__invocation_has(invocation, "curves");
    const char **folders;
    size_t count;
    LIANA_TRY(find_runs(invocation, &folders, &count));
    LIANA_TRY(liana__run_page_begin(page, folders, count, with_details, error));
    for (size_t i = 0; i < page->num_details; i++) LIANA_TRY(describe(invocation, page, i));
    LIANA_TRY(liana__run_page_write(page, out, error));
    liana__session_picture(invocation, out);
    return LIANA_OK;
}

static liana_status draw_page(liana__invocation *invocation)
{
    const char *out = liana__invocation_text(invocation, "out"), *config_path;
    if (out && !liana__ends_with(out, ".html")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "report: --out: found '%.200s', expected a name ending in .html", out);
    }
    if (!out) out = liana__path_join(&invocation->arena, invocation->operands[0], "report.html");
    if (!out) return liana__fail_memory(&invocation->error, "the page");
    /* One run may be in a bucket: the operand becomes a local folder. */
    const char *only = invocation->operands[0];
    const bool of_runs = liana__folder_exists(only) && !liana__is_run_folder(only);
    if (invocation->num_operands == 1 && !of_runs) {
        LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    }
    LIANA__SCOPED(liana__run_page) page = {0};
    return write_page(invocation, &page, out);
}

static liana_status run(liana__invocation *invocation)
{
    if (liana__invocation_has(invocation, "html")) return draw_page(invocation);
    if (liana__invocation_has(invocation, "curves")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "report: --curves belongs to --html");
    }
    if (invocation->num_operands == 1) return draw_pictures(invocation);
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "report: '%.200s': several runs are shown with --html; 'liana plot' draws them in one picture",
                       invocation->operands[1]);
}

const liana__command liana__subcommand_report = {
    .name = "report",
    .operands = "RUN ... [key=value ...]",
    .summary = "Draw the curves and predictions of a run, or a page of several",
    .help = "Draws, each as .png and as .svg: curves (loss and metrics by epoch), predictions, mistakes and uncertain\n"
            "(validation images with the model's predictions, framed green where right and red where wrong), and of\n"
            "classes confusion_matrix and confusion_matrix_normalized (which class is taken for which, in numbers and\n"
            "in shares), roc, precision_recall and reliability. Of numbers: predicted; of tables: importance. Without\n"
            "validation data, draws only the curves.\n"
            "With --html, writes one file for a browser, which needs no network: all of that, the training data,\n"
            "schedule, times, differences between runs, and how to repeat them. Predictions and data are shown of up\n"
            "to four runs, curves of up to 500. A folder of runs, such as a sweep's, stands for them.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = LIANA__RUN_PAGE_MOST_RUNS,
    .overrides = true,
    .run = run,
};
