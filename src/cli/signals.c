/* Lets Ctrl-C end a training after its current step. */
#include "cli/command.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A signal handler can only use a global. The system may run it on any thread, so it is an atomic: lock-free ones may
 * be used in handlers (C17, 7.14.1.1). */
static atomic_int caught;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler needs lock-free integers");

static atomic_int reloads;

static void note(int number)
{
    caught = number;
}

static void note_reload(int number)
{
    (void)number;
    reloads = 1;
}

void liana__signals_catch(void)
{
    /* SA_RESETHAND: the second signal has its usual effect. SA_RESTART: reads and writes go on. */
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Under nohup, SIGHUP is ignored, and stays so. */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

void liana__signals_reload_on_hangup(void)
{
    struct sigaction action = {.sa_handler = note_reload, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
}

bool liana__signals_take_reload(void)
{
    return atomic_exchange(&reloads, 0) != 0;
}

void liana__signals_prepare(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void liana__signals_end(void)
{
    if (caught) signal(SIGTERM, SIG_IGN);
}

int liana__signals_caught(void)
{
    return caught;
}

void liana__signals_forget(void)
{
    caught = 0;
}
