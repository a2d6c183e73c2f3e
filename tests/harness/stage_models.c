/* Models of stages: simple loops over lists. */
#include "harness/stage_models.h"

#include "base/random.h"
#include "data/dataset/dataset.h"

#include <stdlib.h>
#include <string.h>

int64_t liana__test_mapped(int64_t value, const liana_example_address *address)
{
    return 2 * value + (int64_t)(10 * liana_example_uniform(address, 0)) + (int64_t)(address->position % 7) * 100 +
           (int64_t)(address->record % 5) * 1000 + (int64_t)address->epoch * 10000;
}

bool liana__test_kept(int64_t value, const liana_example_address *address)
{
    return (uint64_t)(value + (int64_t)address->position + (int64_t)address->epoch) % 3 != 0;
}

int64_t liana__test_class_of(int64_t value)
{
    return (int64_t)((uint64_t)value % 3);
}

bool liana__test_goes_on(int64_t value, const liana_example_address *address)
{
    return (uint64_t)(value + (int64_t)address->position + (int64_t)address->epoch) % 11 != 10;
}

int64_t liana__test_choice_of(const node *own, int64_t index)
{
    return (index * index + own->a) % 7 % 2;
}

static list *evaluate_input(const node *own, int input, uint64_t seed, uint64_t epoch)
{
    list *made = calloc(1, sizeof *made);
    liana__test_evaluate_stage(own->inputs[input], seed, epoch, made);
    return made;
}

static void append(list *out, const item *one)
{
    assert_compare(out->count, <, MAX_ELEMENTS);
    out->items[out->count++] = *one;
}

static void append_value(list *out, int64_t value, uint64_t record)
{
    append(out, &(item){.values = {value}, .count = 1, .valid = 1, .record = record});
}

/* Element by element: each in turn from the sub-lists of at most `cycle` items of the input. */
static void interleave_lists(const list *in, int cycle, int block, list *out)
{
    struct {
        bool open;
        int64_t next, end;
        uint64_t record;
    } places[8] = {0};
    int fed = 0, open = 0, at = 0, given = 0;
    while (fed < in->count || open > 0) {
        if (!places[at].open) {
            if (fed == in->count) {
                at = (at + 1) % cycle;
                given = 0;
                continue;
            }
            int64_t value = in->items[fed].values[0];
            places[at].open = true;
            places[at].next = value;
            places[at].end = value + (int64_t)((uint64_t)value % 4);
            places[at].record = in->items[fed++].record;
            open++;
        }
        if (places[at].next == places[at].end) {
            places[at].open = false;
            open--;
            at = (at + 1) % cycle;
            given = 0;
            continue;
        }
        append_value(out, places[at].next++, places[at].record);
        if (++given == block) {
            /* An element of the block's size is followed by the next place, whether this one has more or not. */
            at = (at + 1) % cycle;
            given = 0;
        }
    }
}

static void shuffle_list(const node *own, const list *in, uint64_t epoch, list *out)
{
    uint64_t seed = (uint64_t)own->a, count = (uint64_t)in->count;
    if (own->c) epoch = 0;
    if (own->inputs[0]->random_access) {
        for (uint64_t i = 0; i < count; i++) append(out, &in->items[liana__permute(seed, epoch, i, count)]);
        return;
    }
    list *buffer = calloc(1, sizeof *buffer);
    int taken = 0;
    for (uint64_t i = 0;; i++) {
        while (buffer->count < own->b && taken < in->count) append(buffer, &in->items[taken++]);
        if (buffer->count == 0) break;
        int chosen = (int)(liana__draw_for(seed, epoch, i, LIANA__SALT_SHUFFLE) % (uint64_t)buffer->count);
        append(out, &buffer->items[chosen]);
        buffer->items[chosen] = buffer->items[--buffer->count];
    }
    free(buffer);
}

static void window_list(const node *own, const list *in, list *out)
{
    for (int start = 0; start < in->count; start += (int)own->b) {
        item one = {.record = in->items[start].record};
        for (int k = start; one.count < own->a && k < in->count; k += (int)own->c) {
            one.values[one.count++] = in->items[k].values[0];
        }
        one.valid = one.count;
        if (one.count == own->a || own->remainder != LIANA_REMAINDER_DROP) append(out, &one);
    }
}

/* Batches of class + 1 from the windows of `a` elements of a class. */
static void append_group(const list *group, int64_t class, list *out)
{
    for (int i = 0; i < group->count; i += (int)class + 1) {
        item one = {.record = group->items[i].record};
        for (int k = i; k <= i + class && k < group->count; k++) one.values[one.count++] = group->items[k].values[0];
        one.valid = one.count;
        append(out, &one);
    }
}

