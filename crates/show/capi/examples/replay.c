/*
 * Opens a recording, goes through its windows and prints the CPU time of each:
 *
 *     cc replay.c $(pkg-config --cflags --libs exactop) -o replay && ./replay /var/log/exactop
 */
#include <exactop.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, exactop_error());
	return 1;
}

static int print_window(const struct exactop_source *source)
{
	struct exactop_table *window;
	struct exactop_books books;
	int64_t end;

	if (exactop_window_end(source, &end))
		return failed("when");
	if (exactop_window(source, 0, &window))
		return failed("window");
	if (exactop_table_books(window, &books)) {
		exactop_table_free(window);
		return failed("books");
	}
	printf("window %lld total %llu tasks %llu rows %zu\n", (long long)end,
	       (unsigned long long)books.total_ns, (unsigned long long)books.tasks_ns,
	       exactop_table_len(window));
	exactop_table_free(window);
	return 0;
}

int main(int argc, char **argv)
{
	struct exactop_source *source;
	enum exactop_status status;
	long long from = argc > 2 ? atoll(argv[2]) : 0;
	int result = 0;

	if (exactop_open_recording(argc > 1 ? argv[1] : "/var/log/exactop", from, &source))
		return failed("open");
	while (!result) {
		status = exactop_take(source);
		if (status == EXACTOP_END)
			break;
		if (status == EXACTOP_GAP)
			printf("gap: %s\n", exactop_error());
		else if (status != EXACTOP_OK)
			result = failed("take");
		else
			result = print_window(source);
	}
	exactop_close(source);
	return result;
}
