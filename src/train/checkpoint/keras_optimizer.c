/* Orders an optimizer's state as Keras does. */
#include "train/checkpoint/keras_optimizer.h"

#include "base/format.h"
#include "base/scoped.h"
#include "base/text.h"
#include "layers/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__hdf5_close, liana__hdf5)

enum { MOST_SLOTS = 3, MOST_GROUPS = 3 };

/* A slot here, and in Keras. The slots of a group follow each other for each weight; the groups follow each other. */
typedef struct slot_row {
    const char *liana;
    const char *names[3]; /* by liana__keras_optimizer_form; NULL: that Keras does not have the optimizer */
    size_t group, legacy_group;
} slot_row;

typedef struct optimizer_row {
    const liana_optimizer_type *optimizer;
    slot_row slots[MOST_SLOTS];
} optimizer_row;

/* Keras/src/optimizers: each `build`; for the legacy ones `_create_slots`. */
static const optimizer_row optimizers[] = {
    {&liana__optimizer_Adam,
     {{"m", {"momentum", "m", "m"}, 0, 0},
      {"v", {"velocity", "v", "v"}, 0, 1},
      {"v_hat", {"velocity_hat", "vhat", "vhat"}, 1, 2}}},
    {&liana__optimizer_AdamW,
     {{"m", {"momentum", "m", NULL}, 0, 0},
      {"v", {"velocity", "v", NULL}, 0, 1},
      {"v_hat", {"velocity_hat", "vhat", NULL}, 1, 2}}},
    {&liana__optimizer_Adamax, {{"m", {"momentum", "m", "m"}, 0, 0}, {"u", {"norm", "u", "v"}, 0, 1}}},
    {&liana__optimizer_Nadam, {{"m", {"momentum", "m", "m"}, 0, 0}, {"v", {"velocity", "v", "v"}, 0, 1}}},
    {&liana__optimizer_SGD, {{"momentum", {"momentum", "m", "momentum"}, 0, 0}}},
    {&liana__optimizer_RMSprop,
     {{"velocity", {"velocity", "velocity", "rms"}, 0, 0},
      {"momentum", {"momentum", "momentum", "momentum"}, 1, 1},
      {"average_gradient", {"average_gradient", "average_gradient", "mg"}, 2, 2}}},
    {&liana__optimizer_Adagrad, {{"accumulator", {"accumulator", "accumulator", "accumulator"}, 0, 0}}},
    {&liana__optimizer_Adadelta,
     {{"accumulated_grad", {"accumulated_grad", "accumulated_grad", "accum_grad"}, 0, 0},
      {"accumulated_delta_var", {"accumulated_delta_var", "accumulated_delta_var", "accum_var"}, 0, 1}}},
    {&liana__optimizer_Ftrl,
     {{"accumulator", {"accumulator", "accumulator", "accumulator"}, 0, 0},
      {"linear", {"linear", "linear", "linear"}, 0, 0}}},
    {&liana__optimizer_Lion, {{"m", {"momentum", "m", NULL}, 0, 0}}},
    {&liana__optimizer_ScheduleFreeAdamW,
     {{"momentum", {"momentum", NULL, NULL}, 0, 0}, {"velocity", {"velocity", NULL, NULL}, 0, 0}}},
    {&liana__optimizer_Muon,
     {{"momentum", {"momentum", NULL, NULL}, 0, 0}, {"velocity", {"velocity", NULL, NULL}, 0, 0}}},
    {&liana__optimizer_Lamb, {{"m", {"momentum", NULL, NULL}, 0, 0}, {"v", {"velocity", NULL, NULL}, 0, 0}}},
};

/* The averages of the weights and the gradients of several steps: of any optimizer, before its slots. */
static const slot_row common[] = {
    {"average", {"average", "average", NULL}, 0, 0},
    {"gradient_accumulator", {"gradient_accumulator", NULL, NULL}, 1, 1},
};
enum { NUM_COMMON = sizeof common / sizeof *common };

/* ---- the order ---- */

typedef enum part_kind {
    ITERATION,
    RATE,
    OUTER_COUNT,   /* the number of updates of an optimizer around others, which it does not count */
    OUTER_RATE,    /* its rate, which is 0 */
    STEP_COUNTER,  /* of a LossScaleOptimizer */
    DYNAMIC_SCALE, /* the same */
    SLOT,
    UNUSED,  /* Keras keeps a slot that its options make no use of */
    PRODUCT, /* Nadam's product of the momentums of all updates */
} part_kind;

