/* Parts of src/base: random numbers, near names, files, threads, instruction sets, memory. */
#include "harness/peers.h"

#include "base/context.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/named.h"
#include "base/random.h"
#include "base/threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(LIANA_X86)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* Known answers of the authors' own distribution (Random123, kat_vectors, philox4x32 10). */
static void test_philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        liana__philox((liana__philox_key){{cases[i].key[0], cases[i].key[1]}}, cases[i].counter, out);
        assert_memory_equal(out, cases[i].expected, sizeof out);
    }
}

static void test_permute_is_a_bijection_that_changes_with_the_epoch(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 5, 16, 17, 1000, 1605};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t count = counts[i];
        bool *seen = calloc(count, 1);
        uint64_t moved = 0;
        for (uint64_t index = 0; index < count; index++) {
            uint64_t place = liana__permute(7, 1, index, count);
            assert_compare(place, <, count);
            assert_false(seen[place]);
            seen[place] = true;
            moved += place != liana__permute(7, 2, index, count);
        }
        if (count >= 1000) assert_compare(moved, >, count * 9 / 10);
        free(seen);
    }
}

/* Each index should land in each tenth of the range about equally often over many epochs: chi-squared, 9 degrees of
 * freedom; 27.9 is exceeded by chance once in a thousand. */
static void test_permute_spreads_evenly(void **state)
{
    (void)state;
    for (uint64_t index = 0; index < 3; index++) {
        double bins[10] = {0}, chi = 0;
        for (uint64_t epoch = 0; epoch < 5000; epoch++) bins[liana__permute(3, epoch, index, 1000) / 100]++;
        for (int bin = 0; bin < 10; bin++) chi += (bins[bin] - 500) * (bins[bin] - 500) / 500;
        assert_compare(chi, <, 27.9);
    }
}

static void test_edit_distance_and_nearest(void **state)
{
    (void)state;
    assert_int_equal(liana__edit_distance("kitten", "sitting"), 3);
    assert_int_equal(liana__edit_distance("ca", "ac"), 1);
    assert_int_equal(liana__edit_distance("", "abc"), 3);
    assert_int_equal(liana__edit_distance("MobileNet", "mobilenet"), 0);
    static const char *const names[] = {"learning_rate", "momentum", "nesterov"};
    assert_string_equal(liana__nearest("learing_rate", names, 3), "learning_rate");
    assert_null(liana__nearest("zebra", names, 3));
    assert_string_equal(liana__hint("momentum").text, "; did you mean 'momentum'?");
    assert_string_equal(liana__hint(NULL).text, "");
}

/* Rows and lists of pointers to rows, whose names are not their first member. */
static void test_things_are_found_by_name(void **state)
{
    (void)state;
    typedef struct thing {
        int number;
        const char *name;
    } thing;
    static const thing rows[] = {{1, "Adam"}, {2, "SGD"}, {3, "RMSprop"}};
    static const thing *const pointers[] = {&rows[2], &rows[0]};
    liana__named list = LIANA__NAMED(thing, rows, 3);
    const char *nearest = "unchanged";
    assert_int_equal(liana__named_find(list, "RMSprop", &nearest), 2);
    assert_string_equal(nearest, "unchanged");
    assert_int_equal(liana__named_find(list, "Adm", &nearest), 3);
    assert_string_equal(nearest, "Adam");
    assert_int_equal(liana__named_find(list, "Lookahead", &nearest), 3);
    assert_null(nearest);
    assert_int_equal(liana__named_find(list, "sgd", NULL), 3);
    list.any_case = true;
    assert_int_equal(liana__named_find(list, "sgd", NULL), 1);
    list = LIANA__NAMED_POINTERS(thing, pointers, 2);
    assert_int_equal(liana__named_find(list, "Adam", NULL), 1);
    assert_string_equal(liana__named_at(list, 0), "RMSprop");
    assert_string_equal(liana__named_nearest(list, "rmsprob"), "RMSprop");
    assert_null(liana__named_nearest(LIANA__NAMED(thing, rows, 0), "SGD"));
}

