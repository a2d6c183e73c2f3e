/* Objectives and steps for tests. */
#include "harness/harness.h"

#include "harness/objective.h"

#include "formats/yaml.h"

#include <stdlib.h>
#include <string.h>

static liana__arena arena;

static void free_arena(void)
{
    liana__arena_free(&arena);
}

const liana__objective *liana__test_objective_of(const liana_model *model, const char *loss, const char *metrics)
{
    static bool registered;
    if (!registered) atexit(free_arena);
    registered = true;
    liana__error error = {0};
    liana__value *values[2] = {0};
    assert_ok(liana__yaml_parse(loss, strlen(loss), "loss", &arena, &values[0], &error), &error);
    assert_ok(liana__yaml_parse(metrics, strlen(metrics), "metrics", &arena, &values[1], &error), &error);
    liana__objective *objective = liana__arena_allocate(&arena, sizeof *objective);
    assert_non_null(objective);
    const liana__objective_request request = {.model = model, .loss = values[0], .metrics = values[1]};
    assert_ok(liana__objective_create(&request, false, &arena, objective, &error), &error);
    return objective;
}

const liana__objective *liana__test_objective(const liana_model *model, const char *metrics)
{
    return liana__test_objective_of(model, "sparse_categorical_crossentropy", metrics);
}

static liana_status copy(liana_status status, const liana__trainer *trainer, const float *from, liana__test_sums *sums)
{
    size_t count = liana__trainer_objective(trainer)->num_sums;
    *sums = (liana__test_sums){{0}};
    for (size_t i = 0; status == LIANA_OK && i < count && i < LIANA__TEST_SUMS; i++) sums->values[i] = from[i];
    return status;
}

liana_status liana__test_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                              int64_t iteration, liana__test_sums *sums, liana__error *error)
{
    const float *from = NULL;
    liana_status status = liana__trainer_step(trainer, batch, learning_rate, iteration, &from, error);
    return copy(status, trainer, from, sums);
}

liana_status liana__test_evaluate(liana__trainer *trainer, const liana__batch *batch, float *outputs,
                                  liana__test_sums *sums, liana__error *error)
{
    const float *from = NULL;
    liana_status status = liana__step_measure(trainer->step, batch, outputs, &from, error);
    return copy(status, trainer, from, sums);
}

const char *liana__test_name(liana__component_name name)
{
    static liana__component_name known[64];
    static size_t count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i].text, name.text) == 0) return known[i].text;
    }
    assert_in_range(count, 0, sizeof known / sizeof *known - 1);
    known[count] = name;
    return known[count++].text;
}

liana__batch liana__test_batch(const liana__trainer *trainer, int64_t count, const void *inputs, const void *targets,
                               const uint64_t *positions)
{
    const liana__trainer_options *options = liana__trainer_options_of(trainer);
    liana__batch batch = {.count = count, .positions = (uint64_t *)(uintptr_t)positions};
    liana__batch_add(&batch, liana__test_name(liana__input_component(options->model, 0)), LIANA_F32, &LIANA_SCALAR,
                     inputs);
    if (!targets) return batch;
    liana__batch_add(&batch, liana__test_name(liana__target_component(options->objective, 0)), LIANA_F32, &LIANA_SCALAR,
                     targets);
    return batch;
}