/* A variable of Keras. */
typedef struct part {
    part_kind kind;
    const char *name; /* of the slot in Keras, or "iteration", "learning_rate", ... */
    size_t weight;    /* of a slot: in the state's list */
    size_t slot;
    size_t number; /* of its optimizer: liana__rule_num_rates */
} part;

typedef struct order {
    const liana__optimizer_state *state;
    liana__keras_optimizer_form form;
    liana__update_rule rule; /* of the optimizer whose parts are added */
    part *parts;
    size_t count;
    liana__keras_optimizer_group *groups; /* the optimizer, and those within it */
    size_t num_groups;
    liana__arena *arena;
} order;

static void add_part(order *own, part_kind kind, const char *name, size_t weight, size_t slot)
{
    own->parts[own->count++] = (part){kind, name, weight, slot, own->rule.number};
}

/* Begins an optimizer in the one of number `around`; its name is that of its class, and a number from the second of the
 * class on. */
static size_t begin_group(order *own, size_t around, const char *place, const liana_optimizer_type *optimizer)
{
    char snake[64], path[200];
    const char *outer = own->groups[around].path;
    size_t same = 0;
    liana__snake_case(optimizer->part.name, snake, sizeof snake);
    for (size_t i = 0; i < own->num_groups; i++) same += strcmp(own->groups[i].name, optimizer->part.name) == 0;
    snprintf(path, sizeof path, "%s/%s", outer, place);
    if (*place == 'o' && same) snprintf(path, sizeof path, "%s/%s/%s_%zu", outer, place, snake, same);
    if (*place == 'o' && !same) snprintf(path, sizeof path, "%s/%s/%s", outer, place, snake);
    own->groups[own->num_groups] = (liana__keras_optimizer_group){.path = liana__arena_string(own->arena, path),
                                                                  .name = optimizer->part.name,
                                                                  .first = own->count};
    return own->num_groups++;
}

static void end_group(order *own, size_t group)
{
    own->groups[group].count = own->count - own->groups[group].first;
}

static size_t find_slot(const order *own, const char *name)
{
    size_t slot = 0;
    while (slot < own->state->num_slots && strcmp(liana__rule_slot_name(&own->rule, slot), name) != 0) slot++;
    return slot;
}

/* Keras 2's SGD keeps its momentum also where that is 0. */
static bool is_always_kept(const order *own)
{
    return own->form == LIANA__KERAS_OPTIMIZER_2 && own->rule.optimizer == &liana__optimizer_SGD;
}

/* Muon has a velocity for those weights alone that Adam trains. */
static bool is_left_out(const order *own, const slot_row *row, size_t weight)
{
    const liana__optimizer_state *state = own->state;
    if (own->rule.optimizer != &liana__optimizer_Muon || strcmp(row->liana, "velocity") != 0) return false;
    return !liana__muon_is_adams(own->rule.options, state->weights[weight], state->shapes[weight].rank);
}

static void add_slots(order *own, const slot_row *rows, size_t count, size_t group)
{
    const bool is_legacy = own->form == LIANA__KERAS_OPTIMIZER_LEGACY;
    for (size_t weight = 0; weight < own->state->num_weights; weight++) {
        if (liana__optimizer_state_rule_of(own->state, weight).number != own->rule.number) continue;
        for (size_t i = 0; i < count && rows[i].liana; i++) {
            if ((is_legacy ? rows[i].legacy_group : rows[i].group) != group) continue;
            const size_t slot = find_slot(own, rows[i].liana);
            const bool is_kept = slot < own->state->num_slots, is_common = rows == common;
            if (is_left_out(own, &rows[i], weight)) continue;
            if (is_kept || (is_always_kept(own) && !is_common)) {
                const char *name = rows[i].names[own->form];
                add_part(own, is_kept ? SLOT : UNUSED, name ? name : rows[i].liana, weight, slot);
            }
        }
    }
}

