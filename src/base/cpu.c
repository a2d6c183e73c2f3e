#include "base/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};

const char *liana__isa_name(liana__isa isa)
{
    return names[isa];
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

int liana__cpu_ask_for_tiles(void)
{
    return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, AMX_TILE_DATA) == 0 ? 0 : errno;
}

/* The builtins also ask whether the operating system saves the registers. */
liana__cpu_facts liana__cpu_read_facts(liana__isa cap)
{
    __builtin_cpu_init();
    liana__cpu_facts facts = {
        .avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpuid_bit(1, 0, 2, 29),
        .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
        .avx512_bf16 = cpuid_bit(7, 1, 0, 5),
        .amx = cpuid_bit(7, 0, 3, 22) && cpuid_bit(7, 0, 3, 24),
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
    if (level == LIANA__ISA_AVX512 && facts->avx512_bf16) level = LIANA__ISA_AVX512_BF16;
    bool refused = level == LIANA__ISA_AVX512_BF16 && facts->amx && facts->amx_refusal != 0;
    if (level == LIANA__ISA_AVX512_BF16 && facts->amx && !refused) level = LIANA__ISA_AMX;
    liana__isa chosen = level < cap ? level : cap;
    if (!reason) return chosen;
    if (chosen < level || (refused && cap < LIANA__ISA_AMX)) {
        snprintf(reason, size, "LIANA_MAX_ISA allows no more");
    } else if (refused) {
        snprintf(reason, size, "the processor has amx, but the kernel refuses its tile registers (arch_prctl: %s)",
                 strerror(facts->amx_refusal));
    } else if (chosen < LIANA__ISA_AMX) {
        snprintf(reason, size, "the processor, or what the operating system shows of it, has no %s",
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
                               "LIANA_MAX_ISA is '%s', expected one of baseline, avx2, avx512, avx512_bf16, amx",
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
