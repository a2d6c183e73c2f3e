#include "cli/command.h"

int main(int argc, char **argv)
{
    return liana__command_line(argc, (const char *const *)argv, stdout, stderr);
}
