/* Load for a server of predictions: N connections, each of which asks again as soon as it is answered. Prints JSON with
 * the predictions a second and the latencies, and fails if an answer is not 200.
 *
 *   bench_serve_load PORT PATH FILE CONNECTIONS SECONDS
 *
 * FILE is the body of each POST. A second runs before the measurement. It uses little of the processor: the answer is
 * read, and not parsed. */
#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 256, MOST_LATENCIES = 1 << 20, ANSWER_BYTES = 1 << 20 };

typedef struct load_plan {
    int port;
    char *request;
    size_t size;
    double begin, end; /* of the measurement */
} load_plan;

typedef struct client {
    const load_plan *load;
    pthread_t thread;
    double *latencies;
    size_t count, faults;
} client;

static int connect_to(int port)
{
    const int on = 1;
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(descriptor, (const struct sockaddr *)&to, sizeof to) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static int send_all(int descriptor, const char *bytes, size_t size)
{
    while (size) {
        const ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        bytes += sent;
        size -= (size_t)sent;
    }
    return 1;
}

/* Reads an answer with a Content-Length. Returns its status; 0: it did not come. */
static int read_answer(int descriptor, char *answer)
{
    size_t length = 0, wanted = 0;
    int status = 0;
    while (!wanted || length < wanted) {
        const ssize_t got = recv(descriptor, answer + length, ANSWER_BYTES - 1 - length, 0);
        if (got <= 0) return 0;
        length += (size_t)got;
        answer[length] = 0;
        const char *end = wanted ? NULL : strstr(answer, "\r\n\r\n");
        const char *said = end ? strcasestr(answer, "content-length:") : NULL;
        if (said) wanted = (size_t)(end + 4 - answer) + strtoul(said + 15, NULL, 10);
    }
    if (sscanf(answer, "HTTP/1.%*d %d", &status) != 1) return 0;
    return status;
}

static void *ask_on(void *user)
{
    client *own = user;
    const load_plan *load = own->load;
    char *answer = malloc(ANSWER_BYTES);
    const int descriptor = connect_to(load->port);
    double now = liana__clock_seconds();
    while (answer && now < load->end) {
        const double begin = now;
        const int sent = descriptor >= 0 && send_all(descriptor, load->request, load->size);
        const int status = sent ? read_answer(descriptor, answer) : 0;
        now = liana__clock_seconds();
        if (status != 200) own->faults++;
        if (!status) break;
        if (begin >= load->begin && now < load->end && own->count < MOST_LATENCIES) {
            own->latencies[own->count++] = now - begin;
        }
    }
    if (descriptor >= 0) close(descriptor);
    free(answer);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int report(client *clients, int count, double seconds)
{
    size_t total = 0, faults = 0;
    for (int i = 0; i < count; i++) {
        total += clients[i].count;
        faults += clients[i].faults;
    }
    double *all = malloc((total + 1) * sizeof *all);
    if (!all) return 1;
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (clients[i].count) memcpy(all + at, clients[i].latencies, clients[i].count * sizeof *all);
        at += clients[i].count;
    }
    qsort(all, total, sizeof *all, ascending);
    printf("{\"connections\": %d, \"predictions_per_second\": %.1f, \"median_ms\": %.2f, \"p99_ms\": %.2f, \"faults\": "
           "%zu}\n",
           count, (double)total / seconds, total ? all[total / 2] * 1e3 : 0, total ? all[total * 99 / 100] * 1e3 : 0,
           faults);
    free(all);
    return faults || !total;
}

/* The whole request as text. */
static char *make_request(const char *port, const char *path, const char *file, size_t *size)
{
    FILE *body = fopen(file, "rb");
    if (!body) return NULL;
    fseek(body, 0, SEEK_END);
    const size_t length = (size_t)ftell(body);
    rewind(body);
    char *request = malloc(length + 1024);
    if (request) {
        const int head =
            snprintf(request, 1024, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Length: %zu\r\n\r\n", path, port,
                     length);
        *size = (size_t)head + fread(request + head, 1, length, body);
    }
    fclose(body);
    return request;
}

int main(int argc, char **argv)
{
    static client clients[MOST_CONNECTIONS];
    load_plan load = {0};
    const int count = argc == 6 ? atoi(argv[4]) : 0;
    const double seconds = argc == 6 ? atof(argv[5]) : 0;
    if (count < 1 || count > MOST_CONNECTIONS || seconds <= 0) {
        fprintf(stderr, "usage: %s PORT PATH FILE CONNECTIONS SECONDS\n", argv[0]);
        return 2;
    }
    load.port = atoi(argv[1]);
    load.request = make_request(argv[1], argv[2], argv[3], &load.size);
    load.begin = liana__clock_seconds() + 1;
    load.end = load.begin + seconds;
    if (!load.request) {
        fprintf(stderr, "%s cannot be read\n", argv[3]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        clients[i] = (client){.load = &load, .latencies = malloc(MOST_LATENCIES * sizeof(double))};
        if (!clients[i].latencies || pthread_create(&clients[i].thread, NULL, ask_on, &clients[i]) != 0) return 1;
    }
    for (int i = 0; i < count; i++) pthread_join(clients[i].thread, NULL);
    const int code = report(clients, count, seconds);
    for (int i = 0; i < count; i++) free(clients[i].latencies);
    free(load.request);
    return code;
}
