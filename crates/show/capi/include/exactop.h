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
 * A figure that is not known, or not measured.
 */
#define EXACTOP_MISSING UINT64_MAX

/**
 * How a call went.
 */
typedef enum exactop_status {
  /**
   * It did what it says.
   */
  EXACTOP_OK = 0,
  /**
   * An argument cannot be used: a null pointer, an index past the end, an unknown number.
   */
  EXACTOP_ARGUMENT = 1,
  /**
   * The source cannot be had here, or not by this user.
   */
  EXACTOP_UNAVAILABLE = 2,
  /**
   * Something could not be read.
   */
  EXACTOP_READ = 3,
  /**
   * The source does not know this figure.
   */
  EXACTOP_UNKNOWN = 4,
  /**
   * There is no window yet: it takes two snapshots.
   */
  EXACTOP_NO_WINDOW = 5,
  /**
   * A fault of this library.
   */
  EXACTOP_BUG = 6,
  /**
   * The recording ends here.
   */
  EXACTOP_END = 7,
  /**
   * Time that nobody knows of: of a recording, exactop_error says which, and why; of a daemon, another
   * one answers, and counters begin anew. The next call goes on.
   */
  EXACTOP_GAP = 8,
} exactop_status;

/**
 * Where the figures come from; see `exactop --help`, --source.
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
   * The kernel's own counters, by a BPF iterator.
   */
  EXACTOP_SNAPSHOT = 2,
  /**
   * Generic netlink, with a record of each exit.
   */
  EXACTOP_TASKSTATS = 3,
  /**
   * /proc, for anyone.
   */
  EXACTOP_PROCFS = 4,
} exactop_kind;

/**
 * What a row stands for.
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
 * Rows; those of a window with its balance.
 */
typedef struct exactop_table exactop_table;

/**
 * Who a row is.
 */
typedef struct exactop_row {
  /**
   * What it stands for: an exactop_row_kind.
   */
  uint32_t kind;
  /**
   * Process (thread group id); 0 for exited groups.
   */
  uint32_t pid;
  /**
   * Thread; of a process its leader.
   */
  uint32_t tid;
  /**
   * Parent process; of exited groups the nearest ancestor that lives, or 0.
   */
  uint32_t ppid;
  /**
   * Effective user; of exited groups as of their end. UINT32_MAX, which is nobody's: not told.
   */
  uint32_t uid;
  /**
   * Processes that exited, of exited groups.
   */
  uint32_t exited;
  /**
   * Start on CLOCK_BOOTTIME, ns.
   */
  uint64_t start_ns;
  /**
   * The part of the life inside the window, of all threads; EXACTOP_MISSING in snapshots.
   */
  uint64_t life_ns;
  /**
   * Command name: raw bytes, ended by a null. May hold control characters.
   */
  char comm[16];
  /**
   * R S D T t Z I, or X for exited groups.
   */
  char state;
} exactop_row;

/**
 * Where the CPUs' time went in a window, ns. A figure may be EXACTOP_MISSING: interrupts and steal
 * that are not measured are part of others, and not every source sees exits.
 */
typedef struct exactop_books {
  /**
   * Start of the window, CLOCK_MONOTONIC.
   */
  uint64_t t0_ns;
  /**
   * Its end.
   */
  uint64_t t1_ns;
  /**
   * CPUs times the window.
   */
  uint64_t total_ns;
  /**
   * Tasks that live.
   */
  uint64_t tasks_ns;
  /**
   * Tasks that exited.
   */
  uint64_t exited_ns;
  /**
   * Executing, but nobody knows who.
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
   * The total less all others: 0 when the books close.
   */
  int64_t residual_ns;
  /**
   * CPUs.
   */
  uint32_t cpus;
  /**
   * 1 if the window is exact or repaired: the residual is 0, what was missed was set right, and
   * the source does not sample.
   */
  uint32_t exact;
} exactop_books;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What the last call that failed in this thread says: one line. Valid until the next call in this
 * thread; empty if none failed.
 */
const char *exactop_error(void);

/**
 * Opens a source. `kind` is an exactop_kind. What it yields must be given to exactop_close.
 *
 * # Safety
 * `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open(uint32_t kind, struct exactop_source **out);

/**
 * Closes a source; null is nothing. Tables made of it stay.
 *
 * # Safety
 * `source` must come from exactop_open and must not be used again.
 */
void exactop_close(struct exactop_source *source);

/**
 * The source's name: ledger, snapshot, taskstats, procfs or recording; of a daemon that of what it
 * serves, ledger. Valid as long as the source; null for null.
 *
 * # Safety
 * `source` must come from exactop_open.
 */
