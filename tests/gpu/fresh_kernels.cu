/*
 * fresh_kernels.cu - kernels as databases have them, on which predictions by probes are tested (doc/model.md): no probe is one of them,
 * and nothing of the model is to be chosen by them. Those of dev_kernels.cu, real_kernels.cu, held_kernels.cu and late_kernels.cu are for that.
 *
 * Each is written after its algorithm alone; real_loop.cuh says what they have in common. Compiled with -fmad=false, and held against the CPU
 * (tests/unit/test_fresh_kernels.c).
 */
#include "real_loop.cuh"

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ void keep(float *out, u32 n, u32 x)
{
	((u32 *)out)[(blockIdx.x * 256 + threadIdx.x) & (n - 1)] = x;
}

static __device__ __forceinline__ u32 hash_of(u32 x)
{
	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

/* The sum of x of the lanes up to this one. */
static __device__ __forceinline__ u32 sum_up_to(u32 x)
{
	u32 lane = threadIdx.x & 31;

#pragma unroll
	for (u32 d = 1; d < 32; d *= 2) {
		u32 before = __shfl_up_sync(ALL_LANES, x, d);

		x += lane >= d ? before : 0;
	}
	return x;
}

/* Where string i begins: strings have one to 31 bytes, sixteen in the mean. */
static __device__ __forceinline__ u32 string_at(const u32 *offsets, u32 i, u32 n)
{
	return 16 * i + (offsets[i & (n - 1)] & 15);
}

/*
 * SUM(x) OVER (PARTITION BY p ORDER BY q) and ROW_NUMBER() of rows that are in order: a partition begins at each 64th row in the mean, and at each
 * 4,096th. Of what goes on from warp to warp each leaves the sum and the rows since its last beginning.
 */
REAL(running_sums, 256)
{
	__shared__ u32 sums[2][8], rows[2][8], begins[2][8];
	u32 t = threadIdx.x, lane = t & 31, warp = t >> 5;

	FOR_EACH_ITEM(item) {
		u32 carried_sum = 0, carried_rows = 0;

		for (u32 k = 0; k < 16; k++) {
			u32 at = item * 4096 + k * 256 + t, row = word[at & (n - 1)], sum = row >> 20, b = k & 1;
			u32 beginnings = __ballot_sync(ALL_LANES, !(row & 63)), mine = beginnings & ((2u << lane) - 1);
			u32 from = mine ? 31 - __clz((int)mine) : 0, number = lane - from + 1;

#pragma unroll
			for (u32 d = 1; d < 32; d *= 2) {
				u32 before = __shfl_up_sync(ALL_LANES, sum, d);

				sum += lane >= from + d ? before : 0;
			}
			if (lane == 31) {
				sums[b][warp] = sum;
				rows[b][warp] = number;
				begins[b][warp] = beginnings;
			}
			__syncthreads();
			for (u32 w = 0; w < 8; w++) {
				if (w == warp && !mine) {
					sum += carried_sum;
					number += carried_rows;
				}
				carried_sum = sums[b][w] + (begins[b][w] ? 0 : carried_sum);
				carried_rows = rows[b][w] + (begins[b][w] ? 0 : carried_rows);
			}
			((uint2 *)out)[at & (n / 2 - 1)] = make_uint2(sum, number);
		}
	}
}

/* ORDER BY x DESC LIMIT 10: of its 64 rows each thread has the ten largest in a heap, the least of these on top. */
REAL(heap_top, 256)
{
	__shared__ u32 heap[10][256];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
#pragma unroll
		for (u32 i = 0; i < 10; i++)
			heap[i][t] = 0;
#pragma unroll 1
		for (u32 k = 0; k < 64; k++) {
			u32 x = word[(item * 16384 + k * 256 + t) & (n - 1)], at = 0, child = 1;

			if (x <= heap[0][t])
				continue;
			while (child < 10) {
				if (child < 9 && heap[child + 1][t] < heap[child][t])
					child++;
				if (heap[child][t] >= x)
					break;
				heap[at][t] = heap[child][t];
				at = child;
				child = 2 * at + 1;
			}
			heap[at][t] = x;
		}
#pragma unroll
		for (u32 i = 0; i < 10; i++)
			((u32 *)out)[(item * 2560 + i * 256 + t) & (n - 1)] = heap[i][t];
	}
}

