/* Lays out a layered drawing of a directed graph. */
#include "report/graph_layout.h"

#include <math.h>
#include <string.h>

enum { ORDER_SWEEPS = 8, PLACE_SWEEPS = 12 };

/* The neighbours of a place in the rank above or below it. */
typedef struct neighbours {
    size_t *items;
    size_t count;
} neighbours;

typedef struct laying {
    const liana__graph *graph;
    liana__graph_layout *layout;
    liana__arena *arena;
    neighbours *above, *below; /* [num_places] */
    size_t **ranks;            /* [num_ranks]: the places of each, from left to right */
    size_t *sizes;             /* [num_ranks] */
    size_t *order;             /* [num_places]: the place's number within its rank */
    double *keys;              /* [num_places] */
    double *means;             /* [num_places]: scratch of one rank */
    size_t *counts;            /* the same */
} laying;

/* ---- ranks ---- */

/* A box without an edge to it stands just above the first box that it leads to. */
static void find_ranks(const liana__graph *graph, liana__drawn_place *places, bool *led_to, size_t *first)
{
    for (size_t i = 0; i < graph->num_boxes; i++) first[i] = SIZE_MAX;
    /* Edges lead to later boxes. So the rank of a box is final when all edges to it were seen; boxes go in order. */
    for (size_t box = 0; box < graph->num_boxes; box++) {
        for (size_t i = 0; i < graph->num_edges; i++) {
            const liana__graph_edge *edge = &graph->edges[i];
            if (edge->to != box) continue;
            led_to[box] = true;
            if (places[edge->from].rank + 1 > places[box].rank) places[box].rank = places[edge->from].rank + 1;
        }
    }
    for (size_t i = 0; i < graph->num_edges; i++) {
        const liana__graph_edge *edge = &graph->edges[i];
        if (places[edge->to].rank < first[edge->from]) first[edge->from] = places[edge->to].rank;
    }
    for (size_t box = 0; box < graph->num_boxes; box++) {
        if (!led_to[box] && first[box] != SIZE_MAX) places[box].rank = first[box] - 1;
    }
}

static size_t count_bends(const liana__graph *graph, const liana__drawn_place *places)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->num_edges; i++) {
        count += places[graph->edges[i].to].rank - places[graph->edges[i].from].rank - 1;
    }
    return count;
}

static bool make_paths(const liana__graph *graph, liana__arena *arena, liana__graph_layout *layout)
{
    size_t next = graph->num_boxes;
    for (size_t i = 0; i < graph->num_edges; i++) {
        const liana__graph_edge *edge = &graph->edges[i];
        const size_t begin = layout->places[edge->from].rank, end = layout->places[edge->to].rank;
        liana__graph_path *path = &layout->paths[i];
        path->count = end - begin + 1;
        path->places = liana__arena_allocate(arena, path->count * sizeof *path->places);
        if (!path->places) return false;
        for (size_t rank = begin; rank <= end; rank++) {
            const size_t place = rank == begin ? edge->from : rank == end ? edge->to : next++;
            layout->places[place].rank = rank;
            path->places[rank - begin] = place;
        }
    }
    return true;
}

static liana_status make_places(const liana__graph *graph, liana__arena *arena, liana__graph_layout *layout,
                                liana__error *error)
{
    const size_t boxes = graph->num_boxes + 1;
    liana__drawn_place *ranked = liana__arena_allocate(arena, boxes * sizeof *ranked);
    bool *led_to = liana__arena_allocate(arena, boxes * sizeof *led_to);
    size_t *first = liana__arena_allocate(arena, boxes * sizeof *first);
    layout->paths = liana__arena_allocate(arena, (graph->num_edges + 1) * sizeof *layout->paths);
    if (!ranked || !led_to || !first || !layout->paths) return liana__fail_memory(error, "a drawing");
    find_ranks(graph, ranked, led_to, first);
    layout->num_places = graph->num_boxes + count_bends(graph, ranked);
    layout->places = liana__arena_allocate(arena, (layout->num_places + 1) * sizeof *layout->places);
    if (!layout->places) return liana__fail_memory(error, "a drawing");
    memcpy(layout->places, ranked, graph->num_boxes * sizeof *ranked);
    if (!make_paths(graph, arena, layout)) return liana__fail_memory(error, "a drawing");
    for (size_t i = 0; i < layout->num_places; i++) {
        if (layout->places[i].rank + 1 > layout->num_ranks) layout->num_ranks = layout->places[i].rank + 1;
    }
    return LIANA_OK;
}

