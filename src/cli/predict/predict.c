/* liana predict: the predictions of a model for each example, as lines or as a file. */
#include "cli/predict/predict.h"

#include "base/scoped.h"

static const liana__option options[] = {
    {LIANA__OPTION_DATA},
    {LIANA__OPTION_MODEL},
    {LIANA__OPTION_WEIGHTS},
    {"out", "FILE",
     "write the predictions: .csv, .jsonl, .npy, .tfrecord, DIR/ of pictures (-: CSV on standard output)"},
    {"layer", "NAME", "with --out FILE.csv or FILE.npy: write the outputs of this layer instead, such as embeddings"},
    {"probabilities", NULL, "all probabilities: with --out a column for each class; else all classes are printed"},
    {"top", "N", "how many of the likeliest classes are printed (default: 5)"},
    {"checkpoint", "NAMES", "best, a name in the run, or a folder (default: the newest); of several, A,B, the mean"},
    {"ensemble", "RUNS", "predict the mean of the run and of these, RUN2,RUN3"},
    {"augment", "N", "predict the mean of the image and of N-1 random variants, by the run's own data.augment"},
    {"seed", "S", "with --augment: other numbers draw other variants (default: the run's seed)"},
    {"batch-size", "N", "examples in a batch (default: the run's)"},
    {"keep", NULL, "of CSV files: keep all their columns beside the predictions"},
    {LIANA__OPTION_THRESHOLD},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

liana_status liana__predict_read_options(liana__invocation *invocation, liana__session *session)
{
    liana__job_options *job = &session->config.job;
    LIANA_TRY(liana__session_read_threshold(invocation, session));
    LIANA_TRY(liana__invocation_int(invocation, "batch-size", 1, 1 << 20, &job->prediction_batch_size));
    return liana__invocation_int(invocation, "seed", 0, INT64_MAX, &job->seed);
}

/* ---- what is predicted ---- */

/* The true classes, and the columns that are kept. */
static liana_status find_beside(liana__predict_facts *facts, liana__run *run, const liana__source_config *where,
                                liana__run_truth *truth, liana__kept_table **kept)
{
    liana__invocation *invocation = facts->invocation;
    LIANA_TRY(liana__run_open_truth(run, where, facts->data, truth, &invocation->error));
    facts->has_truth = truth->source != NULL;
    if (truth->why_not && facts->is_chief) {
        fputs("note: the labels of these data are not the run's classes, so nothing says which predictions are right: ",
              invocation->err);
        liana__print_plainly(invocation->err, truth->why_not);
        fputc('\n', invocation->err);
    }
    if (!liana__invocation_has(invocation, "keep")) return LIANA_OK;
    LIANA_TRY(liana__kept_table_open(run, facts->data->source, kept, &invocation->error));
    facts->kept = *kept;
    return LIANA_OK;
}

static void close_kept(liana__kept_table **kept)
{
    liana__kept_table_close(*kept);
}

static liana_status write_predictions(const liana__predict_options *task, liana__predict_facts *facts,
                                      liana__session *session, liana__run *run, const liana__run_truth *truth,
                                      const char *path)
{
    LIANA__SCOPED(liana__predict_writer) writer;
    liana__predict_counts counts;
    liana__error *error = &facts->invocation->error;
    LIANA_TRY(liana__predict_writer_begin(&writer, facts, path, error));
    LIANA_TRY(liana__predict_all(task, facts, session, run, truth, liana__predict_writer_add, &writer, &counts));
    LIANA_TRY(liana__predict_writer_finish(&writer, error));
    if (facts->is_chief) liana__predict_print_written(facts->invocation, path, &counts);
    return LIANA_OK;
}

static liana_status predict_data(liana__invocation *invocation, liana__session *session, liana__run *run,
                                 const liana__run_data *data, liana__predict_options *task, const char *path)
{
    LIANA__SCOPED(liana__run_truth) truth = {0};
    LIANA__SCOPED_BY(close_kept) liana__kept_table *kept = NULL;
    liana__predict_facts facts;
    liana__predict_counts counts;
    LIANA_TRY(liana__predict_facts_find(invocation, run, data, &facts));
    facts.is_chief = liana__session_is_chief(session);
    LIANA_TRY(find_beside(&facts, run, task->where, &truth, &kept));
    task->shows_progress = path && facts.is_chief;
    if (path) return write_predictions(task, &facts, session, run, &truth, path);
    LIANA_TRY(liana__predict_all(task, &facts, session, run, &truth, liana__predict_print, &facts, &counts));
    if (facts.is_chief) liana__predict_print_right(invocation, &counts);
    return LIANA_OK;
}

static liana_status predict(liana__invocation *invocation, liana__session *session, liana__predict_options *task,
                            const char *path)
{
    liana__error *error = &invocation->error;
    const char *layer = liana__invocation_text(invocation, "layer"), *loaded;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA__SCOPED_BY(liana__run_close_data) liana__run_data data = {0};
    const bool is_chief = liana__session_is_chief(session);
    liana__run_options wanted = {.untrained = !task->folder,
                                 .layer = layer,
                                 .on_bad_record = is_chief ? liana__session_bad_record : NULL,
                                 .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    LIANA_TRY(liana__run_open_data(&run, task->where, &data, error));
    if (!layer) return predict_data(invocation, session, &run, &data, task, path);
    const char *checkpoint = task->checkpoints.count ? task->checkpoints.items[0] : NULL;
    LIANA_TRY(liana__session_load(session, task->folder, checkpoint, &run, &loaded, error));
    return liana__predict_layer(invocation, &run, &data, path, is_chief);
}

/* ---- the command line ---- */

/* A file has the likeliest class, or all. */
static liana_status check_top(liana__invocation *invocation, const char *path)
{
    const char *top = liana__invocation_text(invocation, "top");
    const bool shows_all = liana__invocation_has(invocation, "probabilities");
    const bool lists = path && (liana__predict_find_form(path) == &liana__predict_jsonl ||
                                liana__predict_find_form(path) == &liana__predict_folder);
    if (!top || ((!path || lists) && !shows_all)) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "predict: --top %s is for what is printed; %s", top,
                       shows_all ? "with --probabilities all classes are"
                                 : "a file has all of them with --probabilities");
}

static liana_status check_options(liana__invocation *invocation, const char *path, liana__predict_options *own)
{
    LIANA_TRY(liana__predict_check_layer(invocation, path));
    LIANA_TRY(check_top(invocation, path));
    LIANA_TRY(liana__predict_split(invocation, "checkpoint", &own->checkpoints));
    LIANA_TRY(liana__predict_split(invocation, "ensemble", &own->others));
    LIANA_TRY(liana__invocation_int(invocation, "augment", 1, 10000, &own->draws));
    if (liana__invocation_has(invocation, "layer") && own->checkpoints.count > 1) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --layer writes the outputs of one checkpoint; found --checkpoint %s",
                           liana__invocation_text(invocation, "checkpoint"));
    }
    if (liana__invocation_has(invocation, "seed") && own->draws < 2) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --seed is for --augment N with N of at least 2: nothing else is random");
    }
    return LIANA_OK;
}

