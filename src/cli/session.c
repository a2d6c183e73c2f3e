/* Opens the configuration or run folder that a subcommand is given. */
#include "cli/session.h"

#include "base/context.h"
#include "base/context_plugins.h"
#include "base/file.h"
#include "base/waiting.h"
#include "cli/remote_files.h"
#include "formats/tensorflow/foreign_model.h"
#include "models/imagenet.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/model/model_file.h"

bool liana__session_stops(void *user)
{
    (void)user;
    return liana__signals_caught() != 0;
}

/* The context is made before the configuration is read, since that may load plugins, and started after it. */
static liana_status make_context(liana__invocation *invocation, liana__session *session)
{
    session->config = (liana__config){0};
    const liana_context_options wanted = {.allow_plugins = liana__invocation_has(invocation, "allow-plugins")};
    liana_status status = liana__context_make(&wanted, &session->context);
    if (status == LIANA_OK) status = liana__waiting_set_stop(session->context, liana__session_stops, NULL);
    return status == LIANA_OK ? status : liana__fail_memory(&invocation->error, "a context");
}

static liana_status start_context(liana__invocation *invocation, liana__session *session)
{
    liana_status status = liana__context_start(session->context, (int)session->config.job.threads);
    if (status != LIANA_OK) invocation->error = session->context->error;
    return status;
}

static liana_status open_config(liana__invocation *invocation, const char *config_path, liana__session *session)
{
    static const char nothing[] = "{}";
    liana__arena *arena = &invocation->arena;
    liana__error *error = &invocation->error;
    LIANA_TRY(make_context(invocation, session));
    LIANA_TRY(config_path
                  ? liana__config_load(session->context, LIANA__PLUGINS_LOADED, config_path, invocation->overrides,
                                       invocation->num_overrides, arena, &session->config, error)
                  : liana__config_parse(session->context, LIANA__PLUGINS_LOADED, nothing, strlen(nothing),
                                        "command line", invocation->overrides, invocation->num_overrides, arena,
                                        &session->config, error));
    return start_context(invocation, session);
}

liana_status liana__session_open(liana__invocation *invocation, const char *config_path, liana__session *session)
{
    *session = (liana__session){0};
    return open_config(invocation, config_path, session);
}

void liana__session_close(liana__session *session)
{
    liana__run_cluster_leave(&session->joined);
    liana_context_destroy(session->context);
    *session = (liana__session){0};
}

/* A checkpoint that is somewhere else is not looked for in the run. */
static const char *checkpoint_in_run(const liana__invocation *invocation, bool checkpoint)
{
    const char *wanted = liana__invocation_text(invocation, "checkpoint");
    bool elsewhere = wanted && (liana__path_is_remote(wanted) || liana__folder_exists(wanted));
    return checkpoint && !elsewhere ? wanted : "";
}

static liana_status fetch_run(liana__invocation *invocation, bool checkpoint)
{
    const char *wanted = checkpoint_in_run(invocation, checkpoint);
    if (!invocation->remote) LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &invocation->remote));
    return liana__remote_run(invocation->remote, invocation->operands[0], wanted, &invocation->arena,
                             &invocation->operands[0], &invocation->error);
}

liana_status liana__session_find_run(liana__invocation *invocation, bool checkpoint, const char **config_path)
{
    if (liana__path_is_remote(invocation->operands[0])) LIANA_TRY(fetch_run(invocation, checkpoint));
    const char *folder = invocation->operands[0], *path = liana__path_join(&invocation->arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(&invocation->error, "the run folder");
    *config_path = path;
    if (liana__file_exists(path)) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "%s: '%s' is not a run folder: %s",
                       invocation->command->name, folder,
                       liana__folder_exists(folder) ? "there is no config.yaml in it" : "there is no such folder");
}

/* ---- a run, or a model without one ---- */