/* ---- neighbours ---- */

static bool reserve(neighbours *list, size_t count, liana__arena *arena)
{
    list->items = liana__arena_allocate(arena, (count + 1) * sizeof *list->items);
    return list->items;
}

static bool join_neighbours(laying *own)
{
    const liana__graph_layout *layout = own->layout;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < own->graph->num_edges; i++) {
            const liana__graph_path *path = &layout->paths[i];
            for (size_t k = 1; k < path->count; k++) {
                neighbours *below = &own->below[path->places[k - 1]], *above = &own->above[path->places[k]];
                if (pass) below->items[below->count] = path->places[k];
                if (pass) above->items[above->count] = path->places[k - 1];
                below->count++;
                above->count++;
            }
        }
        for (size_t i = 0; i < layout->num_places && !pass; i++) {
            if (!reserve(&own->above[i], own->above[i].count, own->arena)) return false;
            if (!reserve(&own->below[i], own->below[i].count, own->arena)) return false;
            own->above[i].count = own->below[i].count = 0;
        }
    }
    return true;
}

static bool fill_ranks(laying *own)
{
    const liana__graph_layout *layout = own->layout;
    for (size_t i = 0; i < layout->num_places; i++) own->sizes[layout->places[i].rank]++;
    for (size_t rank = 0; rank < layout->num_ranks; rank++) {
        own->ranks[rank] = liana__arena_allocate(own->arena, own->sizes[rank] * sizeof **own->ranks);
        if (!own->ranks[rank]) return false;
        own->sizes[rank] = 0;
    }
    for (size_t i = 0; i < layout->num_places; i++) {
        const size_t rank = layout->places[i].rank;
        own->order[i] = own->sizes[rank];
        own->ranks[rank][own->sizes[rank]++] = i;
    }
    return true;
}

static liana_status begin(laying *own, liana__error *error)
{
    const size_t places = own->layout->num_places + 1, ranks = own->layout->num_ranks + 1;
    own->above = liana__arena_allocate(own->arena, places * sizeof *own->above);
    own->below = liana__arena_allocate(own->arena, places * sizeof *own->below);
    own->ranks = liana__arena_allocate(own->arena, ranks * sizeof *own->ranks);
    own->sizes = liana__arena_allocate(own->arena, ranks * sizeof *own->sizes);
    own->order = liana__arena_allocate(own->arena, places * sizeof *own->order);
    own->keys = liana__arena_allocate(own->arena, places * sizeof *own->keys);
    own->means = liana__arena_allocate(own->arena, places * sizeof *own->means);
    own->counts = liana__arena_allocate(own->arena, places * sizeof *own->counts);
    const bool enough = !own->arena->failed && join_neighbours(own) && fill_ranks(own);
    return enough ? LIANA_OK : liana__fail_memory(error, "a drawing");
}

/* ---- the order in a rank ---- */

/* Sorts a rank by the mean number of the neighbours; places without one keep theirs. Equal ones keep their order. */
static void sort_rank(laying *own, size_t rank, const neighbours *of)
{
    size_t *places = own->ranks[rank];
    for (size_t i = 0; i < own->sizes[rank]; i++) {
        const neighbours *list = &of[places[i]];
        double sum = 0;
        for (size_t k = 0; k < list->count; k++) sum += (double)own->order[list->items[k]];
        own->keys[places[i]] = list->count ? sum / (double)list->count : (double)i;
    }
    for (size_t i = 1; i < own->sizes[rank]; i++) {
        const size_t place = places[i];
        size_t at = i;
        for (; at && own->keys[places[at - 1]] > own->keys[place]; at--) places[at] = places[at - 1];
        places[at] = place;
    }
    for (size_t i = 0; i < own->sizes[rank]; i++) own->order[places[i]] = i;
}

