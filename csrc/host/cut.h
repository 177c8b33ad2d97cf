/* How a loop nest is cut into blocks for threads; see tf_autofuse/codegen/host_nest.py. */
#ifndef AUTOFUSE_HOST_CUT_H_
#define AUTOFUSE_HOST_CUT_H_

#include "kernel_abi.h"

/* Parameters of one nest inside AutofuseTiling.p; behind those of all nests the number of partial
 * results that cross rows, and where in workspace each temporary begins; the last one tells whether
 * the form for operands that are not broadcast runs. */
enum {
  CUT_ROWS,
  CUT_TILE,
  CUT_CHUNKS,
  CUT_CHUNK,
  CUT_WORKSPACE,
  CUT_BLOCKS,
  CUT_FIRST,
  CUT_PARAMS
};
enum { CUT_PARTS = 4 * CUT_PARAMS, CUT_TEMPS, CUT_DENSE = AUTOFUSE_MAX_PARAMS - 1 };

/* Fewest rows of a block that has a partial result of its own for them: these stay small beside
 * what is read. */
enum { CROSS_ROWS = 16 };

/* Longest run of kept elements that an array on the stack of a block has. Memory delivers long runs
 * faster; accumulators of this many stay in the second-level cache. */
enum { MAX_TILE = 4096 };

/* Elements of a short run that are reduced side by side: a vector of double. */
enum { RUN_LANES = 8 };

/* Rows of a few elements that are computed side by side: two vectors of float. */
enum { SIDE_ROWS = 32 };

/* Kept points beside each other, at most so many, whose pieces of memory are shorter than this, are
 * computed over as much of the first reduced axis as the second-level cache keeps for all, and in
 * two halves at least if there are more points of it than a few. In the end every block joins what
 * all blocks found: so there are not too many. */
enum { MOST_BESIDE = 32, SHORT_PIECE = 256, FEW_BESIDE = 255 };
enum { BESIDE_ELEMENTS = 1 << 15, MOST_CHUNKS = 256 };

/* What an elementary function takes on this machine, to what it takes with AVX-512. */
#if defined(__AVX512F__)
#define FUNCTION_COST 1.0
#else
#define FUNCTION_COST 2.0
#endif

struct NestShape {
  int64_t outer;  /* points of the kept axes outside the walk */
  int64_t first;  /* size of the first reduced axis, 1 if there is none */
  int64_t rest;   /* points of the other reduced axes */
  int64_t inner;  /* size of the innermost axis if it is kept, else 1 */
  int64_t beside; /* kept points that lie between those of the first reduced axis in memory */
  bool inner_kept;
  bool tiled;         /* a block keeps arrays along the inner axis on its stack */
  int32_t reduces;    /* number of reductions */
  int32_t phases;     /* phases when the first reduced axis is cut; 0 if it may not be */
  int64_t least;      /* fewest rows of a block */
  double cost;        /* nanoseconds for one element of the walk */
  bool joins = false; /* whether the last phase only joins what the chunks have found */
};

