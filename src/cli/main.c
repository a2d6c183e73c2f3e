#include "cli/command.h"

int main(int argc, char **argv)
{
    liana__signals_prepare();
    return liana__command_line(argc, (const char *const *)argv, stdout, stderr);
}
