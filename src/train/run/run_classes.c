/* The classes of a run: one list, of the configuration or else of the training data, that numbers all labels. */
#include "train/run/run_internal.h"

#include "data/source/class_list.h"

#include <stdio.h>
#include <string.h>

/* Names that only the source knows outlive it in the run. */
static liana_status take_names(liana__run *run, const liana__strings *names, liana__error *error)
{
    const char **items = liana__arena_allocate(&run->arena, (names->count + 1) * sizeof *items);
    if (!items) return liana__fail_memory(error, "the names of the classes");
    for (size_t i = 0; i < names->count; i++) items[i] = liana__arena_string(&run->arena, names->items[i]);
    run->class_names = (liana__strings){names->count, items};
    run->config->data.label_kind = LIANA__LABELS_NAMES;
    return run->arena.failed ? liana__fail_memory(error, "the names of the classes") : LIANA_OK;
}

liana_status liana__run_meet_classes(liana__run *run, const liana__source *source, const char *pattern, bool training,
                                     liana__error *error)
{
    const liana__strings *names = &source->class_names;
    if (!run->class_names.count && training && !run->numbered) {
        if (names->count) return take_names(run, names, error);
        run->numbered = source->has_labels;
        return LIANA_OK;
    }
    /* Where the run has names, the source was opened with them, and has checked its own. */
    if (!run->numbered || !names->count || liana__class_list_counts(names)) return LIANA_OK;
    char numbers[64] = "";
    if (run->num_classes) snprintf(numbers, sizeof numbers, ", 0 to %lld", (long long)run->num_classes - 1);
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "the labels of '%s' are names (%s), but the run has numbers for its classes%s. Which number belongs to which "
        "name is not known; list the names in the order of the numbers in data.class_names",
        pattern, liana__class_list_show(names).text, numbers);
}

/* The configured number must fit the data. */
static liana_status check_count(const liana__run *run, liana__error *error)
{
    const liana__strings *names = &run->class_names;
    int64_t count = run->config->data.num_classes;
    if (!names->count || !count || count == (int64_t)names->count) return LIANA_OK;
    liana__place place = liana__config_place(run->config, "data.num_classes");
    return liana__fail_at(error, &place, "data.num_classes",
                          "found the number %lld, but the training data have %s; leave it out, or list all classes in "
                          "data.class_names",
                          (long long)count, liana__class_list_show(names).text);
}

/* Which of them occur is known then, too. */
static liana_status count_classes(liana__run *run, const liana__source *source, liana__error *error)
{
    run->warnings.seen = liana__arena_allocate(&run->arena, LIANA__MAX_CLASSES * sizeof *run->warnings.seen);
    if (!run->warnings.seen) return liana__fail_memory(error, "the classes");
    run->warnings.knows_classes = true;
    return liana__source_count_classes(source, run->config->data.label_offset, &run->num_classes, run->warnings.seen,
                                       error);
}

liana_status liana__run_find_classes(liana__run *run, const liana__source *source, liana__error *error)
{
    liana__data_config *data = &run->config->data;
    if (source && source->class_names.count && !run->class_names.count && !run->numbered) {
        LIANA_TRY(take_names(run, &source->class_names, error));
    }
    LIANA_TRY(check_count(run, error));
    run->num_classes = data->num_classes ? data->num_classes : (int64_t)run->class_names.count;
    if (!run->num_classes && source) LIANA_TRY(count_classes(run, source, error));
    run->numbered = run->class_names.count == 0;
    data->num_classes = run->num_classes;
    data->class_names = run->class_names;
    return LIANA_OK;
}

/* ---- classes that a model learns ---- */

/* Labels of more than two classes as the answers of one sigmoid would be found at the first record with a 2. */
static liana_status check_output(const liana__run *run, const liana__objective_output *output, liana__error *error)
{
    const liana__place place = liana__config_place(run->config, "data.targets");
    if (!output->choice.loss || output->target != LIANA_TARGET_VALUES || run->num_classes < 3) return LIANA_OK;
    if (output->activation == LIANA_LOGITS_NONE || output->shape.dims[output->shape.rank - 1] > 1) return LIANA_OK;
    return liana__fail_at(error, &place, "data.targets",
                          "the output '%s' is compared with the label as one answer of no (0) or yes (1), but the data "
                          "have %lld classes; end the model in %lld values with activation: softmax, and use the loss "
                          "sparse_categorical_crossentropy",
                          output->name, (long long)run->num_classes, (long long)run->num_classes);
}

liana_status liana__run_check_labels(const liana__run *run, const liana__objective *objective,
                                     const liana__run_options *options, liana__error *error)
{
    bool of_labels = false;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const char *target = run->training.match.targets[i].name;
        if (!target || strcmp(target, "label") != 0) continue;
        of_labels = of_labels || objective->outputs[i].activation != LIANA_LOGITS_NONE;
        LIANA_TRY(check_output(run, &objective->outputs[i], error));
    }
    if (of_labels && run->num_classes == 1) {
        const bool named = run->class_names.count == 1;
        liana__run_note(options, "the training data have one class%s%.60s%s: there is nothing to tell apart",
                        named ? ", '" : "", named ? run->class_names.items[0] : "", named ? "'" : "");
    }
    return LIANA_OK;
}

/* ---- classes that a model predicts ---- */

/* One sigmoid, with names for both of its classes, or with labels of two. */
static bool says_yes_or_no(const liana__run *run)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    const liana__objective_output *output = &objective->outputs[0];
    if (objective->num_outputs != 1 || output->activation != LIANA_LOGITS_SIGMOID) return false;
    if (output->shape.rank != 2 || output->shape.dims[1] != 1) return false;
    return liana__run_output_names(run, 0).count == 2 || (run->num_classes == 2 && liana__run_compares_label(run, 0));
}

liana__output_classes liana__run_output_classes(const liana__run *run, size_t output)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    const liana__strings names = liana__run_output_names(run, output);
    if (says_yes_or_no(run)) return (liana__output_classes){.count = 2, .of_one = true, .names = names};
    return liana__output_classes_of(objective, output, names);
}

bool liana__run_predicts_classes(const liana__run *run)
{
    return liana__predicts_classes(liana__trainer_objective(run->core.trainer)) || says_yes_or_no(run);
}

const float *liana__run_probabilities(const liana__run *run, const float *output, float both[2], size_t *count)
{
    *count = (size_t)liana__trainer_row_size(run->core.trainer);
    if (*count != 1 || !says_yes_or_no(run)) return output;
    both[0] = 1 - output[0];
    both[1] = output[0];
    *count = 2;
    return both;
}

size_t liana__run_said_class(const liana__run *run, const float *probabilities, size_t count)
{
    if (count == 2 && liana__trainer_row_size(run->core.trainer) == 1) {
        return (double)probabilities[1] > run->config->job.threshold;
    }
    return (size_t)liana__likeliest_class(probabilities, (int64_t)count);
}

int liana__run_true_class(const liana__run *run, const void *targets, int64_t index)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    if (!targets) return -1;
    if (objective->outputs[0].target == LIANA_TARGET_CLASSES) return ((const int32_t *)targets)[index];
    return ((const float *)targets)[index] > 0.5f;
}
