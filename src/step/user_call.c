/* Running a step: on a batch, on those of a function, or on those of a dataset. */
#include "base/context.h"
#include "step/user_step.h"

#include <string.h>

static liana_status run_one(liana_step *step, const liana_step_input *input, liana_step_results *results)
{
    liana__user_tally tally = {0};
    const liana__user_call call = {.input = input, .num_steps = 1, .turn = step->num_turns};
    if (!step->span_steps) return liana__user_run_batch(step, input, input->scalars, results);
    /* Workers that are not in step all meet after it. */
    LIANA_TRY(liana__user_run_spans(step, &call, NULL, &tally));
    step->num_turns++;
    *results = tally.results;
    return LIANA_OK;
}

static liana_status run_many(liana_step *step, const liana__user_call *call, liana_step_results *results)
{
    liana__user_tally tally = {0};
    liana_step_outcome *outcomes = call->input->outcomes;
    if (outcomes) memset(outcomes, 0, (size_t)call->num_steps * sizeof *outcomes);
    const liana_status status = step->span_steps ? liana__user_run_spans(step, call, outcomes, &tally)
                                                 : liana__user_run_together(step, call, outcomes, &tally);
    tally.counts.not_reproducible = step->not_reproducible;
    if (call->input->counts) *call->input->counts = tally.counts;
    *results = tally.results;
    return status;
}

/* ---- a dataset ---- */

/* The batches of a dataset, by the numbers of steps. */
typedef struct passage {
    const liana_step_input *input;
    liana_iterator *iterator;
    int64_t next;
} passage;

static liana_status give_element(void *user, int64_t step, liana_step_input *batch)
{
    passage *own = user;
    if (step != own->next) {
        liana_iterator_options order = own->input->order;
        order.start += (uint64_t)step;
        LIANA_TRY(liana_iterator_initialize(own->iterator, NULL, &order));
    }
    own->next = step + 1;
    return liana_iterator_next(own->iterator, &batch->element);
}

/* How many batches: until they end, if nobody knows before. */
static liana_status count_batches(const liana_step *step, const liana_step_input *input, liana__user_call *call)
{
    const int64_t length = liana_dataset_info(input->dataset).num_examples, start = (int64_t)input->order.start;
    const int64_t left = length > start ? length - start : 0;
    call->num_steps = input->num_steps;
    if (length >= 0 && (call->num_steps == 0 || call->num_steps > left)) call->num_steps = left;
    if (length >= 0 || call->num_steps > 0) return LIANA_OK;
    call->num_steps = INT64_MAX;
    call->until_end = length == LIANA_UNKNOWN && !step->span_steps && !input->outcomes;
    if (call->until_end) return LIANA_OK;
    return liana__fail(&step->context->error, LIANA_INVALID_ARGUMENT,
                       "%s: the number of the dataset's batches is not known; give num_steps", step->options.name);
}

static liana_status run_dataset(liana_step *step, const liana_step_input *input, liana_step_results *results)
{
    passage own = {.input = input};
    liana__user_call call = {.input = input, .give_batch = give_element, .user = &own};
    LIANA_TRY(count_batches(step, input, &call));
    LIANA_TRY(liana_iterator_create(input->dataset, &input->order, &own.iterator));
    const liana_status status = run_many(step, &call, results);
    liana_iterator_destroy(own.iterator);
    return status;
}

static liana_status check_input(const liana_step *step, const liana_step_input *input)
{
    const bool gives = input->give_batch != NULL, reads = input->dataset != NULL, is_many = gives || reads;
    const bool has_batch = input->arrays[0].name || input->element || input->values;
    const char *wrong = NULL;
    if (!is_many && (input->num_steps || input->give_scalars || input->outcomes || input->counts)) {
        wrong = "there is no function for batches (give_batch), nor a dataset";
    } else if (input->num_steps < 0) {
        wrong = "num_steps is negative";
    } else if (gives + reads + has_batch > 1) {
        wrong = "there is more than one of a batch, a dataset and a function for batches";
    } else if (is_many && input->give_scalars && input->scalars[0].name) {
        wrong = "there are scalars and a function for scalars";
    }
    if (!wrong) return LIANA_OK;
    return liana__fail(&step->context->error, LIANA_INVALID_ARGUMENT, "%s: %s", step->options.name, wrong);
}

static liana_status run(liana_step *step, const liana_step_input *input, liana_step_results *results)
{
    LIANA_TRY(check_input(step, input));
    if (input->dataset) return run_dataset(step, input, results);
    const liana__user_call call = {.input = input,
                                   .give_batch = input->give_batch,
                                   .user = input->user,
                                   .num_steps = input->num_steps};
    return input->give_batch ? run_many(step, &call, results) : run_one(step, input, results);
}

liana_status liana_step_run(liana_step *step, const liana_step_input *input, liana_step_results *results)
{
    liana_step_results unwanted;
    if (!results) results = &unwanted;
    *results = (liana_step_results){0};
    if (input && input->counts) *input->counts = (liana_step_counts){0};
    if (!step) return LIANA_INVALID_ARGUMENT;
    LIANA__REQUIRE(&step->context->error, input);
    LIANA__CONTEXT_CALL(step->context, run(step, input, results));
}
