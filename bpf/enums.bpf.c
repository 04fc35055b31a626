/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The enums of wire.h for the reader; this object is never loaded. Clang describes a type only if a
 * variable has it. The reader's types are generated from this description, so no number is written
 * twice.
 */
#include "wire.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum ex_state state_layout;
enum ex_event event_layout;
enum ex_error error_layout;
enum ex_table table_layout;
enum ex_cur cur_layout;
enum ex_cpu_word cpu_word_layout;
enum ex_chunks chunks_layout;
enum ex_audited audited_layout;
enum ex_follows follows_layout;
enum ex_why why_layout;
enum ex_book_sizes book_sizes_layout;
