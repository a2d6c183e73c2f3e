/* Aligned buffers and arenas. */
#include "base/memory.h"

#include "base/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Reads the number in a file of a control group. SIZE_MAX: "max", or no such file. */
static size_t read_limit(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned long long limit;
    bool found = file && fscanf(file, "%llu", &limit) == 1 && limit < SIZE_MAX;
    if (file) fclose(file);
    return found ? (size_t)limit : SIZE_MAX;
}

static void lower(size_t *least, size_t limit)
{
    if (limit > 0 && limit < *least) *least = limit;
}

/* Lowers *least by the limits of a group and its parents, with the root's. In a container the path may be one of the
 * outside, of which only the root exists. */
static void lower_by_group(size_t *least, const char *root, char *group, const char *file)
{
    char path[2048];
    group[strcspn(group, "\n")] = '\0';
    for (char *slash; (slash = strrchr(group, '/')); *slash = '\0') {
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        lower(least, read_limit(path));
    }
    snprintf(path, sizeof path, "%s/%s", root, file);
    lower(least, read_limit(path));
}

/* Lines are "0::/path" in version 2, "4:memory:/path" for a controller of version 1. */
size_t liana__group_memory(const char *list, const char *root)
{
    size_t least = SIZE_MAX;
    char line[1024], memory_root[1024], top[1] = "";
    snprintf(memory_root, sizeof memory_root, "%s/memory", root);
    lower_by_group(&least, root, top, "memory.max");
    lower_by_group(&least, memory_root, top, "memory.limit_in_bytes");
    FILE *file = fopen(list, "r");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        if (strncmp(line, "0::", 3) == 0) lower_by_group(&least, root, path + 1, "memory.max");
        if (strncmp(controllers, ":memory:", 8) == 0) {
            lower_by_group(&least, memory_root, path + 1, "memory.limit_in_bytes");
        }
    }
    if (file) fclose(file);
    return least;
}

size_t liana__machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    size_t least = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : (size_t)4 << 30;
    lower(&least, liana__group_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) lower(&least, (size_t)limit.rlim_cur);
    return least;
}

void *liana__allocate_aligned(size_t size)
{
    if (size > SIZE_MAX - LIANA__ALIGNMENT) return NULL;
    return aligned_alloc(LIANA__ALIGNMENT, liana__align_up(size ? size : 1));
}

void *liana__allocate_large(size_t size)
{
    const size_t page = (size_t)2 << 20;
    if (size < page || size > SIZE_MAX - page) return liana__allocate_aligned(size);
    size = (size + page - 1) / page * page;
    void *memory = aligned_alloc(page, size);
    if (memory) madvise(memory, size, MADV_HUGEPAGE); /* a wish: whether it is granted changes nothing else */
    return memory;
}

void liana__free_large(void *memory, size_t size)
{
    enum { MANY = 1 << 20 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGE_SIZE), begin = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (memory && size >= MANY) madvise((void *)begin, end - begin, MADV_DONTNEED);
    free(memory);
}

void *liana__allocate_zeroed(size_t size)
{
    void *memory = liana__allocate_aligned(size);
    if (memory) memset(memory, 0, size);
    return memory;
}

typedef struct liana__arena_block {
    struct liana__arena_block *next;
    size_t size;
    size_t used;
    size_t padding[5]; /* keeps the payload on a cache line */
} arena_block;

enum { DEFAULT_BLOCK = 64 * 1024 };

static arena_block *add_block(liana__arena *arena, size_t payload)
{
    if (payload > SIZE_MAX / 2) return NULL;
    size_t size = payload > DEFAULT_BLOCK ? payload : DEFAULT_BLOCK;
    arena_block *block = liana__allocate_aligned(sizeof *block + size);
    if (!block) return NULL;
    block->size = size;
    block->used = 0;
    block->next = arena->head;
    arena->head = block;
    return block;
}

void *liana__arena_allocate(liana__arena *arena, size_t size)
{
    size_t alignment = size >= LIANA__ALIGNMENT ? LIANA__ALIGNMENT : 16;
    arena_block *block = arena->head;
    size_t start = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!block || start > block->size || size > block->size - start) {
        block = add_block(arena, size);
        start = 0;
    }
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    char *memory = (char *)(block + 1) + start;
    block->used = start + size;
    arena->used += size;
    memset(memory, 0, size);
    return memory;
}

void *liana__arena_copy(liana__arena *arena, const void *bytes, size_t size)
{
    void *memory = liana__arena_allocate(arena, size);
    if (memory && size) memcpy(memory, bytes, size);
    return memory;
}

char *liana__arena_string(liana__arena *arena, const char *text)
{
    return text ? liana__arena_copy(arena, text, strlen(text) + 1) : NULL;
}

char *liana__arena_format(liana__arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = liana__format_list(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : liana__arena_allocate(arena, (size_t)length + 1);
    if (text) liana__format_list(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void liana__arena_free(liana__arena *arena)
{
    arena_block *block = arena->head;
    while (block) {
        arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (liana__arena){0};
}

bool liana__grow(void *array_pointer, size_t count, size_t *capacity, size_t element_size)
{
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted < *capacity || wanted > SIZE_MAX / element_size) return false;
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    array = realloc(array, wanted * element_size);
    if (!array) return false;
    memcpy(array_pointer, &array, sizeof array);
    *capacity = wanted;
    return true;
}
