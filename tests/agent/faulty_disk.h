/* A disk that fails on demand, under SQLite: its own file methods with a look in front. */
#ifndef SONDE_TESTS_AGENT_FAULTY_DISK_H
#define SONDE_TESTS_AGENT_FAULTY_DISK_H

/* Becomes SQLite's default for this process. */
void faulty_disk_install(void);

/* From now on `after` writes and syncs succeed, then each fails with this code. Codes of syncs
 * (SQLITE_IOERR_FSYNC) spare the writes. */
void faulty_disk_fail(unsigned after, int code);

void faulty_disk_heal(void);

#endif
