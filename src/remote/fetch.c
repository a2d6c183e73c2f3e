/* Fetching: one loop, in the caller's thread, keeps a number of requests under way, piece after piece and file after
 * file. */
#include "base/crc32c.h"
#include "remote/piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLAIM_PAUSE = 200, PROGRESS_PAUSE = 250, MAX_POLL = 200, MAX_CONNECTIONS = 64 };

typedef enum job_state { WANTED, OPEN, DONE } job_state;

/* A file that is wanted. */
typedef struct fetch_job {
    liana__remote_object *object;
    liana__remote_cache_id id;
    job_state state;
    int64_t try_at; /* when to test again whether another process has fetched it */
    bool encrypted;
    liana__partial_file parts;
} fetch_job;

/* The reason why a sink refused bytes. */
typedef enum refusal { NONE, CHANGED, NO_RANGE, NOT_WRITTEN } refusal;

/* A place for one request at a time. */
typedef struct fetch_slot {
    fetch_job *job; /* NULL: free */
    size_t piece;
    uint64_t offset;
    uint64_t size;
    uint64_t got;
    uint32_t crc32c;
    int attempt;
    uint32_t number;
    bool running;
    bool began; /* bytes of this attempt were looked at */
    int64_t start_at;
    refusal refusal;
    int code; /* errno */
    liana__http_request request;
    liana__http_response response;
} fetch_slot;

typedef struct fetcher {
    liana__remote *remote;
    liana__arena arena;
    fetch_job *jobs;
    size_t num_jobs;
    size_t num_left;
    size_t first;    /* jobs before it are done */
    size_t end_open; /* no job from it on was opened yet */
    fetch_slot slots[MAX_CONNECTIONS];
    int num_slots;
    liana__remote_progress progress;
    uint64_t bytes_cached;
    uint64_t bytes_before; /* that were there when the call began */
    int64_t began_at;
    int64_t told_at;
} fetcher;

/* ---- one request ---- */

/* Before the first byte is used: whether this is the answer to the request, and of the described file. */
static refusal check_answer(const fetch_slot *slot, const liana__http_response *response)
{
    const liana__remote_object *object = slot->job->object;
    if (!object->scheme->same(object, response)) return CHANGED;
    if (response->status == 200) {
        if (slot->offset + slot->got != 0 || slot->size != object->size) return NO_RANGE;
        return response->has_length && response->length != object->size ? CHANGED : NONE;
    }
    if (!response->has_range || response->range_start != slot->offset + slot->got) return NO_RANGE;
    return response->range_total == object->size ? NONE : CHANGED;
}

static bool take_bytes(void *user, const liana__http_response *response, const void *bytes, size_t size)
{
    fetch_slot *slot = user;
    if (!slot->began) slot->refusal = check_answer(slot, response);
    slot->began = true;
    if (slot->refusal == NONE && size > slot->size - slot->got) slot->refusal = NO_RANGE;
    const char *at = bytes;
    while (slot->refusal == NONE && size) {
        ssize_t done = pwrite(slot->job->parts.part, at, size, (off_t)(slot->offset + slot->got));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            slot->code = errno;
            slot->refusal = NOT_WRITTEN;
            break;
        }
        slot->crc32c = liana__crc32c_extend(slot->crc32c, at, (size_t)done);
        slot->got += (uint64_t)done;
        at += done;
        size -= (size_t)done;
    }
    return slot->refusal == NONE;
}

static liana_status start_slot(fetcher *fetch, fetch_slot *slot, liana__error *error)
{
    const liana__remote_object *object = slot->job->object;
    /* A server without ranges begins again. */
    if (object->whole) slot->got = slot->crc32c = 0;
    slot->began = false;
    slot->refusal = NONE;
    slot->attempt++;
    slot->response.sink = take_bytes;
    slot->response.user = slot;
    liana__http_request_free(&slot->request);
    LIANA_TRY(object->scheme->request(fetch->remote, object, &slot->request, error));
    slot->request.has_range = !object->whole;
    slot->request.range_start = slot->offset + slot->got;
    slot->request.range_count = slot->size - slot->got;
    CURL *easy = liana__http_begin(&fetch->remote->http, &slot->request, &slot->response);
    if (!easy || curl_multi_add_handle(fetch->remote->http.multi, easy) != CURLM_OK) {
        liana__http_end(&slot->response);
        return liana__fail_memory(error, object->name);
    }
    slot->running = true;
    return LIANA_OK;
}