/* The two files of --model and --weights; *weights NULL: the model has them in its own file. */
static liana_status find_model(liana__invocation *invocation, const char *model, const char **weights,
                               const char **architecture)
{
    liana__arena *arena = &invocation->arena;
    *weights = liana__invocation_text(invocation, "weights");
    *architecture = model;
    const bool is_there = liana__path_is_remote(model) || liana__file_exists(model) || liana__folder_exists(model);
    const char *nearest = NULL;
    if (!is_there) (void)liana__architecture_find(model, &nearest);
    if (nearest) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "%s: --model %s: there is no such file or architecture%s", invocation->command->name, model,
                           liana__hint(nearest).text);
    }
    LIANA_TRY(liana__refuse_foreign_model(model, &invocation->error));
    if (liana__folder_exists(model)) {
        *architecture = liana__path_join(arena, model, "model.json");
        if (!*weights) *weights = liana__path_join(arena, model, "weights.safetensors");
    }
    if (arena->failed) return liana__fail_memory(&invocation->error, "the model");
    if (*weights) return LIANA_OK;
    if (!liana__path_is_remote(model)) {
        liana__model_file file;
        LIANA_TRY(liana__model_file_open(model, arena, &file, &invocation->error));
        if (file.has_weights) return LIANA_OK;
    } else if (!liana__ends_with(model, ".json")) {
        return LIANA_OK; /* the run opens it */
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "%s: --model %s has no weights; give them with --weights FILE", invocation->command->name,
                       model);
}

/* The architecture that --model names instead of a file, as Keras gives it; NULL: it names a file. */
static const liana__architecture *find_architecture(const char *model)
{
    const bool is_file = liana__path_is_remote(model) || liana__file_exists(model) || liana__folder_exists(model);
    return is_file ? NULL : liana__architecture_find(model, NULL);
}

/* As a configuration would say it. */
static void write_base(const liana__architecture *base, liana__arena *arena, liana__value *root, liana__value *model)
{
    liana__value *data = liana__value_map(arena), *size = liana__value_list(arena);
    for (int i = 0; i < 2; i++) liana__value_add(arena, size, liana__value_int(arena, base->default_size));
    liana__value_set(arena, model, "base", liana__value_string(arena, base->name));
    liana__value_set(arena, model, "include_top", liana__value_bool(arena, true));
    liana__value_set(arena, data, "num_classes", liana__value_int(arena, LIANA_IMAGENET_CLASSES));
    liana__value_set(arena, data, "channels", liana__value_int(arena, 3));
    liana__value_set(arena, data, "image_size", size);
    liana__value_set(arena, root, "data", data);
}

/* `path` is the file, if there is no base. */
static liana_status open_model(liana__invocation *invocation, const liana__architecture *base, const char *path,
                               const char *weights, liana__session *session)
{
    liana__arena *arena = &invocation->arena;
    liana__value *root = liana__value_map(arena), *model = liana__value_map(arena);
    if (base) write_base(base, arena, root, model);
    if (!base) liana__value_set(arena, model, "file", liana__value_string(arena, path));
    if (weights) liana__value_set(arena, model, "weights", liana__value_string(arena, weights));
    liana__value_set(arena, root, "model", model);
    liana__text text = {0};
    LIANA_TRY(make_context(invocation, session));
    if (root && !arena->failed) liana__value_write_json(root, 0, &text);
    liana_status status = text.data && !text.failed && !arena->failed
                              ? liana__config_parse(session->context, LIANA__PLUGINS_LOADED, text.data, text.length,
                                                    "command line", invocation->overrides, invocation->num_overrides,
                                                    arena, &session->config, &invocation->error)
                              : liana__fail_memory(&invocation->error, "the configuration");
    liana__text_free(&text);
    return status == LIANA_OK ? start_context(invocation, session) : status;
}

static liana_status open_base(liana__invocation *invocation, const liana__architecture *base, liana__session *session)
{
    const char *weights = liana__invocation_text(invocation, "weights");
    if (weights) return open_model(invocation, base, NULL, weights, session);
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "%s: --model %s is an architecture, and has no weights; give Keras's by name, --weights "
                       "imagenet, or a file of them, --weights FILE",
                       invocation->command->name, base->name);
}

