/*
 * modules.c - what code is loaded, by which names it is found, and what is refused when it is loaded or used.
 */
#include "rules.h"

static void say_load(const char *step, const char *text)
{
	CUmodule m;

	say(step, cu.cuModuleLoadData(&m, text));
}

#define HEAD	  ".version 6.4\n.target sm_52\n.address_size 64\n"
#define ENTRY(in) HEAD ".visible .entry k()\n{\n" in "\tret;\n}\n"

PROGRAM(ptx_errors)
{
	say_load("empty", "");
	say_load("text", "no code at all");
	say_load("head-only", HEAD);
	say_load("syntax", ENTRY("\tmov.u32 %r1 %r2;\n"));
	say_load("unknown-opcode", ENTRY("\tfrobnicate.u32 1;\n"));
	say_load("undeclared-register", ENTRY("\tmov.u32 %r1, 1;\n"));
	say_load("wrong-type", ENTRY("\t.reg .f32 %f;\n\tmov.u64 %f, 1;\n"));
	say_load("missing-label", ENTRY("\tbra NOWHERE;\n"));
	say_load("version-99", ".version 99.0\n.target sm_52\n.address_size 64\n");
	say_load("no-version", ".target sm_52\n.address_size 64\n");
	say_load("no-target",
		 ".version 6.4\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load(
		"target-sm_20",
		".version 6.4\n.target sm_20\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load(
		"target-sm_999",
		".version 6.4\n.target sm_999\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load(
		"target-sm_120",
		".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load(
		"address-32",
		".version 6.4\n.target sm_52\n.address_size 32\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load("twice",
		 HEAD ".visible .entry k()\n{\n\tret;\n}\n.visible .entry k()\n{\n\tret;\n}\n");
	say_load("unresolved-function",
		 HEAD ".extern .func f();\n.visible .entry k()\n{\n\tcall.uni f;\n\tret;\n}\n");
	say_load("unresolved-variable",
		 HEAD ".extern .global .u32 v;\n.visible .entry k()\n{\n\t.reg .b32 %r;\n"
		      "\tld.global.u32 %r, [v];\n\tst.global.u32 [v], %r;\n\tret;\n}\n");
	say_load("unclosed", HEAD ".visible .entry k()\n{\n\tret;\n");
	say_load("too-new-opcode", ENTRY("\tcp.async.wait_all;\n"));
	say_load("good", ENTRY(""));
}

PROGRAM(module_load_arguments)
{
	static const char elf[] =
		"\177ELF\2\1\1 and nothing more of it, which is no code at all for a GPU";
	CUmodule m;

	ask("image-null", cuModuleLoadData(&m, NULL));
	ask("nowhere", cuModuleLoadData(NULL, rules_ptx));
	ask("no-file", cuModuleLoad(&m, "/nonexistent/file.ptx"));
	ask("file-null", cuModuleLoad(&m, NULL));
	ask("folder", cuModuleLoad(&m, "/"));
	ask("elf", cuModuleLoadData(&m, elf));
	ask("unload-null", cuModuleUnload(NULL));
	ask("options-null", cuModuleLoadDataEx(&m, rules_ptx, 1, NULL, NULL));
}

PROGRAM(module_names)
{
	CUfunction f = NULL, again = NULL;
	CUdeviceptr d;
	size_t bytes = 0;
	unsigned n = 0;

	ask("function", cuModuleGetFunction(&f, module, "add"));
	ask("again", cuModuleGetFunction(&again, module, "add"));
	say_n("same", f == again);
	ask("missing", cuModuleGetFunction(&f, module, "missing"));
	ask("variable-as-function", cuModuleGetFunction(&f, module, "counter"));
	ask("name-null", cuModuleGetFunction(&f, module, NULL));
	ask("name-empty", cuModuleGetFunction(&f, module, ""));
	ask("module-null", cuModuleGetFunction(&f, NULL, "add"));
	ask("nowhere", cuModuleGetFunction(NULL, module, "add"));
	ask("global", cuModuleGetGlobal_v2(&d, &bytes, module, "room"));
	say_n("bytes", (long long)bytes);
	ask("global-missing", cuModuleGetGlobal_v2(&d, &bytes, module, "none"));
	ask("function-as-global", cuModuleGetGlobal_v2(&d, &bytes, module, "add"));
	ask("constant", cuModuleGetGlobal_v2(&d, &bytes, module, "fixed"));
	say_n("constant-bytes", (long long)bytes);
	ask("static", cuModuleGetGlobal_v2(&d, &bytes, module, "said"));
	ask("address-only", cuModuleGetGlobal_v2(&d, NULL, module, "room"));
	ask("bytes-only", cuModuleGetGlobal_v2(NULL, &bytes, module, "room"));
	ask("neither", cuModuleGetGlobal_v2(NULL, NULL, module, "room"));
	ask("count", cuModuleGetFunctionCount(&n, module));
	say_n("functions", n);
}

PROGRAM(module_globals)
{
	CUmodule second;
	CUdeviceptr a, b, c;
	size_t bytes;
	uint32_t w = 50, constant = 0;

	must(cu.cuModuleLoadData(&second, rules_ptx));
	must(cu.cuModuleGetGlobal_v2(&a, &bytes, module, "counter"));
	must(cu.cuModuleGetGlobal_v2(&b, &bytes, second, "counter"));
	say_n("apart", a != b);
	say_n("initial", word(a));
	ask("write", cuMemcpyHtoD_v2(a, &w, 4));
	say_n("written", word(a));
	say_n("other", word(b));
	must(cu.cuModuleGetGlobal_v2(&c, &bytes, module, "fixed"));
	ask("constant-read", cuMemcpyDtoH_v2(&constant, c, 4));
	say_n("constant", constant);
	ask("constant-write", cuMemcpyHtoD_v2(c, &w, 4));
	say_n("constant-then", word(c));
	ask("memset", cuMemsetD32_v2(a, 3, 1));
	say("kernel", add(NULL, a, 1));
	settle();
	say_n("is", word(a));
	ask("over-the-end", cuMemcpyHtoD_v2(a, (uint32_t[1 << 20]){0}, 4 << 20));
	ask("free", cuMemFree_v2(a));
}

