/* Starts processes whose main thread ends before another one, and prints how many of them it reaped. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *last(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	return NULL;
}

static void child(void)
{
	static pthread_t self;
	pthread_t other;

	self = pthread_self();
	if (pthread_create(&other, NULL, last, &self))
		_exit(1);
	pthread_exit(NULL);
}

int main(void)
{
	int reaped = 0, i, status;

	for (i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			child();
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
			return 1;
		reaped++;
	}
	printf("%d\n", reaped);
	return 0;
}
