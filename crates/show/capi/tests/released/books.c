/*
 * Made for a released version, by its header: nothing is written beyond the places that it knows.
 *
 *     ./books
 */
#include <exactop.h>
#include <stdio.h>
#include <string.h>

#define GUARD 64

struct guarded_books {
	struct exactop_books is;
	unsigned char guard[GUARD];
};

struct guarded_row {
	struct exactop_row is;
	unsigned char guard[GUARD];
};

static int is_whole(const unsigned char *guard)
{
	int at;

	for (at = 0; at < GUARD; at++)
		if (guard[at] != 0xa5)
			return 0;
	return 1;
}

int main(void)
{
	struct exactop_source *source;
	struct exactop_table *window;
	struct guarded_books books;
	struct guarded_row row;
	uint64_t named;

	memset(&books, 0xa5, sizeof(books));
	memset(&row, 0xa5, sizeof(row));
	if (exactop_open(EXACTOP_PROCFS, &source) || exactop_take(source) || exactop_take(source))
		return 1;
	if (exactop_window(source, 0, &window) || exactop_table_books(window, &books.is) ||
	    exactop_table_row(window, 0, &row.is))
		return 2;
	exactop_table_free(window);
	exactop_close(source);
	if (!is_whole(books.guard) || !is_whole(row.guard)) {
		fputs("something was written behind\n", stderr);
		return 3;
	}
	/* Figures are where they were: the accounts of procfs are these. */
	named = books.is.tasks_ns + books.is.unnamed_ns + books.is.idle_ns + books.is.offline_ns;
	named += books.is.irq_ns == EXACTOP_MISSING ? 0 : books.is.irq_ns;
	named += books.is.steal_ns == EXACTOP_MISSING ? 0 : books.is.steal_ns;
	if (!books.is.cpus || named + (uint64_t)books.is.residual_ns != books.is.total_ns)
		return 4;
	puts("as it was");
	return 0;
}
