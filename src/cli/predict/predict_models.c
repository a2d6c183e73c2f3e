/* Predicts with one model, or with the mean of several, and of several variants of each image. */
#include "cli/predict/predict.h"

#include "base/scoped.h"
#include "train/job/fit.h"
#include "train/run/run_draws.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- the mean ---- */

/* The sums of the passes before the last one. */
typedef struct means {
    float *sums;      /* [records, row_size]; NULL: there is one pass */
    uint32_t *counts; /* [records] */
    uint64_t num_records;
} means;

typedef struct pass {
    const liana__predict_facts *facts;
    const liana__run_truth *truth;
    means *means;
    int64_t number; /* of the pass, from 0 */
    int64_t num_passes;
    float *row; /* [row_size] */
    liana__on_prediction on_prediction;
    void *user;
    liana__predict_counts *counts;
    liana__counter counter;
    bool tells; /* progress, as events */
    time_t told;
    int64_t done; /* examples of all passes */
    int64_t total;
} pass;

static void free_means(means *own)
{
    free(own->sums);
    free(own->counts);
}

/* Memory that is not touched costs nothing: records may be left out. */
static liana_status make_means(means *own, uint64_t num_records, size_t row_size, liana__error *error)
{
    own->num_records = num_records;
    own->sums = calloc((size_t)num_records * row_size + 1, sizeof *own->sums);
    own->counts = calloc((size_t)num_records + 1, sizeof *own->counts);
    if (own->sums && own->counts) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "out of memory for the means of %" PRIu64
                       " examples with %zu values each; predict them in parts",
                       num_records, row_size);
}

/* ---- a batch ---- */

static liana_status check_numbers(const pass *own, const char *id, const float *output, liana__error *error)
{
    const liana__predict_facts *facts = own->facts;
    for (size_t i = 0, at = 0; i < facts->objective->num_outputs; i++) {
        const size_t size = liana__predict_output_size(facts, i);
        for (size_t k = 0; k < size; k++) {
            if (isfinite(output[at + k])) continue;
            return liana__fail(
                error, LIANA_INVALID_DATA,
                "%.200s: the model's output '%s' is %s in place %zu of %zu, expected a number; the weights "
                "are damaged or the training had diverged ('liana summary' shows the run)",
                id, facts->objective->outputs[i].name,
                isnan(output[at + k]) ? "NaN"
                : output[at + k] > 0  ? "infinite"
                                      : "-infinite",
                k, size);
        }
        at += size;
    }
    return LIANA_OK;
}

static void add_to_sums(const pass *own, uint64_t record, const float *output)
{
    const size_t size = own->facts->row_size;
    float *sums = own->means->sums + record * size;
    for (size_t i = 0; i < size; i++) sums[i] += output[i];
    own->means->counts[record]++;
}

/* The mean of all passes, of which this is the last one. */
static liana_status find_mean(const pass *own, uint64_t record, const char *id, const float *output,
                              liana__error *error)
{
    const size_t size = own->facts->row_size;
    if (own->means->counts[record] + 1 != own->num_passes) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "%.200s: it could be read in %u of %" PRId64 " passes only; it changes while it is read", id,
                           (unsigned)own->means->counts[record] + 1, own->num_passes);
    }
    add_to_sums(own, record, output);
    const float *sums = own->means->sums + record * size;
    for (size_t i = 0; i < size; i++) own->row[i] = sums[i] / (float)own->num_passes;
    return LIANA_OK;
}

static liana_status tell(const pass *own, const liana__batch *batch, int64_t index, const char *id, const float *output,
                         liana__error *error)
{
    const liana__predict_facts *facts = own->facts;
    liana__prediction one = {.id = id,
                             .record = batch->records ? batch->records[index] : 0,
                             .output = output,
                             .truth = -1};
    if (facts->of_classes) {
        float both[2];
        size_t count;
        const float *probabilities = liana__run_probabilities(facts->run, output, both, &count);
        one.said = liana__run_said_class(facts->run, probabilities, count);
    }
    if (own->truth) one.truth = liana__run_truth_of(own->truth, batch, index);
    if (one.truth >= 0) {
        own->counts->labelled++;
        own->counts->right += one.said == (size_t)one.truth;
    }
    return own->on_prediction(own->user, &one, error);
}