static liana_status open_trained(liana__invocation *invocation, liana__session *session, const char **folder)
{
    *folder = NULL;
    const char *model = liana__invocation_text(invocation, "model"), *config_path, *architecture, *weights;
    if (model) {
        const liana__architecture *base = find_architecture(model);
        if (base) return open_base(invocation, base, session);
        LIANA_TRY(find_model(invocation, model, &weights, &architecture));
        return open_model(invocation, NULL, architecture, weights, session);
    }
    if (liana__invocation_text(invocation, "weights")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "%s: --weights needs --model FILE; a run has its own weights", invocation->command->name);
    }
    if (!invocation->num_operands) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "%s: found no RUN; give a run folder, or a model with --model FILE --weights FILE",
                           invocation->command->name);
    }
    /* A run in a bucket becomes a local one. */
    LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    *folder = invocation->operands[0];
    return open_config(invocation, config_path, session);
}

liana_status liana__session_open_trained(liana__invocation *invocation, liana__session *session, const char **folder)
{
    *session = (liana__session){0};
    return open_trained(invocation, session, folder);
}

liana_status liana__session_open_other(liana__invocation *invocation, const char *run, liana__session *session,
                                       const char **folder)
{
    const char *first = invocation->operands[0], *config_path;
    *session = (liana__session){0};
    invocation->operands[0] = run;
    liana_status status = liana__session_find_run(invocation, true, &config_path);
    *folder = invocation->operands[0];
    invocation->operands[0] = first;
    return status == LIANA_OK ? open_config(invocation, config_path, session) : status;
}

static bool is_model(liana__arena *arena, const char *path)
{
    static const char *const endings[] = {".keras", ".h5", ".hdf5", ".onnx", ".json"};
    if (liana__folder_exists(path)) {
        const char *config = liana__path_join(arena, path, "config.yaml");
        const char *model = liana__path_join(arena, path, "model.json");
        return config && model && !liana__file_exists(config) && liana__file_exists(model);
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (liana__ends_with(path, endings[i])) return true;
    }
    return false;
}

void liana__session_take_model(liana__invocation *invocation)
{
    const liana__option *options = invocation->command->options;
    if (!invocation->num_operands || liana__invocation_has(invocation, "model")) return;
    if (!is_model(&invocation->arena, invocation->operands[0])) return;
    for (size_t i = 0; options[i].name; i++) {
        if (strcmp(options[i].name, "model") == 0) invocation->values[i] = invocation->operands[0];
    }
    invocation->operands++;
    invocation->num_operands--;
}

/* ---- several processes ---- */

static void say(void *user, const char *line)
{
    fprintf(((liana__invocation *)user)->err, "liana: %s\n", line);
}

static liana_status share_run(liana__invocation *invocation, liana__run_cluster *joined)
{
    liana_status status = LIANA_OK;
    const char *config_path;
    if (liana__invocation_text(invocation, "model") || !invocation->num_operands) return LIANA_OK;
    if (liana__cluster_is_chief(&joined->cluster)) status = liana__session_find_run(invocation, true, &config_path);
    return liana__run_cluster_share_folder(joined, status, &invocation->operands[0], &invocation->error);
}

static liana_status join(liana__invocation *invocation, liana__session *session)
{
    liana_status status = liana__cluster_join(session->context, &session->joined.cluster);
    if (status != LIANA_OK) invocation->error = session->context->error;
    return status;
}

liana_status liana__session_open_shared(liana__invocation *invocation, liana__session *session, const char **folder)
{
    const liana__notes notes = {say, invocation};
    liana__error *error = &invocation->error;
    *session = (liana__session){0};
    liana__run_cluster *joined = &session->joined;
    LIANA_TRY(
        liana__run_cluster_join_measured(invocation->overrides, invocation->num_overrides, &notes, joined, error));
    if (!joined->is_open) return open_trained(invocation, session, folder);
    LIANA_TRY(share_run(invocation, joined));
    liana_status status = open_trained(invocation, session, folder);
    if (status == LIANA_OK) status = join(invocation, session);
    return liana__cluster_agree_status(&joined->cluster, status, error);
}

bool liana__session_is_chief(const liana__session *session)
{
    return liana__cluster_is_chief(session->joined.is_open ? &session->joined.cluster : NULL);
}