static void test_file_replace_leaves_no_half(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    const char *path = liana__test_path("sub/file.txt");
    assert_fails(liana__file_replace(path, "x", 1, &error), LIANA_NOT_FOUND, &error, "sub/file.txt");
    assert_ok(liana__folder_make(liana__test_path("sub"), &error), &error);
    assert_ok(liana__file_replace(path, "first", 5, &error), &error);
    assert_ok(liana__file_replace(path, "second", 6, &error), &error);
    char *data;
    size_t size;
    assert_ok(liana__file_read(path, 100, &data, &size, &error), &error);
    assert_int_equal(size, 6);
    assert_string_equal(data, "second");
    free(data);
    assert_false(liana__file_exists(liana__test_path("sub/file.txt.tmp")));
    assert_fails(liana__file_read(path, 3, &data, &size, &error), LIANA_OUT_OF_RANGE, &error, "6 bytes", "at most 3");
    assert_fails(liana__file_read(liana__test_path("sub"), 3, &data, &size, &error), LIANA_IO_ERROR, &error,
                 "a folder");
}

static void test_file_match_sorts_by_bytes(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__test_write("b.rec", "", 0);
    liana__test_write("B.rec", "", 0);
    liana__test_write("a.rec", "", 0);
    liana__arena arena = {0};
    liana__paths paths;
    assert_ok(liana__file_match(liana__test_path("*.rec"), &arena, &paths, &error), &error);
    assert_int_equal(paths.count, 3);
    assert_string_equal(liana__path_name(paths.items[0]), "B.rec");
    assert_string_equal(liana__path_name(paths.items[2]), "b.rec");
    assert_fails(liana__file_match(liana__test_path("*.no"), &arena, &paths, &error), LIANA_NOT_FOUND, &error, "*.no");
    liana__arena_free(&arena);
}

typedef struct tally {
    atomic_int runs[1000];
    atomic_int outside;
    int num_threads;
} tally;

static void count_task(void *user, size_t task, int worker)
{
    tally *counts = user;
    atomic_fetch_add(&counts->runs[task], 1);
    if (worker < 0 || worker >= counts->num_threads) atomic_fetch_add(&counts->outside, 1);
}

static void test_pool_runs_each_task_once(void **state)
{
    (void)state;
    liana__error error = {0};
    for (int num_threads = 1; num_threads <= 4; num_threads++) {
        liana__pool *pool;
        assert_ok(liana__pool_create(num_threads, &pool, &error), &error);
        for (size_t count = 0; count <= 1000; count = count * 3 + 1) {
            static tally counts;
            memset(&counts, 0, sizeof counts);
            counts.num_threads = num_threads;
            liana__pool_run(pool, count, count_task, &counts);
            for (size_t task = 0; task < 1000; task++) assert_int_equal(counts.runs[task], task < count);
            assert_int_equal(counts.outside, 0);
        }
        liana__pool_destroy(pool);
    }
}

static void test_isa_can_be_capped(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__isa isa;
    assert_ok(liana__cpu_detect("baseline", &isa, NULL, 0, &error), &error);
    assert_int_equal(isa, LIANA__ISA_BASELINE);
    assert_ok(liana__cpu_detect("avx2", &isa, NULL, 0, &error), &error);
    assert_compare(isa, <=, LIANA__ISA_AVX2);
    assert_ok(liana__cpu_detect("avx512", &isa, NULL, 0, &error), &error);
    assert_compare(isa, <=, LIANA__ISA_AVX512);
    assert_ok(liana__cpu_detect("avx512_bf16", &isa, NULL, 0, &error), &error);
    assert_compare(isa, <=, LIANA__ISA_AVX512_BF16);
    assert_string_equal(liana__isa_name(LIANA__ISA_AVX512_BF16), "avx512_bf16");
    assert_ok(liana__cpu_detect("avx512_bf16_storage", &isa, NULL, 0, &error), &error);
    assert_compare(isa, <=, LIANA__ISA_AVX512_BF16_STORAGE);
    assert_string_equal(liana__isa_name(LIANA__ISA_AVX512_BF16_STORAGE), "avx512_bf16_storage");
    assert_fails(liana__cpu_detect("sse9", &isa, NULL, 0, &error), LIANA_INVALID_CONFIG, &error, "sse9",
                 "avx512_bf16_storage");
}

