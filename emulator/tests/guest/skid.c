// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the interrupt is later than the buffer has room for: are the rest of
 * the records dropped, and counted, until it comes?  PARAM is the skid; the
 * runner compares the lines "dropped CPU COUNT" with the emulator's.  The
 * second CPU fills a buffer of its own meanwhile, and has no interrupt.
 */
#include "guest.h"
#include "hops.h"

#define AT	  256		/* the threshold */
#define TURNS	  3000
#define AP_TURNS  700

static uint64_t ap_area[4] __attribute__((aligned(64)));
static uint8_t ap_buffer[RECORDS * 24];
static volatile unsigned ap_go, ap_done;

extern char skid_turn[];
void skid_loop(void);
__asm__(".text\n"
	"skid_loop:\n"
	"	mov $0x1d9, %ecx\n"
	"	mov debugctl, %eax\n"
	"	xor %edx, %edx\n"
	"	mov skid_turns, %esi\n"
	"	wrmsr\n"
	"skid_turn:\n"
	"	dec %esi\n"
	"	jnz skid_turn\n"
	"	xor %eax, %eax\n"
	"	wrmsr\n"
	"	ret\n");
volatile unsigned skid_turns;

_Noreturn void ap_main(void)
{
	uint32_t bits = ctl.tr | ctl.bts | ctl.btint;
	unsigned turns = AP_TURNS;

	__asm__ volatile("wrmsr" : : "c"(0x600), "a"((ulong)ap_area), "d"(0)
			 : "memory");
	ap_done = 1;
	while (!ap_go)
		;
	__asm__ volatile("wrmsr\n"
			 "1:	dec %0\n"
			 "	jnz 1b\n"
			 "	xor %%eax, %%eax\n"
			 "	wrmsr"
			 : "+r"(turns), "+a"(bits) : "c"(MSR_DEBUGCTL), "d"(0)
			 : "memory");
	ap_done = 2;
	for (;;)
		__asm__ volatile("hlt");
}

static void start_ap(void)
{
	char *from = ap_real, *to = (char *)0x8000;

	ap_area[BASE] = ap_area[INDEX] = (ulong)ap_buffer;
	ap_area[MAXIMUM] = (ulong)ap_buffer + sizeof(ap_buffer);
	ap_area[THRESHOLD] = (ulong)ap_buffer + AT * 24;
	while (from < ap_real_end)
		*to++ = *from++;
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4500);		/* INIT */
	lapic_write(LAPIC_ICR_HIGH, 1 << 24);
	lapic_write(LAPIC_ICR, 0x4608);		/* start at 0x8000 */
	while (ap_done != 1)
		;
}

_Noreturn void guest_main(void)
{
	unsigned skid = param(), dropped = 0;
	/* up to the threshold, the skid, and the way to the handler */
	unsigned branches = AT + 1 + skid + 1, records = branches;

	if (branches > RECORDS) {
		dropped = branches - RECORDS;
		records = RECORDS;
	}
	start_ap();
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, AT);
	ds_fill();
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	debugctl = ctl.tr | ctl.bts | ctl.btint;
	debugctl_after_pmi = 0;
	skid_turns = TURNS;
	ap_go = 1;
	run_case(skid_loop);
	while (ap_done != 2)
		;

	ok(pmi_seen.count == 1 && pmi_seen.records == records &&
	   pmi_seen.ip == (ulong)skid_turn, "one interrupt, after %u records",
	   (uint64_t)records);
	ok(ds_untouched(RECORDS, RECORDS + 100), "nothing past the maximum");
	ok(ap_area[INDEX] == ap_area[MAXIMUM], "the other CPU's buffer is full");

	pmi_seen.count = 0;
	ds_setup((ulong)ds_area, (ulong)bts_buffer, RECORDS, 0);
	lapic_write(LAPIC_LVTPC, LVT_NMI);
	run_case(hops_then_off);
	ok(pmi_seen.count == 1 && ds_count() == (skid ? 1 : 2),
	   "pending when TR is cleared: comes then");
	skid_turns = 1;
	run_case(skid_loop);
	ok(pmi_seen.count == 1, "and not once more");

	say("dropped 0 %u\n", (uint64_t)dropped);
	say("dropped 1 %u\n", (uint64_t)AP_TURNS - 1 - RECORDS);
	end();
}
