/* Runs the callbacks of a program. */
#include "train/callbacks/user.h"

#include <string.h>

/* A copy: a program that was built with an older liana has fewer members, and the rest are zeros. */
typedef struct user_callback {
    liana_callback given;
} user_callback;

/* Its functions, and what they get as `user`. */
static const liana_callback *functions_of(const liana__callback_item *item, void **user)
{
    const liana_callback *given = &((const user_callback *)item->self)->given;
    *user = item->type->own ? item->self : given->user;
    return item->type->own ? liana__own_callback_functions(item) : given;
}

/* The callback left its message in `error`, which is the context's, or it left none. */
static liana_status run(void *user, liana_callback_function *function, liana_fit_context *context, liana__error *error)
{
    if (!function) return LIANA_OK;
    if (error) *error = (liana__error){0};
    liana_status status = function(user, context);
    if (status == LIANA_OK) return status;
    bool told = error && error->status == status && error->message[0];
    return told ? status : liana__fail(error, status, "it returned %s", liana_status_name(status));
}

#define RUN(name)                                                                                         \
    static liana_status name(liana__callback_item *item, liana_fit_context *context, liana__error *error) \
    {                                                                                                     \
        void *user;                                                                                       \
        liana_callback_function *function = functions_of(item, &user)->name;                              \
        return run(user, function, context, error);                                                       \
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
    void *user;
    const liana_callback *given = functions_of(item, &user);
    if (given->save) given->save(user, state);
}

static liana_status load(liana__callback_item *item, const liana_fit_context *context,
                         const liana_callback_state *state, liana__error *error)
{
    (void)context;
    void *user;
    const liana_callback *given = functions_of(item, &user);
    liana_status status = given->load ? given->load(user, state) : LIANA_OK;
    return status == LIANA_OK ? status : liana__fail(error, status, "load returned %s", liana_status_name(status));
}

const liana__callback liana__user_callback = {
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
    LIANA_TRY(liana__callback_list_add(list, &liana__user_callback, NULL, callback->name, &item, error));
    memcpy(&((user_callback *)item->self)->given, callback, callback->size);
    return LIANA_OK;
}
