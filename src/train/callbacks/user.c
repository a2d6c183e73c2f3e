/* Runs the callbacks of a program. */
#include "train/callbacks/callback.h"

#include <string.h>

/* A copy: a program that was built with an older liana has fewer members, and the rest are zeros. */
typedef struct user_callback {
    liana_callback given;
} user_callback;

static const liana_callback *functions_of(const liana_callback_item *item)
{
    return &((const user_callback *)item->self)->given;
}

#define RUN(name)                                                                   \
    static liana_status name(liana_callback_item *item, liana_fit_context *context) \
    {                                                                               \
        const liana_callback *given = functions_of(item);                           \
        return given->name ? given->name(given->user, context) : LIANA_OK;          \
    }
RUN(train_begin)
RUN(train_end)
RUN(epoch_begin)
RUN(epoch_end)
RUN(step_begin)
RUN(step_end)
RUN(validation_begin)
RUN(validation_end)
#undef RUN

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const liana_callback *given = functions_of(item);
    if (given->save) given->save(given->user, state);
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    (void)context;
    const liana_callback *given = functions_of(item);
    return given->load ? given->load(given->user, state) : LIANA_OK;
}

static const liana_callback_type user_type = {
    LIANA_PART(CALLBACK, liana_callback_type, "callback", "Functions of a program."),
    .self_size = sizeof(user_callback),
    .save = save,
    .load = load,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin,
           [LIANA_ON_TRAIN_END] = train_end,
           [LIANA_ON_EPOCH_BEGIN] = epoch_begin,
           [LIANA_ON_EPOCH_END] = epoch_end,
           [LIANA_ON_STEP_BEGIN] = step_begin,
           [LIANA_ON_STEP_END] = step_end,
           [LIANA_ON_VALIDATION_BEGIN] = validation_begin,
           [LIANA_ON_VALIDATION_END] = validation_end},
};

liana_status liana__user_callback_add(liana__callback_list *list, const liana_callback *callback, liana__error *error)
{
    enum { SMALLEST = offsetof(liana_callback, train_begin) };
    if (!callback) return liana__fail(error, LIANA_INVALID_ARGUMENT, "a callback is NULL");
    if (callback->size < SMALLEST || callback->size > sizeof *callback) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a callback's size is %zu, expected sizeof(liana_callback), which is %zu", callback->size,
                           sizeof *callback);
    }
    if (callback->name && (!*callback->name || strchr(callback->name, '/'))) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "a callback is called '%.60s', expected a name without '/'",
                           callback->name);
    }
    liana_callback_item *item;
    LIANA_TRY(liana__callback_list_add(list, &user_type, NULL, callback->name, &item, error));
    memcpy(&((user_callback *)item->self)->given, callback, callback->size);
    return LIANA_OK;
}
