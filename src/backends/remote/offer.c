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

static void add_survey(const liana__pjrt_survey *survey, liana__text *list, uint32_t *count)
{
    for (size_t i = 0; i < survey->num_devices; i++) {
        const liana__pjrt_device_facts *facts = &survey->devices[i];
        char name[LIANA__SERVED_TEXT], text[LIANA__SERVED_TEXT];
        snprintf(name, sizeof name, "%s:%zu", survey->name, i);
        snprintf(text, sizeof text, "%s, %.1f GiB", facts->kind, (double)facts->memory / GIB);
        liana__wire_put_text(list, name);
        liana__wire_put_text(list, text);
        ++*count;
    }
}

liana_status liana__served_offer(liana_context *context, const liana__served_account *account, liana__text *out,
                                 liana__error *error)
{
    /* Looking should not take the memory of others. */
    static const char *const kinds[] = {"gpu?preallocate=false", "tpu"};
    liana__text list = {0};
    liana__arena arena = {0};
    uint32_t count = 1;
    char text[LIANA__SERVED_TEXT];
    liana__served_describe(context, account, "cpu", text);
    liana__wire_put_text(&list, "cpu:0");
    liana__wire_put_text(&list, text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        liana__pjrt_survey survey;
        liana__error missing;
        if (liana__pjrt_look(context, kinds[i], &arena, &survey, &missing) == LIANA_OK)
            add_survey(&survey, &list, &count);
    }
    liana__arena_free(&arena);
    liana__wire_put_text(out, liana_version());
    liana__wire_put_u32(out, count);
    liana__text_add_bytes(out, list.data ? list.data : "", list.length);
    liana_status status = list.failed ? liana__fail_memory(error, "the list of devices") : LIANA_OK;
    liana__text_free(&list);
    return status;
}
