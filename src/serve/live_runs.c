/* The runs that are looked at. */
#include "serve/live_runs.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "report/page/run_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_WORKERS = 64 };
static const double MIRROR_SECONDS = 0.001; /* the other process says which points there are */

/* ---- opening ---- */

static liana_status add_run(liana__live_runs *runs, const char *folder, size_t worker, liana__live_feed *own,
                            liana__error *error)
{
    if (!liana__grow(&runs->items, runs->count, &runs->capacity, sizeof *runs->items)) {
        return liana__fail_memory(error, "the runs");
    }
    liana__live_run *run = &runs->items[runs->count++];
    *run = (liana__live_run){.folder = folder, .worker = worker, .is_mirror = !own};
    run->feed = own ? own : liana__live_feed_create(MIRROR_SECONDS);
    return run->feed ? LIANA_OK : liana__fail_memory(error, "the runs");
}

/* The names that a page gives them. */
static liana_status find_names(liana__live_runs *runs, const char *const *folders, liana__error *error)
{
    LIANA__SCOPED(liana__run_page) page = {0};
    LIANA_TRY(liana__run_page_begin(&page, folders, runs->num_folders, false, error));
    for (size_t i = 0; i < runs->num_folders; i++) {
        runs->items[i].name = strdup(page.runs[i].name);
        if (!runs->items[i].name) return liana__fail_memory(error, folders[i]);
    }
    return LIANA_OK;
}

/* "run, worker 1", ...: those that have left an address. */
static liana_status add_workers(liana__live_runs *runs, const char *folder, const char *name, liana__error *error)
{
    for (size_t worker = 1; worker < MOST_WORKERS; worker++) {
        char whole[256];
        if (!liana__live_address_read(folder, worker).port) continue;
        snprintf(whole, sizeof whole, "%.200s, worker %zu", name, worker);
        LIANA_TRY(add_run(runs, folder, worker, NULL, error));
        runs->items[runs->count - 1].name = strdup(whole);
        if (!runs->items[runs->count - 1].name) return liana__fail_memory(error, folder);
    }
    return LIANA_OK;
}

liana_status liana__live_runs_open(liana__live_runs *runs, const char *const *folders, size_t count,
                                   liana__live_feed *own, liana__error *error)
{
    *runs = (liana__live_runs){0};
    if (count > LIANA__RUN_PAGE_MOST_RUNS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%zu runs, expected up to %d", count,
                           LIANA__RUN_PAGE_MOST_RUNS);
    }
    for (size_t i = 0; i < count; i++) LIANA_TRY(add_run(runs, folders[i], 0, own, error));
    runs->num_folders = count;
    if (own) {
        runs->items[0].name = strdup(liana__path_name(folders[0]));
        return runs->items[0].name ? LIANA_OK : liana__fail_memory(error, folders[0]);
    }
    LIANA_TRY(find_names(runs, folders, error));
    for (size_t i = 0; i < count; i++) LIANA_TRY(add_workers(runs, folders[i], runs->items[i].name, error));
    return LIANA_OK;
}

void liana__live_runs_close(liana__live_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->items[i].is_mirror) liana__live_feed_destroy(runs->items[i].feed);
        free(runs->items[i].name);
    }
    free(runs->items);
    *runs = (liana__live_runs){0};
}

/* ---- gathering ---- */

static void ask_run(liana__live_run *run)
{
    const liana__live_address address = liana__live_address_read(run->folder, run->worker);
    const bool is_other = address.port != run->address.port || strcmp(address.token, run->address.token) != 0;
    if (is_other) run->place = (liana__live_place){0};
    run->address = address;
    if (address.port && liana__live_ask_now(&address, &run->place, run->feed)) return;
    /* Its process has ended, or it was started without a live page. */
    liana__live_now now = liana__live_feed_now(run->feed);
    now.state = now.state == LIANA__LIVE_UNKNOWN ? LIANA__LIVE_UNKNOWN : LIANA__LIVE_ENDED;
    liana__live_feed_set(run->feed, &now, NULL, 0, false);
}

void liana__live_runs_ask(liana__live_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->items[i].is_mirror) ask_run(&runs->items[i]);
    }
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3ULL; /* FNV-1a, by words */
}

bool liana__live_runs_changed(liana__live_runs *runs)
{
    static const char *const files[] = {"config.yaml", "history.json", "timing.json"};
    uint64_t stamp = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < runs->num_folders; i++) {
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            char path[4096];
            struct stat facts = {0};
            snprintf(path, sizeof path, "%s/%s", runs->items[i].folder, files[k]);
            if (stat(path, &facts) != 0) facts = (struct stat){0};
            stamp = mix(mix(mix(stamp, (uint64_t)facts.st_size), (uint64_t)facts.st_mtim.tv_sec),
                        mix((uint64_t)facts.st_mtim.tv_nsec, (uint64_t)facts.st_ino));
        }
    }
    const bool changed = stamp != runs->stamp;
    runs->stamp = stamp;
    return changed;
}

bool liana__live_run_act(const liana__live_run *run, liana__live_action action)
{
    if (run->is_mirror) {
        const liana__live_address address = liana__live_address_read(run->folder, run->worker);
        return address.port && liana__live_ask_to(&address, action);
    }
    liana__live_feed_ask(run->feed, action);
    return true;
}
