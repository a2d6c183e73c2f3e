/* The one table of settings that make programs repeatable (docs/explanation/pjrt.md). */
#include "backends/pjrt/repeatable.h"

#include <string.h>

/* GPUs: no sums whose order is that of arriving threads; and algorithms are not chosen by measuring them. */
static const liana__pjrt_flag gpu[] = {{"xla_gpu_deterministic_ops", .value = 1},
                                       {"xla_gpu_autotune_level", .value = 0, .is_number = true}};

/* CPUs: one thread for each product or convolution. Newer plugins cut their sums by the number of their threads all the
 * same, which no setting of a program or a client changes. */
static const liana__pjrt_flag cpu[] = {{"xla_cpu_multi_thread_eigen", .value = 0}};

static const liana__repeatable known[] = {
    {"cuda", gpu, sizeof gpu / sizeof *gpu, NULL},
    {"rocm", gpu, sizeof gpu / sizeof *gpu, NULL},
    {"cpu", cpu, sizeof cpu / sizeof *cpu,
     "bits are those of the number of the plugin's threads: the processors (or NPROC), or its devices if they are "
     "more"},
    {"tpu", NULL, 0, NULL},
};

const liana__repeatable *liana__repeatable_of(const char *platform)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(platform, known[i].platform) == 0) return &known[i];
    }
    return NULL;
}

void liana__repeatable_print(const char *platform, liana__text *text)
{
    const liana__repeatable *is = liana__repeatable_of(platform);
    if (!is) {
        liana__text_add(text, "nothing is known that makes programs of the platform %s repeatable", platform);
        return;
    }
    if (is->num_flags == 0) {
        liana__text_add(text, "programs of the platform %s are repeatable as they are", platform);
        return;
    }
    liana__text_add(text, "programs are compiled with ");
    for (size_t i = 0; i < is->num_flags; i++) {
        const liana__pjrt_flag *flag = &is->flags[i];
        liana__text_add(text, "%s%s=", i ? ", " : "", flag->name);
        if (flag->is_number) {
            liana__text_add(text, "%lld", (long long)flag->value);
        } else {
            liana__text_add(text, "%s", flag->value ? "true" : "false");
        }
    }
    if (is->condition) liana__text_add(text, "; %s", is->condition);
}