/* Of a pattern: a letter is 0 to 3. */
#define ANY  4
#define MANY 5
#define END  6

/* Who does not fit goes back to the last MANY, and begins a letter further on. */
static __device__ __forceinline__ bool is_like(const unsigned char *text, u32 at, u32 end, u32 mask, const unsigned char *pattern)
{
	u32 p = 0, again = 0, from = at;

	while (at != end) {
		u32 letter = pattern[p];
		bool many = letter == MANY, fits = many || letter == ANY || letter == (text[at & mask] & 3u);

		if (!fits && !again)
			return false;
		again = many ? p + 1 : again;
		from = many ? at : fits ? from : from + 1;
		at = many || !fits ? from : at + 1;
		p = fits ? p + 1 : again;
	}
	while (pattern[p] == MANY)
		p++;
	return pattern[p] == END;
}

/* WHERE s LIKE '%ab_c%da%' of strings of four letters; a bit a string. */
REAL(like, 256)
{
	const u64 characters = 0x6503524105ull; /* of four bits, the first one last */
	__shared__ unsigned char pattern[16];

	if (threadIdx.x < 16)
		pattern[threadIdx.x] = threadIdx.x < 10 ? characters >> 4 * threadIdx.x & 15 : END;
	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 i = item * 1024 + k * 256 + threadIdx.x;
			u32 at = string_at(word + n / 2, i, n / 2), end = string_at(word + n / 2, i + 1, n / 2);
			u32 fit = __ballot_sync(ALL_LANES, is_like((const unsigned char *)word, at, end, 4 * n - 1, pattern));

			if (i % 32 == 0)
				((u32 *)out)[i / 32 & (n - 1)] = fit;
		}
	}
}

/* Of a lane's 32 bytes which are what: quotes, braces that open and close, commas. */
struct marks {
	u32 quotes, opens, closes, commas;
};

static __device__ __forceinline__ void find_marks(u32 four, u32 at, struct marks *m)
{
#pragma unroll
	for (u32 b = 0; b < 4; b++) {
		u32 byte = four >> 8 * b & 255;

		m->quotes |= (byte < 16 ? 1u : 0) << (at + b);
		m->opens |= (byte >> 3 == 2 ? 1u : 0) << (at + b);
		m->closes |= (byte >> 3 == 3 ? 1u : 0) << (at + b);
		m->commas |= (byte >> 4 == 2 ? 1u : 0) << (at + b);
	}
}

/* Bits between a quote and the next one, that one not; an odd number of quotes in the lanes before turns it about. */
static __device__ __forceinline__ u32 in_strings(u32 quotes)
{
	u32 odd = __ballot_sync(ALL_LANES, __popc(quotes) & 1), lane = threadIdx.x & 31;

#pragma unroll
	for (u32 d = 1; d < 32; d *= 2)
		quotes ^= quotes << d;
	return __popc(odd & ((1u << lane) - 1)) & 1 ? ~quotes : quotes;
}

/* Commas that part the fields of the record itself: as many braces are closed as were opened. */
static __device__ __forceinline__ u32 outer_commas(const struct marks *m, int depth)
{
	u32 left = m->opens | m->closes | m->commas, found = 0;

	while (left) {
		u32 bit = left & (0 - left);

		if (m->opens & bit)
			depth++;
		else if (m->closes & bit)
			depth--;
		else if (depth == 0)
			found |= bit;
		left ^= bit;
	}
	return found;
}

/* Where in each record of 1,024 bytes its fourth field begins, behind the third comma; 1,024: it has no such field. A warp has a record. */
REAL(json_field, 256)
{
	const uint4 *text = (const uint4 *)word;
	u32 t = threadIdx.x, lane = t & 31;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 record = item * 32 + k * 8 + t / 32, found, up_to, before;
			struct marks m = {0, 0, 0, 0};
			int depth;

#pragma unroll
			for (u32 h = 0; h < 2; h++) {
				uint4 half = text[(record * 64 + lane * 2 + h) & (n / 4 - 1)];

				find_marks(half.x, 16 * h, &m);
				find_marks(half.y, 16 * h + 4, &m);
				find_marks(half.z, 16 * h + 8, &m);
				find_marks(half.w, 16 * h + 12, &m);
			}
			found = ~in_strings(m.quotes);
			m.opens &= found;
			m.closes &= found;
			m.commas &= found;
			depth = __popc(m.opens) - __popc(m.closes);
			found = outer_commas(&m, (int)sum_up_to((u32)depth) - depth);
			up_to = sum_up_to((u32)__popc(found));
			before = up_to - (u32)__popc(found);
			if (before < 3 && up_to >= 3) {
				for (; before < 2; before++)
					found &= found - 1;
				((u32 *)out)[record & (n - 1)] = lane * 32 + (u32)__ffs((int)found);
			}
			if (lane == 31 && up_to < 3)
				((u32 *)out)[record & (n - 1)] = 1024;
		}
	}
}