static void stop_slot(fetcher *fetch, fetch_slot *slot)
{
    if (slot->running) curl_multi_remove_handle(fetch->remote->http.multi, slot->response.easy);
    slot->running = false;
    liana__http_response_free(&slot->response);
    liana__http_request_free(&slot->request);
    *slot = (fetch_slot){0};
}

static liana_status fail_refusal(const fetch_slot *slot, liana__error *error)
{
    const char *name = slot->job->object->name;
    switch (slot->refusal) {
    case CHANGED: return liana__remote_changed(name, error);
    case NO_RANGE:
        return liana__fail(error, LIANA_DATA_LOSS,
                           "cannot read '%s': the server sends other bytes than requested (HTTP %ld to a request of "
                           "bytes %llu to %llu); download it and pass the local path",
                           name, slot->response.status, (unsigned long long)(slot->offset + slot->got),
                           (unsigned long long)(slot->offset + slot->size - 1));
    default:
        return liana__fail(error, LIANA_IO_ERROR, "'%s': cannot write '%s': %s%s", name, slot->job->parts.path,
                           strerror(slot->code), slot->code == ENOSPC ? "; free some space and run again" : "");
    }
}

static liana_status finish_job(fetcher *fetch, fetch_job *job, liana__error *error)
{
    liana_status status = liana__partial_file_commit(&job->parts, !job->encrypted, error);
    fetch->bytes_cached += job->object->size;
    liana__partial_file_close(&job->parts);
    liana__remote_cache_release(&fetch->remote->cache, &job->id);
    job->state = DONE;
    fetch->num_left--;
    fetch->progress.files_done++;
    return status;
}

/* Leaves out an optional file, with its own failure. */
static void give_up(fetcher *fetch, fetch_job *job, const liana__error *why)
{
    job->object->status = why->status;
    job->object->reason = liana__arena_string(&fetch->remote->arena, why->message);
    for (int i = 0; i < fetch->num_slots; i++) {
        if (fetch->slots[i].job == job) stop_slot(fetch, &fetch->slots[i]);
    }
    if (job->state == DONE) return;
    liana__partial_file_close(&job->parts);
    liana__remote_cache_release(&fetch->remote->cache, &job->id);
    job->state = DONE;
    fetch->num_left--;
    fetch->progress.files_done++;
}

static bool may_give_up(const fetch_slot *slot, liana_status status)
{
    long code = slot->response.status;
    bool refused = status == LIANA_IO_ERROR && slot->refusal == NONE && code / 100 == 4 && code != 408 && code != 429;
    return status == LIANA_DATA_LOSS || refused;
}

static liana_status finish_slot(fetcher *fetch, fetch_slot *slot, CURLcode code, liana__error *error)
{
    fetch_job *job = slot->job;
    liana__http *http = &fetch->remote->http;
    curl_multi_remove_handle(fetch->remote->http.multi, slot->response.easy);
    slot->running = false;
    liana__http_end(&slot->response);
    if (slot->refusal != NONE) return fail_refusal(slot, error);
    const liana__http_response *response = &slot->response;
    bool success = response->status == 200 || response->status == 206;
    job->encrypted |= response->encrypted;
    if (success && slot->got == slot->size) {
        LIANA_TRY(liana__partial_file_finish_piece(&job->parts, slot->piece, slot->crc32c, error));
        stop_slot(fetch, slot);
        return job->parts.num_done == job->parts.count ? finish_job(fetch, job, error) : LIANA_OK;
    }
    /* An answer that is shorter than its length is a cut as well. */
    bool cut = code == CURLE_OK && success;
    if (!cut && !liana__http_may_retry(http, code, response)) {
        if (code != CURLE_OK) return liana__http_fail(job->object->name, code, response, slot->attempt, error);
        long status = response->status;
        bool gone = status == 404 || status == 410 || status == 412 || status == 416;
        if (gone) return liana__remote_changed(job->object->name, error);
        return liana__remote_refused(fetch->remote, job->object->scheme, job->object->name, response, error);
    }
    if (slot->attempt >= http->max_attempts) {
        if (cut) code = CURLE_PARTIAL_FILE;
        if (code != CURLE_OK) return liana__http_fail(job->object->name, code, response, slot->attempt, error);
        return liana__remote_refused(fetch->remote, job->object->scheme, job->object->name, response, error);
    }
    slot->start_at = liana__http_now() + liana__http_delay(http, slot->number, slot->attempt, response->retry_after);
    return LIANA_OK;
}

