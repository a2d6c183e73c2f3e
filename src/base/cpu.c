/* Finds out which instruction sets may be used. */
#include "base/cpu.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {"baseline", "avx2", "avx512", "avx512_bf16_storage", "avx512_bf16", "amx"};

const char *liana__isa_name(liana__isa isa)
{
    return names[isa];
}

/* ---- which processors have fast dot products of bf16 ---- */

enum { ANY = INT_MAX };

/* Ranges of families and models, from a stepping on. The first matching row is the answer. Instructions of two cycles
 * multiply no faster than f32's, of which two start in each cycle (Golden Cove and its descendants). Instructions of
 * one cycle multiply twice as fast. */
static const struct {
    const char *vendor;
    int families[2], models[2], least_stepping;
    bool fast;
} dots[] = {
    {"AuthenticAMD", {25, 25}, {0x10, 0x1f}, 0, true}, /* Zen 4: Genoa, Storm Peak */
    {"AuthenticAMD", {25, 25}, {0x60, 0x7f}, 0, true}, /* Zen 4: Raphael, Phoenix */
    {"AuthenticAMD", {25, 25}, {0xa0, 0xaf}, 0, true}, /* Zen 4c: Bergamo, Siena */
    {"AuthenticAMD", {26, ANY}, {0, ANY}, 0, true},    /* Zen 5 and later */
    {"GenuineIntel", {6, 6}, {85, 85}, 10, true},      /* Cooper Lake; steppings below are Skylake and Cascade Lake */
    {"GenuineIntel", {6, 6}, {143, 143}, 0, false},    /* Sapphire Rapids */
    {"GenuineIntel", {6, 6}, {207, 207}, 0, false},    /* Emerald Rapids */
    {"GenuineIntel", {6, 6}, {173, 174}, 0, false},    /* Granite Rapids */
};

bool liana__cpu_has_fast_dots(const liana__cpu_identity *identity)
{
    for (size_t i = 0; i < sizeof dots / sizeof *dots; i++) {
        if (strcmp(identity->vendor, dots[i].vendor) != 0 || identity->stepping < dots[i].least_stepping) continue;
        if (identity->family < dots[i].families[0] || identity->family > dots[i].families[1]) continue;
        if (identity->model >= dots[i].models[0] && identity->model <= dots[i].models[1]) return dots[i].fast;
    }
    return false;
}

#if defined(LIANA_X86)
#include <cpuid.h>

enum { ARCH_REQUEST_PERMISSION = 0x1023, AMX_TILE_DATA = 18 };

/* A bit of a leaf of CPUID; its registers are eax, ebx, ecx, edx. */
static bool cpuid_bit(unsigned leaf, unsigned subleaf, int where, int bit)
{
    unsigned found[4] = {0};
    return __get_cpuid_count(leaf, subleaf, &found[0], &found[1], &found[2], &found[3]) && (found[where] >> bit & 1);
}

/* Family and model have more bits in families 6 and 15. */
static liana__cpu_identity read_identity(void)
{
    liana__cpu_identity identity = {.vendor = ""};
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return identity;
    const unsigned text[] = {b, d, c};
    memcpy(identity.vendor, text, sizeof text);
    if (!__get_cpuid(1, &a, &b, &c, &d)) return identity;
    identity.stepping = (int)(a & 15);
    identity.family = (int)(a >> 8 & 15);
    identity.model = (int)(a >> 4 & 15);
    if (identity.family == 6 || identity.family == 15) identity.model += (int)(a >> 16 & 15) << 4;
    if (identity.family == 15) identity.family += (int)(a >> 20 & 255);
    return identity;
}

int liana__cpu_ask_for_tiles(void)
{
    return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, AMX_TILE_DATA) == 0 ? 0 : errno;
}

/* The builtins also ask whether the operating system saves the registers. */
liana__cpu_facts liana__cpu_read_facts(liana__isa cap)
{
    __builtin_cpu_init();
    const liana__cpu_identity identity = read_identity();
    liana__cpu_facts facts = {
        .avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpuid_bit(1, 0, 2, 29),
        .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
        .avx512_bf16 = cpuid_bit(7, 1, 0, 5),
        .amx = cpuid_bit(7, 0, 3, 22) && cpuid_bit(7, 0, 3, 24),
        .fast_dots = liana__cpu_has_fast_dots(&identity),
    };
    if (liana__cpu_level(&facts, cap, NULL, 0) == LIANA__ISA_AMX) facts.amx_refusal = liana__cpu_ask_for_tiles();
    return facts;
}
#else
int liana__cpu_ask_for_tiles(void)
{
    return ENOSYS;
}

liana__cpu_facts liana__cpu_read_facts(liana__isa cap)
{
    (void)cap;
    return (liana__cpu_facts){0};
}
#endif

liana__isa liana__cpu_level(const liana__cpu_facts *facts, liana__isa cap, char *reason, size_t size)
{
    liana__isa level = LIANA__ISA_BASELINE;
    if (facts->avx2) level = LIANA__ISA_AVX2;
    if (facts->avx2 && facts->avx512) level = LIANA__ISA_AVX512;
    bool has_bf16 = level == LIANA__ISA_AVX512 && facts->avx512_bf16;
    bool slow = has_bf16 && !facts->fast_dots && cap != LIANA__ISA_AVX512_BF16;
    bool refused = has_bf16 && facts->amx && facts->amx_refusal != 0;
    if (has_bf16) level = slow ? LIANA__ISA_AVX512_BF16_STORAGE : LIANA__ISA_AVX512_BF16;
    if (has_bf16 && facts->amx && !refused) level = LIANA__ISA_AMX;
    liana__isa chosen = level < cap ? level : cap;
    if (!reason) return chosen;
    if (chosen < level || (refused && cap < LIANA__ISA_AMX)) {
        snprintf(reason, size, "LIANA_MAX_ISA allows nothing higher");
    } else if (refused) {
        snprintf(reason, size, "the processor has amx, but the kernel refuses its tile registers (arch_prctl: %s)",
                 strerror(facts->amx_refusal));
    } else if (chosen == LIANA__ISA_AVX512_BF16_STORAGE) {
        snprintf(reason, size,
                 "the processor's dot products of bf16 are not faster than f32 (LIANA_MAX_ISA=avx512_bf16 uses them), "
                 "and it has no amx");
    } else if (chosen == LIANA__ISA_AVX512) {
        snprintf(reason, size, "the processor, as the operating system shows it, has no avx512_bf16");
    } else if (chosen < LIANA__ISA_AMX) {
        snprintf(reason, size, "the processor, as the operating system shows it, has no %s",
                 liana__isa_name(chosen + 1));
    } else {
        snprintf(reason, size, "%s", "");
    }
    return chosen;
}

liana_status liana__cpu_detect(const char *limit, liana__isa *isa, char *reason, size_t size, liana__error *error)
{
    *isa = LIANA__ISA_BASELINE;
    liana__isa cap = LIANA__ISA_AMX;
    if (limit && *limit) {
        int found = -1;
        for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
            if (strcmp(limit, names[i]) == 0) found = i;
        }
        if (found < 0) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "LIANA_MAX_ISA is '%s', expected one of baseline, avx2, avx512, avx512_bf16_storage, "
                               "avx512_bf16, amx",
                               limit);
        }
        cap = (liana__isa)found;
    }
    liana__cpu_facts facts = liana__cpu_read_facts(cap);
    *isa = liana__cpu_level(&facts, cap, reason, size);
    return LIANA_OK;
}

int liana__cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int count = CPU_COUNT(&set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
