/* libexactop: a source, a daemon or a recording, its snapshots and its windows (Apache-2.0 OR MIT). */
/* Generated from crates/show/capi/src by its test; do not edit. */

#ifndef EXACTOP_H
#define EXACTOP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * A figure that is unknown or not measured.
 */
#define EXACTOP_MISSING UINT64_MAX

/**
 * Result of a call.
 */
typedef enum exactop_status {
  /**
   * Success.
   */
  EXACTOP_OK = 0,
  /**
   * An argument is invalid: a null pointer, an index past the end, an unknown number.
   */
  EXACTOP_ARGUMENT = 1,
  /**
   * The source is not available on this machine, or not to this user.
   */
  EXACTOP_UNAVAILABLE = 2,
  /**
   * A read failed.
   */
  EXACTOP_READ = 3,
  /**
   * The source does not measure this figure.
   */
  EXACTOP_UNKNOWN = 4,
  /**
   * There is no window yet: a window needs two snapshots.
   */
  EXACTOP_NO_WINDOW = 5,
  /**
   * A bug of this library.
   */
  EXACTOP_BUG = 6,
  /**
   * The recording ends here.
   */
  EXACTOP_END = 7,
  /**
   * A gap in the figures. Of a recording: exactop_error names the time and the reason. Of a
   * daemon: another daemon answers, and counters start again. The next call continues.
   */
  EXACTOP_GAP = 8,
} exactop_status;

/**
 * Source of the figures; see `exactop --help`, --source.
 */
typedef enum exactop_kind {
  /**
   * The first of the others that works here.
   */
  EXACTOP_AUTO = 0,
  /**
   * BPF events: exact.
   */
  EXACTOP_LEDGER = 1,
  /**
   * The kernel's own counters, read by a BPF iterator.
   */
  EXACTOP_SNAPSHOT = 2,
  /**
   * Generic netlink, with a record of each exit.
   */
  EXACTOP_TASKSTATS = 3,
  /**
   * /proc, for every user.
   */
  EXACTOP_PROCFS = 4,
} exactop_kind;

/**
 * Kind of a row.
 */
typedef enum exactop_row_kind {
  /**
   * One thread.
   */
  EXACTOP_TASK = 0,
  /**
   * A process.
   */
  EXACTOP_PROCESS = 1,
  /**
   * Tasks that exited in the window.
   */
  EXACTOP_EXITED = 2,
} exactop_row_kind;

/**
 * An open source.
 */
typedef struct exactop_source exactop_source;

/**
 * Rows; a table of a window also has its balance.
 */
typedef struct exactop_table exactop_table;

/**
 * Identity and state of a row.
 */
typedef struct exactop_row {
  /**
   * Kind of the row: an exactop_row_kind.
   */
  uint32_t kind;
  /**
   * Process (thread group id); 0 for exited groups.
   */
  uint32_t pid;
  /**
   * Thread id; of a process that of its leader.
   */
  uint32_t tid;
  /**
   * Parent process; of exited groups the nearest living ancestor, or 0.
   */
  uint32_t ppid;
  /**
   * Effective user; of exited groups as of their end. UINT32_MAX, which is no user's id:
   * unknown.
   */
  uint32_t uid;
  /**
   * Of exited groups: number of processes that exited.
   */
  uint32_t exited;
  /**
   * Start on CLOCK_BOOTTIME, ns.
   */
  uint64_t start_ns;
  /**
   * The part of the life inside the window, of all threads, ns; EXACTOP_MISSING in snapshots.
   */
  uint64_t life_ns;
  /**
   * Command name: raw bytes, null-terminated. May hold control characters.
   */
  char comm[16];
  /**
   * R S D T t Z I, or X for exited groups.
   */
  char state;
} exactop_row;

/**
 * The CPUs' time in a window by account, ns. A figure may be EXACTOP_MISSING: interrupts and steal
 * that are not measured are part of other accounts, and not every source sees exits.
 */
typedef struct exactop_books {
  /**
   * Start of the window on CLOCK_MONOTONIC, ns.
   */
  uint64_t t0_ns;
  /**
   * End of the window on CLOCK_MONOTONIC, ns.
   */
  uint64_t t1_ns;
  /**
   * Number of CPUs times the length of the window.
   */
  uint64_t total_ns;
  /**
   * Living tasks.
   */
  uint64_t tasks_ns;
  /**
   * Exited tasks.
   */
  uint64_t exited_ns;
  /**
   * Executing, but the task is unknown.
   */
  uint64_t unnamed_ns;
  /**
   * Interrupts.
   */
  uint64_t irq_ns;
  /**
   * Stolen by the hypervisor.
   */
  uint64_t steal_ns;
  /**
   * Idle.
   */
  uint64_t idle_ns;
  /**
   * Offline.
   */
  uint64_t offline_ns;
  /**
   * The total less all other accounts: 0 when the books close.
   */
  int64_t residual_ns;
  /**
   * Number of CPUs.
   */
  uint32_t cpus;
  /**
   * 1 if the window is exact or repaired: the residual is 0, missed events were repaired, and
   * the source does not sample.
   */
  uint32_t exact;
} exactop_books;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Text of the last call that failed in this thread: one line. Valid until the next call in this
 * thread; empty if no call failed.
 */
const char *exactop_error(void);

