/*
 * Reads a daemon that restarts meanwhile: writes a line after the first look, and continues when it
 * reads a line.
 *
 *     ./again SOCKET
 */
#include <exactop.h>
#include <stdio.h>
#include <string.h>

/* The daemon may have sent more windows before it ended. */
#define MOST 100

static int failed(const char *what)
{
	fprintf(stderr, "again: %s: %s\n", what, exactop_error());
	return 1;
}

static int has_window(const struct exactop_source *source)
{
	struct exactop_table *window;
	struct exactop_books books;

	if (exactop_window(source, 0, &window))
		return failed("window");
	if (exactop_table_books(window, &books) || books.t1_ns <= books.t0_ns)
		return failed("books");
	exactop_table_free(window);
	return 0;
}

int main(int argc, char **argv)
{
	struct exactop_source *source;
	struct exactop_table *table;
	exactop_status status = EXACTOP_OK;
	int at;

	if (argc < 2 || exactop_open_daemon(argv[1], &source))
		return failed("open");
	if (exactop_take(source) || exactop_take(source) || has_window(source))
		return failed("before");
	puts("looked");
	fflush(stdout);
	if (getchar() == EOF)
		return failed("nobody started another");
	for (at = 0; at < MOST && status == EXACTOP_OK; at++)
		status = exactop_take(source);
	if (status != EXACTOP_GAP || !strstr(exactop_error(), "counters begin anew"))
		return failed("no gap");
	if (exactop_window(source, 0, &table) != EXACTOP_NO_WINDOW)
		return failed("a window over the gap");
	if (exactop_snapshot(source, &table) || !exactop_table_len(table))
		return failed("no snapshot");
	exactop_table_free(table);
	if (exactop_take(source) || has_window(source))
		return failed("after");
	exactop_close(source);
	puts("told once");
	return 0;
}