bool liana__session_names_validation(const liana__session *session)
{
    const liana__config *config = &session->config;
    return liana__config_has_source(&config->data.validation) &&
           (liana__config_is_override(config, "data.validation.paths") ||
            liana__config_is_override(config, "data.validation.images"));
}

void liana__session_take_whole(liana__invocation *invocation, liana__session *session)
{
    int64_t *take = &session->config.data.take;
    if (!*take || liana__config_is_override(&session->config, "data.take")) return;
    if (liana__session_is_chief(session)) {
        fprintf(invocation->err,
                "note: data.take of the run, %lld, is for the run's own data; these data are taken whole "
                "(data.take=N on the command line takes the first N examples)\n",
                (long long)*take);
    }
    *take = 0;
}

static liana_status load(const liana__session *session, const char *folder, const char *checkpoint, liana__run *run,
                         const char **loaded, liana__error *error)
{
    *loaded = NULL;
    if (!liana__session_is_chief(session)) return LIANA_OK;
    if (folder) return liana__run_load(run, folder, checkpoint, loaded, error);
    const liana__model_config *model = &run->config->model;
    *loaded = model->weights ? model->weights : model->file;
    if (!checkpoint) return liana__run_load_weights(run, NULL, error);
    return liana__fail(error, LIANA_INVALID_CONFIG, "--checkpoint belongs to a run; with --model give --weights FILE");
}

liana_status liana__session_load(const liana__session *session, const char *folder, const char *checkpoint,
                                 liana__run *run, const char **loaded, liana__error *error)
{
    return liana__run_cluster_load(run, load(session, folder, checkpoint, run, loaded, error), error);
}

void liana__session_bad_record(void *user, const char *note)
{
    FILE *err = ((liana__invocation *)user)->err;
    liana__print_plainly(err, note);
    fputc('\n', err);
}

liana__value *liana__session_event(liana__invocation *invocation, const char *name)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__value_map(arena);
    liana__value_set(arena, event, "event", liana__value_string(arena, name));
    return event;
}

void liana__event_text(liana__invocation *invocation, liana__value *event, const char *key, const char *text)
{
    liana__value_set(&invocation->arena, event, key, liana__value_string(&invocation->arena, text ? text : ""));
}

void liana__event_int(liana__invocation *invocation, liana__value *event, const char *key, int64_t number)
{
    liana__value_set(&invocation->arena, event, key, liana__value_int(&invocation->arena, number));
}

void liana__event_float(liana__invocation *invocation, liana__value *event, const char *key, double number)
{
    liana__value_set(&invocation->arena, event, key, liana__value_float(&invocation->arena, number));
}

liana_status liana__session_print(liana__invocation *invocation, liana__text *text, const char *what)
{
    const bool enough = !text->failed;
    if (enough && text->data) fputs(text->data, invocation->out);
    liana__text_free(text);
    return enough ? LIANA_OK : liana__fail_memory(&invocation->error, what);
}

void liana__session_note(void *user, const char *text)
{
    liana__invocation *invocation = user;
    if (!liana__invocation_has(invocation, "json")) fprintf(invocation->out, "%s\n", text);
}

liana_status liana__session_count_threads(int *num_threads, liana__error *error)
{
    liana_context *context;
    const liana_status status = liana_context_create(NULL, &context);
    if (status == LIANA_OK) *num_threads = liana_context_num_threads(context);
    if (status != LIANA_OK) liana__fail(error, status, "%s", context ? liana_context_message(context) : "no threads");
    liana_context_destroy(context);
    return status;
}

void liana__session_picture(void *user, const char *path)
{
    liana__invocation *invocation = user;
    liana__arena *arena = &invocation->arena;
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "%s\n", liana__remote_name(path));
        return;
    }
    liana__value *event = liana__session_event(invocation, "picture");
    liana__value_set(arena, event, "out", liana__value_string(arena, liana__remote_name(path)));
    liana__invocation_print_json(invocation, event);
}

liana_status liana__session_read_threshold(liana__invocation *invocation, liana__session *session)
{
    return liana__invocation_float(invocation, "threshold", 1e-9, 1, &session->config.job.threshold);
}
