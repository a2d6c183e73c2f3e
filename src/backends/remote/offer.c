/* The devices that a server offers. */
#include "backends/remote/offer.h"

#include "backends/pjrt/survey.h"
#include "backends/remote/wire.h"
#include "base/context.h"
#include "base/cpu.h"

#include <stdio.h>

static const double GIB = 1 << 30;

void liana__served_describe(const liana_context *context, const liana__served_account *account, const char *name,
                            char *text)
{
    if (liana__starts_with(name, "cpu")) {
        const int threads = liana_context_num_threads(context);
        snprintf(text, LIANA__SERVED_TEXT, "%d thread%s, %s, %.1f GiB for clients", threads, threads == 1 ? "" : "s",
                 liana__isa_name(context->isa), (double)account->limit / GIB);
    } else {
        snprintf(text, LIANA__SERVED_TEXT, "%.1f GiB for clients", (double)account->limit / GIB);
    }
}

static void put_text(liana__text *out, const char *text)
{
    liana__wire_put_text(out, text ? text : "");
}

static void put_device(liana__text *out, const liana_device_facts *facts)
{
    put_text(out, facts->name);
    put_text(out, facts->kind);
    put_text(out, facts->platform);
    put_text(out, facts->plugin);
    put_text(out, facts->interface_version);
    put_text(out, facts->version);
    put_text(out, facts->environment);
    liana__wire_put_u64(out, (uint64_t)facts->memory);
    liana__wire_put_u64(out, (uint64_t)facts->memory_used);
    liana__wire_put_u32(out, (uint32_t)facts->threads);
}

static liana_status collect(liana_context *context, const liana__served_account *account, liana_device_list *list,
                            liana__error *error)
{
    static const char *const kinds[] = {"gpu", "tpu"};
    LIANA_TRY(liana__device_list_add_cpu(list, context, error));
    list->items[0].name = "cpu:0";
    list->items[0].memory = (int64_t)account->limit;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        liana__error missing;
        /* Missing devices are not offered. */
        if (liana__pjrt_list_devices(list, context, kinds[i], &missing) == LIANA_OUT_OF_MEMORY) {
            return liana__fail_memory(error, "the list of devices");
        }
    }
    return LIANA_OK;
}

liana_status liana__served_offer(liana_context *context, const liana__served_account *account, liana__text *out,
                                 liana__error *error)
{
    liana_device_list list = {0};
    liana_status status = collect(context, account, &list, error);
    if (status == LIANA_OK) {
        liana__wire_put_u32(out, (uint32_t)list.count);
        for (size_t i = 0; i < list.count; i++) put_device(out, &list.items[i]);
        if (out->failed) status = liana__fail_memory(error, "the list of devices");
    }
    liana__device_list_free(&list);
    return status;
}
