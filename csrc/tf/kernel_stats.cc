#include "kernel_stats.h"

#include <map>
#include <memory>

namespace autofuse {

struct StatsRegistry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<NodeStats>> nodes;

  static StatsRegistry& Get() {
    static auto* registry = new StatsRegistry;  // never destroyed: kernels may run at exit
    return *registry;
  }

  NodeStats* Find(const std::string& node, const std::string& kernel_key) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<NodeStats>& stats = nodes[node];
    if (stats == nullptr) stats.reset(new NodeStats);
    std::lock_guard<std::mutex> node_lock(stats->mutex_);
    stats->kernel_key_ = kernel_key;
    return stats.get();
  }

  std::vector<NodeStatsEntry> Snapshot() {
    std::vector<NodeStatsEntry> entries;
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto& item : nodes) {
      NodeStats& stats = *item.second;
      const int64_t calls = stats.calls_.load(std::memory_order_relaxed);
      if (calls == 0) continue;
      std::lock_guard<std::mutex> node_lock(stats.mutex_);
      const int64_t nanos = stats.nanos_.load(std::memory_order_relaxed);
      entries.push_back({item.first, stats.kernel_key_, calls, nanos, stats.input_shapes_});
    }
    return entries;
  }

  void Reset() {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto& item : nodes) {
      item.second->calls_.store(0, std::memory_order_relaxed);
      item.second->nanos_.store(0, std::memory_order_relaxed);
      item.second->plan_.store(0, std::memory_order_relaxed);
    }
  }
};

void NodeStats::SetShapes(uint64_t plan, const Shapes& input_shapes) {
  std::lock_guard<std::mutex> lock(mutex_);
  plan_.store(plan, std::memory_order_relaxed);
  input_shapes_ = input_shapes;
}

NodeStats* StatsOfNode(const std::string& node, const std::string& kernel_key) {
  return StatsRegistry::Get().Find(node, kernel_key);
}

std::vector<NodeStatsEntry> SnapshotStats() { return StatsRegistry::Get().Snapshot(); }

void ResetStats() { StatsRegistry::Get().Reset(); }

}  // namespace autofuse
