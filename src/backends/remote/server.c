/* A server of devices: one thread reads messages (the caller's), and each client has one that does its requests. */
#include "backends/remote/server.h"

#include "backends/remote/session.h"
#include "backends/remote/wire.h"

#include "base/memory.h"
#include "base/scoped.h"
#include "base/thread_start.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Requests of a client that wait: uploads come faster than a device computes. And the kind of one that was refused: its
 * bytes are the reason, and it waits for its turn, since answers have the order of requests. */
enum { MOST_WAITING = 65536, REFUSED = LIANA__SERVED_KINDS };

typedef struct message_list {
    liana__service_message *items;
    size_t first, end, capacity; /* waiting requests are [first, end) */
} message_list;

typedef struct server_client {
    liana__served_server *server;
    uint64_t number;
    liana__served_session *session;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    message_list requests, answers;
    size_t waiting_bytes;
    bool is_leaving;    /* no more requests: the thread ends */
    const char *reason; /* why the server lets it go; static */
    bool is_done;       /* it has ended, and the session is gone */
    bool is_open;       /* it has a device: `who` names it */
    bool is_told;
    char who[LIANA__SERVED_TEXT];
} server_client;

struct liana__served_server {
    liana__served_server_options options;
    liana__service *service;
    liana__served_account account;
    server_client **clients;
    size_t num_clients, capacity;
};

/* ---- lists of messages ---- */

static bool push(message_list *list, const liana__service_message *message)
{
    if (list->first > 0 && list->end == list->capacity) {
        memmove(list->items, list->items + list->first, (list->end - list->first) * sizeof *list->items);
        list->end -= list->first;
        list->first = 0;
    }
    if (!liana__grow(&list->items, list->end, &list->capacity, sizeof *list->items)) return false;
    list->items[list->end++] = *message;
    return true;
}

static bool pop(message_list *list, liana__service_message *message)
{
    if (list->first == list->end) return false;
    *message = list->items[list->first++];
    return true;
}

static void free_list(message_list *list)
{
    liana__service_message message;
    while (pop(list, &message)) free(message.bytes);
    free(list->items);
    *list = (message_list){0};
}

/* ---- the thread of a client ---- */

static void say(const liana__served_server *server, const char *text, const char *who)
{
    char line[LIANA__SERVED_TEXT + 64];
    if (!server->options.say) return;
    snprintf(line, sizeof line, "%s%s", who, text);
    server->options.say(server->options.user, line);
}

static void do_request(server_client *client, const liana__service_message *request)
{
    liana__text text = {0};
    if (request->kind == REFUSED) {
        liana__error error;
        liana__fail(&error, LIANA_OUT_OF_MEMORY, "%s", (const char *)request->bytes);
        liana__served_answer_error(&text, &error);
    } else {
        liana__served_session_answer(client->session, request->kind, request->bytes, request->size, &text);
    }
    liana__service_message answer = {.number = request->number,
                                     .kind = request->kind,
                                     .bytes = (uint8_t *)text.data,
                                     .size = text.length};
    pthread_mutex_lock(&client->mutex);
    if (request->kind == LIANA__SERVED_OPEN && liana__served_session_is_open(client->session)) {
        client->is_open = true;
        snprintf(client->who, sizeof client->who, "%s", liana__served_session_print(client->session));
    }
    client->waiting_bytes -= request->size;
    /* Without an answer the client would wait for ever: it is let go. */
    if (text.failed || !push(&client->answers, &answer)) {
        client->is_leaving = true;
        client->reason = "the server has no memory for an answer";
        free(text.data);
    }
    pthread_mutex_unlock(&client->mutex);
    liana__service_wake(client->server->service);
}