static inline int64_t ceil_div(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Chooses rows of the outer axes, a tile of the inner axis and chunks of the first reduced axis,
 * so that there is work for all threads that are worth their start. The nest begins with phase
 * `first`. */
static inline void cut_nest(const NestShape& s, int32_t threads, int64_t first, int64_t* p,
                            AutofuseTiling* out) {
  const double thread_ns = 40000; /* as in csrc/tf/parallel.cc */
  const double walk = (double)larger(s.first * s.rest, 1) * (double)s.inner * s.cost;
  const double work = walk * (double)s.outer;
  const int64_t busy = smaller(threads, (int64_t)__builtin_fmin(work / thread_ns, 1e6));
  const int64_t wanted = busy <= 1 ? 1 : 4 * busy; /* evens out threads that begin late */
  int64_t tile = s.tiled ? smaller(s.inner, MAX_TILE) : s.inner;
  int64_t rows = larger(s.least, ceil_div(s.outer, wanted));
  int64_t chunks = 1;
  const int64_t pieces = ceil_div(wanted, larger(1, s.outer * ceil_div(s.inner, tile)));
  if (pieces > 1 && s.phases && s.first >= 16 * pieces) {
    chunks = pieces;
  } else if (pieces > 1 && s.inner_kept) {
    const int64_t least = s.reduces ? 128 : 1024;
    tile = smaller(tile, larger(least, ceil_div(ceil_div(tile, pieces), 64) * 64));
  }
  if (s.beside > 1 && s.beside <= MOST_BESIDE && s.phases && s.rest > 0 && s.rest < SHORT_PIECE) {
    const int64_t fit = BESIDE_ELEMENTS / (s.beside * s.rest);
    if (s.first > smaller(fit, FEW_BESIDE)) {
      rows = s.beside;
      chunks = larger(chunks, larger(2, smaller(ceil_div(s.first, fit), MOST_CHUNKS)));
    }
  }
  tile = larger(tile, 1);
  const int64_t chunk = larger(1, ceil_div(s.first, chunks));
  chunks = larger(1, ceil_div(s.first, chunk));
  const int64_t blocks = ceil_div(s.outer, rows) * ceil_div(s.inner, tile) * chunks;
  p[CUT_ROWS] = rows;
  p[CUT_TILE] = tile;
  p[CUT_CHUNKS] = chunks;
  p[CUT_CHUNK] = chunk;
  p[CUT_WORKSPACE] = out->workspace_bytes;
  p[CUT_BLOCKS] = blocks;
  p[CUT_FIRST] = first;
  if (blocks == 0) return;
  if (chunks > 1) out->workspace_bytes += s.reduces * chunks * s.outer * s.inner * 8;
  const int64_t cost = larger(1, (int64_t)(work / (double)blocks));
  const int64_t phases = chunks > 1 ? s.phases : 1;
  for (int64_t phase = 0; phase < phases; ++phase) {
    int64_t* most = out->block_cost + first + phase;
    const int64_t joined = rows * tile * chunks * s.reduces / 8; /* an eighth of a ns each */
    const bool joins = s.joins && chunks > 1 && phase == phases - 1;
    out->blocks[first + phase] += joins ? blocks / chunks : blocks;
    *most = larger(*most, joins ? larger(1, joined) : cost);
  }
  out->phases = larger(out->phases, first + phases);
}

/* Reads `count` elements in order, which is the fastest way into the cache for what is then walked
 * in pieces, and makes room for as many results, if there are any. */
template <typename In, typename Out>
static inline void bring(const In* in, Out* out, int64_t count) {
  const int64_t step = 64 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  for (int64_t k = 0; k < count; k += step) {
    (void)*(const volatile In*)(in + k);
    if (out != nullptr) __builtin_prefetch(out + k, 1, 3);
  }
}

/* How many rows of `row` elements are walked as one, so that memory is read in long runs: as many
 * as fill half a tile, whose accumulators stay in the first-level cache, if a tile has whole rows,
 * but at most a sixteenth of all. Of elements of `size` 1 or 2 a whole tile makes a long run, but
 * rows that are one line of memory, or up to four, are read fastest one after the other. */
static inline int64_t joined_rows(int64_t span, int64_t row, int64_t rows, int64_t size) {
  if (span != row || span <= 0) return 1;
  const int64_t line = 64 / size;
  const bool lines = span <= line ? line % span == 0 : span % line == 0 && span <= 4 * line;
  const int64_t run = size >= 4 ? MAX_TILE / 2 : lines ? larger(span, line) : MAX_TILE;
  return larger(1, smaller(run / span, rows / 16));
}

/* Makes `times` copies of the first `span` elements behind each other. */
template <typename T>
static inline void repeat(T* array, int64_t span, int64_t times) {
  for (int64_t done = span; done < span * times;) {
    const int64_t count = smaller(done, span * times - done);
    __builtin_memcpy(array + done, array, count * (int64_t)sizeof(T));
    done += count;
  }
}

/* Blocks of a nest in a phase; `phases` and `joins` as in NestShape. In a phase that only joins
 * there is one for all chunks. */
static inline int64_t blocks_in(const int64_t* p, int32_t phase, int32_t phases,
                                bool joins = false) {
  const int64_t at = phase - p[CUT_FIRST];
  if (at < 0 || at >= (p[CUT_CHUNKS] > 1 ? phases : 1)) return 0;
  return joins && at > 0 && at == phases - 1 ? p[CUT_BLOCKS] / p[CUT_CHUNKS] : p[CUT_BLOCKS];
}

#endif /* AUTOFUSE_HOST_CUT_H_ */