static const optimizer_row *find_row(const liana_optimizer_type *optimizer)
{
    const optimizer_row *row = optimizers;
    while (row < optimizers + sizeof optimizers / sizeof *optimizers && row->optimizer != optimizer) row++;
    return row < optimizers + sizeof optimizers / sizeof *optimizers ? row : NULL;
}

/* Those of one optimizer. Keras 3 has the rate among the variables, unless it is a schedule. Nadam's product is the
 * last variable of Keras 3, and the legacy one's second. */
static void add_optimizer(order *own, const liana__update_rule *rule)
{
    const optimizer_row *row = find_row(rule->optimizer);
    const bool is_nadam = rule->optimizer == &liana__optimizer_Nadam;
    const bool is_legacy = own->form == LIANA__KERAS_OPTIMIZER_LEGACY,
               is_newest = own->form == LIANA__KERAS_OPTIMIZER_3;
    own->rule = *rule;
    add_part(own, ITERATION, is_legacy ? "iter" : "iteration", 0, 0);
    if (is_newest && !isnan(liana__optimizer_state_rate_of(own->state, rule->number))) {
        add_part(own, RATE, "learning_rate", 0, 0);
    }
    if (is_nadam && is_legacy) add_part(own, PRODUCT, "momentum_cache", 0, 0);
    for (size_t group = 0; group < NUM_COMMON; group++) add_slots(own, common, NUM_COMMON, group);
    for (size_t group = 0; row && group < MOST_GROUPS; group++) add_slots(own, row->slots, MOST_SLOTS, group);
    if (is_nadam && is_newest) add_part(own, PRODUCT, "u_product", 0, 0);
}

/* Keras has the default one of a MultiOptimizer last. One without weights has an iteration and a rate alone. */
static void add_multi(order *own, const liana__multi_options *multi, const liana__update_rule *around)
{
    const size_t outer = own->num_groups - 1;
    add_part(own, ITERATION, "iteration", 0, 0);
    add_part(own, OUTER_RATE, "learning_rate", 0, 0);
    for (size_t i = 1; i <= multi->count; i++) {
        liana__update_rule rule = *around;
        rule.number = i % multi->count;
        rule.optimizer = multi->items[rule.number].choice.optimizer;
        rule.options = multi->items[rule.number].choice.options;
        const size_t group = begin_group(own, outer, "optimizers", rule.optimizer);
        add_optimizer(own, &rule);
        end_group(own, group);
    }
}

static liana_status make_order(const liana__optimizer_state *state, liana__keras_optimizer_form form,
                               liana__arena *arena, order *own, liana__error *error)
{
    liana__update_rule rule = liana__optimizer_state_rule(state);
    const size_t most = 6 + 3 * liana__rule_num_rates(&rule) + (MOST_SLOTS + NUM_COMMON) * state->num_weights;
    *own = (order){.state = state, .form = form, .num_groups = 1, .arena = arena};
    own->parts = liana__arena_allocate(arena, most * sizeof *own->parts);
    own->groups = liana__arena_allocate(arena, (2 + liana__rule_num_rates(&rule)) * sizeof *own->groups);
    if (!own->parts || !own->groups) return liana__fail_memory(error, "the optimizer's state");
    own->groups[0] = (liana__keras_optimizer_group){LIANA__HDF5_OPTIMIZER, rule.optimizer->part.name, 0, 0};
    const liana__loss_scale_options *scale = liana__as_loss_scale(rule.optimizer, rule.options);
    if (scale) {
        add_part(own, OUTER_COUNT, "iteration", 0, 0);
        add_part(own, OUTER_RATE, "learning_rate", 0, 0);
        add_part(own, STEP_COUNTER, "step_counter", 0, 0);
        add_part(own, DYNAMIC_SCALE, "dynamic_scale", 0, 0);
        rule = (liana__update_rule){.optimizer = scale->inner->optimizer,
                                    .options = scale->inner->options,
                                    .loss_scale = scale};
        begin_group(own, 0, "inner_optimizer", rule.optimizer);
    }
    const liana__multi_options *multi = liana__as_multi(rule.optimizer, rule.options);
    if (multi) {
        add_multi(own, multi, &rule);
    } else {
        add_optimizer(own, &rule);
    }
    end_group(own, 0);
    if (scale) end_group(own, 1);
    return arena->failed ? liana__fail_memory(error, "the optimizer's state") : LIANA_OK;
}

