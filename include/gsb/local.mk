noinst_HEADERS += \
	include/gsb/arch.h \
	include/gsb/array.h \
	include/gsb/cuabi.h \
	include/gsb/cuda_errors.def \
	include/gsb/device_info.h \
	include/gsb/handle.h \
	include/gsb/ipc.h \
	include/gsb/kernel.h \
	include/gsb/model_error.h \
	include/gsb/sm_range.h \
	include/gsb/tenant_name.h \
	include/gsb/tensor_map.h \
	include/gsb/texture.h \
	include/gsb/wire.h \
	include/gsb/wire_records.def