static void group_list(const node *own, const list *in, list *out)
{
    list *groups = calloc(3, sizeof *groups);
    for (int i = 0; i < in->count; i++) {
        const int64_t class = liana__test_class_of(in->items[i].values[0]);
        append(&groups[class], &in->items[i]);
        if (groups[class].count < own->a) continue;
        append_group(&groups[class], class, out);
        groups[class].count = 0;
    }
    for (int64_t class = 0; class < 3; class ++) append_group(&groups[class], class, out);
    free(groups);
}

static void scan_list(const node *own, const list *in, list *out)
{
    int64_t sum = own->a;
    for (int i = 0; i < in->count; i++) {
        const int64_t value = in->items[i].values[0];
        if (own->kind == SCAN) append_value(out, 2 * sum + value, in->items[i].record);
        sum = (3 * sum + value) % BELOW;
    }
    if (own->kind == REDUCE) append_value(out, sum, 0);
}

static bool same_values(const item *a, const item *b)
{
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) same = a->values[i] == b->values[i];
    return same;
}

static void unique_list(const list *in, list *out)
{
    for (int i = 0; i < in->count; i++) {
        int k = 0;
        while (k < i && !same_values(&in->items[i], &in->items[k])) k++;
        if (k == i) append(out, &in->items[i]);
    }
}

/* Wanted are b, c and 1 parts of the three classes; found so far are the counts, from 10 on, or equal parts. */
static void resample_list(const node *own, const list *in, list *out)
{
    const double wanted[] = {(double)own->b, (double)own->c, 1};
    double counts[] = {10, 10, 10};
    for (int i = 0; i < in->count; i++) {
        const int64_t class = liana__test_class_of(in->items[i].values[0]);
        if (own->remainder == LIANA_REMAINDER_KEEP) counts[class]++;
        double largest = 0;
        for (int k = 0; k < 3; k++) largest = wanted[k] / counts[k] > largest ? wanted[k] / counts[k] : largest;
        const uint64_t word = liana__draw_for((uint64_t)own->a, 0, (uint64_t)i, LIANA__SALT_RESAMPLE);
        const double point = (double)(word >> 11) / 9007199254740992.0;
        if (point < wanted[class] / counts[class] / largest) append(out, &in->items[i]);
    }
}

static void batch_list(const node *own, const list *in, list *out)
{
    for (int start = 0; start < in->count; start += (int)own->a) {
        item one = {.record = in->items[start].record};
        while (one.count < own->a && start + one.count < in->count) {
            one.values[one.count] = in->items[start + one.count].values[0];
            one.count++;
        }
        one.valid = one.count;
        if (one.count < own->a && own->remainder == LIANA_REMAINDER_DROP) break;
        if (own->remainder == LIANA_REMAINDER_PAD) one.count = (int)own->a;
        append(out, &one);
    }
}

/* Two lists in turn, `block` items of each; one that has ended is passed over, and another cycle has only one place. */
static void take_turns(const node *own, const list *const lists[2], list *out)
{
    int taken[2] = {0}, block = (int)own->b;
    bool ended[2] = {false, false};
    if (own->a == 1) { /* a cycle of 1 */
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < lists[k]->count; i++) append(out, &lists[k]->items[i]);
        }
        return;
    }
    for (int turn = 0; !ended[0] || !ended[1]; turn = 1 - turn) {
        for (int i = 0; i < block && !ended[turn]; i++) {
            ended[turn] = taken[turn] == lists[turn]->count;
            if (!ended[turn]) append(out, &lists[turn]->items[taken[turn]++]);
        }
    }
}

static void sample_lists(const node *own, const list *const lists[2], uint64_t epoch, list *out)
{
    double weights[2] = {(double)own->b, (double)own->c};
    int taken[2] = {0};
    bool ended[2] = {false, false};
    for (;;) {
        double total = (ended[0] ? 0 : weights[0]) + (ended[1] ? 0 : weights[1]);
        if (total == 0) return;
        uint64_t word = liana__draw_for((uint64_t)own->a, epoch, (uint64_t)out->count, LIANA__SALT_SAMPLE);
        double point = (double)(word >> 11) / 9007199254740992.0 * total;
        int chosen = ended[0] || (!ended[1] && point >= weights[0]) ? 1 : 0;
        if (taken[chosen] < lists[chosen]->count) {
            append(out, &lists[chosen]->items[taken[chosen]++]);
        } else if (own->remainder) { /* stop when one is empty */
            return;
        } else {
            ended[chosen] = true;
        }
    }
}

static void choose_lists(const node *own, const list *const lists[2], list *out)
{
    int taken[2] = {0};
    for (int64_t i = 0; i < NUM_CHOICES; i++) {
        const int64_t chosen = liana__test_choice_of(own, i);
        if (taken[chosen] < lists[chosen]->count) {
            append(out, &lists[chosen]->items[taken[chosen]++]);
        } else if (own->remainder == LIANA_REMAINDER_DROP) { /* stop when one is empty */
            return;
        }
    }
}