/* Processors and kernels that are not here. */
static void test_isa_of_other_machines(void **state)
{
    (void)state;
    const liana__isa amx = LIANA__ISA_AMX, bf16 = LIANA__ISA_AVX512_BF16, storage = LIANA__ISA_AVX512_BF16_STORAGE;
    const struct {
        liana__cpu_facts facts;
        liana__isa cap, level;
        const char *reason;
    } machines[] = {
        {{0}, amx, LIANA__ISA_BASELINE, "has no avx2"},
        {{.avx2 = true}, amx, LIANA__ISA_AVX2, "has no avx512"},
        {{.avx512 = true, .avx512_bf16 = true}, amx, LIANA__ISA_BASELINE, "has no avx2"},
        {{.avx2 = true, .avx512 = true}, amx, LIANA__ISA_AVX512, "has no avx512_bf16"},
        {{.avx2 = true, .avx512 = true, .amx = true}, amx, LIANA__ISA_AVX512, "has no avx512_bf16"},
        {{true, true, true, false, true, 0}, amx, bf16, "has no amx"},
        {{true, true, true, true, true, 0}, amx, LIANA__ISA_AMX, ""},
        {{true, true, true, true, true, EPERM}, amx, bf16, "the kernel refuses its tile registers"},
        {{true, true, true, true, true, EINVAL}, amx, bf16, "arch_prctl: Invalid argument"},
        {{true, true, true, true, true, 0}, LIANA__ISA_AVX2, LIANA__ISA_AVX2, "LIANA_MAX_ISA allows nothing higher"},
        {{true, true, true, true, true, 0}, bf16, bf16, "LIANA_MAX_ISA allows nothing higher"},
        {{true, true, true, true, true, 0}, storage, storage, "LIANA_MAX_ISA allows nothing higher"},
        {{true, true, true, false, false, 0}, amx, storage, "dot products of bf16 are not faster than f32"},
        {{true, true, true, false, false, 0}, storage, storage, "dot products of bf16 are not faster than f32"},
        {{true, true, true, false, false, 0}, bf16, bf16, "has no amx"},
        {{true, true, true, true, false, 0}, bf16, bf16, "LIANA_MAX_ISA allows nothing higher"},
        {{true, true, true, true, false, 0}, amx, LIANA__ISA_AMX, ""},
        {{true, true, true, true, false, EPERM}, amx, storage, "the kernel refuses its tile registers"},
        {{.avx2 = true, .avx512 = true, .fast_dots = true}, amx, LIANA__ISA_AVX512, "has no avx512_bf16"},
        {{.avx2 = true}, LIANA__ISA_AVX512, LIANA__ISA_AVX2, "has no avx512"},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        char reason[160];
        liana__isa level = liana__cpu_level(&machines[i].facts, machines[i].cap, reason, sizeof reason);
        assert_int_equal(level, machines[i].level);
        if (*machines[i].reason) {
            assert_says(reason, machines[i].reason);
        } else {
            assert_string_equal(reason, "");
        }
    }
}

/* Real ones, and unknown ones. */
static void test_fast_dots_by_identity(void **state)
{
    (void)state;
    static const struct {
        liana__cpu_identity identity;
        bool fast;
    } processors[] = {
        {{"AuthenticAMD", 25, 0x11, 1}, true},                                        /* Genoa */
        {{"AuthenticAMD", 25, 0x61, 2}, true},                                        /* Raphael */
        {{"AuthenticAMD", 25, 0x75, 2}, true},                                        /* Hawk Point */
        {{"AuthenticAMD", 25, 0xa0, 2}, true},                                        /* Bergamo */
        {{"AuthenticAMD", 25, 0x21, 0}, false},                                       /* Vermeer: Zen 3 */
        {{"AuthenticAMD", 26, 0x02, 1}, true},                                        /* Turin */
        {{"AuthenticAMD", 26, 0x44, 0}, true},                                        /* Granite Ridge */
        {{"AuthenticAMD", 27, 0x00, 0}, true},                                        /* later ones */
        {{"AuthenticAMD", 23, 0x31, 0}, false}, {{"GenuineIntel", 6, 85, 11}, true},  /* Cooper Lake */
        {{"GenuineIntel", 6, 85, 7}, false},                                          /* Cascade Lake */
        {{"GenuineIntel", 6, 143, 8}, false},                                         /* Sapphire Rapids */
        {{"GenuineIntel", 6, 207, 2}, false},                                         /* Emerald Rapids */
        {{"GenuineIntel", 6, 173, 1}, false},                                         /* Granite Rapids */
        {{"GenuineIntel", 6, 174, 1}, false},   {{"GenuineIntel", 6, 167, 1}, false}, /* as a virtual machine may say */
        {{"GenuineIntel", 19, 1, 0}, false},                                          /* later ones */
        {{"HygonGenuine", 26, 1, 0}, false},    {{"", 0, 0, 0}, false},
    };
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++) {
        const liana__cpu_identity *it = &processors[i].identity;
        if (liana__cpu_has_fast_dots(it) == processors[i].fast) continue;
        fail_msg("%s %d/%d stepping %d: expected %s", it->vendor, it->family, it->model, it->stepping,
                 processors[i].fast ? "fast" : "slow");
    }
}

