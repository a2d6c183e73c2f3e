/* Runs the callbacks of a program. */
#include "train/callbacks/user.h"

#include <string.h>

/* A copy: a program that was built with an older liana has fewer members, and the rest are zeros. */
typedef struct user_callback {
    liana_callback given;
} user_callback;

/* The callback left its message in `error`, which is the context's, or it left none. */
static liana_status run(const liana__callback_item *item, liana_callback_function *function, liana_fit_context *context,
                        liana__error *error)
{
    const user_callback *own = item->self;
    if (!function) return LIANA_OK;
    if (error) *error = (liana__error){0};
    liana_status status = function(own->given.user, context);
    if (status == LIANA_OK) return status;
    bool told = error && error->status == status && error->message[0];
    return told ? status : liana__fail(error, status, "it returned %s", liana_status_name(status));
}

#define RUN(name)                                                                                         \
    static liana_status name(liana__callback_item *item, liana_fit_context *context, liana__error *error) \
    {                                                                                                     \
        return run(item, ((const user_callback *)item->self)->given.name, context, error);                \
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

static void save(const liana__callback_item *item, liana_callback_state *state)
{
    const liana_callback *given = &((const user_callback *)item->self)->given;
    if (given->save) given->save(given->user, state);
}

static liana_status load(liana__callback_item *item, const liana_fit_context *context,
                         const liana_callback_state *state, liana__error *error)
{
    (void)context;
    const liana_callback *given = &((const user_callback *)item->self)->given;
    liana_status status = given->load ? given->load(given->user, state) : LIANA_OK;
    return status == LIANA_OK ? status : liana__fail(error, status, "load returned %s", liana_status_name(status));
}

static const liana__callback type = {
    .name = "callback",
    .doc = "Functions of a program.",
    .size = sizeof(user_callback),
    .save = save,
    .load = load,
    .on = {[LIANA__ON_TRAIN_BEGIN] = train_begin,
           [LIANA__ON_TRAIN_END] = train_end,
           [LIANA__ON_EPOCH_BEGIN] = epoch_begin,
           [LIANA__ON_EPOCH_END] = epoch_end,
           [LIANA__ON_STEP_BEGIN] = step_begin,
           [LIANA__ON_STEP_END] = step_end,
           [LIANA__ON_VALIDATION_BEGIN] = validation_begin,
           [LIANA__ON_VALIDATION_END] = validation_end},
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
    liana__callback_item *item;
    LIANA_TRY(liana__callback_list_add(list, &type, NULL, callback->name, &item, error));
    memcpy(&((user_callback *)item->self)->given, callback, callback->size);
    return LIANA_OK;
}
