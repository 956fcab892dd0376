/* Owns what signals mean to a measurement. */
#include "controller/command/interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "controller/command/command.h"

atomic_bool interrupt_finish;
atomic_bool interrupt_stop;

static void on_signal(int number)
{
    (void)number;
    if (atomic_exchange(&interrupt_finish, true) && atomic_exchange(&interrupt_stop, true))
        _exit(EXIT_FAILED);
}

void interrupt_catch(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal };

    atomic_store(&interrupt_finish, false);
    atomic_store(&interrupt_stop, false);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}
