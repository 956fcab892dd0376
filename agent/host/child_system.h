/* Between child.c and the system's own child_*.c: nobody else includes this. */
#ifndef SONDE_HOST_CHILD_SYSTEM_H
#define SONDE_HOST_CHILD_SYSTEM_H

/* In the child: asks the system to kill it when its parent ends, where the system can. */
void child_system_bind(void);

#endif