const char *exactop_source_name(const struct exactop_source *source);

/**
 * Takes a snapshot: ends the window that the call before began, and begins the next. In a recording
 * it goes to the next window. A daemon ends windows for all who look at the same instants, ten in a
 * second at most: until the next one this waits.
 * EXACTOP_GAP, of a daemon: it ended, and the one that came after it was taken up, or it had let this
 * reader go. Figures since the last call are lost. A snapshot was taken, whose counters began anew and are
 * not to be subtracted from earlier ones; there is no window until the next call.
 *
 * # Safety
 * `source` must come from exactop_open.
 */
enum exactop_status exactop_take(struct exactop_source *source);

/**
 * All tasks as of the last snapshot, with counters since their birth or, in the ledger, since it
 * was opened. What it yields must be given to exactop_table_free.
 *
 * # Safety
 * `source` must come from exactop_open; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_snapshot(const struct exactop_source *source,
                                     struct exactop_table **out);

/**
 * What happened between the last two snapshots: a row a process or, if `threads` is not 0, a
 * thread, and one for each group of exited tasks. What it yields must be given to
 * exactop_table_free.
 *
 * # Safety
 * `source` must come from exactop_open; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_window(const struct exactop_source *source,
                                   int32_t threads,
                                   struct exactop_table **out);

/**
 * The name of a counter, such as run_ns; null past the last. Counters are numbered from 0.
 */
const char *exactop_counter_name(uint32_t counter);

/**
 * The number of the counter of this name, or -1.
 *
 * # Safety
 * `name` must be null or a C string.
 */
int32_t exactop_counter_number(const char *name);

/**
 * Opens the ledger of 'exactop daemon' on its socket; null is /run/exactop/socket. It takes no
 * programs and no root, but the leave to use the socket, which the group exactop has. A thread of
 * the library reads what comes until exactop_close ends it. After a fork it stays the parent's: in the
 * child it takes no snapshots (EXACTOP_UNAVAILABLE), closing it there ends nothing of the parent's, and
 * whoever wants figures there opens anew. A daemon that ends is waited for: exactop_take tries to connect for
 * 10 s to the one that comes after it, and says EXACTOP_GAP when it has.
 * EXACTOP_UNAVAILABLE: nobody serves there, or this user is refused. What it yields must be given to
 * exactop_close.
 *
 * # Safety
 * `path` must be null or a C string; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open_daemon(const char *path,
                                        struct exactop_source **out);

/**
 * Opens a recording: a file, or a directory of 'exactop record'. Each exactop_take goes to its next
 * window, the first one to the window that holds `from_ns` (ns since the epoch), or to the first
 * after it; 0 is from its beginning. Where time is not recorded exactop_take says EXACTOP_GAP, and at
 * the end EXACTOP_END, which may be later by then if someone still records. What it yields must be
 * given to exactop_close.
 *
 * # Safety
 * `path` must be null or a C string; `out` must be valid for writing a pointer.
 */
enum exactop_status exactop_open_recording(const char *path,
                                           int64_t from_ns,
                                           struct exactop_source **out);

/**
 * When the window of a recording that was taken last ended, by the wall clock of then, ns since the
 * epoch; of other sources it is not known.
 *
 * # Safety
 * `source` must come from exactop_open_recording; `out` must be valid for writing a number.
 */
enum exactop_status exactop_window_end(const struct exactop_source *source, int64_t *out);

/**
 * How many rows a table has; 0 for null.
 *
 * # Safety
 * `table` must be null or come from this library.
 */
size_t exactop_table_len(const struct exactop_table *table);

/**
 * Who a row is.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing a row.
 */
enum exactop_status exactop_table_row(const struct exactop_table *table,
                                      size_t index,
                                      struct exactop_row *out);

/**
 * A counter of a row: cumulative in snapshots, of the window in windows. `counter` is a number of
 * exactop_counter_number.
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
 * One more account of the balance of a window, ns: tasks outside of the PID namespace of which a daemon
 * tells. EXACTOP_UNKNOWN: it is told of everyone, and there is no such account.
 *
 * # Safety
 * `table` must be null or come from this library; `out` must be valid for writing a number.
 */
enum exactop_status exactop_table_outside(const struct exactop_table *table,
                                          uint64_t *out);

/**
 * Frees a table; null is nothing.
 *
 * # Safety
 * `table` must come from this library and must not be used again.
 */
void exactop_table_free(struct exactop_table *table);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EXACTOP_H */
