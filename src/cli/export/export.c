/* liana export: a trained model as a folder to take along. */
#include "train/export/export.h"
#include "base/file.h"
#include "base/scoped.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/temporary.h"
#include "train/model/model_file.h"

#include <liana/train.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_model_destroy, liana_model)

static const liana__option options[] = {
    {"to", "DIR", "the folder to write; gs://bucket/folder and s3://bucket/folder too"},
    {"checkpoint", "NAME", "the checkpoint of the run: best, or its name (default: the newest)"},
    {"examples", "N", "how many examples of input and output, 1 to 64 (default 4)"},
    {"force", NULL, "replace a folder that liana export has written"},
    {"verify", "DIR", "write nothing: check the files of DIR, and compute its examples once more"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* ---- what is exported ---- */

static const char *without_slash(liana__arena *arena, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return liana__arena_format(arena, "%.*s", (int)length, path);
}

/* A run has its configuration, and its weights in a checkpoint. */
static liana_status find_run(liana__invocation *invocation, const liana__session *session, liana__export *made,
                             const char *wanted, const char **path)
{
    liana__arena *arena = &invocation->arena;
    const char *run = invocation->operands[0];
    const char *checkpoints = liana__path_join(arena, run, "checkpoints");
    if (!checkpoints) return liana__fail_memory(&invocation->error, run);
    LIANA_TRY(wanted ? liana__checkpoint_find(checkpoints, wanted, arena, &made->checkpoint, &invocation->error)
                     : liana__checkpoint_newest(checkpoints, arena, &made->checkpoint, &invocation->error));
    if (!made->checkpoint) {
        return liana__fail(&invocation->error, LIANA_NOT_FOUND, "'%s' has no checkpoint yet: train it first", run);
    }
    made->config = &session->config;
    made->run = run;
    *path = liana__arena_format(arena, "%s/%s", checkpoints, liana__path_name(made->checkpoint));
    return *path ? LIANA_OK : liana__fail_memory(&invocation->error, run);
}

/* RUN/checkpoints/NAME is the run RUN with --checkpoint NAME. */
static liana_status split_checkpoint(liana__invocation *invocation, const char **checkpoint)
{
    static const char between[] = "/checkpoints/";
    liana__error *error = &invocation->error;
    const char *path = without_slash(&invocation->arena, invocation->operands[0]);
    *checkpoint = liana__invocation_text(invocation, "checkpoint");
    if (!path) return liana__fail_memory(error, "the export");
    const char *name = liana__path_name(path), *found = NULL;
    for (const char *at = path; (at = strstr(at, between)); at++) found = at;
    if (*checkpoint || !found || found + sizeof between - 1 != name) return LIANA_OK;
    *checkpoint = name;
    invocation->operands[0] = liana__arena_format(&invocation->arena, "%.*s", (int)(found - path), path);
    return invocation->operands[0] ? LIANA_OK : liana__fail_memory(error, "the export");
}

static bool is_run(const liana__invocation *invocation)
{
    const char *path = invocation->operands[0];
    char config[4096];
    if (liana__path_is_remote(path)) return liana__invocation_has(invocation, "checkpoint");
    snprintf(config, sizeof config, "%s/config.yaml", path);
    return liana__file_exists(config);
}

/* A context that no configuration describes. */
static liana_status open_context(liana__invocation *invocation, liana__session *session)
{
    liana_context_options wanted = {.allow_plugins = liana__invocation_has(invocation, "allow-plugins")};
    LIANA_TRY(liana__session_count_threads(&wanted.num_threads, &invocation->error));
    const liana_status status = liana_context_create(&wanted, &session->context);
    if (status != LIANA_OK && session->context) invocation->error = session->context->error;
    return status;
}

static liana_status load(liana__invocation *invocation, liana__session *session, liana__export *made,
                         liana_model **model)
{
    const char *config_path = NULL, *checkpoint;
    made->from = invocation->operands[0];
    LIANA_TRY(split_checkpoint(invocation, &checkpoint));
    const bool run = is_run(invocation);
    const char *path = invocation->operands[0];
    if (!run && checkpoint) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "--checkpoint is for runs, and '%s' is no run folder", path);
    }
    if (run) LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    LIANA_TRY(run ? liana__session_open(invocation, config_path, session) : open_context(invocation, session));
    path = invocation->operands[0];
    if (run) LIANA_TRY(find_run(invocation, session, made, checkpoint, &path));
    made->context = session->context;
    if (liana_model_load(session->context, path, model) == LIANA_OK) {
        made->model = *model;
        return LIANA_OK;
    }
    invocation->error = session->context->error;
    return invocation->error.status;
}

/* ---- where to ---- */

/* Only what an export has written is replaced. */
static liana_status check_target(liana__invocation *invocation, const char *to)
{
    liana__error *error = &invocation->error;
    const char *sums = liana__arena_format(&invocation->arena, "%s/SHA256SUMS", to);
    LIANA_TRY(liana__folder_name_check(to, "a folder with the model and what belongs to it", error));
    if (liana__path_is_remote(to) || !(liana__file_exists(to) || liana__folder_exists(to))) return LIANA_OK;
    if (!liana__invocation_has(invocation, "force")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' exists already; name another folder, or give --force to replace it", to);
    }
    if (sums && liana__file_exists(sums)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s' is replaced only if liana export has written it, and it has no SHA256SUMS; remove it "
                       "yourself, or name another folder",
                       to);
}

