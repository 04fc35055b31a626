/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A record of a new control group. */
#ifndef EXACTOP_BIRTHS_H
#define EXACTOP_BIRTHS_H

#include "kernel.h"

/* The path ends with a zero. */
struct ex_birth {
	__u64 id;
	char path[1024];
};

#endif
