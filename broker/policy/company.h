/*
 * company.h - who else was on the device while a kernel ran: nobody, kernels on other SMs, or kernels on SMs of its own. Kept by
 * the engine and by a replay, so that a time is noted as what it is a time of.
 */
#ifndef GSB_BROKER_POLICY_COMPANY_H
#define GSB_BROKER_POLICY_COMPANY_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_work;

struct gsb_company {
	bool shared;  /* another kernel was there for a part of its time, */
	bool met;     /* and one of them on SMs that it may use */
	bool others;  /* one of them was another tenant's */
	bool several; /* launches, at once or one behind the other */
	bool mixed;   /* they were not all one kernel's launches, or none was there when it began */
	bool varied;  /* nor were all launched in one manner: */
	uint8_t manner; /* of the first, as of struct gsb_work */
	uint64_t
		code; /* of all others, unless they were mixed; 0: there was none, or it is not known */
};

/**
 * gsb_company_meet() - two kernels are on the device together from now on
 * @first, @came:   the companies of the one that is there and of the one that comes
 * @there, @coming: what they are, issued
 */
void gsb_company_meet(struct gsb_company *first, const struct gsb_work *there,
		      struct gsb_company *came, const struct gsb_work *coming);

/*
 * gsb_company_as_asked() - one of it was refused in manner @was before it ran, and is launched as it asked. Which of several
 * that was is not known: then they are taken for launches of both kinds.
 */
void gsb_company_as_asked(struct gsb_company *c, uint32_t was);

#endif
