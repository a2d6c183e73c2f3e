/* Updates by slices: where the slices of the owners end. */
#include "distribute/slices.h"

int64_t liana__num_chunks(int64_t size)
{
    return (size + LIANA__CHUNK - 1) / LIANA__CHUNK;
}

/* The items, and their sums. */
typedef struct list {
    const liana__slice_item *items;
    size_t count;
    int64_t size;
} list;

static const liana__slice_end START = {0, 0};

/* The last allowed end at most `room` elements behind `from`. */
static liana__slice_end forward(const list *all, liana__slice_end from, int64_t room)
{
    while (from.item < all->count) {
        const liana__slice_item *item = &all->items[from.item];
        int64_t left = item->size - from.element;
        if (left > room) {
            if (!item->whole) from.element += room / LIANA__CHUNK * LIANA__CHUNK;
            return from;
        }
        room -= left;
        from = (liana__slice_end){from.item + 1, 0};
    }
    return from;
}

/* The first allowed end at most `room` elements before `from`. */
static liana__slice_end backward(const list *all, liana__slice_end from, int64_t room)
{
    while (from.item > 0 || from.element > 0) {
        size_t item = from.element > 0 ? from.item : from.item - 1;
        int64_t inside = from.element > 0 ? from.element : all->items[item].size;
        if (inside > room) {
            int64_t element = all->items[item].whole ? inside : liana__num_chunks(inside - room) * LIANA__CHUNK;
            return element < inside ? (liana__slice_end){item, element} : from;
        }
        room -= inside;
        from = (liana__slice_end){item, 0};
    }
    return from;
}

int64_t liana__slice_size(const liana__slice_item *items, const liana__slice_end ends[2])
{
    int64_t size = ends[1].element - ends[0].element;
    for (size_t item = ends[0].item; item < ends[1].item; item++) size += items[item].size;
    return size;
}

static int64_t offset_of(const list *all, liana__slice_end end)
{
    return liana__slice_size(all->items, (const liana__slice_end[]){START, end});
}

static bool is_before(liana__slice_end a, liana__slice_end b)
{
    return a.item < b.item || (a.item == b.item && a.element < b.element);
}

/* Whether slices of at most `room` elements take everything. */
static bool fits(const list *all, size_t num_slices, int64_t room)
{
    liana__slice_end end = START;
    for (size_t slice = 0; slice < num_slices && end.item < all->count; slice++) end = forward(all, end, room);
    return end.item == all->count;
}

/* The least size of the largest slice. */
static int64_t least_room(const list *all, size_t num_slices)
{
    int64_t low = 0, high = all->size; /* too little, enough */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (fits(all, num_slices, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* The next end behind one that is not the last. */
static liana__slice_end next_end(const list *all, liana__slice_end end)
{
    const liana__slice_item *item = &all->items[end.item];
    if (item->whole || item->size - end.element <= LIANA__CHUNK) return (liana__slice_end){end.item + 1, 0};
    return (liana__slice_end){end.item, end.element + LIANA__CHUNK};
}

/* The end that is nearest to `offset`. */
static liana__slice_end nearest_end(const list *all, int64_t offset)
{
    liana__slice_end below = forward(all, START, offset);
    if (below.item == all->count) return below;
    liana__slice_end above = next_end(all, below);
    return offset - offset_of(all, below) <= offset_of(all, above) - offset ? below : above;
}

liana_status liana__slices_choose(const liana__slice_item *items, size_t num_items, size_t num_slices,
                                  liana__slice_end *ends, liana__error *error)
{
    list all = {items, num_items, 0};
    if (num_slices < 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "an update in 0 slices, expected at least 1");
    }
    for (size_t i = 0; i < num_items; i++) {
        if (items[i].size < 1) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' has %lld elements, expected at least 1",
                               items[i].name, (long long)items[i].size);
        }
        all.size += items[i].size;
    }
    int64_t room = least_room(&all, num_slices), count = (int64_t)num_slices;
    /* From the back: the first place where a slice may end so that those behind it are large enough. */
    ends[num_slices] = (liana__slice_end){num_items, 0};
    for (size_t slice = num_slices; slice-- > 1;) ends[slice] = backward(&all, ends[slice + 1], room);
    ends[0] = START;
    for (size_t slice = 1; slice < num_slices; slice++) {
        int64_t place = (int64_t)slice;
        liana__slice_end wanted = nearest_end(&all, all.size / count * place + all.size % count * place / count);
        liana__slice_end last = forward(&all, ends[slice - 1], room);
        if (is_before(last, wanted)) wanted = last;
        if (is_before(wanted, ends[slice - 1])) wanted = ends[slice - 1];
        if (is_before(ends[slice], wanted)) ends[slice] = wanted;
    }
    return LIANA_OK;
}

size_t liana__slice_pieces(const liana__slice_item *items, size_t num_items, const liana__slice_end ends[2],
                           liana__slice_piece *pieces)
{
    size_t count = 0;
    for (size_t item = ends[0].item; item < num_items && item <= ends[1].item; item++) {
        int64_t begin = item == ends[0].item ? ends[0].element : 0;
        int64_t end = item == ends[1].item ? ends[1].element : items[item].size;
        if (begin == end) continue;
        if (pieces) pieces[count] = (liana__slice_piece){item, begin, end};
        count++;
    }
    return count;
}
