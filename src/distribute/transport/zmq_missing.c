/* The answers of builds without libzmq (LIANA_ZMQ=OFF). */
#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/service.h"

/* What cannot be done looks at no argument. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static liana_status fail_missing(liana__error *error)
{
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "this build of liana is without libzmq, which the cluster's keys and servers need; build with -DLIANA_ZMQ=ON");
}

liana_status liana__cluster_keys_make(const char *folder, liana__error *error)
{
    return fail_missing(error);
}

liana_status liana__cluster_keys_read(const char *folder, liana__cluster_keys *keys, liana__error *error)
{
    return fail_missing(error);
}

void liana__cluster_keys_forget(liana__cluster_keys *keys)
{
}

liana_status liana__check_private_folder(const char *folder, const char *what, liana__error *error)
{
    return fail_missing(error);
}

/* ---- service.h: opening fails, and the rest is never called ---- */

liana_status liana__service_open(const liana__service_place *place, const liana__service_calls *calls,
                                 liana__service **service, liana__error *error)
{
    *service = NULL;
    return fail_missing(error);
}

const char *liana__service_address(const liana__service *service)
{
    return "";
}

void liana__service_turn(liana__service *service, double seconds)
{
}

void liana__service_wake(liana__service *service)
{
}

void liana__service_send(liana__service *service, uint64_t client, const liana__service_message *message)
{
}

void liana__service_drop(liana__service *service, uint64_t client, const char *reason)
{
}

void liana__service_close(liana__service *service)
{
}

liana_status liana__link_open(const liana__service_place *place, liana__link **link, liana__error *error)
{
    *link = NULL;
    return fail_missing(error);
}

liana_status liana__link_send(liana__link *link, const liana__service_message *message, const void *more,
                              size_t num_more, liana__error *error)
{
    return fail_missing(error);
}

liana_status liana__link_receive(liana__link *link, liana__service_message *message, liana__error *error)
{
    return fail_missing(error);
}

void liana__link_close(liana__link *link)
{
}