/*
 * Blocks of 128 numbers as columns are stored: the first, four widths of one to sixteen bits, and for each 32 numbers their differences of so
 * many bits, the sign last. Blocks have no fixed length; an index says where each begins. A warp has a block.
 */
REAL(delta_decode, 256)
{
	u32 lane = threadIdx.x & 31;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 16; k++) {
			u32 block = item * 128 + k * 8 + threadIdx.x / 32;
			u32 at = 48 * block + (word[(block + n / 2) & (n - 1)] & 15), value, widths;

			value = word[at & (n - 1)];
			widths = word[(at + 1) & (n - 1)];
			at += 2;
#pragma unroll
			for (u32 m = 0; m < 4; m++) {
				u32 width = (widths >> 4 * m & 15) + 1, bit = lane * width, w = at + bit / 32;
				u32 code = __funnelshift_r(word[w & (n - 1)], word[(w + 1) & (n - 1)], bit) & ((1u << width) - 1);
				u32 sum = sum_up_to(code >> 1 ^ (0 - (code & 1)));

				((u32 *)out)[(block * 128 + m * 32 + lane) & (n - 1)] = value + sum;
				value += __shfl_sync(ALL_LANES, sum, 31);
				at += width;
			}
		}
	}
}

/* A string and where it ends. */
struct string {
	u32 at, end;
};

static __device__ __forceinline__ struct string string_of(const u32 *offsets, u32 i, u32 n)
{
	struct string s = {string_at(offsets, i, n), string_at(offsets, i + 1, n)};

	return s;
}

static __device__ __forceinline__ bool is_same(const unsigned char *text, struct string a, struct string b)
{
	if (a.end - a.at != b.end - b.at)
		return false;
	while (a.at != a.end && text[a.at] == text[b.at]) {
		a.at++;
		b.at++;
	}
	return a.at == a.end;
}

/*
 * SELECT s, COUNT(*), SUM(x) GROUP BY s: of 1,024 rows, each with one of 256 strings. A place of the table has the number of a string that came
 * first, less one where nobody came; another with the same hash is held against it byte by byte.
 */
REAL(string_groups, 256)
{
	const unsigned char *text = (const unsigned char *)real;
	__shared__ u32 firsts[512], counts[512], sums[512];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 i = t; i < 512; i += 256)
			firsts[i] = counts[i] = sums[i] = 0;
		__syncthreads();
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 row = word[(item * 1024 + k * 256 + t) & (n - 1)], hash = 2166136261u, at, first;
			struct string s = string_of(word, row & 255, n);

#pragma unroll 1
			for (u32 i = s.at; i != s.end; i++)
				hash = (hash ^ text[i]) * 16777619u;
			at = hash_of(hash) >> 23;
			first = atomicCAS(&firsts[at], 0, (row & 255) + 1);
			while (first && !is_same(text, string_of(word, first - 1, n), s)) {
				at = (at + 1) & 511;
				first = atomicCAS(&firsts[at], 0, (row & 255) + 1);
			}
			atomicAdd(&counts[at], 1);
			atomicAdd(&sums[at], row >> 20);
		}
		__syncthreads();
		for (u32 i = t; i < 512; i += 256) {
			u32 *to = (u32 *)out;

			to[(item * 1536 + i) & (n - 1)] = firsts[i];
			to[(item * 1536 + 512 + i) & (n - 1)] = counts[i];
			to[(item * 1536 + 1024 + i) & (n - 1)] = sums[i];
		}
	}
}

#define CORNERS 48

/* Corner i of a zone that goes around the square, twelve corners a side. */
static __device__ __forceinline__ float2 corner_of(const float *real, u32 i)
{
	float along = (float)(i % 12) / 12.0f, deep = 0.3f * real[i];

	switch (i / 12) {
	case 0: return make_float2(along, deep);
	case 1: return make_float2(1.0f - deep, along);
	case 2: return make_float2(1.0f - along, 1.0f - deep);
	default: return make_float2(deep, 1.0f - along);
	}
}

