/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A plain server of threads that wait at one condition variable, as most are written: a thread with
 * a job wakes all. It counts the waiting threads at each broadcast and prints the counts.
 *
 *     herd_server THREADS
 *
 * Each input line "BROADCASTS PER_SECOND" makes it broadcast this number of times; PER_SECOND 0:
 * each when all threads are asleep. It then waits until all sleep again, and answers "CALLS WAITING
 * MOST FUTILE". These are the broadcasts at which a thread waited, the waiting threads at all of
 * them, the most at one, and how often a worker found nothing to do.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

/* All are written under the lock. */
static unsigned long threads, waiting, jobs, futile;

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		if (jobs) {
			jobs--;
			continue;
		}
		waiting++;
		pthread_cond_wait(&more, &lock);
		if (!jobs)
			futile++;
	}
	return NULL;
}

static void until(struct timespec *due, unsigned long ns)
{
	due->tv_nsec += ns;
	due->tv_sec += due->tv_nsec / 1000000000;
	due->tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL);
}

/* True if this number of our threads is asleep in the kernel. */
static int are_asleep(unsigned long wanted)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned long asleep = 0;
	struct dirent *task;
	char path[300], line[300], *end;
	FILE *stat;

	while (tasks && (task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		stat = fopen(path, "r");
		if (!stat)
			continue;
		end = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
		asleep += end && end[2] == 'S';
		fclose(stat);
	}
	if (tasks)
		closedir(tasks);
	return asleep >= wanted;
}

/* A thread waits under the lock a moment before it is asleep in the kernel. */
static void all_sleep(void)
{
	const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};
	int all;

	do {
		nanosleep(&moment, NULL);
		pthread_mutex_lock(&lock);
		all = waiting == threads && !jobs;
		pthread_mutex_unlock(&lock);
	} while (!all || !are_asleep(threads));
}

static void broadcast(unsigned long times, unsigned long per_s)
{
	unsigned long calls = 0, woken = 0, most = 0, futile_before = futile;
	struct timespec due;

	clock_gettime(CLOCK_MONOTONIC, &due);
	for (unsigned long i = 0; i < times; i++) {
		if (!per_s)
			all_sleep();
		pthread_mutex_lock(&lock);
		calls += waiting > 0;
		woken += waiting;
		most = waiting > most ? waiting : most;
		waiting = 0;
		jobs++;
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&lock);
		if (per_s)
			until(&due, 1000000000 / per_s);
	}
	all_sleep();
	printf("%lu %lu %lu %lu\n", calls, woken, most, futile - futile_before);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long times, per_s;
	pthread_attr_t small;
	pthread_t thread;

	threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&thread, &small, work, NULL)) {
			fprintf(stderr, "only %lu of %lu threads\n", i, threads);
			return 1;
		}
	all_sleep();
	puts("ready");
	fflush(stdout);
	while (scanf("%lu %lu", &times, &per_s) == 2)
		broadcast(times, per_s);
	return 0;
}
