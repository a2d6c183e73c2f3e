/* Runs servers of devices for tests. */
#include "harness/device_server.h"
#include "harness/harness.h"

#include "backends/remote/server.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void note(int number)
{
    (void)number;
    is_over = 1;
}

static void serve(const char *address, const char *keys, size_t memory, size_t clients)
{
    liana__error error = {0};
    liana__served_server *server;
    const liana__served_server_options options = {
        .place = {.address = address, .keys = keys, .source = "the test", .heartbeat = 60},
        .memory = memory,
        .num_threads = 1,
        .max_clients = clients};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    signal(SIGTERM, note);
    if (liana__served_server_open(&options, &server, &error) != LIANA_OK) {
        fprintf(stderr, "%s\n", error.message);
        _exit(1);
    }
    while (!is_over) liana__served_server_turn(server, 0.05);
    liana__served_server_close(server);
    _exit(0);
}

/* Takes one connection on the port of "127.0.0.1:PORT", and closes it before anything is said. */
static void break_first_connection(const char *address)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    name.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, 1) != 0) _exit(1);
    close(accept(listener, NULL, NULL));
    close(listener);
}

pid_t liana__test_start_breaking_server(const char *address, const char *keys)
{
    fflush(NULL);
    pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process != 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    break_first_connection(address);
    serve(address, keys, 0, 8);
    return 0;
}

pid_t liana__test_start_server(const char *address, const char *keys, size_t memory, size_t clients)
{
    fflush(NULL);
    pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process == 0) serve(address, keys, memory, clients);
    return process;
}

void liana__test_stop_server(pid_t server)
{
    int code;
    kill(server, SIGTERM);
    assert_int_equal(waitpid(server, &code, 0), server);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
}