static liana_status end_slot(fetcher *fetch, fetch_slot *slot, CURLcode code, liana__error *error)
{
    fetch_job *job = slot->job;
    bool optional = job->object->optional;
    liana__error own = {0};
    liana_status status = finish_slot(fetch, slot, code, &own);
    if (status == LIANA_OK) return LIANA_OK;
    /* The slot is free if all bytes came and differ from the server's checksum. */
    if (optional && (slot->job ? may_give_up(slot, status) : status == LIANA_DATA_LOSS)) {
        give_up(fetch, job, &own);
        return LIANA_OK;
    }
    if (error) *error = own;
    return status;
}

/* ---- which piece is next ---- */

/* The same file may be named twice. */
static bool is_open_already(const fetcher *fetch, const fetch_job *job)
{
    for (size_t i = fetch->first; i < fetch->end_open; i++) {
        const fetch_job *other = &fetch->jobs[i];
        if (other->state == OPEN && other != job && strcmp(other->id.text, job->id.text) == 0) return true;
    }
    return false;
}

static liana_status open_job(fetcher *fetch, fetch_job *job, liana__error *error)
{
    liana__remote *remote = fetch->remote;
    bool claimed = false;
    if (!is_open_already(fetch, job)) LIANA_TRY(liana__remote_cache_claim(&remote->cache, &job->id, &claimed, error));
    if (!claimed) {
        job->try_at = liana__http_now() + CLAIM_PAUSE;
        return LIANA_OK;
    }
    if (liana__remote_cache_has(&remote->cache, &job->id, job->object->size, &fetch->arena)) {
        liana__remote_cache_release(&remote->cache, &job->id);
        job->state = DONE;
        fetch->num_left--;
        fetch->progress.files_done++;
        fetch->bytes_cached += job->object->size;
        return LIANA_OK;
    }
    liana_status status = liana__partial_file_open(&job->parts, &remote->cache, &job->id, job->object,
                                                   remote->options.piece_size, &fetch->arena, error);
    job->state = OPEN;
    size_t index = (size_t)(job - fetch->jobs);
    if (index >= fetch->end_open) fetch->end_open = index + 1;
    fetch->bytes_before += job->parts.bytes_done;
    LIANA_TRY(status);
    return job->parts.num_done == job->parts.count ? finish_job(fetch, job, error) : LIANA_OK;
}

/* Gives a free slot the next piece, of the earliest file that has one. */
static liana_status fill_slot(fetcher *fetch, fetch_slot *slot, liana__error *error)
{
    int num_open = 0;
    while (fetch->first < fetch->num_jobs && fetch->jobs[fetch->first].state == DONE) fetch->first++;
    for (size_t i = fetch->first; i < fetch->num_jobs && num_open <= fetch->num_slots; i++) {
        fetch_job *job = &fetch->jobs[i];
        if (job->state == WANTED && job->try_at <= liana__http_now()) LIANA_TRY(open_job(fetch, job, error));
        num_open += job->state == OPEN;
        if (job->state != OPEN || !liana__partial_file_take(&job->parts, &slot->piece, &slot->offset, &slot->size))
            continue;
        slot->job = job;
        slot->number = fetch->remote->http.num_requests++;
        return LIANA_OK;
    }
    return LIANA_OK;
}

/* ---- the loop ---- */

static liana_status tell(fetcher *fetch, bool last, liana__error *error)
{
    const liana__remote_options *options = &fetch->remote->options;
    if (!options->progress || (!last && liana__http_now() < fetch->told_at + PROGRESS_PAUSE)) return LIANA_OK;
    fetch->told_at = liana__http_now();
    fetch->progress.bytes_done = fetch->bytes_cached;
    for (size_t i = fetch->first; i < fetch->num_jobs; i++) {
        if (fetch->jobs[i].state == OPEN) fetch->progress.bytes_done += fetch->jobs[i].parts.bytes_done;
    }
    for (int i = 0; i < fetch->num_slots; i++) fetch->progress.bytes_done += fetch->slots[i].got;
    uint64_t done = fetch->progress.bytes_done;
    fetch->progress.seconds = (double)(fetch->told_at - fetch->began_at) / 1000;
    fetch->progress.bytes_fetched = done > fetch->bytes_before ? done - fetch->bytes_before : 0;
    if (options->progress(options->user, &fetch->progress)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED, "stopped while fetching remote files; the parts that arrived are kept");
}

