# libgsbtoolkit.so: preloaded where the device is emulated. It stands before NVRTC and nvJitLink, and gives PTX for a cubin.
noinst_LTLIBRARIES += libtoolkit.la
libtoolkit_la_SOURCES = \
	toolkit/genuine.c toolkit/genuine.h \
	toolkit/link.c toolkit/link.h \
	toolkit/nvjitlink.c \
	toolkit/nvrtc.c
libtoolkit_la_LIBADD = libimage.la libbase.la

gsbpriv_DATA += toolkit/libgsbtoolkit.so
toolkit/libgsbtoolkit.so: libtoolkit.la $(srcdir)/toolkit/libgsbtoolkit.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(LDFLAGS) -o $@ -Wl,-soname,libgsbtoolkit.so \
		-Wl,--version-script=$(srcdir)/toolkit/libgsbtoolkit.map -Wl,-z,nodelete -Wl,-z,now \
		-Wl,--whole-archive .libs/libtoolkit.a -Wl,--no-whole-archive -ldl -lpthread
EXTRA_DIST += toolkit/libgsbtoolkit.map
CLEANFILES += toolkit/libgsbtoolkit.so
