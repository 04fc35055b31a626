/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of interrupt with tracepoints at both ends: devices (include/trace/events/irq.h),
 * softirqs, and those of x86's local APIC that wake tasks or take time
 * (arch/x86/include/asm/trace/irq_vectors.h). Errors, thermal events and NMIs are left out.
 */
#ifndef EXACTOP_VECTORS_H
#define EXACTOP_VECTORS_H

#define EX_VECTORS(X)        \
	X(irq_handler)       \
	X(softirq)           \
	X(local_timer)       \
	X(irq_work)          \
	X(call_function)     \
	X(call_function_single) \
	X(reschedule)

#endif
