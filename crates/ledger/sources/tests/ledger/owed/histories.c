/*
 * Runs the algorithm of bpf/on_demand/owed.h over a history from standard input, one event a line:
 *   t NS                                time passes
 *   c CPU TASK                          a CPU runs this task; 0: it becomes idle
 *   w TASK CPU WOKEN ANY CPUSET AFFINITY NEAR
 *                                       a task waits there; its sets of CPUs as bits
 *   e                                   a window ends
 * At each end it prints the idle time, the owed time, and for each task its sums by cause.
 */
#include "on_demand/owed.h"

#include <stdio.h>

enum { CPUS = 64, TASKS = 32 };

static struct ex_owed o;
static struct ex_owed_cpu cpus[CPUS];
static struct ex_waiter tasks[TASKS];
static struct ex_owed_sum sums[TASKS], before[2][TASKS];
static unsigned long long now = 1000, idle_before, owed_before;

static __u32 number_of(unsigned long long bits)
{
	struct ex_cpus set = {{bits}};

	if (!(bits & (bits - 1)))
		return EX_NO_SET;
	for (__u32 i = 1; i < o.sets; i++)
		if (o.set[i].cpus.word[0] == bits)
			return i;
	return ex_add_set(&o, &set);
}

static void end(__u32 task)
{
	struct ex_waiter *w = &tasks[task];

	if (ex_is_waiting(w)) {
		ex_wait_ends(&o, w, &cpus[w->cpu], task, &sums[task], false);
		ex_settle_cpu(&o, &cpus[w->cpu], w->cpu);
	}
}

static void end_window(void)
{
	__u32 bank = o.epoch & 1;

	ex_window_ends(&o);
	printf("%llu %llu\n", o.idle_ns - idle_before, o.owed_ns - owed_before);
	idle_before = o.idle_ns, owed_before = o.owed_ns;
	/* The kernel reaches the tasks later than the end. */
	ex_pass(&o, ++now);
	for (__u32 task = 1; task < TASKS; task++) {
		struct ex_waiter *w = &tasks[task];

		if (ex_is_waiting(w))
			ex_settle(&o, w, &cpus[w->cpu], task, &sums[task], false);
		for (int i = 0; i < EX_OWED_CAUSES; i++)
			printf("%llu ", sums[task].ns[bank][i] - before[bank][task].ns[bank][i]);
		before[bank][task] = sums[task];
	}
	printf("\n");
}

int main(void)
{
	char what;

	ex_pass(&o, now);
	while (scanf(" %c", &what) == 1) {
		unsigned long long ns, set[EX_SCOPES];
		unsigned task, cpu, woken;

		if (what == 't' && scanf("%llu", &ns) == 1) {
			now += ns;
			ex_pass(&o, now);
		} else if (what == 'c' && scanf("%u %u", &cpu, &task) == 2) {
			ex_turn(&o, &cpus[cpu], !task, task);
			end(task);
			tasks[task].doing = EX_RUNS;
			ex_settle_cpu(&o, &cpus[cpu], cpu);
		} else if (what == 'w' && scanf("%u %u %u %llu %llu %llu %llu", &task, &cpu, &woken, set,
						set + 1, set + 2, set + 3) == 7) {
			__u32 numbers[EX_SCOPES] = {EX_ANY};

			end(task);
			for (int i = EX_CPUSET; i < EX_SCOPES; i++)
				numbers[i] = number_of(set[i]);
			if (numbers[EX_AFFINITY] == EX_NO_SET)
				numbers[EX_NEAR] = EX_NO_SET;
			ex_wait_begins(&o, &tasks[task], &cpus[cpu], cpu, task, numbers, woken);
			ex_settle_cpu(&o, &cpus[cpu], cpu);
		} else if (what == 'e') {
			end_window();
		} else {
			return 1;
		}
	}
	return 0;
}