static liana_status take_messages(fetcher *fetch, liana__error *error)
{
    int left;
    CURLM *multi = fetch->remote->http.multi;
    for (CURLMsg *message = curl_multi_info_read(multi, &left); message; message = curl_multi_info_read(multi, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        for (int i = 0; i < fetch->num_slots; i++) {
            fetch_slot *slot = &fetch->slots[i];
            if (!slot->running || slot->response.easy != message->easy_handle) continue;
            LIANA_TRY(end_slot(fetch, slot, message->data.result, error));
            break;
        }
    }
    return LIANA_OK;
}

static liana_status run(fetcher *fetch, liana__error *error)
{
    CURLM *multi = fetch->remote->http.multi;
    fetch->told_at = fetch->began_at = liana__http_now();
    while (fetch->num_left) {
        int64_t now = liana__http_now(), wake = now + MAX_POLL;
        for (int i = 0; i < fetch->num_slots; i++) {
            fetch_slot *slot = &fetch->slots[i];
            if (!slot->job) LIANA_TRY(fill_slot(fetch, slot, error));
            if (!slot->job || slot->running) continue;
            if (slot->start_at <= now) {
                LIANA_TRY(start_slot(fetch, slot, error));
            } else if (slot->start_at < wake) {
                wake = slot->start_at;
            }
        }
        int running;
        CURLMcode code = curl_multi_perform(multi, &running);
        LIANA_TRY(take_messages(fetch, error));
        LIANA_TRY(tell(fetch, false, error));
        if (code == CURLM_OK && fetch->num_left) code = curl_multi_poll(multi, NULL, 0, (int)(wake - now), NULL);
        if (code != CURLM_OK) return liana__fail(error, LIANA_INTERNAL, "libcurl: %s", curl_multi_strerror(code));
    }
    return tell(fetch, true, error);
}

static liana_status find_missing(fetcher *fetch, liana__remote_object *objects, size_t count, uint64_t *missing,
                                 liana__error *error)
{
    liana__remote_cache *cache = &fetch->remote->cache;
    fetch->jobs = liana__arena_allocate(&fetch->arena, (count + 1) * sizeof *fetch->jobs);
    if (!fetch->jobs) return liana__fail_memory(error, "remote files");
    fetch->progress.files = count;
    for (size_t i = 0; i < count; i++) {
        fetch_job *job = &fetch->jobs[fetch->num_jobs];
        *job = (fetch_job){.object = &objects[i], .id = objects[i].id, .parts = {.part = -1, .pieces = -1}};
        fetch->progress.bytes += objects[i].size;
        LIANA_TRY(liana__remote_cache_use(cache, &job->id, error));
        if (liana__remote_cache_has(cache, &job->id, objects[i].size, &fetch->arena)) {
            fetch->bytes_cached += objects[i].size;
            fetch->progress.files_done++;
            continue;
        }
        *missing += objects[i].size;
        fetch->num_jobs++;
    }
    fetch->bytes_before = fetch->bytes_cached;
    fetch->num_left = fetch->num_jobs;
    return LIANA_OK;
}

liana_status liana__remote_fetch(liana__remote *remote, liana__remote_object *objects, size_t count,
                                 liana__error *error)
{
    fetcher *fetch = calloc(1, sizeof *fetch);
    if (!fetch) return liana__fail_memory(error, "remote files");
    fetch->remote = remote;
    fetch->num_slots = remote->options.connections;
    uint64_t missing = 0;
    liana_status status = find_missing(fetch, objects, count, &missing, error);
    if (status == LIANA_OK && fetch->num_left) status = liana__remote_cache_make_room(&remote->cache, missing, error);
    if (status == LIANA_OK && fetch->num_left) status = run(fetch, error);
    for (int i = 0; i < fetch->num_slots; i++) stop_slot(fetch, &fetch->slots[i]);
    for (size_t i = 0; i < fetch->num_jobs; i++) {
        if (fetch->jobs[i].state != OPEN) continue;
        liana__partial_file_close(&fetch->jobs[i].parts);
        liana__remote_cache_release(&remote->cache, &fetch->jobs[i].id);
    }
    liana__arena_free(&fetch->arena);
    free(fetch);
    return status;
}
