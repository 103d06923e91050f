/*
 * static_library.cc - a program that has its CUDA from a library, and NVIDIA's runtime within that: reduce.cu, whose main
 * is called program there.
 */
int program();

int main()
{
	return program();
}