/* ---- reading ---- */

typedef struct reading {
    const liana__hdf5 *file;
    const liana__hdf5_layer *variables;
    liana__optimizer_state *state;
    order order;
    liana__error *error;
} reading;

/* Datasets of Keras 3's layout have numbers; others have names, and ":0" behind them up to Keras 2. */
static liana__keras_optimizer_form find_form(const liana__hdf5_contents *contents)
{
    const liana__hdf5_layer *variables = contents->optimizer;
    const char *name = variables->num_weights ? variables->weights[0].name : "", *slash = strrchr(name, '/');
    const bool is_older = contents->keras_version && *contents->keras_version < '3';
    if (contents->is_keras3) return is_older ? LIANA__KERAS_OPTIMIZER_2 : LIANA__KERAS_OPTIMIZER_3;
    if (!strchr(name, ':')) return LIANA__KERAS_OPTIMIZER_3;
    return strcmp(slash ? slash + 1 : name, "iteration:0") == 0 ? LIANA__KERAS_OPTIMIZER_2
                                                                : LIANA__KERAS_OPTIMIZER_LEGACY;
}

/* The first Kerases 3 had Nadam's product before the slots. */
static void place_product(reading *own)
{
    order *parts = &own->order;
    const liana__hdf5_layer *variables = own->variables;
    size_t first = 0;
    if (parts->parts[parts->count - 1].kind != PRODUCT || variables->num_weights != parts->count) return;
    while (first < parts->count && parts->parts[first].kind != SLOT) first++;
    if (first + 1 >= parts->count || variables->weights[first].data.rank != 0) return;
    if (own->state->shapes[parts->parts[first].weight].rank == 0) return;
    const part product = parts->parts[parts->count - 1];
    memmove(&parts->parts[first + 1], &parts->parts[first], (parts->count - 1 - first) * sizeof product);
    parts->parts[first] = product;
}

static bool is_first_of_slot(const order *own, size_t index)
{
    const part *item = &own->parts[index];
    size_t i = 0;
    while (i < index && (own->parts[i].kind != item->kind || strcmp(own->parts[i].name, item->name) != 0)) i++;
    return i == index;
}

/* "iteration, learning_rate, and momentum, velocity of 4 trained weights" */
static void describe_order(const order *own, liana__text *text)
{
    const size_t num_weights = own->state->num_weights;
    liana__text slots = {0};
    for (size_t i = 0; i < own->count; i++) {
        const part *item = &own->parts[i];
        const bool is_slot = item->kind == SLOT || item->kind == UNUSED;
        if (!is_slot) liana__text_add(text, "%s%s", text->length ? ", " : "", item->name);
        if (is_slot && is_first_of_slot(own, i)) liana__text_add(&slots, "%s%s", slots.length ? ", " : "", item->name);
    }
    if (slots.length) liana__text_add(text, ", and %s of %zu trained weights", slots.data, num_weights);
    text->failed = text->failed || slots.failed;
    liana__text_free(&slots);
}

static liana_status blame_count(reading *own)
{
    liana__text text = {0};
    describe_order(&own->order, &text);
    liana_status status =
        text.failed ? LIANA_OUT_OF_MEMORY
                    : liana__optimizer_state_blame(own->state, "it has %zu variables, expected %zu for %s: %s",
                                                   own->variables->num_weights, own->order.count,
                                                   own->state->choice.optimizer->part.name, text.data);
    liana__text_free(&text);
    return status;
}

static liana_shape shape_of(const liana__hdf5_data *data)
{
    liana_shape shape = {.rank = data->rank};
    for (int i = 0; i < data->rank && i < LIANA_MAX_RANK; i++) shape.dims[i] = data->shape[i];
    return shape;
}

/* *fits: the variable has the shape of its part. */
static liana_status check_shape(reading *own, size_t index, bool *fits)
{
    const part *item = &own->order.parts[index];
    const liana__hdf5_data *data = &own->variables->weights[index].data;
    const bool is_slot = item->kind == SLOT || item->kind == UNUSED;
    const liana_shape expected = is_slot ? own->state->shapes[item->weight] : (liana_shape){0};
    const liana_shape found = shape_of(data);
    *fits = data->rank == expected.rank &&
            memcmp(data->shape, expected.dims, (size_t)expected.rank * sizeof *expected.dims) == 0;
    if (*fits) return LIANA_OK;
    return liana__optimizer_state_blame(own->state, "variable %zu (%s%s%s) is %s, expected %s", index, item->name,
                                        is_slot ? " of " : "", is_slot ? own->state->weights[item->weight] : "",
                                        liana__shape_print(&found).text, liana__shape_print(&expected).text);
}