static void *serve(void *user)
{
    server_client *client = user;
    liana__service_message request;
    pthread_mutex_lock(&client->mutex);
    for (;;) {
        while (!client->is_leaving && client->requests.first == client->requests.end) {
            pthread_cond_wait(&client->changed, &client->mutex);
        }
        if (client->is_leaving) break;
        pop(&client->requests, &request);
        pthread_mutex_unlock(&client->mutex);
        do_request(client, &request);
        free(request.bytes);
        pthread_mutex_lock(&client->mutex);
    }
    pthread_mutex_unlock(&client->mutex);
    liana__served_session_destroy(client->session);
    pthread_mutex_lock(&client->mutex);
    client->is_done = true;
    pthread_mutex_unlock(&client->mutex);
    liana__service_wake(client->server->service);
    return NULL;
}

/* ---- clients ---- */

static server_client *find_client(const liana__served_server *server, uint64_t number)
{
    for (size_t i = 0; i < server->num_clients; i++) {
        if (server->clients[i]->number == number) return server->clients[i];
    }
    return NULL;
}

static void send_error(liana__served_server *server, uint64_t client, uint64_t number, const liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__served_answer_error(&text, error);
    liana__service_message answer = {.number = number, .bytes = (uint8_t *)text.data, .size = text.length};
    if (text.failed) {
        liana__service_drop(server->service, client, "the server has no memory for an answer");
    } else {
        liana__service_send(server->service, client, &answer);
    }
}

static liana_status fail_full(const liana__served_server *server, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < server->num_clients && i < 8; i++) {
        server_client *client = server->clients[i];
        pthread_mutex_lock(&client->mutex);
        liana__text_add(&text, "%s%s", i ? "; " : "", client->who);
        pthread_mutex_unlock(&client->mutex);
    }
    return liana__fail(error, LIANA_UNAVAILABLE, "the server has %zu clients and takes no more (--clients): %s",
                       server->num_clients, text.data ? text.data : "");
}

static liana_status start_client(liana__served_server *server, server_client *client, uint64_t number, const char *host,
                                 liana__error *error)
{
    LIANA_TRY(liana__served_session_create(&server->account, server->options.num_threads, &client->session, error));
    client->server = server;
    client->number = number;
    snprintf(client->who, sizeof client->who, "a client%s%.200s", *host ? " at " : "", host);
    pthread_mutex_init(&client->mutex, NULL);
    pthread_cond_init(&client->changed, NULL);
    if (liana__thread_start(&client->thread, serve, client) == 0) return LIANA_OK;
    liana__served_session_destroy(client->session);
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "the server cannot start a thread for one more client");
}

static liana_status add_client(liana__served_server *server, uint64_t number, const char *host, server_client **added,
                               liana__error *error)
{
    if (server->num_clients >= server->options.max_clients) return fail_full(server, error);
    LIANA__SCOPED_MEMORY server_client *client = calloc(1, sizeof *client);
    if (!client || !liana__grow(&server->clients, server->num_clients, &server->capacity, sizeof(server_client *))) {
        return liana__fail_memory(error, "a client");
    }
    LIANA_TRY(start_client(server, client, number, host, error));
    *added = server->clients[server->num_clients++] = client;
    client = NULL;
    return LIANA_OK;
}

/* `reason`: static. */
static void let_go(server_client *client, const char *reason)
{
    pthread_mutex_lock(&client->mutex);
    client->is_leaving = true;
    client->reason = reason;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

static void join_client(liana__served_server *server, size_t place)
{
    server_client *client = server->clients[place];
    pthread_join(client->thread, NULL);
    say(server, " has gone", client->who);
    liana__service_drop(server->service, client->number, client->reason);
    free_list(&client->requests);
    free_list(&client->answers);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    free(client);
    server->clients[place] = server->clients[--server->num_clients];
}

/* ---- incoming messages ---- */

static bool has_room(void *user, size_t size)
{
    liana__served_server *server = user;
    /* The memory of clients counts when the request's turn comes: others before it may free memory. */
    size_t taken = 0;
    for (size_t i = 0; i < server->num_clients; i++) {
        server_client *client = server->clients[i];
        pthread_mutex_lock(&client->mutex);
        taken += client->waiting_bytes;
        pthread_mutex_unlock(&client->mutex);
    }
    return taken <= server->account.limit && size <= server->account.limit - taken;
}

/* Lets a request wait for its turn; takes over its bytes. */
static void add_request(server_client *client, const liana__service_message *message)
{
    pthread_mutex_lock(&client->mutex);
    bool fits = client->requests.end - client->requests.first < MOST_WAITING && push(&client->requests, message);
    if (fits) client->waiting_bytes += message->size;
    if (!fits) {
        client->is_leaving = true;
        client->reason = "too many of its requests wait";
    }
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->mutex);
    if (!fits) free(message->bytes);
}

