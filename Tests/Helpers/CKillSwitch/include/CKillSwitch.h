#ifndef C_KILL_SWITCH_H
#define C_KILL_SWITCH_H

/* Has the process end by SIGKILL right before the n-th of the system calls to come by which SQLite writes, truncates or locks a
   file, counted from 1; with 0 they are counted only. Gives 0 if the calls could not be taken over. */
int kill_before_call(long n);

/* How many of these calls there were since. */
long kill_switch_calls(void);

#endif
