/* Decides the precision of a run. */
#include "step/precision.h"

#include "backends/pjrt/platform.h"
#include "backends/remote/device.h"

#include <stdio.h>
#include <string.h>

const char *const liana__precision_names[] = {
    [LIANA_FLOAT32] = "float32",
    [LIANA_MIXED_BFLOAT16] = "mixed_bfloat16",
    [LIANA_FLOAT32_DEFAULT] = "float32_default",
    [LIANA_PRECISION_AUTO] = "auto",
    NULL,
};

liana_precision liana__precision_named(const char *name)
{
    for (int precision = 0; name && precision < LIANA_PRECISION_AUTO; precision++) {
        if (strcmp(name, liana__precision_names[precision]) == 0) return (liana_precision)precision;
    }
    return LIANA_FLOAT32;
}

/* Mixed precision at each level, best first: the feature that it gains from, and whether `auto` takes it. */
static const struct level {
    liana__isa isa;
    const char *feature; /* of the processor, for bf16; NULL: none */
    const char *how;     /* it is computed, if not by instructions for products of bf16 */
    bool slower;         /* than float32 */
    bool chosen;         /* by `auto` */
    bool multiplies;     /* bf16, and not f32 made of it */
} levels[] = {
    {LIANA__ISA_AMX, "AMX", "", false, true, true},
    {LIANA__ISA_AVX512_BF16, "AVX512-BF16", "", false, true, true},
    {LIANA__ISA_AVX512_BF16_STORAGE, "AVX512-BF16", "; bf16 is stored and multiplied in f32", false, true, false},
    {LIANA__ISA_AVX2, NULL, "; bf16 is stored and multiplied in f32, which saves memory, not time", false, false,
     false},
    {LIANA__ISA_BASELINE, NULL, "; it is emulated", true, false, false},
};

static const struct level *level_of(liana__isa isa)
{
    const struct level *level = levels;
    while (level->isa > isa) level++;
    return level;
}

void liana__precision_name_feature(liana__isa isa, const liana__cpu_facts *facts, char *text, size_t size)
{
    const struct level *level = level_of(isa);
    if (isa < LIANA__ISA_AMX && facts->amx && facts->amx_refusal) {
        snprintf(text, size, "%s, and AMX, which the kernel refuses (arch_prctl: %s)%s", level->feature,
                 strerror(facts->amx_refusal), level->how);
    } else {
        snprintf(text, size, "%s%s", level->feature, level->how);
    }
}

/* This device's feature for bf16, as the end of a sentence; whether it has one. */
static bool describe_feature(const liana__device *device, char *text, size_t size)
{
    const liana__isa isa = device->context->isa;
    liana__isa all;
    liana__isa there;
    if (liana__served_is_cpu(device, &there)) {
        const char *feature = level_of(there)->feature;
        snprintf(text, size, "the server's CPU has %s", feature ? feature : "no instructions for bf16");
        return feature != NULL;
    }
    if (device->backend != &liana__backend_cpu) {
        snprintf(text, size, "this device only checks the others");
    } else if (level_of(isa)->feature) {
        const liana__cpu_facts facts = liana__cpu_read_facts(LIANA__ISA_AMX);
        char feature[160];
        liana__precision_name_feature(isa, &facts, feature, sizeof feature);
        snprintf(text, size, "this CPU has %s", feature);
        return true;
    } else if (liana__cpu_detect(NULL, &all, NULL, 0, NULL) == LIANA_OK && level_of(all)->feature) {
        snprintf(text, size, "LIANA_MAX_ISA hides this CPU's instructions for bf16");
    } else {
        snprintf(text, size, "this CPU has no instructions for bf16");
    }
    return false;
}

/* Of a plugin's device: TPUs multiply bf16, and so do GPUs of these years. */
static liana__precision_choice choose_for_platform(const char *platform, liana_precision asked)
{
    static const char *const platforms[] = {"tpu", "cuda", "rocm", "gpu"};
    bool multiplies = false;
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        multiplies = multiplies || strcmp(platform, platforms[i]) == 0;
    }
    liana__precision_choice choice = {.precision = asked};
    char why[96];
    snprintf(why, sizeof why, "the platform %.32s multiplies %s", platform, multiplies ? "bf16" : "no bf16");
    if (asked == LIANA_PRECISION_AUTO) {
        choice.precision = multiplies ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32;
        snprintf(choice.note, sizeof choice.note, "precision: %s (auto: %s)", liana__precision_names[choice.precision],
                 why);
    } else if (asked == LIANA_MIXED_BFLOAT16) {
        snprintf(choice.note, sizeof choice.note, "precision: mixed_bfloat16%s (%s)",
                 multiplies ? "" : ", which may be slower here than float32", why);
    } else if (asked == LIANA_FLOAT32_DEFAULT) {
        snprintf(choice.note, sizeof choice.note, "precision: float32_default (%s)",
                 multiplies ? "this device may round the operands of products" : "here the same as float32");
    }
    return choice;
}

liana__precision_choice liana__precision_choose(const liana__device *device, liana_precision asked)
{
    const char *platform = liana__pjrt_platform_of(device);
    if (platform) return choose_for_platform(platform, asked);
    liana__isa isa = LIANA__ISA_BASELINE;
    const bool own = device->backend == &liana__backend_cpu || liana__served_is_cpu(device, &isa);
    if (device->backend == &liana__backend_cpu) isa = device->context->isa;
    const struct level *level = level_of(isa);
    liana__precision_choice choice = {.precision = asked, .evaluates_in_float32 = own && !level->multiplies};
    char why[200];
    const bool has_feature = describe_feature(device, why, sizeof why);
    if (asked == LIANA_PRECISION_AUTO) {
        choice.precision = level->chosen ? LIANA_MIXED_BFLOAT16 : LIANA_FLOAT32;
        snprintf(choice.note, sizeof choice.note, "precision: %s (auto: %s)", liana__precision_names[choice.precision],
                 why);
    } else if (asked == LIANA_MIXED_BFLOAT16 && level->slower) {
        snprintf(choice.note, sizeof choice.note, "precision: mixed_bfloat16, which is slower here than float32: %s%s",
                 why, level->how);
    } else if (asked == LIANA_MIXED_BFLOAT16) {
        snprintf(choice.note, sizeof choice.note, "precision: mixed_bfloat16 (%s%s)", why,
                 has_feature ? "" : level->how);
    } else if (asked == LIANA_FLOAT32_DEFAULT && own) {
        snprintf(choice.note, sizeof choice.note, "precision: float32_default (on a CPU the same as float32)");
    }
    return choice;
}
