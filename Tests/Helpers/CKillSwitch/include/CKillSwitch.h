#ifndef C_KILL_SWITCH_H
#define C_KILL_SWITCH_H

/* Calls: the system calls by which SQLite writes, truncates or locks a file. */

/* Ends the process by SIGKILL right before the n-th call from now on, counted from 1. With 0 the calls are counted
   only. Returns 0 if the calls cannot be counted. */
int kill_before_call(long n);

/* The number of calls since then. */
long kill_switch_calls(void);

/* Steps: what the connections of SQLite do in transactions that write, and what the process does with names of files
   and with servers. The kinds of steps are

   - the statements, by the words with which they begin; the statement is about to run;
   - "write", "sync", "after sync" and "unlock": SQLite is about to write to a file or to flush one, has flushed one, or
     is about to release the lock of the writer;
   - "after COMMIT": the statement has ended and has not returned yet;
   - "unsynced": the same, if its thread has not flushed a file since the statement began;
   - "acknowledgement": the program is about to acknowledge a commit;
   - "link", "after link", "rename" and "after rename": the process is about to give a file a name, or has done so;
   - "send" and "after send": libpq is about to send bytes to a server, or has sent some. */

/* Follows the transactions of all connections that are opened from now on. Returns 0 if this is not possible. */
int follow_transactions(void);

/* Counts the steps from now on, and ends the process by SIGKILL at the n-th step of a kind, counted from 1. With 0 the
   steps are counted only. Returns 0 if the kind does not exist. */
int kill_before_step_of_transaction(const char *kind, long n);

/* Reports that the program is about to acknowledge a commit. */
void count_acknowledgement(void);

/* While `hold` is not 0, a transaction that is about to begin waits. */
void hold_transactions(int hold);

/* The kinds of steps, by an index, and the number of steps of each kind. */
int step_kind_count(void);
const char *step_kind(int index);
long step_count(int index);

#endif