/* The processes of a cluster share one run folder. */
static liana_status check_cluster(liana__invocation *invocation, const liana__session *session,
                                  const liana__predict_options *own, const liana__predict_inputs *inputs)
{
    if (!session->joined.is_open || (!own->others.count && !inputs->folder)) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       own->others.count ? "predict: --ensemble is for one process; start it without 'liana launch'"
                                         : "predict: '-' is for one process; name the data for several");
}

static liana_status run(liana__invocation *invocation)
{
    const char *path;
    liana__source_config where = {0};
    liana__predict_options own = {.where = &where};
    LIANA__SCOPED(liana__predict_inputs) inputs;
    liana__session_take_model(invocation);
    LIANA_TRY(liana__predict_find_inputs(invocation, &inputs));
    where.paths = inputs.paths;
    LIANA_TRY(liana__invocation_output(invocation, "out", &path));
    LIANA_TRY(check_options(invocation, path, &own));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open_shared(invocation, &session, &own.folder));
    LIANA_TRY(check_cluster(invocation, &session, &own, &inputs));
    liana__session_take_whole(invocation, &session);
    LIANA_TRY(liana__predict_read_options(invocation, &session));
    return predict(invocation, &session, &own, path);
}

const liana__command liana__subcommand_predict = {
    .name = "predict",
    .operands = "[RUN|MODEL] [DATA ...] [key=value ...]",
    .summary = "Predict the classes of new images, or the outputs for new examples, with a trained model",
    .help =
        "Prints the most likely classes of each image, with their probabilities. docs/guides/predict.md shows each "
        "task.\n"
        "\n"
        "DATA are image files, folders, patterns, TFRecords, IDX files, tables (CSV), and URLs of them. @FILE is a\n"
        "list of names, a line each: they count from the list's folder, else from the current one. '-' is standard\n"
        "input: the bytes of one image; a table, if the first line has a comma; else a list of names. Other data\n"
        "than images are read as in training. Where the data have true classes - folders of classes, labels of\n"
        "TFRecords, the target's column of a table - they stand beside, with right or wrong and a total.\n"
        "\n"
        "--out writes a file instead, in the form that its ending says. CSV has a row for each example: id, label,\n"
        "class, confidence: the number and the name of the most likely class, and its probability; then, with\n"
        "--probabilities, a column for each class, called by its name; then, of data with labels, true_label,\n"
        "true_class, correct. FILE.jsonl has the events that --json prints. FILE.npy is an array of numpy, float32,\n"
        "[examples, classes], and FILE.ids.csv has the rows of CSV. FILE.tfrecord has a tf.Example for each: id,\n"
        "label, class, probabilities, true_label, true_class. DIR/ gets a PNG for each image with its classes\n"
        "below. --json prints an event for each image, with \"classes\", the likeliest ones, and \"probabilities\",\n"
        "which are all.\n"
        "\n"
        "A mean of several predictions is often better than one: of several checkpoints (--checkpoint A,B), of\n"
        "several runs (--ensemble RUN2,RUN3), which must have the same classes, and of variants of each image\n"
        "(--augment N: the image itself, and N-1 variants that the run's data.augment draws; mixing stages are left\n"
        "out). Each run has its own image size and scaling. The means need memory for all predictions.\n"
        "\n"
        "Started by 'liana launch', mpirun or srun the processes share the examples; the first one writes.\n"
        "A model that ends in one sigmoid says the second of two classes above --threshold (0.5, or\n"
        "train.threshold of the run). Of several labels (a sigmoid for each, with names) an example has those above\n"
        "it: yes or no in the text, 'labels' in JSON and TFRecords, and in CSV as red|sweet, with all probabilities.\n"
        "A model with several outputs, or with one of numbers, gives the values of each.\n"
        "With a model instead of a run (model.keras, .h5, .onnx, a folder with model.json, or --model model.json\n"
        "--weights FILE) all other arguments are data; data.columns, data.inputs and so on say what is in them.\n"
        "--model ResNet50 --weights imagenet is Keras's network with its own classifier ('liana list models'). The\n"
        "classes of such networks have ImageNet's names.\n"
        "--layer NAME writes the outputs of a layer: embeddings. 'liana summary' shows the names. A layer of a\n"
        "nested model is called MODEL/NAME, or only NAME where no other is called so. FILE.npy is an array of\n"
        "numpy, float32, [examples, ...], and FILE.ids.csv has the ids of its rows. Of a layer with several\n"
        "results the second one is in FILE_1.npy, and so on. CSV has the columns id, NAME_0, NAME_1, ...: all\n"
        "values of an example, the last axis (channels) changing fastest.\n",
    .options = options,
    .max_operands = -1,
    .overrides = true,
    .run = run,
};
