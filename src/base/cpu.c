#include "base/cpu.h"

#include <sched.h>
#include <stdbool.h>
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

static bool has_avx512_bf16(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
}

/* Linux lets a process use the tile registers only after it asked for them. */
static bool amx_granted(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    unsigned bf16_and_tiles = 1u << 22 | 1u << 24;
    if ((d & bf16_and_tiles) != bf16_and_tiles) return false;
    return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, AMX_TILE_DATA) == 0;
}

static liana__isa detect(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return LIANA__ISA_BASELINE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
        return LIANA__ISA_AVX2;
    }
    if (!has_avx512_bf16()) return LIANA__ISA_AVX512;
    return amx_granted() ? LIANA__ISA_AMX : LIANA__ISA_AVX512_BF16;
}
#else
static liana__isa detect(void)
{
    return LIANA__ISA_BASELINE;
}
#endif

liana_status liana__cpu_detect(const char *limit, liana__isa *isa, liana__error *error)
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
    *isa = detect();
    if (*isa > cap) *isa = cap;
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