/**
 * Opens a source. `kind` is an exactop_kind. The caller must close the source with exactop_close.
 *
 * # Safety
 * `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open(uint32_t kind, struct exactop_source **out);

/**
 * Closes a source; null does nothing. Tables made from it stay valid.
 *
 * # Safety
 * `source` must come from exactop_open and must not be used again.
 */
void exactop_close(struct exactop_source *source);

/**
 * Name of the source: ledger, snapshot, taskstats, procfs or recording; a daemon has the name of
 * its own source, ledger. Valid as long as the source; null for null.
 *
 * # Safety
 * `source` must come from exactop_open.
 */
const char *exactop_source_name(const struct exactop_source *source);

/**
 * Takes a snapshot: ends the window that the previous call began, and begins the next. In a
 * recording it goes to the next window. A daemon ends windows at the same instants for all
 * readers, at most ten per second; the call waits for the next one.
 * EXACTOP_GAP, only with a daemon: the daemon ended and this reader connected to its successor, or
 * the daemon had disconnected this reader. Figures since the last call are lost. A snapshot was
 * taken, but its counters started again: do not subtract earlier ones from it. There is no window
 * until the next call.
 *
 * # Safety
 * `source` must come from exactop_open.
 */
enum exactop_status exactop_take(struct exactop_source *source);

/**
 * All tasks as of the last snapshot. Counters count since a task's birth or, in the ledger, since
 * the ledger was opened. The caller must free the table with exactop_table_free.
 *
 * # Safety
 * `source` must come from exactop_open; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_snapshot(const struct exactop_source *source,
                                     struct exactop_table **out);

/**
 * The changes between the last two snapshots: one row per process or, if `threads` is not 0, per
 * thread, and one per group of exited tasks. The caller must free the table with
 * exactop_table_free.
 *
 * # Safety
 * `source` must come from exactop_open; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_window(const struct exactop_source *source,
                                   int32_t threads,
                                   struct exactop_table **out);

/**
 * Name of a counter, such as run_ns; null past the last. Counters are numbered from 0.
 */
const char *exactop_counter_name(uint32_t counter);

/**
 * Number of the counter of this name, or -1.
 *
 * # Safety
 * `name` must be null or a C string.
 */
int32_t exactop_counter_number(const char *name);

/**
 * Opens the ledger of 'exactop daemon' on its socket; null is /run/exactop/socket. This loads no
 * programs and needs no root, only access to the socket, which the group exactop has. A thread of
 * the library reads the socket until exactop_close ends it.
 * After a fork the source belongs to the parent. In the child, exactop_take returns
 * EXACTOP_UNAVAILABLE and exactop_close leaves the parent's source open; a child that needs
 * figures opens its own source.
 * If the daemon ends, exactop_take tries for 10 s to connect to its successor, and returns
 * EXACTOP_GAP once it has connected.
 * EXACTOP_UNAVAILABLE: no daemon serves there, or it refuses this user. The caller must close the
 * source with exactop_close.
 *
 * # Safety
 * `path` must be null or a C string; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open_daemon(const char *path, struct exactop_source **out);

/**
 * Opens a recording: a file, or a directory of 'exactop record'. Each exactop_take goes to the
 * next window. The first goes to the window that holds `from_ns` (ns since the epoch), or to the
 * first after it; 0 means the beginning. exactop_take returns EXACTOP_GAP where time is not
 * recorded, and EXACTOP_END at the end; a recording that is still written may have more windows
 * later. The caller must close the source with exactop_close.
 *
 * # Safety
 * `path` must be null or a C string; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open_recording(const char *path,
                                           int64_t from_ns,
                                           struct exactop_source **out);

/**
 * End of the last taken window of a recording by the wall clock of that time, ns since the epoch.
 * Other sources return EXACTOP_UNKNOWN.
 *
 * # Safety
 * `source` must come from exactop_open_recording; `out` must be valid for writing a number.
 */
enum exactop_status exactop_window_end(const struct exactop_source *source, int64_t *out);

/**
 * Number of rows of a table; 0 for null.
 *
 * # Safety
 * `table` must be null or come from this library.
 */
size_t exactop_table_len(const struct exactop_table *table);

/**
 * Identity and state of a row.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing a row.
 */
enum exactop_status exactop_table_row(const struct exactop_table *table,
                                      size_t index,
                                      struct exactop_row *out);

/**
 * A counter of a row: cumulative in snapshots, of the window in windows. `counter` is a number
 * from exactop_counter_number.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing a number.
 */
enum exactop_status exactop_table_counter(const struct exactop_table *table,
                                          size_t index,
                                          uint32_t counter,
                                          uint64_t *out);

/**
 * The balance of a window.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing the books.
 */
enum exactop_status exactop_table_books(const struct exactop_table *table,
                                        struct exactop_books *out);

/**
 * Another account of a window's balance, ns: tasks outside of the PID namespace that the daemon
 * reports on. EXACTOP_UNKNOWN: the daemon reports on all tasks, so there is no such account.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing a number.
 */
enum exactop_status exactop_table_outside(const struct exactop_table *table, uint64_t *out);

/**
 * Frees a table; null does nothing.
 *
 * # Safety
 * `table` must come from this library and must not be used again.
 */
void exactop_table_free(struct exactop_table *table);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXACTOP_H */