static liana_status blame_error(reading *own, const liana__error *found)
{
    if (found->status == LIANA_OUT_OF_MEMORY) return LIANA_OUT_OF_MEMORY;
    return liana__optimizer_state_blame(own->state, "%.500s", found->message);
}

static liana_status read_iteration(reading *own)
{
    liana__error found = {0};
    int64_t iteration = 0;
    const liana__hdf5_layer *variables = own->variables;
    size_t index = 0;
    bool fits = variables->num_weights > 0;
    if (!fits) return liana__optimizer_state_blame(own->state, "it has no variables");
    while (own->order.parts[index].kind != ITERATION) index++;
    if (index >= variables->num_weights) return blame_count(own);
    LIANA_TRY(check_shape(own, index, &fits));
    if (!fits) return LIANA_OK;
    if (liana__hdf5_read_s64(own->file, &variables->weights[index], &iteration, &found) != LIANA_OK) {
        return blame_error(own, &found);
    }
    own->state->iteration = iteration;
    if (iteration >= 0 && iteration < INT64_C(1) << 53) return LIANA_OK;
    return liana__optimizer_state_blame(own->state, "its iteration is %lld, expected a number of updates",
                                        (long long)iteration);
}

/* The shortest of the numbers that are the same one in float32: 0.001 for 0.0010000000474974513. */
static double shortest(float number)
{
    char text[40];
    for (int digits = 1; digits < 9; digits++) {
        liana__format(text, sizeof text, "%.*g", digits, (double)number);
        const double read = liana__parse_double(text, NULL);
        if ((float)read == number) return read;
    }
    return (double)number;
}

/* The rate that was kept is the current one; the settings of some files have the first. */
static liana_status take_rate(reading *own, float kept, size_t number)
{
    liana__optimizer_state *state = own->state;
    liana__arena *arena = &state->arena;
    if (!isfinite(kept) || kept <= 0) {
        return liana__optimizer_state_blame(state, "its learning_rate is %g, expected a number above 0",
                                            liana__shown((double)kept));
    }
    if ((float)liana__optimizer_state_rate_of(state, number) == kept) return LIANA_OK;
    liana__value *changed = liana__value_copy(arena, state->optimizer);
    liana__value *options = changed ? liana__optimizer_state_options(state, changed, number, arena) : NULL;
    if (options) liana__value_set(arena, options, "learning_rate", liana__value_float(arena, shortest(kept)));
    if (arena->failed) return LIANA_OUT_OF_MEMORY;
    state->optimizer = changed;
    if (number == 0) state->learning_rate = shortest(kept);
    return LIANA_OK;
}

static liana_status read_slot(reading *own, const liana__hdf5_weight *variable, const part *item)
{
    liana__error found = {0};
    liana__optimizer_state *state = own->state;
    float *values = state->values[item->weight * state->num_slots + item->slot];
    if (liana__hdf5_read(own->file, variable, values, &found) != LIANA_OK) return blame_error(own, &found);
    for (size_t i = 0; i < variable->data.num_elements; i++) {
        if (isfinite(values[i])) continue;
        return liana__optimizer_state_blame(state, "%s of %s has %s at element %zu", item->name,
                                            state->weights[item->weight], isnan(values[i]) ? "NaN" : "an infinity", i);
    }
    return LIANA_OK;
}

/* Every weight has these numbers. */
static void set_scale(liana__optimizer_state *state, size_t which, float value)
{
    for (size_t i = 0; i < state->num_weights; i++) {
        const liana__update_rule rule = liana__optimizer_state_rule_of(state, i);
        state->values[i * state->num_slots + liana__rule_num_slots(&rule) - 1][which] = value;
    }
}

