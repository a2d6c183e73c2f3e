#include "train/precision.h"

#include <stdio.h>
#include <string.h>

const char *const liana__precision_names[] = {
    [LIANA_FLOAT32] = "float32",
    [LIANA_MIXED_BFLOAT16] = "mixed_bfloat16",
    [LIANA_PRECISION_AUTO] = "auto",
    NULL,
};

liana_precision liana__precision_named(const char *name)
{
    return name && strcmp(name, liana__precision_names[LIANA_MIXED_BFLOAT16]) == 0 ? LIANA_MIXED_BFLOAT16
                                                                                   : LIANA_FLOAT32;
}

/* Which processors gain from bf16, best first. */
static const struct {
    liana__isa isa;
    const char *feature;
} gains[] = {
    {LIANA__ISA_AMX, "AMX"},
    {LIANA__ISA_AVX512_BF16, "AVX512-BF16"},
};
enum { NUM_GAINS = sizeof gains / sizeof *gains };

/* The feature that makes bf16 fast at this level; NULL: none does. */
static const char *feature_of(liana__isa isa)
{
    for (int i = 0; i < NUM_GAINS; i++) {
        if (isa >= gains[i].isa) return gains[i].feature;
    }
    return NULL;
}

void liana__precision_name_feature(liana__isa isa, const liana__cpu_facts *facts, char *text, size_t size)
{
    const char *feature = feature_of(isa);
    if (isa < LIANA__ISA_AMX && facts->amx && facts->amx_refusal) {
        snprintf(text, size, "%s, and AMX, which the kernel refuses (arch_prctl: %s)", feature,
                 strerror(facts->amx_refusal));
    } else {
        snprintf(text, size, "%s", feature);
    }
}

/* Why bf16 is not fast here. */
static const char *what_lacks(const liana__device *device)
{
    if (device->backend != &liana__backend_cpu) return "this device only checks the others";
    liana__isa all;
    bool capped = liana__cpu_detect(NULL, &all, NULL, 0, NULL) == LIANA_OK && feature_of(all);
    return capped ? "LIANA_MAX_ISA hides this CPU's instructions for bf16" : "this CPU has no instructions for bf16";
}

liana__precision_choice liana__precision_choose(const liana__device *device, liana_precision asked)
{
    liana__isa isa = device->context->isa;
    bool has_feature = device->backend == &liana__backend_cpu && feature_of(isa);
    liana__precision_choice choice = {.precision = asked};
    char feature[160] = "";
    if (has_feature) {
        liana__cpu_facts facts = liana__cpu_read_facts(LIANA__ISA_AMX);
        liana__precision_name_feature(isa, &facts, feature, sizeof feature);
    }
    if (asked == LIANA_PRECISION_AUTO) {
        choice.precision = has_feature ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32;
        const char *name = liana__precision_names[choice.precision];
        if (has_feature) {
            snprintf(choice.note, sizeof choice.note, "precision: %s (auto: this CPU has %s)", name, feature);
        } else {
            snprintf(choice.note, sizeof choice.note, "precision: %s (auto: %s)", name, what_lacks(device));
        }
    } else if (asked == LIANA_MIXED_BFLOAT16 && has_feature) {
        snprintf(choice.note, sizeof choice.note, "precision: mixed_bfloat16 (this CPU has %s)", feature);
    } else if (asked == LIANA_MIXED_BFLOAT16) {
        snprintf(choice.note, sizeof choice.note,
                 "precision: mixed_bfloat16, which is slower here than float32: %s; it is emulated",
                 what_lacks(device));
    }
    return choice;
}
