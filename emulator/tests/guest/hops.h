/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See hops.S. */
#ifndef HOPS_H
#define HOPS_H

#define HOPS 100

#ifndef __ASSEMBLER__
void hops(void);
void hops_then_off(void);
void user_hops(void);
void user_hops_as_is(void);
extern char hops_row[], hops_then_off_row[], hops_after_off[];
extern char user_hops_row[];
#endif
#endif