/* Writes beside the target, and renames: an export is there whole, or not at all. */
static liana_status write_local(const liana__export *made, const char *to, liana__error *error)
{
    char temporary[LIANA__TEMPORARY];
    const char *parent = liana__path_folder(made->arena, to);
    if (!parent) return liana__fail_memory(error, to);
    LIANA_TRY(liana__folder_make(parent, error));
    LIANA_TRY(liana__temporary_make(parent, temporary, error));
    const char *folder = liana__path_join(made->arena, temporary, "export");
    liana_status status = folder ? liana__folder_make(folder, error) : liana__fail_memory(error, to);
    if (status == LIANA_OK) status = liana__export_write(made, folder, error);
    if (status == LIANA_OK) status = liana__folder_sync(folder, error);
    if (status == LIANA_OK) {
        status = liana__folder_exists(to) ? liana__folder_exchange(folder, to, error)
                                          : liana__folder_rename(folder, to, error);
    }
    const liana_status removed = liana__folder_remove(temporary, status == LIANA_OK ? error : NULL);
    return status == LIANA_OK ? removed : status;
}

static liana_status write_remote(liana__invocation *invocation, const liana__export *made, const char *to)
{
    liana__sending sending;
    LIANA_TRY(liana__sending_start(invocation, to, &sending));
    return liana__sending_end(invocation, &sending, liana__export_write(made, sending.folder, &invocation->error));
}

/* ---- the command ---- */

static void report_export(liana__invocation *invocation, const liana__export *made, const char *to)
{
    const int64_t parameters = liana__model_num_parameters(made->model, false);
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "%s: %s, %lld parameters\n", to, liana__model_name(made->model),
                (long long)parameters);
        return;
    }
    liana__value *event = liana__session_event(invocation, "exported");
    liana__event_text(invocation, event, "input", made->from);
    liana__event_text(invocation, event, "output", to);
    liana__event_text(invocation, event, "model", liana__model_name(made->model));
    liana__event_int(invocation, event, "parameters", parameters);
    liana__invocation_print_json(invocation, event);
}

static liana_status export_model(liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA__SCOPED_BY(liana_model_destroy_scoped) liana_model *model = NULL;
    liana__export made = {.num_examples = 4, .notes = {liana__session_note, invocation}, .arena = &invocation->arena};
    LIANA_TRY(liana__invocation_require(invocation, "to", "the folder"));
    const char *to = without_slash(&invocation->arena, liana__invocation_text(invocation, "to"));
    if (!to) return liana__fail_memory(&invocation->error, "the export");
    LIANA_TRY(liana__invocation_int(invocation, "examples", 1, LIANA__MOST_EXPORT_EXAMPLES, &made.num_examples));
    LIANA_TRY(check_target(invocation, to));
    LIANA_TRY(load(invocation, &session, &made, &model));
    made.remote = invocation->remote;
    LIANA_TRY(liana__path_is_remote(to) ? write_remote(invocation, &made, to)
                                        : write_local(&made, to, &invocation->error));
    report_export(invocation, &made, to);
    return LIANA_OK;
}

static liana_status verify(liana__invocation *invocation, const char *folder)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    liana__export_report found;
    if (invocation->num_operands || liana__invocation_has(invocation, "to")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "export: --verify writes nothing, so leave the model and --to out");
    }
    LIANA_TRY(open_context(invocation, &session));
    LIANA_TRY(liana__export_verify(session.context, folder, &found, &invocation->error));
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "verified");
        liana__event_text(invocation, event, "folder", folder);
        liana__event_int(invocation, event, "files", (int64_t)found.num_files);
        liana__event_int(invocation, event, "examples", (int64_t)found.num_examples);
        liana__event_float(invocation, event, "largest_difference", found.largest);
        liana__invocation_print_json(invocation, event);
        return LIANA_OK;
    }
    fprintf(invocation->out, "%s: %zu files are as they were exported; the outputs of %zu examples are ", folder,
            found.num_files, found.num_examples);
    if (found.same_bits) {
        fprintf(invocation->out, "the same, bit for bit\n");
    } else {
        fprintf(invocation->out, "the same up to rounding: they differ by at most %.3g\n", found.largest);
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char *folder = liana__invocation_text(invocation, "verify");
    if (folder) return verify(invocation, folder);
    if (invocation->num_operands == 1) return export_model(invocation);
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "export: name the run or model to export");
}

const liana__command liana__subcommand_export = {
    .name = "export",
    .operands = "RUN --to DIR",
    .summary = "Leave a trained model in a folder, with all that a program needs to use it",
    .help =
        "RUN is a run, one of its checkpoints (RUN/checkpoints/best), or any other model that liana loads: a folder\n"
        "that liana saved, a .keras, .h5 or .onnx file. DIR gets\n"
        "  model.json, weights.safetensors  the model, with how images enter it and its losses\n"
        "  class_names.txt                  a name a line, in the order of the outputs\n"
        "  preprocessing.json               how images are resized and scaled\n"
        "  README.md                        the model card: data, metrics, configuration, hashes\n"
        "  training/                        the configuration and the history of the run\n"
        "  examples/                        inputs and the outputs that belong to them\n"
        "  SHA256SUMS                       checksums of all files, for sha256sum -c\n"
        "DIR is written whole or not at all. It may be DIR/NAME/1, /2, ...: the versions of a model. Programs open it\n"
        "with liana_predictor_open, in Python with liana.load.\n",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
