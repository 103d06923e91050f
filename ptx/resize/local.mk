# What may be done with a kernel's geometry: analyses of parsed PTX (doc/resizing.md)
noinst_LTLIBRARIES += libresize.la
libresize_la_SOURCES = \
	ptx/resize/address.c \
	ptx/resize/analysis.h \
	ptx/resize/early.c \
	ptx/resize/facts.c ptx/resize/facts.h \
	ptx/resize/features.c \
	ptx/resize/flow.c \
	ptx/resize/linear.c \
	ptx/resize/rules.def \
	ptx/resize/uniform.c \
	ptx/resize/wait.c
libresize_la_LIBADD = libptx.la