static liana_status read_scale(reading *own, const liana__hdf5_weight *variable, bool counts)
{
    liana__error found = {0};
    int64_t count = 0;
    float scale = 0;
    const liana_status status = counts ? liana__hdf5_read_s64(own->file, variable, &count, &found)
                                       : liana__hdf5_read(own->file, variable, &scale, &found);
    if (status != LIANA_OK) return blame_error(own, &found);
    if (counts && count >= 0 && count < 1 << 24) {
        set_scale(own->state, LIANA__LOSS_SCALE_COUNT, (float)count);
    } else if (!counts && isfinite(scale) && scale >= 0) {
        set_scale(own->state, LIANA__LOSS_SCALE_FACTOR, scale);
    } else {
        return liana__optimizer_state_blame(own->state, "its %s is %g, expected a finite number from 0 on",
                                            counts ? "step_counter" : "dynamic_scale",
                                            counts ? (double)count : liana__shown((double)scale));
    }
    return LIANA_OK;
}

static liana_status read_rate(reading *own, const liana__hdf5_weight *variable, size_t number)
{
    liana__error found = {0};
    float rate = 0;
    if (liana__hdf5_read(own->file, variable, &rate, &found) != LIANA_OK) return blame_error(own, &found);
    return take_rate(own, rate, number);
}

static liana_status read_parts(reading *own)
{
    for (size_t i = 1; i < own->order.count && !own->state->fault; i++) {
        const part *item = &own->order.parts[i];
        const liana__hdf5_weight *variable = &own->variables->weights[i];
        bool fits;
        LIANA_TRY(check_shape(own, i, &fits));
        if (fits && item->kind == RATE) LIANA_TRY(read_rate(own, variable, item->number));
        if (fits && item->kind == STEP_COUNTER) LIANA_TRY(read_scale(own, variable, true));
        if (fits && item->kind == DYNAMIC_SCALE) LIANA_TRY(read_scale(own, variable, false));
        if (fits && item->kind == SLOT) LIANA_TRY(read_slot(own, variable, item));
    }
    return LIANA_OK;
}

/* Slots that Keras does not have are 0, as they begin. */
static void clear_slots(liana__optimizer_state *state)
{
    for (size_t i = 0; i < state->num_weights; i++) {
        for (size_t slot = 0; slot < state->num_slots; slot++) {
            float *values = state->values[i * state->num_slots + slot];
            const liana_shape shape = liana__optimizer_state_slot_shape(state, i, slot);
            if (values) memset(values, 0, liana__byte_size(LIANA_F32, &shape));
        }
    }
}

/* Before its first update an optimizer has kept nothing. */
static liana_status read_state(reading *own)
{
    LIANA_TRY(read_iteration(own));
    if (own->state->fault || own->state->iteration == 0) return LIANA_OK;
    if (own->variables->num_weights != own->order.count) return blame_count(own);
    place_product(own);
    clear_slots(own->state);
    return read_parts(own);
}

liana_status liana__keras_optimizer_read(const liana__hdf5 *file, liana__optimizer_state *state, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    reading own = {.file = file, .variables = contents->optimizer, .state = state, .error = error};
    liana_status status = LIANA_OK;
    if (contents->optimizer) {
        LIANA_TRY(make_order(state, find_form(contents), &arena, &own.order, error));
        status = read_state(&own);
    } else {
        status = liana__optimizer_state_blame(state, "%.500s",
                                              contents->optimizer_fault ? contents->optimizer_fault
                                                                        : "it has no variables of the optimizer");
    }
    return status == LIANA_OK ? status : liana__fail_memory(error, "the optimizer's state");
}

liana_status liana__keras_optimizer_open(const char *path, liana__optimizer_state *state, liana__error *error)
{
    LIANA__SCOPED_BY(liana__hdf5_close_scoped) liana__hdf5 *file = NULL;
    LIANA_TRY(liana__hdf5_open(path, &file, error));
    return liana__keras_optimizer_read(file, state, error);
}

/* ---- writing ---- */

/* Nadam's, as Keras multiplies it up. */
static float product_of(const liana__optimizer_state *state, size_t number)
{
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    const liana__moments_options *options = liana__rule_numbered(&rule, number).options;
    float product = 1;
    for (int64_t t = 1; t <= state->iteration && product > 0; t++) {
        product *= (float)(options->beta_1 * (1 - 0.5 * pow(0.96, (double)t)));
    }
    return product;
}