/* Which points are in a zone: those from which a ray to the right crosses its border an odd number of times; a bit a point. */
REAL(in_polygon, 256)
{
	__shared__ float2 corners[CORNERS + 1];
	const float2 *points = (const float2 *)real;
	u32 t = threadIdx.x;

	if (t <= CORNERS)
		corners[t] = corner_of(real, t % CORNERS);
	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 8; k++) {
			u32 i = item * 2048 + k * 256 + t;
			float2 p = points[i & (n / 2 - 1)], from = corners[0];
			bool inside = false;
			u32 all;

#pragma unroll 8
			for (u32 c = 1; c <= CORNERS; c++) {
				float2 to = corners[c];

				if ((from.y > p.y) != (to.y > p.y)) {
					float side = (p.x - from.x) * (to.y - from.y) - (to.x - from.x) * (p.y - from.y);

					inside ^= (side < 0) == (to.y > from.y);
				}
				from = to;
			}
			all = __ballot_sync(ALL_LANES, inside);
			if (i % 32 == 0)
				((u32 *)out)[i / 32 & (n - 1)] = all;
		}
	}
}

/* Rows of 32 codes of which some bits were seen: which are less, and which the same so far. */
struct against {
	u32 less, same;
};

static __device__ __forceinline__ void see_bit(struct against *a, u32 codes, bool bit)
{
	u32 other = bit ? ALL_LANES : 0;

	a->less |= a->same & ~codes & other;
	a->same &= ~(codes ^ other);
}

/* WHERE 20000 <= x AND x < 46000 of codes of sixteen bits that lie bit by bit, the first bits of 8,192 codes before their second ones; a bit a code. */
REAL(bit_slices, 256)
{
	const u32 low = 20000, high = 46000;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 from = (item * 4 + k) * 4096 + threadIdx.x;
			struct against a = {0, ALL_LANES}, b = {0, ALL_LANES};

#pragma unroll 1
			for (u32 bit = 16; bit && __any_sync(ALL_LANES, a.same | b.same); bit -= 4)
#pragma unroll
				for (u32 j = 1; j <= 4; j++) {
					u32 codes = word[(from + (16 - bit + j - 1) * 256) & (n - 1)];

					see_bit(&a, codes, low >> (bit - j) & 1);
					see_bit(&b, codes, high >> (bit - j) & 1);
				}
			((u32 *)out)[((item * 4 + k) * 256 + threadIdx.x) & (n - 1)] = b.less & ~a.less;
		}
	}
}

/* Bins of logarithms: a value is off by 1 % at most. */
#define PER_OCTAVE 35.0f

/* PERCENTILE_DISC of 8,192 rows at 0.99, 0.9, 0.5 and 0.1: counted by their logarithms, from the largest, to where so many are. */
REAL(quantiles, 256)
{
	__shared__ u32 counts[1024], totals[8];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		u32 mine = 0, before;

		for (u32 i = t; i < 1024; i += 256)
			counts[i] = 0;
		__syncthreads();
#pragma unroll 4
		for (u32 k = 0; k < 32; k++) {
			float x = fmaxf(real[(item * 8192 + k * 256 + t) & (n - 1)], 0x1p-24f);

			atomicAdd(&counts[(u32)(__log2f(x) * -PER_OCTAVE)], 1);
		}
		__syncthreads();
#pragma unroll
		for (u32 i = 0; i < 4; i++)
			mine += counts[4 * t + i];
		before = sum_up_to(mine);
		if (t % 32 == 31)
			totals[t / 32] = before;
		__syncthreads();
		before -= mine;
		for (u32 w = 0; w < t / 32; w++)
			before += totals[w];
#pragma unroll
		for (u32 q = 0; q < 4; q++) {
			const u32 rank = q == 0 ? 82 : q == 1 ? 819 : q == 2 ? 4096 : 7373;
			u32 bin = 4 * t, up_to = before + counts[4 * t];

			if (rank < before || rank >= before + mine)
				continue;
			while (rank >= up_to)
				up_to += counts[++bin];
			out[(item * 4 + q) & (n - 1)] = exp2f(((float)bin + 0.5f) / -PER_OCTAVE);
		}
	}
}