static void evaluate_pair(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    list *a = evaluate_input(own, 0, seed, epoch);
    list *b = evaluate_input(own, 1, liana__seed_of_input(seed, 1), epoch);
    if (own->kind == ZIP) {
        for (int i = 0; i < a->count && i < b->count; i++) {
            append_value(out, a->items[i].values[0] + 3 * b->items[i].values[0], a->items[i].record);
        }
    } else if (own->kind == CONCATENATE) {
        for (int i = 0; i < a->count; i++) append(out, &a->items[i]);
        for (int i = 0; i < b->count; i++) append(out, &b->items[i]);
    } else if (own->kind == TURNS) {
        take_turns(own, (const list *const[]){a, b}, out);
    } else if (own->kind == CHOOSE) {
        choose_lists(own, (const list *const[]){a, b}, out);
    } else {
        sample_lists(own, (const list *const[]){a, b}, epoch, out);
    }
    free(a);
    free(b);
}

static void evaluate_repeat(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    bool endless = own->kind == ENDLESS;
    for (uint64_t pass = 0; endless ? out->count < own->a : (int64_t)pass < own->a; pass++) {
        list *in = evaluate_input(own, 0, seed, endless ? epoch + pass : epoch * (uint64_t)own->a + pass);
        for (int i = 0; i < in->count && (!endless || out->count < own->a); i++) append(out, &in->items[i]);
        bool empty = in->count == 0;
        free(in);
        if (empty) return;
    }
}

static void evaluate_each(const node *own, const list *in, uint64_t seed, uint64_t epoch, list *out)
{
    for (int i = 0; i < in->count; i++) {
        const item *one = &in->items[i];
        liana_example_address address = {seed, epoch, (uint64_t)i, one->record};
        switch (own->kind) {
        case MAP: append_value(out, liana__test_mapped(one->values[0], &address), one->record); break;
        case ENUMERATE: append_value(out, one->values[0] + 3 * (own->a + i), one->record); break;
        case FILTER:
            if (liana__test_kept(one->values[0], &address)) append(out, one);
            break;
        case TAKE_WHILE:
            if (!liana__test_goes_on(one->values[0], &address)) return;
            append(out, one);
            break;
        case TAKE:
            if (i < own->a) append(out, one);
            break;
        case SKIP:
            if (i >= own->a) append(out, one);
            break;
        case SHARD:
            if (i % own->a == own->b) append(out, one);
            break;
        case UNBATCH:
            for (int k = 0; k < one->count; k++) append_value(out, one->values[k], one->record);
            break;
        default: append(out, one);
        }
    }
}

/* True: the stage was one of these. */
static bool evaluate_whole(const node *own, const list *in, uint64_t epoch, list *out)
{
    switch (own->kind) {
    case FLAT_MAP: interleave_lists(in, 1, 1, out); return true;
    case INTERLEAVE: interleave_lists(in, (int)own->a, (int)own->b, out); return true;
    case SHUFFLE: shuffle_list(own, in, epoch, out); return true;
    case PADDED:
    case BATCH: batch_list(own, in, out); return true;
    case WINDOW: window_list(own, in, out); return true;
    case GROUP: group_list(own, in, out); return true;
    case SCAN:
    case REDUCE: scan_list(own, in, out); return true;
    case UNIQUE: unique_list(in, out); return true;
    case RESAMPLE: resample_list(own, in, out); return true;
    default: return false;
    }
}

static void evaluate_rebatch(const node *own, const list *in, list *out)
{
    list *single = calloc(1, sizeof *single);
    for (int i = 0; i < in->count; i++) {
        for (int k = 0; k < in->items[i].count; k++) {
            append_value(single, in->items[i].values[k], in->items[i].record);
        }
    }
    batch_list(own, single, out);
    free(single);
}

static void evaluate_source(const node *own, uint64_t epoch, list *out)
{
    for (int64_t i = 0; i < own->b; i++) {
        const uint64_t word = liana__draw_for((uint64_t)own->a, own->c ? epoch : 0, (uint64_t)i, LIANA__SALT_RANDOM);
        append_value(out, own->kind == RANDOM ? (int64_t)(word >> 32) : own->a + i * own->c, (uint64_t)i);
    }
}

void liana__test_evaluate_stage(const node *own, uint64_t seed, uint64_t epoch, list *out)
{
    if (!own->inputs[0]) {
        evaluate_source(own, epoch, out);
        return;
    }
    if (own->inputs[1]) {
        evaluate_pair(own, seed, epoch, out);
        return;
    }
    if (own->kind == REPEAT || own->kind == ENDLESS) {
        evaluate_repeat(own, seed, epoch, out);
        return;
    }
    bool cached = own->kind == CACHE || own->kind == CACHE_FILE;
    list *in = cached ? evaluate_input(own, 0, 0, 0) : evaluate_input(own, 0, seed, epoch);
    if (own->kind == REBATCH) {
        evaluate_rebatch(own, in, out);
    } else if (!evaluate_whole(own, in, epoch, out)) {
        evaluate_each(own, in, seed, epoch, out);
    }
    free(in);
}