static liana_status take_example(const pass *own, const liana__batch *batch, int64_t index, const float *output,
                                 liana__error *error)
{
    char number[32];
    const uint64_t record = batch->records ? batch->records[index] : 0;
    snprintf(number, sizeof number, "%" PRIu64, record);
    const char *id = batch->ids && batch->ids[index] ? batch->ids[index] : number;
    LIANA_TRY(check_numbers(own, id, output, error));
    if (!own->means->sums) return tell(own, batch, index, id, output, error);
    if (own->number + 1 < own->num_passes) {
        add_to_sums(own, record, output);
        return LIANA_OK;
    }
    LIANA_TRY(find_mean(own, record, id, output, error));
    return tell(own, batch, index, id, own->row, error);
}

/* A terminal has a line that is drawn again; readers of JSON get an event a second. */
static void show_progress(pass *own, int64_t count)
{
    own->done += count;
    if (own->done > own->total) own->done = own->total;
    (void)liana__counter_show(&own->counter, own->done, own->total);
    const time_t now = time(NULL);
    if (!own->tells || now == own->told) return;
    own->told = now;
    liana__arena arena = {0};
    liana__value *event = liana__value_map(&arena);
    liana__value_set(&arena, event, "event", liana__value_string(&arena, "progress"));
    liana__value_set(&arena, event, "done", liana__value_int(&arena, own->done));
    liana__value_set(&arena, event, "total", liana__value_int(&arena, own->total));
    if (!arena.failed) liana__invocation_print_json(own->facts->invocation, event);
    liana__arena_free(&arena);
}

static liana_status take_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    pass *own = user;
    for (int64_t i = 0; i < batch->count; i++) {
        LIANA_TRY(take_example(own, batch, i, outputs + (size_t)i * own->facts->row_size, error));
    }
    show_progress(own, batch->num_positions);
    return LIANA_OK;
}

/* ---- one model ---- */

/* A run beside the first one. */
typedef struct member {
    liana__session session;
    liana__run run;
    liana__run_data data;
} member;

static void close_member(member *own)
{
    liana__run_close_data(&own->data);
    liana__run_close(&own->run);
    liana__session_close(&own->session);
}

/* Passes over the data with the weights that are loaded: the plain images, then the variants. */
static liana_status predict_weights(liana__run *run, const liana__run_data *data, liana__run_data *draws,
                                    int64_t num_draws, pass *own, liana__error *error)
{
    for (int64_t draw = 0; draw < (num_draws ? num_draws : 1); draw++, own->number++) {
        LIANA__SCOPED(liana__totals) totals = {0};
        LIANA_TRY(liana__evaluate_epoch(run->core.trainer, draw ? draws->loader : data->loader,
                                        draw ? (uint64_t)draw - 1 : 0, 0, &totals, take_batch, own, error));
        if (own->number + 1 == own->num_passes) own->counts->measured = liana__totals_finish(&totals);
    }
    return LIANA_OK;
}

static liana_status predict_run(const liana__predict_options *options, const liana__session *session,
                                const char *folder, liana__run *run, const liana__run_data *data, pass *own,
                                liana__error *error)
{
    const size_t count = options->checkpoints.count;
    LIANA__SCOPED_BY(liana__run_close_draws) liana__run_data draws = {0};
    const char *loaded;
    if (options->draws > 1 && liana__run_open_draws(run, data, &draws, error) != LIANA_OK) {
        return liana__fail_within(error, "--augment %" PRId64 "%s%s", options->draws, folder ? ": " : "",
                                  folder ? liana__remote_name(folder) : "");
    }
    for (size_t i = 0; i < (count ? count : 1); i++) {
        const char *checkpoint = count ? options->checkpoints.items[i] : NULL;
        LIANA_TRY(liana__session_load(session, folder, checkpoint, run, &loaded, error));
        LIANA_TRY(predict_weights(run, data, &draws, options->draws, own, error));
    }
    return LIANA_OK;
}

/* ---- several models ---- */

static liana_status fail_names(const liana__predict_facts *facts, size_t output, const liana__output_classes *other,
                               const char *folder, liana__error *error)
{
    const liana__output_classes *first = &facts->classes[output];
    for (size_t i = 0; i < first->count; i++) {
        char a[24], b[24];
        const char *ours = liana__class_name(first, i, a), *theirs = liana__class_name(other, i, b);
        if (strcmp(ours, theirs) == 0) continue;
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "--ensemble %s: class %zu is called '%.100s' there and '%.100s' in the first run; a mean needs "
            "the same classes in the same order",
            folder, i, theirs, ours);
    }
    return LIANA_OK;
}

