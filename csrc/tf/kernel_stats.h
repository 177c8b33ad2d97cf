// What ran: calls, time and last input shapes of every AutofusedKernel node, by node name.
#ifndef AUTOFUSE_TF_KERNEL_STATS_H_
#define AUTOFUSE_TF_KERNEL_STATS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace autofuse {

using Shapes = std::vector<std::vector<int64_t>>;

// The counters of one node. Kernels of the same node name (other sessions) share it.
class NodeStats {
 public:
  // Counts a call. `plan` (not 0) identifies the shapes: they are copied only when it changes.
  void Count(uint64_t plan, const Shapes& input_shapes) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    if (plan_.load(std::memory_order_relaxed) != plan) SetShapes(plan, input_shapes);
  }

  // Adds the nanoseconds that the kernel of a counted call took.
  void AddTime(int64_t nanos) { nanos_.fetch_add(nanos, std::memory_order_relaxed); }

 private:
  friend struct StatsRegistry;

  void SetShapes(uint64_t plan, const Shapes& input_shapes);

  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> nanos_{0};
  std::atomic<uint64_t> plan_{0};
  std::mutex mutex_;
  std::string kernel_key_;
  Shapes input_shapes_;
};

struct NodeStatsEntry {
  std::string node;
  std::string kernel_key;
  int64_t calls;
  int64_t nanos;
  Shapes input_shapes;
};

// The counters of a node, made at the first call. Valid for the life of the process.
NodeStats* StatsOfNode(const std::string& node, const std::string& kernel_key);

// All nodes that were called since the last reset, sorted by name.
std::vector<NodeStatsEntry> SnapshotStats();
void ResetStats();

}  // namespace autofuse

#endif  // AUTOFUSE_TF_KERNEL_STATS_H_
