/* Memory for the messages of TensorFlow's checkpoints. */
#include "formats/tensorflow/tf_checkpoint_internal.h"

static void *allocate(void *user, size_t size)
{
    liana__tf_memory *memory = user;
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
    enum { BUDGET_PER_BYTE = 256 };
    *memory = (liana__tf_memory){.budget = BUDGET_PER_BYTE * (message_size + 16)};
    memory->allocator = (ProtobufCAllocator){.alloc = allocate, .free = keep, .allocator_data = memory};
}
