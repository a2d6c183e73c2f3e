/* Memory for the messages of TensorFlow's checkpoints. */
#include "formats/tensorflow/tf_checkpoint_internal.h"

static void *allocate(void *user, size_t size)
{
    liana__tf_memory *memory = user;
    if (size > SIZE_MAX - 15) return NULL;
    size = (size + 15) & ~(size_t)15; /* the arena's */
    if (size > memory->budget) return NULL;
    memory->budget -= size;
    return liana__arena_allocate(&memory->arena, size);
}

static void keep(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

void liana__tf_memory_begin(liana__tf_memory *memory, size_t message_size)
{
    /* An empty object of a graph, in two bytes, needs some 100 bytes. */
    enum { BUDGET_PER_BYTE = 96 };
    *memory = (liana__tf_memory){.budget = BUDGET_PER_BYTE * (message_size + 16)};
    memory->allocator = (ProtobufCAllocator){.alloc = allocate, .free = keep, .allocator_data = memory};
}