static void take(void *user, uint64_t number, const char *host, const liana__service_message *message)
{
    liana__served_server *server = user;
    liana__error error = {0};
    server_client *client = find_client(server, number);
    if (!client && add_client(server, number, host, &client, &error) != LIANA_OK) {
        free(message->bytes);
        send_error(server, number, message->number, &error);
    } else if (message->kind >= LIANA__SERVED_KINDS) {
        free(message->bytes);
        let_go(client, "it has sent what is no request");
    } else {
        add_request(client, message);
    }
}

static void refuse(void *user, uint64_t number, uint64_t request, size_t size)
{
    liana__served_server *server = user;
    server_client *client = find_client(server, number);
    char *text = malloc(LIANA__SERVED_TEXT);
    if (!client || !text) {
        free(text);
        liana__service_drop(server->service, number, "its request does not fit into the server's memory");
        if (client) let_go(client, "");
        return;
    }
    int length =
        snprintf(text, LIANA__SERVED_TEXT,
                 "a request of %zu MiB does not fit: the server gives all clients %zu MiB together "
                 "(--memory), of which %zu MiB are taken, and as much to requests that wait",
                 (size + (1 << 20) - 1) >> 20, server->account.limit >> 20, atomic_load(&server->account.held) >> 20);
    liana__service_message message = {.number = request,
                                      .kind = REFUSED,
                                      .bytes = (uint8_t *)text,
                                      .size = (size_t)length};
    add_request(client, &message);
}

static void gone(void *user, uint64_t number)
{
    server_client *client = find_client(user, number);
    if (client) let_go(client, "");
}

/* ---- the server ---- */

liana_status liana__served_server_open(const liana__served_server_options *options, liana__served_server **out,
                                       liana__error *error)
{
    *out = NULL;
    LIANA__SCOPED_MEMORY liana__served_server *server = calloc(1, sizeof *server);
    if (!server) return liana__fail_memory(error, "a server");
    server->options = *options;
    server->account.limit = options->memory ? options->memory : liana__machine_memory() / 2;
    const liana__service_calls calls = {
        .has_room = has_room, .take = take, .refuse = refuse, .gone = gone, .user = server};
    LIANA_TRY(liana__service_open(&options->place, &calls, &server->service, error));
    *out = server;
    server = NULL;
    return LIANA_OK;
}

const char *liana__served_server_address(const liana__served_server *server)
{
    return liana__service_address(server->service);
}

/* Sends the answers of a client's thread. True: the client is done. */
static bool send_answers(liana__served_server *server, server_client *client)
{
    liana__service_message answer;
    pthread_mutex_lock(&client->mutex);
    while (pop(&client->answers, &answer)) {
        pthread_mutex_unlock(&client->mutex);
        liana__service_send(server->service, client->number, &answer);
        free(answer.bytes);
        pthread_mutex_lock(&client->mutex);
    }
    bool done = client->is_done;
    if (client->is_open && !client->is_told) say(server, "", client->who);
    client->is_told = client->is_open;
    pthread_mutex_unlock(&client->mutex);
    return done;
}

void liana__served_server_turn(liana__served_server *server, double seconds)
{
    liana__service_turn(server->service, seconds);
    for (size_t i = server->num_clients; i-- > 0;) {
        if (send_answers(server, server->clients[i])) join_client(server, i);
    }
}

void liana__served_server_close(liana__served_server *server)
{
    if (!server) return;
    for (size_t i = 0; i < server->num_clients; i++) let_go(server->clients[i], "the server ends");
    while (server->num_clients) join_client(server, server->num_clients - 1);
    liana__service_close(server->service);
    free(server->clients);
    free(server);
}
