#include "interrupts.h"

#include <signal.h>

#include <atomic>

namespace autofuse {
namespace {

std::atomic<bool> g_pending{false};
int g_depth = 0;
struct sigaction g_before;  // of the thread that watches

// Whom to pass the signal on to; other threads may still be in Note when the next watch begins.
std::atomic<void (*)(int, siginfo_t*, void*)> g_action{nullptr};
std::atomic<void (*)(int)> g_handler{SIG_DFL};  // unless there is an action

void PassOnTo(const struct sigaction& before) {
  const bool is_action = (before.sa_flags & SA_SIGINFO) != 0;
  // In this order Note finds the old one or the new one, never none.
  if (!is_action) g_handler.store(before.sa_handler);
  g_action.store(is_action ? before.sa_sigaction : nullptr);
}

void Note(int signal_number, siginfo_t* info, void* context) {
  g_pending.store(true);
  if (const auto action = g_action.load()) {
    action(signal_number, info, context);
    return;
  }
  const auto handler = g_handler.load();
  if (handler != SIG_DFL && handler != SIG_IGN) handler(signal_number);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &Note;
}

}  // namespace

void WatchInterrupts() {
  if (g_depth++ > 0) return;
  struct sigaction present;
  if (sigaction(SIGINT, nullptr, &present) != 0 || IsOurs(present)) return;
  g_before = present;
  PassOnTo(present);
  struct sigaction noting = present;
  noting.sa_flags |= SA_SIGINFO;
  noting.sa_sigaction = &Note;
  sigaction(SIGINT, &noting, nullptr);
}

void UnwatchInterrupts() {
  if (--g_depth > 0) return;
  struct sigaction present;
  // Somebody may have set another handler meanwhile: that one stays.
  if (sigaction(SIGINT, nullptr, &present) == 0 && IsOurs(present)) {
    sigaction(SIGINT, &g_before, nullptr);
  }
}

bool InterruptPending() { return g_pending.load(); }

void SetInterruptPending(bool pending) { g_pending.store(pending); }

}  // namespace autofuse
