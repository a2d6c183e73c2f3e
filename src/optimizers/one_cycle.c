/* Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates" (2018), in the
 * form of PyTorch's OneCycleLR. */
#include "optimizers/schedule.h"

#include <math.h>

typedef struct one_cycle_options {
    liana_schedule_common common;
    double pct_start;
    double div_factor;
    double final_div_factor;
    int anneal_strategy;
    bool three_phase;
} one_cycle_options;

enum { COSINE, LINEAR };
static const char *const strategies[] = {"cos", "linear", NULL};

static const liana_option fields[] = {
    LIANA_OPTION_ROW(one_cycle_options, pct_start, FLOAT, .default_text = "0.3", .minimum = 0, .maximum = 1,
                     .doc = "The share of the cycle in which the rate rises."),
    LIANA_OPTION_ROW(one_cycle_options, div_factor, FLOAT, .default_text = "25.0", .minimum = 1, .maximum = 1e12,
                     .doc = "The highest rate, which is initial_learning_rate, over the first one."),
    LIANA_OPTION_ROW(one_cycle_options, final_div_factor, FLOAT, .default_text = "1.0e4", .minimum = 1, .maximum = 1e12,
                     .doc = "The first rate over the last one."),
    LIANA_OPTION_ROW(one_cycle_options, anneal_strategy, ENUM, .default_text = "cos", .names = strategies,
                     .doc = "Whether the rate follows a cosine or a line."),
    LIANA_OPTION_ROW(one_cycle_options, three_phase, BOOL, .default_text = "false",
                     .doc = "Whether the rate falls to the first one as it rose, and then on to the last one."),
    LIANA_SCHEDULE_ROWS,
};

static double between(const one_cycle_options *own, double from, double to, double done)
{
    if (own->anneal_strategy == LINEAR) return from + (to - from) * done;
    return to + (from - to) / 2 * (1 + cos(acos(-1) * done));
}

static double rate(const void *options, double step, double decay_steps, double initial)
{
    const one_cycle_options *own = options;
    const double first = initial / own->div_factor, last = first / own->final_div_factor;
    const double top = own->pct_start * decay_steps - 1, end = decay_steps - 1;
    const double knees[] = {top, own->three_phase ? 2 * top : end, end};
    const double rates[] = {first, initial, own->three_phase ? first : last, last};
    double begin = 0;
    for (int phase = 0; phase < 3; phase++) {
        if (step <= knees[phase] && knees[phase] > begin) {
            return between(own, rates[phase], rates[phase + 1], (step - begin) / (knees[phase] - begin));
        }
        begin = knees[phase] > begin ? knees[phase] : begin;
    }
    return last;
}

static liana_status check(liana_check *check)
{
    const one_cycle_options *own = check->options;
    if (!own->three_phase || own->pct_start <= 0.5) return LIANA_OK;
    return liana_option_refuse(check, "pct_start",
                               "found %g with three_phase, expected at most 0.5: the rate falls as long as it rises",
                               own->pct_start);
}

const liana_schedule_type liana__schedule_OneCycle = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "OneCycle", "Up to the rate from a small one, and down to a tiny one",
               LIANA_PART_OPTIONS(one_cycle_options, fields), .check = check),
    .rate = rate,
};
