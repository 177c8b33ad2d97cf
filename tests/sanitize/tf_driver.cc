// Runs what csrc/tf shares among threads under sanitizers: memory pool, libraries, launch plans,
// counters, tickets and the watch over Ctrl-C.
// Usage: tf_driver <rounds> <good library> <library of another version>. Ends with 0, or with what
// a sanitizer says.
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/shape_spec.h"
#include "tf/buffer_pool.h"
#include "tf/interrupts.h"
#include "tf/kernel_library.h"
#include "tf/kernel_stats.h"
#include "tf/launch_plan.h"
#include "tf/tickets.h"

namespace {

constexpr int kThreads = 4;

void Check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

// work(number) on several threads at the same time.
void OnThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
}

void Pool(int rounds) {
  for (const double idle_seconds : {0.0, 10.0}) {
    autofuse::BufferPool pool(size_t{32} << 20, idle_seconds);
    OnThreads([&](int number) {
      std::mt19937 random(number);
      std::vector<std::pair<char*, size_t>> held;
      for (int round = 0; round < rounds; ++round) {
        const size_t bytes = random() % (12u << 20);
        char* block = static_cast<char*>(pool.Allocate(bytes));
        Check(block != nullptr, "memory");
        if (bytes > 0) block[0] = block[bytes - 1] = static_cast<char>(number);
        held.emplace_back(block, bytes);
        if (held.size() > random() % 4) {
          const auto last = held.back();
          Check(last.second == 0 || last.first[last.second - 1] == number, "a block of one owner");
          pool.Free(last.first);
          held.pop_back();
        }
        if (random() % 16 == 0) pool.Trim();
        const autofuse::BufferPool::Stats stats = pool.GetStats();
        Check(stats.in_use_bytes <= stats.peak_in_use_bytes, "peak");
      }
      for (const auto& block : held) pool.Free(block.first);
    });
    int outside = 0;
    pool.Free(&outside);  // not a block of the pool: nothing happens
    Check(pool.GetStats().in_use_bytes == 0, "all is given back");
  }
  Check(autofuse::BufferPool(0, 0).Allocate(size_t{1} << 62) == nullptr, "too much memory");
}

const autofuse::KernelLibrary* Libraries(const std::string& good, const std::string& old) {
  std::atomic<const autofuse::KernelLibrary*> opened{nullptr};
  OnThreads([&](int) {
    std::string error;
    const autofuse::KernelLibrary* library = autofuse::OpenKernelLibrary(good, "", &error);
    Check(library != nullptr, error.c_str());
    const autofuse::KernelLibrary* before = opened.exchange(library);
    Check(before == nullptr || before == library, "opened once");
    for (const std::string& path : {old, std::string("/nonexistent"), std::string("/tmp")}) {
      error.clear();
      Check(autofuse::OpenKernelLibrary(path, "", &error) == nullptr, "refused");
      Check(error.find(path) != std::string::npos, "the error names the file");
    }
  });
  return opened.load();
}

void Plans(const autofuse::KernelLibrary& library, int rounds) {
  autofuse::ShapeSpec spec;
  std::string error;
  Check(autofuse::ShapeSpec::Parse("v1;axes=1;groups=0;in=0;out=0/0;", &spec, &error), "spec");
  autofuse::LaunchPlanCache cache;
  OnThreads([&](int number) {
    std::mt19937 random(number);
    autofuse::NodeStats* stats = autofuse::StatsOfNode("node", "key" + std::to_string(number));
    for (int round = 0; round < rounds; ++round) {
      const int64_t flat[] = {static_cast<int64_t>(random() % 12)};
      auto plan = cache.Find(flat, 1);
      if (plan == nullptr) {
        std::string why;
        plan = autofuse::MakeLaunchPlan(spec, library, kThreads, flat, &why);
        Check(plan != nullptr, why.c_str());
        cache.Insert(plan);
      }
      Check(plan->flat[0] == flat[0] && plan->output_shapes.size() == 2, "the plan of these sizes");
      stats->Count(plan->id, plan->input_shapes);
      stats->AddTime(1);
      if (random() % 64 == 0) autofuse::SnapshotStats();
      if (random() % 256 == 0) autofuse::ResetStats();
    }
  });
  const int64_t negative[] = {-1};
  autofuse::KernelLibrary refusing = library;
  refusing.tiling = [](const int64_t*, int32_t, const int64_t*, int32_t,
                       AutofuseTiling* out) -> int32_t {
    out->phases = AUTOFUSE_MAX_PHASES + 1;
    return 0;
  };
  Check(autofuse::MakeLaunchPlan(spec, refusing, 1, negative, &error) == nullptr, "refused");
}

void Tickets(int rounds) {
  OnThreads([&](int number) {
    for (int round = 0; round < rounds; ++round) {
      const std::string ticket = std::to_string(round);
      if (number == 0) autofuse::PublishTicket(ticket);
      const std::atomic<bool>* ready = autofuse::FindTicket(ticket);
      if (number == 0) Check(ready->load(), "published");
    }
  });
}

std::atomic<int> g_handled{0};

void Interrupts(int rounds) {
  signal(SIGINT, [](int) { ++g_handled; });
  std::atomic<bool> over{false};
  std::thread user([&] {
    while (!over.load()) raise(SIGINT);
  });
  for (int round = 0; round < rounds; ++round) {
    autofuse::WatchInterrupts();
    autofuse::WatchInterrupts();
    const int before = g_handled.load();
    raise(SIGINT);
    Check(autofuse::InterruptPending() && g_handled.load() > before, "noted and passed on");
    autofuse::UnwatchInterrupts();
    autofuse::UnwatchInterrupts();
  }
  over.store(true);
  user.join();
  autofuse::SetInterruptPending(false);
  raise(SIGINT);
  Check(!autofuse::InterruptPending(), "nobody watches any more");
  autofuse::WatchInterrupts();
  signal(SIGINT, SIG_IGN);  // the script sets its own handler meanwhile
  autofuse::UnwatchInterrupts();
  struct sigaction present;
  sigaction(SIGINT, nullptr, &present);
  Check(present.sa_handler == SIG_IGN, "the handler of the script stays");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rounds = std::atoi(argv[1]);
  Pool(rounds / 10);
  Plans(*Libraries(argv[2], argv[3]), rounds);
  Tickets(rounds);
  Interrupts(rounds / 10);
  std::printf("all good\n");
  return 0;
}