#define NOBODY 0xffffffffu

/* What a table of buckets of four has for a key, which is there if its first two bits are. */
static __device__ __forceinline__ u32 find_in(const u32 *word, u32 n, u32 from, u32 buckets, u32 key)
{
	u32 at = from + (hash_of(key) & (min(buckets, n / 4) - 1));
	uint4 b = ((const uint4 *)word)[at & (n / 4 - 1)];

	if (!((b.x ^ key) >> 30))
		return b.x & 4095;
	if (!((b.y ^ key) >> 30))
		return b.y & 4095;
	if (!((b.z ^ key) >> 30))
		return b.z & 4095;
	return (b.w ^ key) >> 30 ? NOBODY : b.w & 4095;
}

/* Rows of a fact table join three dimensions, of 64 KiB, 1 MiB and 16 MiB; who is not in one is not looked for in the next. Sums of what was found. */
REAL(star_probe, 256)
{
	u32 sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 8; k++) {
			u32 i = item * 2048 + k * 256 + threadIdx.x, one, two, three;

			one = find_in(word, n, n / 32, 1u << 12, word[i & (n - 1)]);
			if (one == NOBODY)
				continue;
			two = find_in(word, n, n / 16, 1u << 16, word[(i + n / 4) & (n - 1)]);
			if (two == NOBODY)
				continue;
			three = find_in(word, n, n / 8, 1u << 20, word[(i + n / 2) & (n - 1)]);
			if (three != NOBODY)
				sum += one + two + three;
		}
	}
	keep(out, n, sum);
}

/*
 * FULL OUTER JOIN with a table of up to 16 MiB, in which half of the rows find one: it is marked, by a byte, and of each row a bit says whether
 * it found none.
 */
REAL(outer_flags, 256)
{
	unsigned char *marks = (unsigned char *)out;
	u32 rows = min(n, 1u << 22);

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 8; k++) {
			u32 i = item * 2048 + k * 256 + threadIdx.x, key = word[i & (n - 1)], at = hash_of(key) & (rows - 1);
			bool found = !((word[at] ^ key) >> 31);
			u32 alone = __ballot_sync(ALL_LANES, !found);

			if (found)
				marks[at] = 1;
			if (i % 32 == 0)
				((u32 *)out)[n / 2 + (i / 32 & (n / 2 - 1))] = alone;
		}
	}
}

/* A number of each lane, summed up. */
static __device__ __forceinline__ double sum_of_warp(double x)
{
#pragma unroll
	for (u32 d = 16; d; d /= 2)
		x += __shfl_xor_sync(ALL_LANES, x, d);
	return x;
}

/* REGR_SLOPE and REGR_INTERCEPT(y, x) of 8,192 rows: sums in double precision, of what is over the first row's. */
REAL(regression, 256)
{
	__shared__ double sums[4][8];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		u32 from = item * 8192, other = from + n / 2;
		double x0 = real[from & (n - 1)], y0 = real[other & (n - 1)], x = 0, y = 0, xx = 0, xy = 0;

#pragma unroll 2
		for (u32 k = 0; k < 32; k++) {
			double dx = real[(from + k * 256 + t) & (n - 1)] - x0, dy = real[(other + k * 256 + t) & (n - 1)] - y0;

			x += dx;
			y += dy;
			xx = fma(dx, dx, xx);
			xy = fma(dx, dy, xy);
		}
		x = sum_of_warp(x);
		y = sum_of_warp(y);
		xx = sum_of_warp(xx);
		xy = sum_of_warp(xy);
		if (t % 32 == 0) {
			sums[0][t / 32] = x;
			sums[1][t / 32] = y;
			sums[2][t / 32] = xx;
			sums[3][t / 32] = xy;
		}
		__syncthreads();
		if (t == 0) {
			double slope;

			for (u32 w = 1; w < 8; w++) {
				x += sums[0][w];
				y += sums[1][w];
				xx += sums[2][w];
				xy += sums[3][w];
			}
			slope = (xy - x * y * 0x1p-13) / (xx - x * x * 0x1p-13);
			out[2 * item & (n - 1)] = (float)slope;
			out[(2 * item + 1) & (n - 1)] = (float)(y0 - slope * x0 + (y - slope * x) * 0x1p-13);
		}
	}
}
