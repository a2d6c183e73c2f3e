/* scoped.h - variables that are freed when their block is left, in any way. The value of a return is computed
 * before. */
#ifndef LIANA_BASE_SCOPED_H
#define LIANA_BASE_SCOPED_H

#include <stdlib.h>
#include <string.h>

/* Before a variable of a type with a function TYPE_free, which takes a pointer to it. The variable is initialised where
 * it is declared. */
#define LIANA__SCOPED(type) __attribute__((cleanup(type##_free))) type

/* Before a variable that another function frees, which takes a pointer to it, also of zeros. */
#define LIANA__SCOPED_BY(function) __attribute__((cleanup(function)))

/* Makes the function destroy##_scoped for LIANA__SCOPED_BY before a pointer to what `destroy` frees. */
#define LIANA__SCOPED_POINTER(destroy, type)            \
    static inline void destroy##_scoped(type **pointer) \
    {                                                   \
        destroy(*pointer);                              \
    }

/* Before a pointer to memory of malloc, or NULL. It concerns all variables of the declaration, so no array may be among
 * them. */
#define LIANA__SCOPED_MEMORY __attribute__((cleanup(liana__scoped_memory_free)))

static inline void liana__scoped_memory_free(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

#endif
