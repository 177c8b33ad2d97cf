"""The part of the C++ tiling function that is the same for all kernels: `tiling` in C++."""
from __future__ import annotations

from tf_autofuse.kernel.layout import LANE_BYTES, PIECES, UNIT
from tf_autofuse.tiling.cpp_kept import KEPT_SOLVERS
from tf_autofuse.tiling.model import (
    CUTS,
    FOLD_COLUMNS,
    IDLE_SHARE,
    KEPT_CUTS,
    LANES,
    MAX_ROWS,
    NARROW,
    PIECE_BLOCK,
    ROW_CUTS,
    SPLIT_WAVES,
    STRIP_TASKS,
    WAITING,
)

_CONSTANTS = """\
enum : int64_t {
  kUnit = %d,           // buffers hold multiples of this many elements
  kLaneBits = %d,     // a vector register
  kMaxRows = %d,       // bursts of one copy
  kFoldColumns = %d,   // widest tile of a column reduction
  kCuts = %d,             // tile widths tried
  kLanes = %d,           // elements of a register in row-wise costs
  kPieces = %d,         // elements more in a buffer of several parts
  kPieceBlock = %d,       // elements of a block of those
  kIdleShare = %d,        // one in so many parts of idle time counts
  kWaiting = %d           // halves of the cost that reading once may cost where cores share
};
static const int64_t kSplitWaves[] = {%s};  // shares of a split per core that are tried
static const int64_t kKeptCuts[] = {%s};  // cuts of a walked axis that are tried
static const int64_t kNarrow[] = {%s};  // columns where UB is short
static const int64_t kStripTasks[] = {%s};  // kept tiles of a group that are tried
static const int64_t kRowCuts[] = {%s};  // tasks along a kept axis that are tried
""" % (UNIT, LANE_BYTES * 8, MAX_ROWS, FOLD_COLUMNS, CUTS, LANES, PIECES, PIECE_BLOCK, IDLE_SHARE,
       WAITING, ", ".join(map(str, SPLIT_WAVES)), ", ".join(map(str, KEPT_CUTS)),
       ", ".join(map(str, NARROW)), ", ".join(map(str, STRIP_TASKS)),
       ", ".join(map(str, ROW_CUTS)))

