/* memory.h - aligned buffers; the arena, which holds a graph or a parsed file. */
#ifndef LIANA_BASE_MEMORY_H
#define LIANA_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The alignment of kernels' buffers: a cache line, which is also the widest vector. */
enum { LIANA__ALIGNMENT = 64 };

static inline size_t liana__align_up(size_t size)
{
    return (size + (LIANA__ALIGNMENT - 1)) & ~(size_t)(LIANA__ALIGNMENT - 1);
}

/* Uninitialised memory aligned to LIANA__ALIGNMENT, or NULL. Freed with free(). A size of 0 gives a valid pointer. */
void *liana__allocate_aligned(size_t size);
/* The same for buffers of megabytes. They begin on a huge page, and consist of huge pages if the system has them. That
 * saves most page faults of their first use. */
void *liana__allocate_large(size_t size);
/* Like liana__allocate_aligned, with zeroed memory. */
void *liana__allocate_zeroed(size_t size);

/* Frees a large buffer of `size` bytes. Its pages go back to the system, even if malloc would keep them. */
void liana__free_large(void *memory, size_t size);

/* The memory that the process may use, in bytes: the machine's, or less if its control group or limits say so. */
size_t liana__machine_memory(void);

/* The smallest memory limit of a process's control groups and their parents, in bytes; SIZE_MAX: no limit. `list` is
 * /proc/self/cgroup, `root` is /sys/fs/cgroup. */
size_t liana__group_memory(const char *list, const char *root);

/* An arena: many small objects that are freed together. Zero-initialise; free with liana__arena_free. A failure stays
 * in `failed`, so builders may check once at the end. */
typedef struct liana__arena {
    struct liana__arena_block *head;
    size_t used;
    bool failed;
} liana__arena;

/* Zeroed memory aligned to 16 bytes (64 if size >= 64). NULL: out of memory. */
void *liana__arena_allocate(liana__arena *arena, size_t size);
/* A copy of `size` bytes. */
void *liana__arena_copy(liana__arena *arena, const void *bytes, size_t size);
/* A copy of a string; NULL stays NULL. */
char *liana__arena_string(liana__arena *arena, const char *text);
/* printf into the arena. */
char *liana__arena_format(liana__arena *arena, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void liana__arena_free(liana__arena *arena);

/* Makes room for one more element in a malloc'ed array: doubles *capacity when count reaches it. False: out of memory,
 * the array is unchanged. */
bool liana__grow(void *array_pointer, size_t count, size_t *capacity, size_t element_size);

#endif
