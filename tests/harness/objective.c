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

liana_status liana__test_step(liana__trainer *trainer, const liana__trainer_batch *batch, double learning_rate,
                              int64_t iteration, liana__test_sums *sums, liana__error *error)
{
    const float *from = NULL;
    liana_status status = liana__trainer_step(trainer, batch, learning_rate, iteration, &from, error);
    return copy(status, trainer, from, sums);
}

liana_status liana__test_evaluate(liana__trainer *trainer, const liana__trainer_batch *batch, float *outputs,
                                  liana__test_sums *sums, liana__error *error)
{
    const float *from = NULL;
    liana_status status = liana__trainer_evaluate(trainer, batch, outputs, &from, error);
    return copy(status, trainer, from, sums);
}
