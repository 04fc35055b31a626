/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The smallest scheduler that sched_ext accepts. It has a name and no operation: all tasks wait in
 * one queue, from which each CPU takes the first task that may run there.
 */
struct sched_ext_ops {
	char name[128];
};

__attribute__((section(".struct_ops.link"), used))
struct sched_ext_ops ops = {.name = "exactop_test"};

__attribute__((section("license"), used)) char LICENSE[] = "Dual BSD/GPL";
