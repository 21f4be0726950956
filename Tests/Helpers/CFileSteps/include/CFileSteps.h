#ifndef C_FILE_STEPS_H
#define C_FILE_STEPS_H

/* A step is a call of the C library that makes, changes, names, removes or locks a file, by whatever part of the process: SQLite, Foundation,
   Strata. What is in memory apart, that is all by which anybody can tell how far the process has come. The functions of this name take the
   place of the C library's in a program that is linked with this. */

/* Has the process end by SIGKILL right before the n-th step to come, counted from 1; with 0 they are counted only. Gives 0 where steps cannot
   be counted. */
int kill_before_step(long n);

/* How many steps there were since. */
long file_steps(void);

#endif
