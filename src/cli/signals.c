#include "cli/command.h"

#include <signal.h>

/* A signal handler can reach nothing but a global. */
static volatile sig_atomic_t caught;

static void note(int number)
{
    caught = number;
}

void liana__signals_catch(void)
{
    /* SA_RESETHAND: the second signal does what it always does. SA_RESTART: reads and writes go on. */
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int liana__signals_caught(void)
{
    return caught;
}