SOLVER = _CONSTANTS + """
// How to launch: blocks, tiling key, bytes of user workspace.
struct AutofuseLaunch {
  int64_t blocks, key, workspace_bytes;
};

// A program: UB weights (bits per element of tile, row and column, registers per row, bytes) of
// what is there once, of double buffers and of kept tiles, its form, and cycles / 4096 of load,
// vector and store (head, per row, column and element), per task, per walked tile and per part that
// is gathered, then of the loads that L2 serves; `row_wise` heads are paid once per row or once per
// register of columns; `reads` is how often an input is read; `partials` are bytes per column of
// what each group of tasks finds over its rows.
struct TilingForm {
  int64_t once[5], doubled[5], kept[5];
  int64_t pitch, has_y, y_kept, x_kept, resident, split, crosses, syncs, reads, partials;
  int64_t row_wise[2];
  int64_t lines[48];
};
struct TilingRates {
  int64_t load, store, gm, l2, sync;
};
struct TilingExtents {
  int64_t nx, ny, outer, around;
};
struct TilingChoice {
  int64_t ty, tx, pitch, tasks, parts, depth, kept, cost, variant;
};

static inline int64_t tiling_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t tiling_up(int64_t a, int64_t b) { return tiling_ceil(a, b) * b; }
static inline int64_t tiling_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tiling_max(int64_t a, int64_t b) { return a < b ? b : a; }

static inline bool tiling_keeps(const TilingForm& f) {
  return f.kept[0] + f.kept[1] + f.kept[2] + f.kept[3] + f.kept[4] > 0;
}

static inline bool tiling_strips(const TilingForm& f) { return f.split && f.partials > 0; }

// Groups of tasks, each of them dealt out to `parts` cores.
static inline int64_t tiling_groups(int64_t tasks, int64_t parts, int64_t cores) {
  return tiling_min(tasks, tiling_max(1, cores / parts));
}

// UB weights with `depth` buffers in each double queue and `kept` tiles that stay.
static inline void tiling_weights(const TilingForm& f, int64_t depth, int64_t kept, int64_t* w) {
  for (int i = 0; i < 5; ++i) w[i] = f.once[i] + depth * f.doubled[i] + kept * f.kept[i];
}

// Columns of the widest tile with `rows` rows; 0 for none.
static int64_t tiling_longest(const int64_t* w, int64_t rows, int64_t ub) {
  const int64_t room = (ub - w[4]) * 8 - w[2] * (rows + kUnit - 1) - w[3] * rows * kLaneBits;
  return tiling_max(0, room) / tiling_max(1, w[0] * rows + w[1]) / kUnit * kUnit;
}

// Whether a tile fits UB.
static bool tiling_fits(const TilingForm& f, const int64_t* w, int64_t rows, int64_t cols,
                        int64_t ub) {
  const int64_t pitch = tiling_up(cols, f.pitch);
  const int64_t bits = w[0] * tiling_up(rows * pitch, kUnit) + w[1] * tiling_up(pitch, kUnit) +
                       w[2] * tiling_up(rows, kUnit) + w[3] * rows * kLaneBits;
  return bits <= (ub - w[4]) * 8;
}

// Columns of the widest tile: the whole axis if it fits.
static int64_t tiling_widest(const TilingForm& f, const int64_t* w, const TilingExtents& n,
                             int64_t rows, int64_t ub) {
  return tiling_max(tiling_fits(f, w, rows, n.nx, ub) ? n.nx : 0, tiling_longest(w, rows, ub));
}

// Most rows of `tx` columns that fit UB.
static int64_t tiling_rows(const TilingForm& f, const int64_t* w, const TilingExtents& n,
                           int64_t least, int64_t tx, int64_t ub) {
  const int64_t pitch = tiling_up(tx, f.pitch);
  if (least > 1 || !f.has_y) return least;
  const int64_t room =
      (ub - w[4]) * 8 - w[1] * tiling_up(pitch, kUnit) - (w[0] + w[2]) * (kUnit - 1);
  const int64_t rows = room / tiling_max(1, w[0] * pitch + w[2] + w[3] * kLaneBits);
  return tiling_max(1, tiling_min(tiling_min(n.ny, rows), kMaxRows));
}

// Columns of candidate `cut`: `top`, or the axis in more, equal cuts.
static int64_t tiling_width(const TilingForm& f, const TilingExtents& n, int64_t cores,
                            int64_t top, int64_t cut, int64_t ty) {
  top = tiling_max(1, top);
  const int64_t least = tiling_ceil(n.nx, top);
  int64_t count = least + cut, unit = kUnit;
  if (cut == 0) return top;
  if (cut == kCuts - 1) {
    const int64_t lines = tiling_max(1, n.outer * (f.y_kept ? tiling_ceil(n.ny, ty) : 1));
    const int64_t waves = tiling_ceil(lines * least, cores);
    count = tiling_max(tiling_max(1, least), waves * cores / lines);
    unit = kUnit / 2;
  }
  return tiling_max(1, tiling_min(top, tiling_up(tiling_ceil(n.nx, count), unit)));
}

// Cycles / 4096 of the core with the most tasks, `most`, while `busy` cores work.
static int64_t tiling_cost(const TilingForm& f, const TilingRates& r, int64_t rows, int64_t cols,
                           int64_t busy, int64_t most, int64_t walks, int64_t depth,
                           int64_t parts) {
  const int64_t shared = busy * r.gm / 16;
  const int64_t rate[4] = {tiling_max(r.load, shared), 1, tiling_max(r.store, shared),
                           tiling_max(r.load, busy * r.l2 / 16)};
  const int64_t calls = tiling_min(rows, tiling_ceil(cols, kLanes));
  int64_t pipes[3] = {0, (f.row_wise[0] + f.row_wise[1] * walks) * calls, 0}, moved = 0;
  const int64_t piece = tiling_max(1, (f.y_kept ? rows : 1) * (f.x_kept ? cols : 1));
  const int64_t at_once = (tiling_up(piece, kUnit) + kPieces) / tiling_up(piece, kPieceBlock);
  const int64_t repeats[3] = {1, walks, parts};
  const int64_t starts[3] = {1, walks, tiling_ceil(parts, at_once)};
  for (int at = 0; at < 12; ++at) {
    const int64_t* line = f.lines + 4 * at;
    const int64_t amount = line[1] * rows + line[2] * cols + line[3] * rows * cols;
    const int pipe = at < 9 ? at % 3 : 0;
    const int scope = at < 9 ? at / 3 : at - 9;
    const int64_t times = repeats[scope];
    pipes[pipe] += line[0] * starts[scope] + amount * rate[at < 9 ? pipe : 3] * times;
    if (pipe != 1 && at < 9) moved += amount * times;
  }
  int64_t unit = pipes[0] + pipes[1] + pipes[2];
  if (tiling_keeps(f)) {
    if (walks > 1 || tiling_strips(f)) unit = pipes[0] + tiling_max(pipes[1], pipes[2]);
  } else if (depth > 1 && most * walks > 1) {
    unit = tiling_max(tiling_max(pipes[0], pipes[1]), tiling_max(pipes[2], moved * shared));
  }
  return most * unit + f.syncs * r.sync;
}

// The tiling with this tile and at most `parts` parts, with its cost; false when there is none.
static bool tiling_priced(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                          int64_t cores, int64_t depth, int64_t ty, int64_t tx, int64_t parts,
                          TilingChoice* out) {
  const bool strips = tiling_strips(f);
  int64_t walks = 1;
  if (!f.resident && !strips) {
    walks = n.around * (f.y_kept || !f.has_y ? 1 : tiling_ceil(n.ny, ty));
    walks *= f.x_kept ? 1 : tiling_ceil(n.nx, tx);
  }
  if (f.split && !strips) {
    parts = tiling_min(parts, walks);
    if (parts < 2) return false;
  }
  out->ty = ty;
  out->tx = tx;
  out->pitch = tiling_up(tx, f.pitch);
  out->tasks = n.outer * (f.x_kept ? tiling_ceil(n.nx, tx) : 1) *
               (f.y_kept ? tiling_ceil(n.ny, ty) : 1);
  out->parts = parts;
  out->depth = depth;
  const int64_t tasks = out->tasks;
  const int64_t groups = f.partials ? tiling_groups(tasks, parts, cores) : tasks;
  const int64_t each = tiling_ceil(tasks, tiling_max(1, groups));
  const int64_t most = tiling_ceil(groups * parts, cores) * each;
  out->kept = !tiling_keeps(f) ? 0 : strips ? each : tiling_ceil(walks, parts);
  int64_t cost = tiling_cost(f, r, tiling_min(ty, n.ny), tiling_min(tx, n.nx),
                             tiling_min(cores, groups * parts), most, tiling_ceil(walks, parts),
                             depth, parts);
  cost += 2 * groups * n.nx * n.around * f.partials * r.l2 / 16;
  const int64_t idle = most * cores - tasks * parts;
  out->cost = cost + cost / tiling_max(1, kIdleShare * most * cores) * idle;
  return true;
}

// Cores that share tasks, each with `waves` parts.
static bool tiling_shared(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                          int64_t cores, int64_t depth, int64_t ty, int64_t tx, int64_t waves,
                          TilingChoice* out) {
  const int64_t across = f.x_kept ? tiling_ceil(n.nx, tx) : 1;
  const int64_t tasks = n.outer * across * (f.y_kept ? tiling_ceil(n.ny, ty) : 1);
  const int64_t parts = waves * cores / tiling_max(1, tasks);
  if (parts < 2) return false;
  if (f.has_y && !f.y_kept) {
    const int64_t each = tiling_max(1, tiling_ceil(n.around * tiling_ceil(n.ny, ty), parts));
    ty = tiling_max(1, tiling_min(ty, tiling_ceil(n.ny * n.around, parts * each)));
  } else if (!f.x_kept) {
    const int64_t each = tiling_max(1, tiling_ceil(n.around * tiling_ceil(n.nx, tx), parts));
    const int64_t share = tiling_up(tiling_ceil(n.nx * n.around, parts * each), kUnit);
    tx = tiling_max(1, tiling_min(tx, share));
  }
  return tiling_priced(f, n, r, cores, depth, ty, tx, parts, out);
}

// Fewer rows where that evens out the work of the cores; for a split, the parts.
static bool tiling_balance(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                           int64_t cores, int64_t depth, int64_t ty, int64_t tx,
                           TilingChoice* out) {
  const int64_t across = n.outer * (f.x_kept ? tiling_ceil(n.nx, tx) : 1);
  const int64_t lines = tiling_max(1, across);
  const int64_t tasks = tiling_max(1, across * (f.y_kept ? tiling_ceil(n.ny, ty) : 1));
  const bool cuts = f.has_y && f.y_kept;
  TilingChoice found = {};
  bool any = false;
  if (!f.split) {
    int64_t rows = ty;
    if (f.y_kept) {
      const int64_t allowed = tiling_max(1, tiling_ceil(tasks, cores) * cores / lines);
      rows = tiling_max(1, tiling_min(ty, tiling_ceil(n.ny, allowed)));
    }
    for (const int64_t times : kRowCuts) {
      if (times > 1 && !(cuts && f.partials)) break;
      const int64_t more = tiling_min(ty, rows * times);
      if (!tiling_priced(f, n, r, cores, depth, more, tx, 1, &found)) continue;
      if (!any || found.cost < out->cost) *out = found;
      any = true;
    }
    return any;
  }
  for (const int64_t cut : kRowCuts) {
    if (cut > 1 && !cuts) break;
    const int64_t top = f.y_kept ? tiling_min(ty, tiling_ceil(n.ny, cut)) : ty;
    for (const int64_t waves : kSplitWaves) {
      if (!tiling_shared(f, n, r, cores, depth, tiling_max(1, top), tx, waves, &found)) continue;
      if (!any || found.cost + found.cost / 32 < out->cost) *out = found;
      any = true;
    }
  }
  return any;
}

static bool tiling_form(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                        int64_t cores, int64_t ub, TilingChoice* best) {
  if (f.resident && (n.nx == 0 || n.ny == 0)) return false;
  for (int64_t depth = 2; depth >= 1; --depth) {
    int64_t w[5];
    tiling_weights(f, depth, 0, w);
    const int64_t rows = f.resident && f.has_y && !f.y_kept ? n.ny : 1;
    int64_t longest = rows <= kMaxRows ? tiling_widest(f, w, n, rows, ub) : 0;
    if (f.has_y && !f.y_kept && f.x_kept) {
      const int64_t whole = n.ny <= kMaxRows ? tiling_widest(f, w, n, n.ny, ub) : 0;
      longest = tiling_max(tiling_min(longest, kFoldColumns), whole);
    }
    if (f.crosses) longest = tiling_min(longest, kFoldColumns);
    if (longest < (f.resident && !f.x_kept ? n.nx : tiling_min(kUnit, n.nx))) continue;
    bool any = false;
    const int64_t tallest = tiling_rows(f, w, n, rows, longest, ub);
    const int64_t cuts = f.y_kept && !f.resident && !f.split ? kCuts - 1 : 1;
    for (int64_t cut = 0; cut < (f.x_kept ? kCuts : cuts); ++cut) {
      const int64_t tx = tiling_width(f, n, cores, tiling_min(n.nx, longest), cut, tallest);
      TilingChoice found = {};
      const int64_t ty = tiling_rows(f, w, n, rows, tx, ub);
      if (!tiling_balance(f, n, r, cores, depth, ty, tx, &found)) continue;
      if (!any || found.cost < best->cost) *best = found;
      any = true;
    }
    if (any) return true;
  }
  return false;
}

""" + KEPT_SOLVERS + """
// The variant of fewest reads and, among these, of least cost, unless cores share tasks for it and
// another one costs much less; false when none can run these sizes.
static bool tiling_best(const TilingForm* forms, int64_t count, const TilingRates& r,
                        const TilingExtents& n, int64_t cores, int64_t ub, TilingChoice* best) {
  TilingChoice cheapest = {};
  int64_t alone = 0;  // fewest reads of a program in which no cores share tasks, plus 1
  bool any = false;
  for (int64_t i = 0; i < count; ++i) {
    TilingChoice found = {};
    const TilingForm& f = forms[i];
    const auto solve = tiling_keeps(f) ? tiling_kept : tiling_form;
    if (!(tiling_strips(f) ? tiling_strip : solve)(f, n, r, cores, ub, &found)) continue;
    found.variant = i;
    const int64_t reads = forms[best->variant].reads;
    if (!any || f.reads < reads || (f.reads == reads && found.cost < best->cost)) *best = found;
    if (!any || found.cost < cheapest.cost) cheapest = found;
    if (!f.split && (alone == 0 || f.reads + 1 < alone)) alone = f.reads + 1;
    any = true;
  }
  if (any && alone != forms[best->variant].reads + 1 && kWaiting * cheapest.cost < 2 * best->cost) {
    *best = cheapest;
  }
  return any;
}

static inline int64_t tiling_region(int64_t parts, int64_t points) {
  return parts < 2 ? 0 : tiling_up(parts * points * 4, 32);
}

// Adds the choice of one nest to the launch.
static void tiling_add(AutofuseLaunch* launch, const TilingChoice& t, int64_t variants,
                       int64_t workspace, int64_t cores) {
  launch->key = launch->key * variants + t.variant;
  launch->workspace_bytes += workspace;
  launch->blocks = tiling_max(launch->blocks, tiling_min(cores, t.tasks * t.parts));
}
"""
