# gsbroker.conf: read by gsbrokerd only.

noinst_LTLIBRARIES += libconfig.la
libconfig_la_SOURCES = \
	broker/config/config.c broker/config/config.h \
	broker/config/file.c \
	broker/config/key.h broker/config/keys.def \
	broker/config/heed.c \
	broker/config/value.c
libconfig_la_CFLAGS = $(AM_CFLAGS) $(INIH_CFLAGS)
libconfig_la_LIBADD = libpolicy.la libmodel.la libbase.la $(INIH_LIBS)

check_PROGRAMS += tests/unit/test_config
tests_unit_test_config_SOURCES = tests/unit/test_config.c
tests_unit_test_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_LDADD = libconfig.la $(CMOCKA_LIBS)
