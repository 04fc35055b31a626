/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports every new control group with its path, for readers that name the group: it may be removed
 * before a reader looks for it. Groups without room in the buffer are counted.
 */
#include "births.h"
#include "on_demand.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct ex_birth *unused_birth __attribute__((unused));

/* Set before loading: the hierarchy of the reported groups. */
const volatile __u32 hierarchy = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} made SEC(".maps");

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_group_made, struct cgroup *group, const char *path)
{
	struct ex_birth *birth;
	long length;

	if (group->root->hierarchy_id != hierarchy)
		return 0;
	birth = bpf_ringbuf_reserve(&made, sizeof(*birth), 0);
	if (!birth) {
		count_lost();
		return 0;
	}
	birth->id = group->kn->id;
	length = bpf_probe_read_kernel_str(birth->path, sizeof(birth->path), path);
	/* A path that fills the room may be cut. */
	if (length <= 0 || length == sizeof(birth->path)) {
		count_lost();
		bpf_ringbuf_discard(birth, 0);
		return 0;
	}
	/* The reader must look before the group is removed. */
	bpf_ringbuf_submit(birth, BPF_RB_FORCE_WAKEUP);
	return 0;
}