/* Keras 3: "adam/dense_kernel_momentum"; Keras 2: "Adam/m/dense/kernel:0". The innermost optimizer of a variable gives
 * its name; within others a number tells it from another one of the name. */
static const char *name_variable(const order *own, size_t index, liana__arena *arena)
{
    const part *item = &own->parts[index];
    const bool is_slot = item->kind == SLOT || item->kind == UNUSED;
    const char *weight = is_slot ? own->state->weights[item->weight] : NULL;
    char optimizer[100];
    size_t group = own->num_groups - 1;
    while (index < own->groups[group].first || index >= own->groups[group].first + own->groups[group].count) group--;
    snprintf(optimizer, sizeof optimizer, group ? "%s_%zu" : "%s", own->groups[group].name, group);
    if (own->form != LIANA__KERAS_OPTIMIZER_3) {
        return is_slot ? liana__arena_format(arena, "%s/%s/%s:0", optimizer, item->name, weight)
                       : liana__arena_format(arena, "%s:0", item->name);
    }
    char *name = is_slot ? liana__arena_format(arena, "%s/%s_%s", optimizer, weight, item->name)
                         : liana__arena_format(arena, "%s/%s", optimizer, item->name);
    for (char *slash = name ? name + strlen(optimizer) + 1 : NULL; slash && (slash = strchr(slash, '/'));) *slash = '_';
    return name;
}

static const void *make_values(const order *own, const part *item, liana__arena *arena)
{
    const liana__optimizer_state *state = own->state;
    const float rate = (float)liana__optimizer_state_rate_of(state, item->number),
                product = item->kind == PRODUCT ? product_of(state, item->number) : 0, none = 0;
    const liana__update_rule first = liana__optimizer_state_rule_of(state, 0);
    const float *scale = first.loss_scale ? state->values[liana__rule_num_slots(&first) - 1] : NULL;
    const int64_t count = scale ? (int64_t)scale[LIANA__LOSS_SCALE_COUNT] : 0, no_updates = 0;
    switch (item->kind) {
    case OUTER_COUNT: return liana__arena_copy(arena, &no_updates, sizeof no_updates);
    case OUTER_RATE: return liana__arena_copy(arena, &none, sizeof none);
    case STEP_COUNTER: return liana__arena_copy(arena, &count, sizeof count);
    case DYNAMIC_SCALE: return liana__arena_copy(arena, &scale[LIANA__LOSS_SCALE_FACTOR], sizeof *scale);
    case ITERATION: return liana__arena_copy(arena, &state->iteration, sizeof state->iteration);
    case RATE: return liana__arena_copy(arena, &rate, sizeof rate);
    case PRODUCT: return liana__arena_copy(arena, &product, sizeof product);
    case SLOT: return state->values[item->weight * state->num_slots + item->slot];
    default: return liana__arena_allocate(arena, liana__byte_size(LIANA_F32, &state->shapes[item->weight]) + 1);
    }
}

liana_status liana__keras_optimizer_make(const liana__optimizer_state *state, liana__keras_optimizer_form form,
                                         liana__arena *arena, liana__keras_optimizer_variables *variables,
                                         liana__error *error)
{
    order own;
    LIANA_TRY(make_order(state, form, arena, &own, error));
    *variables = (liana__keras_optimizer_variables){
        .items = liana__arena_allocate(arena, (own.count + 1) * sizeof *variables->items),
        .count = own.count,
        .groups = own.groups,
        .num_groups = own.num_groups,
    };
    for (size_t i = 0; variables->items && i < own.count; i++) {
        const part *item = &own.parts[i];
        const bool is_slot = item->kind == SLOT || item->kind == UNUSED;
        const bool counts = item->kind == ITERATION || item->kind == OUTER_COUNT || item->kind == STEP_COUNTER;
        const liana_shape shape = is_slot ? state->shapes[item->weight] : (liana_shape){0};
        liana__hdf5_variable *made = &variables->items[i];
        *made = (liana__hdf5_variable){.name = name_variable(&own, i, arena),
                                       .data = {.dtype = counts ? "int64" : "float32", .rank = shape.rank},
                                       .values = make_values(&own, item, arena)};
        memcpy(made->data.shape, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
    }
    return arena->failed ? liana__fail_memory(error, "the optimizer's state") : LIANA_OK;
}
