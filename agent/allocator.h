/* How the C library keeps memory that was freed. Of the process: for main. */
#ifndef SONDE_AGENT_ALLOCATOR_H
#define SONDE_AGENT_ALLOCATOR_H

/* What is freed in pieces of 128 KiB and more goes back to the system at once. Before threads. */
void allocator_keep_little(void);

#endif
