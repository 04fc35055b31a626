/*
 * Opens a source, takes two snapshots, walks the tasks of the second and the window between the two,
 * and prints the balance:
 *
 *     cc walk.c $(pkg-config --cflags --libs exactop) -o walk && ./walk procfs
 *     ./walk daemon [SOCKET]
 */
#include <exactop.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *what)
{
	fprintf(stderr, "walk: %s: %s\n", what, exactop_error());
	return 1;
}

static uint32_t kind_of(const char *name)
{
	const char *names[] = { "auto", "ledger", "snapshot", "taskstats", "procfs" };
	uint32_t kind;

	for (kind = 0; kind < sizeof(names) / sizeof(names[0]); kind++)
		if (!strcmp(names[kind], name))
			return kind;
	return 99; /* exactop_open says that there is none */
}

/* Opens a source by its name; a daemon on the given socket, or else on the default one. */
static exactop_status open_one(const char *name, const char *socket, struct exactop_source **out)
{
	if (!strcmp(name, "daemon"))
		return exactop_open_daemon(socket, out);
	return exactop_open(kind_of(name), out);
}

static int print_tasks(const struct exactop_source *source)
{
	struct exactop_table *tasks;
	struct exactop_row row;
	size_t at, me = 0;

	if (exactop_snapshot(source, &tasks))
		return failed("snapshot");
	for (at = 0; at < exactop_table_len(tasks); at++)
		if (!exactop_table_row(tasks, at, &row) && row.pid == (uint32_t)getpid())
			me++;
	printf("%zu tasks, %zu of this process\n", exactop_table_len(tasks), me);
	exactop_table_free(tasks);
	return !me; /* a source may have threads of its own */
}

static int print_window(const struct exactop_source *source)
{
	uint32_t run = (uint32_t)exactop_counter_number("run_ns");
	struct exactop_table *window;
	struct exactop_books books;
	struct exactop_row row;
	uint64_t ns, sum = 0;
	size_t at;

	if (exactop_window(source, 0, &window))
		return failed("window");
	for (at = 0; at < exactop_table_len(window); at++) {
		if (exactop_table_row(window, at, &row))
			return failed("row");
		if (exactop_table_counter(window, at, run, &ns) == EXACTOP_OK) {
			sum += ns;
			if (row.pid == (uint32_t)getpid())
				printf("this process ran %llu ns\n", (unsigned long long)ns);
		}
	}
	if (exactop_table_books(window, &books))
		return failed("books");
	exactop_table_free(window);
	printf("total %llu tasks %llu rows %llu residual %lld exact %u\n",
	       (unsigned long long)books.total_ns, (unsigned long long)books.tasks_ns,
	       (unsigned long long)sum, (long long)books.residual_ns, books.exact);
	if (books.exited_ns == EXACTOP_MISSING)
		return sum != books.tasks_ns;
	printf("exited %llu\n", (unsigned long long)books.exited_ns);
	return sum != books.tasks_ns + books.exited_ns;
}

int main(int argc, char **argv)
{
	struct exactop_source *source;
	struct exactop_table *table;
	volatile unsigned long work;
	int wrong;

	if (open_one(argc > 1 ? argv[1] : "auto", argc > 2 ? argv[2] : NULL, &source))
		return failed("open");
	printf("source %s\n", exactop_source_name(source));
	if (exactop_window(source, 0, &table) != EXACTOP_NO_WINDOW)
		return failed("a window before the second snapshot");
	if (exactop_take(source))
		return failed("take");
	for (work = 0; work < 100000000; work++)
		;
	if (exactop_take(source))
		return failed("take");
	wrong = print_tasks(source) | print_window(source);
	if (exactop_table_row(NULL, 0, NULL) != EXACTOP_ARGUMENT || !*exactop_error())
		wrong = failed("a null pointer was taken");
	exactop_close(source);
	return wrong;
}
