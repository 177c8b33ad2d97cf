"""The tilings of kept tiles and of strips in C++: `tiling.kept` and `tiling.strips`."""
from __future__ import annotations

KEPT_SOLVERS = """\
// The kept axis of the tile cut so that all cores have work.
static void tiling_spread(const TilingForm& f, const TilingExtents& n, int64_t cores, int64_t ub,
                          const int64_t* w, int64_t* ty, int64_t* tx) {
  if (f.y_kept && f.has_y) {
    const int64_t across = f.x_kept ? tiling_ceil(n.nx, *tx) : 1;
    *ty = tiling_rows(f, w, n, 1, *tx, ub);
    const int64_t lines = tiling_max(1, n.outer * across);
    const int64_t waves = tiling_ceil(lines * tiling_ceil(n.ny, *ty), cores);
    const int64_t allowed = tiling_max(1, waves * cores / lines);
    *ty = tiling_max(1, tiling_min(*ty, tiling_ceil(n.ny, allowed)));
  } else if (f.x_kept) {
    const int64_t lines = tiling_max(1, n.outer), least = tiling_ceil(n.nx, *tx);
    const int64_t count = tiling_max(least, tiling_ceil(lines * least, cores) * cores / lines);
    *tx = tiling_max(1, tiling_min(*tx, tiling_up(tiling_ceil(n.nx, count), kUnit / 2)));
  }
}

// Columns of a tile that is cut along its kept axis; 0 when not even a narrow one fits.
static int64_t tiling_narrow(const TilingForm& f, const int64_t* w, int64_t ty, int64_t ub) {
  const int64_t most = tiling_longest(w, ty, ub);
  if (most >= kUnit) return most;
  for (const int64_t tx : kNarrow) {
    if (tiling_fits(f, w, ty, tx, ub)) return tx;
  }
  return 0;
}

// The tiling with `cut` tiles along the walked tile axis, which stay in UB.
static bool tiling_kept_tile(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                             int64_t cores, int64_t ub, int64_t depth, int64_t cut,
                             TilingChoice* out) {
  const bool y_walked = f.has_y && !f.y_kept;
  int64_t ty = 1, tx = n.nx, parts = 1, w[5];
  if (y_walked) {
    ty = tiling_min(kMaxRows, tiling_ceil(n.ny, cut));
  } else if (!f.x_kept) {
    tx = tiling_min(n.nx, tiling_up(tiling_ceil(n.nx, cut), kUnit));
  }
  const int64_t walks =
      n.around * (y_walked ? tiling_ceil(n.ny, ty) : 1) * (f.x_kept ? 1 : tiling_ceil(n.nx, tx));
  for (int i = 0; i < 2; ++i) {
    const int64_t tasks =
        n.outer * (f.x_kept ? tiling_ceil(n.nx, tx) : 1) * (f.y_kept ? n.ny : 1);
    parts = f.split ? tiling_min(cores / tiling_max(1, tasks), walks) : 1;
    if (parts < (f.split ? 2 : 1)) return false;
    tiling_weights(f, depth, tiling_ceil(walks, parts), w);
    if (f.x_kept && y_walked) tx = tiling_min(tx, kFoldColumns);
    if (!tiling_fits(f, w, ty, tx, ub)) {
      tx = f.x_kept ? tiling_narrow(f, w, ty, ub) : 0;
      if (tx == 0) return false;
    }
  }
  tiling_weights(f, depth, tiling_ceil(walks, parts), w);
  if (!tiling_fits(f, w, ty, tx, ub)) return false;
  if (!f.split) tiling_spread(f, n, cores, ub, w, &ty, &tx);
  return tiling_priced(f, n, r, cores, depth, ty, tx, parts, out);
}

static bool tiling_kept(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                        int64_t cores, int64_t ub, TilingChoice* best) {
  bool any = false;
  if (n.nx == 0 || n.ny == 0 || n.around == 0) return false;
  for (int64_t depth = 2; depth >= 1; --depth) {
    for (const int64_t cut : kKeptCuts) {
      TilingChoice found = {};
      if (!tiling_kept_tile(f, n, r, cores, ub, depth, cut, &found)) continue;
      if (!any || found.cost < best->cost) *best = found;
      any = true;
    }
    if (any) return true;
  }
  return false;
}

// Rows of a tile so that each group has `tasks` of them, or as few as UB allows.
static int64_t tiling_strip_rows(const TilingForm& f, const TilingExtents& n, int64_t cores,
                                 int64_t ub, int64_t depth, int64_t tx, int64_t tasks) {
  const int64_t groups = tiling_max(1, cores / tiling_ceil(n.nx, tx));
  if (!tiling_keeps(f)) {
    int64_t w[5];
    tiling_weights(f, depth, 0, w);
    const int64_t most = n.outer * tiling_ceil(n.ny, tiling_rows(f, w, n, 1, tx, ub));
    tasks = tiling_max(tasks, tiling_ceil(most, groups));
  }
  return tiling_min(kMaxRows, tiling_ceil(n.ny, tiling_max(1, groups * tasks / n.outer)));
}

// Rows in groups, columns in strips, a strip of a group for each core.
static bool tiling_strip(const TilingForm& f, const TilingExtents& n, const TilingRates& r,
                         int64_t cores, int64_t ub, TilingChoice* best) {
  if (n.nx == 0 || n.ny == 0 || n.outer == 0) return false;
  const bool keeps = tiling_keeps(f);
  bool any = false;
  for (int64_t depth = 2; depth >= 1; --depth) {
    int64_t w[5];
    tiling_weights(f, depth, keeps, w);
    const int64_t top = tiling_widest(f, w, n, 1, ub);
    for (const int64_t cut : kKeptCuts) {
      const int64_t share = tiling_up(tiling_ceil(n.nx, cut), kUnit / 2);
      const int64_t tx = tiling_min(tiling_min(n.nx, top), share);
      if (top < kUnit / 2) break;
      const int64_t parts = tiling_ceil(n.nx, tx);
      if (parts < 2 || (keeps && parts > cores)) continue;
      for (const int64_t wanted : kStripTasks) {
        if (wanted > 1 && !keeps) break;
        const int64_t ty = tiling_strip_rows(f, n, cores, ub, depth, tx, wanted);
        const int64_t tasks = n.outer * tiling_ceil(n.ny, ty);
        const int64_t kept = tiling_ceil(tasks, tiling_groups(tasks, parts, cores));
        TilingChoice found = {};
        tiling_weights(f, depth, keeps ? kept : 0, w);
        if (!tiling_fits(f, w, ty, tx, ub)) continue;
        if (!tiling_priced(f, n, r, cores, depth, ty, tx, parts, &found)) continue;
        if (!any || found.cost < best->cost) *best = found;
        any = true;
      }
    }
  }
  return any;
}
"""