/* Outputs may have other names, since Keras numbers its layers. */
static liana_status check_member(const liana__predict_facts *facts, const member *own, const char *folder,
                                 liana__error *error)
{
    const liana__objective *objective = liana__trainer_objective(own->run.core.trainer);
    const size_t count = facts->objective->num_outputs;
    if (objective->num_outputs != count) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "--ensemble %s: its model has %zu outputs, the first run's has %zu", folder,
                           objective->num_outputs, count);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t size = (size_t)liana_shape_size(&objective->outputs[i].shape);
        const liana__output_classes other = liana__run_output_classes(&own->run, i);
        if (size != liana__predict_output_size(facts, i) || other.count != facts->classes[i].count) {
            const bool of_classes = other.count && facts->classes[i].count;
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "--ensemble %s: its output '%s' has %zu %s, the first run's '%s' has %zu", folder,
                               objective->outputs[i].name, of_classes ? other.count : size,
                               of_classes ? "classes" : "values", facts->objective->outputs[i].name,
                               of_classes ? facts->classes[i].count : liana__predict_output_size(facts, i));
        }
        LIANA_TRY(fail_names(facts, i, &other, folder, error));
    }
    if (own->data.source->num_records == facts->data->source->num_records) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "--ensemble %s: it reads %" PRIu64 " examples of these data, the first run reads %" PRIu64
                       "; their settings of `data` differ",
                       folder, own->data.source->num_records, facts->data->source->num_records);
}

static liana_status open_member(const liana__predict_options *options, const liana__predict_facts *facts,
                                const char *name, member *own, const char **folder)
{
    liana__invocation *invocation = facts->invocation;
    liana__error *error = &invocation->error;
    const liana__run_options wanted = {.on_bad_record = liana__session_bad_record, .user = invocation};
    LIANA_TRY(liana__session_open_other(invocation, name, &own->session, folder));
    LIANA_TRY(liana__predict_read_options(invocation, &own->session));
    LIANA_TRY(liana__run_open(own->session.context, &own->session.config, &wanted, &own->run, error));
    LIANA_TRY(liana__run_open_data(&own->run, options->where, &own->data, error));
    return check_member(facts, own, name, error);
}

static liana_status predict_member(const liana__predict_options *options, const char *name, pass *own)
{
    LIANA__SCOPED_BY(close_member) member other = {0};
    const char *folder;
    LIANA_TRY(open_member(options, own->facts, name, &other, &folder));
    return predict_run(options, &other.session, folder, &other.run, &other.data, own, &own->facts->invocation->error);
}

static bool shows_on_terminal(const liana__invocation *invocation)
{
    return isatty(fileno(invocation->err)) && !liana__invocation_has(invocation, "json");
}

liana_status liana__predict_all(const liana__predict_options *options, liana__predict_facts *facts,
                                liana__session *session, liana__run *run, const liana__run_truth *truth,
                                liana__on_prediction on_prediction, void *user, liana__predict_counts *counts)
{
    liana__invocation *invocation = facts->invocation;
    const size_t num_checkpoints = options->checkpoints.count ? options->checkpoints.count : 1;
    const uint64_t num_records = facts->data->source->num_records;
    LIANA__SCOPED_BY(free_means) means sums = {0};
    *counts = (liana__predict_counts){0};
    pass own = {.facts = facts,
                .truth = truth->source ? truth : NULL,
                .means = &sums,
                .num_passes =
                    (int64_t)(num_checkpoints * (1 + options->others.count)) * (options->draws ? options->draws : 1),
                .row = liana__arena_allocate(&invocation->arena, facts->row_size * sizeof *own.row),
                .on_prediction = on_prediction,
                .user = user,
                .counts = counts,
                .counter = {.things = "examples"}};
    own.total = (int64_t)num_records * own.num_passes;
    if (!own.row) return liana__fail_memory(&invocation->error, "the predictions");
    if (options->shows_progress && shows_on_terminal(invocation)) own.counter.terminal = invocation->err;
    own.tells = options->shows_progress && liana__invocation_has(invocation, "json");
    own.told = time(NULL);
    if (own.num_passes > 1) LIANA_TRY(make_means(&sums, num_records, facts->row_size, &invocation->error));
    LIANA_TRY(predict_run(options, session, options->folder, run, facts->data, &own, &invocation->error));
    for (size_t i = 0; i < options->others.count; i++) {
        LIANA_TRY(predict_member(options, options->others.items[i], &own));
    }
    const liana__measured *measured = &counts->measured;
    if (measured->count || !measured->bad_records) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_DATA,
                       "predict: none of the %lld examples can be read, so there is nothing to predict",
                       (long long)measured->bad_records);
}