static void sort_ranks(laying *own)
{
    const size_t count = own->layout->num_ranks;
    for (int sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
        for (size_t rank = 1; rank < count; rank++) sort_rank(own, rank, own->above);
        for (size_t rank = count; rank-- > 1 && sweep + 1 < ORDER_SWEEPS;) sort_rank(own, rank - 1, own->below);
    }
}

/* ---- x ---- */

static double width_of(const laying *own, size_t place)
{
    return place < own->graph->num_boxes ? own->graph->box_width : own->graph->bend_width;
}

/* Moves a rank to the wanted x of its places, as near as their widths allow: the least squares under an order, by
 * pooling adjacent violators (Ayer and others, "An empirical distribution function for sampling with incomplete
 * information", 1955). */
static void place_rank(laying *own, size_t rank)
{
    const size_t *places = own->ranks[rank], count = own->sizes[rank];
    double offset = 0;
    size_t pools = 0;
    for (size_t i = 0; i < count; i++) {
        if (i) offset += (width_of(own, places[i - 1]) + width_of(own, places[i])) / 2;
        own->means[pools] = own->keys[places[i]] - offset;
        own->counts[pools++] = 1;
        while (pools > 1 && own->means[pools - 2] > own->means[pools - 1]) {
            const double a = (double)own->counts[pools - 2], b = (double)own->counts[pools - 1];
            own->means[pools - 2] = (a * own->means[pools - 2] + b * own->means[pools - 1]) / (a + b);
            own->counts[pools - 2] += own->counts[pools - 1];
            pools--;
        }
    }
    offset = 0;
    for (size_t pool = 0, i = 0; pool < pools; pool++) {
        for (size_t k = 0; k < own->counts[pool]; k++, i++) {
            if (i) offset += (width_of(own, places[i - 1]) + width_of(own, places[i])) / 2;
            own->layout->places[places[i]].x = own->means[pool] + offset;
        }
    }
}

/* The wanted x is the mean of the neighbours in the lists (NULL: none). */
static void want(laying *own, size_t rank, const neighbours *one, const neighbours *other)
{
    for (size_t i = 0; i < own->sizes[rank]; i++) {
        const size_t place = own->ranks[rank][i];
        const neighbours *lists[] = {one ? &one[place] : NULL, other ? &other[place] : NULL};
        double sum = 0;
        size_t count = 0;
        for (int k = 0; k < 2; k++) {
            for (size_t j = 0; lists[k] && j < lists[k]->count; j++, count++) {
                sum += own->layout->places[lists[k]->items[j]].x;
            }
        }
        own->keys[place] = count ? sum / (double)count : own->layout->places[place].x;
    }
    place_rank(own, rank);
}

static void place_all(laying *own)
{
    liana__graph_layout *layout = own->layout;
    const size_t count = layout->num_ranks;
    for (size_t rank = 0; rank < count; rank++) {
        for (size_t i = 0; i < own->sizes[rank]; i++) own->keys[own->ranks[rank][i]] = 0;
        place_rank(own, rank);
    }
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        for (size_t rank = 1; rank < count; rank++) want(own, rank, own->above, NULL);
        for (size_t rank = count; rank-- > 1;) want(own, rank - 1, own->below, NULL);
    }
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        for (size_t rank = 0; rank < count; rank++) want(own, rank, own->above, own->below);
    }
    double left = INFINITY, right = -INFINITY;
    for (size_t i = 0; i < layout->num_places; i++) {
        left = fmin(left, layout->places[i].x - width_of(own, i) / 2);
        right = fmax(right, layout->places[i].x + width_of(own, i) / 2);
    }
    for (size_t i = 0; i < layout->num_places; i++) layout->places[i].x -= left;
    layout->width = layout->num_places ? right - left : 0;
}

liana_status liana__graph_layout_make(const liana__graph *graph, liana__arena *arena, liana__graph_layout *layout,
                                      liana__error *error)
{
    laying own = {.graph = graph, .layout = layout, .arena = arena};
    *layout = (liana__graph_layout){0};
    LIANA_TRY(make_places(graph, arena, layout, error));
    LIANA_TRY(begin(&own, error));
    sort_ranks(&own);
    place_all(&own);
    return LIANA_OK;
}
