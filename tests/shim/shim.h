/* What both libraries share: which fault is wanted, calls of the real library, and the log.
 *
 * FOREIGN_FAULT  one fault, "key=value;key=value;...". docs/foreign-faults.md lists them.
 * FOREIGN_LOG    the file to which each process adds one line for each thing it did.
 *
 * The real library is a dependency of ours (DT_NEEDED libreal_*.so.1 in our own folder), so a
 * program finds what we do not override in it through our handle. */
#ifndef SHIM_H
#define SHIM_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The value of a key of FOREIGN_FAULT, or `otherwise`. */
const char* shim_text(const char* key, const char* otherwise);
double shim_number(const char* key, double otherwise);
int shim_is(const char* key, const char* value);
int shim_fault_is(const char* fault);

/* Counts a call that the fault fits, from 1. `nth=N`: the Nth alone is hit; `from=N`: it and all
 * after it; without either all are; `after=S`: none in the first S seconds from FOREIGN_START on.
 */
int shim_hits(void);

/* One line: the process, then what the format says. */
void shim_log(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* That the fault was made, once a process: `effect` is changed, unchanged or unknown. */
void shim_made(const char* effect, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* A function of the real library; one that it lacks answers with kMissing, as a program expects of
 * an older driver. shim_find() tells NULL of it. */
void* shim_real(const char* symbol);
void* shim_find(const char* symbol);
extern const int kMissing;
/* While a fault is made, what it calls passes through unchanged. */
extern __thread int shim_inside;
extern const char kRealLibrary[];

#endif
