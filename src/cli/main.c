/* The command. */
#include "cli/command.h"

int main(int argc, char **argv)
{
    return liana__command_main(argc, (const char *const *)argv);
}
