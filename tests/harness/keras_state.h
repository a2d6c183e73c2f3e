/* keras_state.h - the model of tests/samples/keras3_compiled.* and the state of its optimizer; for tests with
 * one_context.h. */
#ifndef LIANA_TESTS_KERAS_STATE_H
#define LIANA_TESTS_KERAS_STATE_H

#include "harness/command_run.h"
#include "harness/one_context.h"
#include "train/model/compiled.h"

#include <string.h>

static inline liana_model *load(const char *name)
{
    liana_model *model;
    assert_ok(liana_model_load(context, liana__test_path(name), &model), &context->error);
    return model;
}

/* The notes since the last update. */
static char notes[8192];

static inline void take_note(void *user, const char *note)
{
    (void)user;
    snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", note);
}

/* Of keras_compiled.py: Adam with a schedule, ten updates. */
static inline const char *sample(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/samples/%s", LIANA_SOURCE_DIR, name);
    return path;
}

/* The state that a file would get; freed by the caller. */
static inline const liana__optimizer_state *state_of(const liana_model *model, liana__optimizer_state *made)
{
    const liana__optimizer_state *state;
    *made = (liana__optimizer_state){0};
    assert_ok(liana__compiled_find_state(model, made, &state, &context->error), &context->error);
    return state;
}

/* Of the sample's model; the notes are kept. */
static inline void update(liana_model *model, const char *optimizer)
{
    float rows[8][4];
    int32_t labels[8];
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 4; k++) rows[i][k] = (float)((i * 7 + k * 3) % 11 - 5) / 8;
        labels[i] = i % 3;
    }
    const liana_array batch[] = {{.name = "row", .dtype = LIANA_F32, .shape = liana_shape_of(8, 4), .data = rows},
                                 {.name = "label", .dtype = LIANA_S32, .shape = liana_shape_of(8), .data = labels}};
    const liana_fit_options options = {.optimizer = optimizer, .on_note = take_note};
    notes[0] = 0;
    assert_ok(liana_train_on_batch(model, &options, batch, 2, NULL), &context->error);
}

/* The updates of that state; -1: there is none. */
static inline int64_t updates_of(const liana_model *model)
{
    liana__optimizer_state made;
    const liana__optimizer_state *found = state_of(model, &made);
    const int64_t count = found && !found->fault ? found->iteration : -1;
    liana__optimizer_state_free(&made);
    return count;
}

#endif
