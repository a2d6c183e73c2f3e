/* The classes of a run: one list, of the configuration or else of the training data, that numbers all labels. */
#include "train/run/run_internal.h"

#include "data/source/class_list.h"

#include <stdio.h>

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
