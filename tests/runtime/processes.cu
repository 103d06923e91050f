/*
 * processes.cu - memory and events of one process in others: every process adds to every other's memory in turn, each behind the event of
 * whoever was there before; then memory of a pool that is exported.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

const int n_processes = 4, n_rounds = 25, n_words = 5000;

struct common {
	std::atomic<int> arrived, round;
	cudaIpcMemHandle_t memory[n_processes];
	cudaIpcEventHandle_t event[n_processes];
	cudaMemPoolPtrExportData pointer;
	int wrong[n_processes];
};

static common *shared;

static void barrier()
{
	int round = shared->round;

	if (++shared->arrived == n_processes) {
		shared->arrived = 0;
		shared->round++;
	}
	while (shared->round == round)
		sched_yield();
}

/* Not commutative, so that an order that is not kept shows. */
__global__ void mix(uint32_t *words, uint32_t who)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n_words)
		words[i] = words[i] * 1664525u + who + i;
}

static uint32_t expected(int buffer, uint32_t i)
{
	uint32_t value = 0;

	for (int round = 0; round < n_rounds; round++)
		for (int step = 0; step < n_processes; step++)
			value = value * 1664525u + (buffer + n_processes - step) % n_processes + i;
	return value;
}

/* In step s process p works on buffer p + s: so a buffer sees the processes in the same order each round. */
static void use_all(int me, uint32_t **buffers, cudaEvent_t *events, cudaStream_t stream)
{
	for (int round = 0; round < n_rounds; round++)
		for (int step = 0; step < n_processes; step++) {
			int at = (me + step) % n_processes;

			CHECK(cudaStreamWaitEvent(stream, events[at], 0));
			mix<<<(n_words + 255) / 256, 256, 0, stream>>>(buffers[at], me);
			CHECK(cudaEventRecord(events[at], stream));
			barrier(); /* it is posted, not done */
		}
}

static int check_own(int me, const uint32_t *buffer, cudaEvent_t event)
{
	uint32_t *words = (uint32_t *)malloc(n_words * sizeof(*words));
	int wrong = 0;

	CHECK(cudaEventSynchronize(event));
	CHECK(cudaEventQuery(event));
	CHECK(cudaMemcpy(words, buffer, n_words * sizeof(*words), cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < n_words; i++)
		wrong += words[i] != expected(me, i);
	free(words);
	return wrong;
}

static void work(int me)
{
	uint32_t *buffers[n_processes];
	cudaEvent_t events[n_processes];
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&buffers[me], n_words * sizeof(uint32_t)));
	CHECK(cudaMemset(buffers[me], 0, n_words * sizeof(uint32_t)));
	CHECK(cudaEventCreateWithFlags(&events[me], cudaEventDisableTiming | cudaEventInterprocess));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&shared->memory[me], buffers[me]));
	CHECK(cudaIpcGetEventHandle(&shared->event[me], events[me]));
	barrier();
	for (int i = 0; i < n_processes; i++)
		if (i != me) {
			CHECK(cudaIpcOpenMemHandle((void **)&buffers[i], shared->memory[i],
						   cudaIpcMemLazyEnablePeerAccess));
			CHECK(cudaIpcOpenEventHandle(&events[i], shared->event[i]));
		}
	use_all(me, buffers, events, stream);
	barrier();
	shared->wrong[me] = check_own(me, buffers[me], events[me]);
	for (int i = 0; i < n_processes; i++)
		if (i != me) {
			CHECK(cudaIpcCloseMemHandle(buffers[i]));
			CHECK(cudaEventDestroy(events[i]));
		}
	barrier();
	CHECK(cudaFree(buffers[me]));
	CHECK(cudaEventDestroy(events[me]));
}

/* ---- a pool ---- */

static void send_descriptor(int socket, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
	iovec part = {&byte, 1};
	msghdr m = {};

	m.msg_iov = &part;
	m.msg_iovlen = 1;
	m.msg_control = room;
	m.msg_controllen = sizeof(room);
	cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	sendmsg(socket, &m, 0);
}

static int receive_descriptor(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	iovec part = {&byte, 1};
	msghdr m = {};
	int fd = -1;

	m.msg_iov = &part;
	m.msg_iovlen = 1;
	m.msg_control = room;
	m.msg_controllen = sizeof(room);
	if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void give_pool(int socket)
{
	cudaMemPoolProps props = {};
	cudaMemPool_t pool;
	uint32_t *words, first = 0;
	int fd = -1;
	char byte;

	props.allocType = cudaMemAllocationTypePinned;
	props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
	props.location.type = cudaMemLocationTypeDevice;
	CHECK(cudaMemPoolCreate(&pool, &props));
	CHECK(cudaMallocFromPoolAsync((void **)&words, n_words * sizeof(*words), pool, 0));
	CHECK(cudaMemsetAsync(words, 0, n_words * sizeof(*words), 0));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
	CHECK(cudaMemPoolExportPointer(&shared->pointer, words));
	send_descriptor(socket, fd);
	close(fd);
	if (read(socket, &byte, 1) != 1)
		exit(1);
	CHECK(cudaMemcpy(&first, words + 7, sizeof(first), cudaMemcpyDeviceToHost));
	printf("pool: %u\n", first);
	CHECK(cudaFreeAsync(words, 0));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemPoolDestroy(pool));
}

static void take_pool(int socket)
{
	cudaMemPool_t pool;
	uint32_t *words;
	int fd = receive_descriptor(socket);

	CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
						   cudaMemHandleTypePosixFileDescriptor, 0));
	CHECK(cudaMemPoolImportPointer((void **)&words, pool, &shared->pointer));
	mix<<<(n_words + 255) / 256, 256>>>(words, 1000);
	CHECK(cudaFreeAsync(words, 0));
	CHECK(cudaDeviceSynchronize());
	if (write(socket, "", 1) != 1)
		exit(1);
}

static int wait_for(int n)
{
	int failed = 0;

	while (n--) {
		int status = 0;

		wait(&status);
		failed += status != 0;
	}
	return failed;
}

int main()
{
	int ends[2], failed = 0, wrong = 0;

	shared = (common *)mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < n_processes; i++)
		if (!fork()) {
			work(i);
			return 0;
		}
	failed = wait_for(n_processes);
	for (int i = 0; i < n_processes; i++)
		wrong += shared->wrong[i];
	printf("processes: %d failed, %d words wrong\n", failed, wrong);
	fflush(stdout);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (!fork()) {
		take_pool(ends[1]);
		return 0;
	}
	give_pool(ends[0]);
	return failed || wrong || wait_for(1);
}