PROGRAM(module_unloaded_busy)
{
	CUdeviceptr w = words(1);
	CUstream s = stream(0);
	CUmodule m;
	CUfunction f;

	must(cu.cuModuleLoadData(&m, rules_ptx));
	must(cu.cuModuleGetFunction(&f, m, "add"));
	for (int i = 0; i < 100; i++)
		must(launch(f, s, (void *[]){&w, &(uint32_t){1}}));
	ask("unload", cuModuleUnload(m));
	settle();
	say_n("then", word(w));
}

PROGRAM(module_unloaded_twice)
{
	CUmodule m;

	must(cu.cuModuleLoadData(&m, rules_ptx));
	ask("unload", cuModuleUnload(m));
	ask("again", cuModuleUnload(m));
}

PROGRAM(module_unloaded_function)
{
	CUmodule m;
	CUfunction f, g;

	must(cu.cuModuleLoadData(&m, rules_ptx));
	must(cu.cuModuleGetFunction(&f, m, "trap"));
	must(cu.cuModuleUnload(m));
	ask("get", cuModuleGetFunction(&g, m, "trap"));
}

PROGRAM(module_unloaded_launch)
{
	CUmodule m;
	CUfunction f;

	must(cu.cuModuleLoadData(&m, rules_ptx));
	must(cu.cuModuleGetFunction(&f, m, "trap"));
	must(cu.cuModuleUnload(m));
	ask("launch", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

PROGRAM(module_of_another_context)
{
	CUcontext other = other_context();
	CUfunction f;
	CUdeviceptr d;
	size_t bytes;
	int regs;

	must(cu.cuCtxSetCurrent(other));
	ask("function", cuModuleGetFunction(&f, module, "trap"));
	ask("global", cuModuleGetGlobal_v2(&d, &bytes, module, "counter"));
	ask("attribute", cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, k_add));
	ask("launch", cuLaunchKernel(k_trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	ask("unload", cuModuleUnload(module));
}

PROGRAM(function_attributes)
{
	int v = -1;

	ask("threads", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k_add));
	say_n("most-threads", v);
	ask("shared", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k_add));
	say_n("shared-bytes", v);
	ask("local", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k_add));
	say_n("local-bytes", v);
	ask("version", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, k_add));
	say_n("ptx", v);
	ask("no-such", cuFuncGetAttribute(&v, (CUfunction_attribute)99, k_add));
	ask("negative", cuFuncGetAttribute(&v, (CUfunction_attribute)-1, k_add));
	ask("nowhere", cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, k_add));
	ask("none", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
	ask("set-dynamic",
	    cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
	ask("set-dynamic-huge",
	    cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
	ask("set-dynamic-negative",
	    cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
	ask("set-threads", cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32));
	ask("set-carveout",
	    cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	ask("set-carveout-101",
	    cuFuncSetAttribute(k_add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
	ask("cache", cuFuncSetCacheConfig(k_add, CU_FUNC_CACHE_PREFER_EQUAL));
	ask("cache-9", cuFuncSetCacheConfig(k_add, (CUfunc_cache)9));
}

PROGRAM(function_names)
{
	const char *name = NULL;
	CUmodule m = NULL;
	size_t offset = 9, bytes = 9;

	ask("name", cuFuncGetName(&name, k_add));
	say_n("is-add", name && !strcmp(name, "add"));
	ask("module", cuFuncGetModule(&m, k_add));
	say_n("is-module", m == module);
	ask("param", cuFuncGetParamInfo(k_add, 1, &offset, &bytes));
	say_n("offset", (long long)offset);
	say_n("bytes", (long long)bytes);
	ask("no-param", cuFuncGetParamInfo(k_add, 2, &offset, &bytes));
	ask("name-nowhere", cuFuncGetName(NULL, k_add));
	ask("name-of-none", cuFuncGetName(&name, NULL));
}

PROGRAM(library)
{
	CUlibrary lib;
	CUkernel k = NULL;
	CUfunction f = NULL;
	CUmodule m = NULL;
	CUdeviceptr d = words(1), v;
	size_t bytes;

	ask("load", cuLibraryLoadData(&lib, rules_ptx, NULL, NULL, 0, NULL, NULL, 0));
	ask("kernel", cuLibraryGetKernel(&k, lib, "add"));
	ask("missing", cuLibraryGetKernel(&k, lib, "none"));
	ask("function", cuKernelGetFunction(&f, k));
	say("launch", launch(f, NULL, (void *[]){&d, &(uint32_t){1}}));
	say("launch-kernel", launch((CUfunction)k, NULL, (void *[]){&d, &(uint32_t){1}}));
	settle();
	say_n("is", word(d));
	ask("module", cuLibraryGetModule(&m, lib));
	ask("global", cuLibraryGetGlobal(&v, &bytes, lib, "counter"));
	say_n("counter", word(v));
	ask("managed", cuLibraryGetManaged(&v, &bytes, lib, "counter"));
	ask("unload", cuLibraryUnload(lib));
	ask("unload-null", cuLibraryUnload(NULL));
	ask("broken", cuLibraryLoadData(&lib, "nothing", NULL, NULL, 0, NULL, NULL, 0));
}
