/*
 * Forks with a daemon's source open: the parent's source keeps working, whatever the child does.
 *
 *     ./forks SOCKET
 */
#include <exactop.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parent's source takes no snapshot here, and a new source of the child works. */
static int child(struct exactop_source *theirs, const char *socket)
{
	struct exactop_source *own;

	if (exactop_take(theirs) != EXACTOP_UNAVAILABLE)
		return 10;
	fprintf(stderr, "child: %s\n", exactop_error());
	exactop_close(theirs);
	if (exactop_open_daemon(socket, &own))
		return 11;
	if (exactop_take(own))
		return 12;
	exactop_close(own);
	return 0;
}

int main(int argc, char **argv)
{
	struct exactop_source *source;
	int status = 0, times;
	pid_t pid;

	if (argc != 2 || exactop_open_daemon(argv[1], &source))
		return 1;
	if (exactop_take(source))
		return 2;
	pid = fork();
	if (!pid)
		_exit(child(source, argv[1]));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 3;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
	for (times = 0; times < 3; times++) {
		if (exactop_take(source)) {
			fprintf(stderr, "parent: %s\n", exactop_error());
			return 5;
		}
	}
	exactop_close(source);
	puts("both go on");
	return 0;
}
