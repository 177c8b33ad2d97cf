#include "device.h"

namespace ascendc_twin {

void Device::CountVector(const char* api, uint32_t item, int64_t repeats) {
  ++vector_instructions;
  vector_repeats += repeats;
  for (CallCount& count : calls) {
    if (count.item != item || std::strcmp(count.api, api) != 0) continue;
    ++count.calls;
    count.repeats += repeats;
    return;
  }
  calls.push_back({api, item, 1, repeats});
}

void Device::Start() {
  waits_for_.assign(block_dim, 0);
  gm.caches.resize(block_dim);
  gm.check = check;
}

void Device::Enter(std::unique_lock<std::mutex>& lock, int64_t core) {
  lock = std::unique_lock<std::mutex>(mutex_);
  AwaitTurn(lock, core);
}

void Device::Leave(int64_t core) {
  waits_for_[core] = kEnded;
  PassTurn(core);
}

void Device::Fail() {
  failed_ = true;
  changed_.notify_all();
}

void Device::Barrier(std::unique_lock<std::mutex>& lock, int64_t core, Loc at) {
  barrier_at_ = at;
  waits_for_[core] = gm.epoch + 1;
  if (++arrived_ == block_dim) {
    arrived_ = 0;
    ++gm.epoch;
  }
  PassTurn(core);
  AwaitTurn(lock, core);
}

void Device::AwaitTurn(std::unique_lock<std::mutex>& lock, int64_t core) {
  changed_.wait(lock, [&] { return failed_ || turn_ == core; });
  if (failed_) throw Stopped();
}

void Device::PassTurn(int64_t from) {
  int32_t ended = 0;
  for (int64_t k = 1; k <= block_dim; ++k) {
    const int64_t next = (from + k) % block_dim;
    ended += waits_for_[next] == kEnded;
    if (waits_for_[next] > gm.epoch) continue;
    turn_ = next;
    changed_.notify_all();
    return;
  }
  if (ended == block_dim) return;
  Refuse(barrier_at_, "SyncAll", "SyncAll", "%d of %d cores wait; the others have ended", arrived_,
         block_dim);
}

}  // namespace ascendc_twin
