/* Counts the makers of examples. */
#include "harness/made_examples.h"

#include "harness/harness.h"

static liana_status count_example(void *user, const liana_example_address *address, const liana_element *input,
                                  liana_element *output)
{
    liana__made_examples *own = user;
    (void)input;
    (void)output;
    atomic_fetch_add(&own->made[address->record % LIANA__MADE_EXAMPLES], 1);
    return LIANA_OK;
}

liana_dataset *liana__count_made(liana_dataset *dataset, liana__made_examples *own)
{
    return liana_dataset_map(dataset, &(liana_map_options){.name = "count", .function = count_example, .user = own});
}

void liana__assert_made_by_one(const liana__made_examples *const *processes, size_t num_processes, size_t num_examples)
{
    for (size_t example = 0; example < num_examples; example++) {
        size_t makers = 0;
        for (size_t i = 0; i < num_processes; i++) makers += processes[i]->made[example] > 0;
        assert_int_equal(makers, 1);
    }
}

void liana__assert_made_by_workers(const liana__made_examples *const *processes, size_t num_workers,
                                   size_t num_processes, size_t num_examples)
{
    size_t num_makers = 0;
    liana__assert_made_by_one(processes, num_processes, num_examples);
    for (size_t i = 0; i < num_processes; i++) {
        size_t made = 0;
        for (size_t example = 0; example < num_examples; example++) made += processes[i]->made[example] > 0;
        if (i >= num_workers) assert_int_equal(made, 0);
        num_makers += made > 0;
    }
    assert_compare(num_makers, >=, num_workers < 2 ? 1 : 2);
}
