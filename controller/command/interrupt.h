/* SIGINT, SIGTERM and SIGHUP during a measurement: the first asks to finish what runs, the second
 * to stop at once, the third ends the process. */
#ifndef SONDE_COMMAND_INTERRUPT_H
#define SONDE_COMMAND_INTERRUPT_H

#include <stdatomic.h>

/* A signal handler has no other way to its owner than state at file scope. */
extern atomic_bool interrupt_finish;
extern atomic_bool interrupt_stop;

/* Clears both and catches the signals from now on. */
void interrupt_catch(void);

#endif
