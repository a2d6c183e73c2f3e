/* Learning-rate schedules that a program registers. */
#include "base/own_part.h"
#include "optimizers/schedule.h"

typedef struct own_schedule {
    liana__own_part part;
    liana__schedule schedule;
    liana_schedule_type given;
} own_schedule;

/* The options of all schedules, the part's address, then the program's struct. */
enum {
    STAMP = sizeof(liana__schedule_common),
    SHIFT = (STAMP + sizeof(void *) + LIANA__OWN_SHIFT - 1) / LIANA__OWN_SHIFT * LIANA__OWN_SHIFT,
};

static double call_rate(const void *options, double step, double decay_steps, double initial)
{
    const liana__own_part *part = liana__own_part_of((const char *)options + STAMP);
    const own_schedule *own = (const own_schedule *)part;
    return own->given.rate(liana__own_options_of(part, options), step, decay_steps, initial);
}

liana_status liana_register_schedule(liana_context *context, const liana_schedule_type *type)
{
    static const liana__field common[] = {LIANA__SCHEDULE_FIELDS};
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_schedule *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_SCHEDULE,
                                        .given = type,
                                        .size = sizeof *type,
                                        .stamp = STAMP,
                                        .shift = SHIFT,
                                        .common = common,
                                        .num_common = sizeof common / sizeof *common};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.rate) return liana__own_part_refuse(context, &own->part, "its function 'rate' is NULL");
    own->schedule = (liana__schedule){
        .name = own->part.name,
        .doc = own->part.doc,
        .options = &own->part.options,
        .own = &own->part,
        .rate = call_rate,
    };
    return liana__own_part_add(context, &own->part, liana__schedule_find(NULL, own->part.name, NULL) != NULL,
                               &own->schedule);
}
