# Policies: pure functions from what is ready to what is issued; the engine and offline tools call them.

noinst_LTLIBRARIES += libpolicy.la
libpolicy_la_SOURCES = \
	broker/policy/policy.c broker/policy/policy.h \
	broker/policy/claim.c broker/policy/claim.h \
	broker/policy/fifo.c \
	broker/policy/shape.c broker/policy/shape.h
libpolicy_la_LIBADD = libbase.la