#if defined(LIANA_X86)
/* From here on the kernel answers arch_prctl(0x1023, ...) with EPERM, as kernels and sandboxes may. */
static bool refuse_tiles(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { RIGHT, WRONG, NO_FILTERS };

/* Also on a machine with tiles: then the level is the one below, and the reason is the kernel's. */
static int look_when_refused(bool has_tiles)
{
    if (!refuse_tiles()) return NO_FILTERS;
    liana__isa isa;
    char reason[160];
    bool right = liana__cpu_ask_for_tiles() == EPERM &&
                 liana__cpu_detect(NULL, &isa, reason, sizeof reason, NULL) == LIANA_OK && isa < LIANA__ISA_AMX;
    const bool fast = liana__cpu_read_facts(LIANA__ISA_BASELINE).fast_dots;
    const liana__isa below = fast ? LIANA__ISA_AVX512_BF16 : LIANA__ISA_AVX512_BF16_STORAGE;
    if (has_tiles) right = right && isa == below && strstr(reason, "Operation not permitted");
    return right ? RIGHT : WRONG;
}

static void test_a_kernel_that_refuses_tiles(void **state)
{
    (void)state;
    liana__isa isa;
    liana__error error = {0};
    assert_ok(liana__cpu_detect(NULL, &isa, NULL, 0, &error), &error);
    pid_t child = fork();
    if (child == 0) _exit(look_when_refused(isa == LIANA__ISA_AMX));
    int status = 0;
    assert_compare(child, >, 0);
    assert_compare(waitpid(child, &status, 0), ==, child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTERS) {
        liana__test_skip("the kernel has no seccomp filters");
    }
    assert_int_equal(WEXITSTATUS(status), RIGHT);
}
#endif

/* ---- memory ---- */

static void write_limit(const char *group, const char *file, const char *text)
{
    liana__error error = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/%s", liana__test_path("cgroup"), group);
    assert_ok(liana__folder_make(path, &error), &error);
    snprintf(path, sizeof path, "%s/%s/%s", liana__test_path("cgroup"), group, file);
    assert_ok(liana__file_replace(path, text, strlen(text), &error), &error);
}

static size_t limit_of(const char *groups)
{
    char list[512], root[512];
    snprintf(list, sizeof list, "%s", liana__test_write("groups", groups, strlen(groups)));
    snprintf(root, sizeof root, "%s", liana__test_path("cgroup"));
    return liana__group_memory(list, root);
}

/* Files as the kernel writes them, of both versions. */
static void test_memory_of_control_groups(void **state)
{
    (void)state;
    liana__test_folder();
    assert_compare(limit_of("0::/jobs/one\n"), ==, SIZE_MAX);
    write_limit("", "memory.max", "max\n");
    write_limit("jobs", "memory.max", "3000000000\n");
    write_limit("jobs/one", "memory.max", "max\n");
    write_limit("jobs/two", "memory.max", "1000000000\n");
    assert_compare(limit_of("0::/\n"), ==, SIZE_MAX);
    assert_int_equal(limit_of("0::/jobs/one\n"), 3000000000);
    assert_int_equal(limit_of("0::/jobs/two\n"), 1000000000);
    assert_int_equal(limit_of("0::/jobs/two/inner\n"), 1000000000);
    assert_int_equal(limit_of("0::/elsewhere\n"), SIZE_MAX);
    /* Version 1: a folder for each controller, and a number that means none. */
    write_limit("memory", "memory.limit_in_bytes", "9223372036854771712\n");
    write_limit("memory/box", "memory.limit_in_bytes", "2000000000\n");
    assert_int_equal(limit_of("5:cpu,cpuacct:/box\n4:memory:/box/in\n0::/\n"), 2000000000);
    assert_int_equal(limit_of("4:memory:/box\n0::/jobs/two\n"), 1000000000);
    assert_compare(limit_of("5:cpu,cpuacct:/box\n4:memory:/\n"), >=, (size_t)1 << 62);
    /* In a container the path may be one of outside; its own limit is then at the top. */
    write_limit("memory", "memory.limit_in_bytes", "700000000\n");
    assert_int_equal(limit_of("4:memory:/docker/f00\n"), 700000000);
    write_limit("", "memory.max", "garbage\n");
    assert_compare(limit_of("0::/\n"), ==, 700000000);
    assert_compare(limit_of(""), ==, 700000000);
    assert_compare(liana__machine_memory(), >, (size_t)1 << 20);
}

static void keep_first_line(void *user, const char *topic, const char *line)
{
    char *kept = user;
    if (!*kept) snprintf(kept, 256, "%s: %s", topic, line);
}

static void test_isa_is_logged_with_its_reason(void **state)
{
    (void)state;
    char line[256] = "";
    setenv("LIANA_LOG", "dispatch", 1);
    setenv("LIANA_MAX_ISA", "baseline", 1);
    liana_context *context;
    liana_status status =
        liana_context_create(&(liana_context_options){.log = keep_first_line, .log_user = line}, &context);
    unsetenv("LIANA_LOG");
    unsetenv("LIANA_MAX_ISA");
    assert_ok(status, &context->error);
    liana_context_destroy(context);
    assert_says(line, "dispatch: instruction set baseline: ");
}

static void test_a_message_within_another_is_cut(void **state)
{
    (void)state;
    liana__error error = {0};
    char inner[sizeof error.message];
    for (size_t length = sizeof inner - 12; length < sizeof inner; length++) {
        memset(inner, 'x', length);
        inner[length] = 0;
        liana__fail(&error, LIANA_DATA_LOSS, "%s", inner);
        assert_int_equal(liana__fail_within(&error, "file %d", 7), LIANA_DATA_LOSS);
        size_t whole = strlen("file 7: ") + length, most = sizeof error.message - 1;
        assert_int_equal(strlen(error.message), whole < most ? whole : most);
        assert_int_equal(strncmp(error.message, "file 7: xxx", 11), 0);
    }
    /* No room for anything behind. */
    for (size_t length = sizeof inner - 5; length < sizeof inner; length++) {
        memset(inner, 'y', length);
        inner[length] = 0;
        liana__fail(&error, LIANA_DATA_LOSS, "tail");
        liana__fail_within(&error, "%s", inner);
        assert_compare(strlen(error.message), >=, length);
        assert_compare(strlen(error.message), <, sizeof error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_a_message_within_another_is_cut),
        cmocka_unit_test(test_permute_is_a_bijection_that_changes_with_the_epoch),
        cmocka_unit_test(test_permute_spreads_evenly),
        cmocka_unit_test(test_edit_distance_and_nearest),
        cmocka_unit_test(test_things_are_found_by_name),
        cmocka_unit_test(test_file_replace_leaves_no_half),
        cmocka_unit_test(test_file_match_sorts_by_bytes),
        cmocka_unit_test(test_pool_runs_each_task_once),
        cmocka_unit_test(test_isa_can_be_capped),
#if defined(LIANA_X86)
        cmocka_unit_test(test_a_kernel_that_refuses_tiles),
#endif
        cmocka_unit_test(test_memory_of_control_groups),
        cmocka_unit_test(test_isa_of_other_machines),
        cmocka_unit_test(test_fast_dots_by_identity),
        cmocka_unit_test(test_isa_is_logged_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
