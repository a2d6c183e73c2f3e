/* What the predictions of a model have in common. */
#include "cli/predict/predict.h"

#include "models/imagenet.h"

enum { TOP_CLASSES = 5 };

size_t liana__predict_output_size(const liana__predict_facts *facts, size_t output)
{
    return (size_t)liana_shape_size(&facts->objective->outputs[output].shape);
}

/* By another threshold than 0.5 the class that is said may be the less likely one. */
size_t liana__predict_find_shown(const liana__predict_facts *facts, const liana__output_classes *classes,
                                 const float *probabilities)
{
    size_t *top = facts->top;
    const size_t count = liana__find_largest(probabilities, classes->count, facts->num_top, top);
    const size_t said = classes->of_one && (double)probabilities[1] > facts->run->config->job.threshold;
    if (!classes->of_one || top[0] == said) return count;
    if (count > 1) top[1] = top[0];
    top[0] = said;
    return count;
}

bool liana__predict_has_label(const liana__predict_facts *facts, const float *probabilities, size_t label)
{
    return (double)probabilities[label] > facts->run->config->job.threshold;
}

/* A threshold that changes nothing is a mistake of whoever gives it. */
static liana_status check_threshold(const liana__predict_facts *facts)
{
    liana__error *error = &facts->invocation->error;
    if (!liana__invocation_has(facts->invocation, "threshold")) return LIANA_OK;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        if (facts->classes[i].of_one || facts->classes[i].several) return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "predict: --threshold is for models that end in a sigmoid, of two classes or of labels with "
                       "names; %s; leave it out",
                       facts->of_classes ? "this one says the likeliest class" : "this one gives numbers");
}

static liana_status find_keys(liana__predict_facts *facts, size_t index)
{
    const liana__output_classes *classes = &facts->classes[index];
    liana__arena *arena = &facts->invocation->arena;
    const char **keys = liana__arena_allocate(arena, (classes->count + 1) * sizeof *keys);
    for (size_t i = 0; keys && i < classes->count; i++) {
        const liana__class_key key = liana__class_key_of(classes, i);
        keys[i] = liana__arena_string(arena, key.text);
    }
    facts->keys[index] = keys;
    return arena->failed ? liana__fail_memory(&facts->invocation->error, "the predictions") : LIANA_OK;
}

liana_status liana__predict_facts_find(liana__invocation *invocation, const liana__run *run,
                                       const liana__run_data *data, liana__predict_facts *facts)
{
    int64_t num_top = TOP_CLASSES;
    LIANA_TRY(liana__invocation_int(invocation, "top", 1, INT32_MAX, &num_top));
    *facts = (liana__predict_facts){.invocation = invocation,
                                    .run = run,
                                    .data = data,
                                    .objective = liana__trainer_objective(run->core.trainer),
                                    .row_size = (size_t)liana__trainer_row_size(run->core.trainer),
                                    .of_classes = liana__run_predicts_classes(run),
                                    .with_probabilities = liana__invocation_has(invocation, "probabilities"),
                                    .is_chief = true};
    const char *path = liana__invocation_text(invocation, "out");
    const bool wants_keys = liana__invocation_has(invocation, "json") || (path && liana__ends_with(path, ".jsonl"));
    size_t most = 1;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        facts->classes[i] = liana__run_output_classes(run, i);
        if (facts->classes[i].count > most) most = facts->classes[i].count;
        if (wants_keys) LIANA_TRY(find_keys(facts, i));
    }
    facts->of_labels = facts->objective->num_outputs == 1 && facts->classes[0].several;
    LIANA_TRY(check_threshold(facts));
    const bool shows_all = facts->with_probabilities || (size_t)num_top > most;
    facts->num_top = shows_all ? most : (size_t)num_top;
    facts->top = liana__arena_allocate(&invocation->arena, most * sizeof *facts->top);
    return facts->top ? LIANA_OK : liana__fail_memory(&invocation->error, "the predictions");
}
