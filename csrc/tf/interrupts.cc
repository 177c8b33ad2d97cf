#include "interrupts.h"

#include <signal.h>

#include <atomic>

namespace autofuse {
namespace {

std::atomic<bool> g_pending{false};
int g_depth = 0;
struct sigaction g_before;  // whom to pass the signal on to

void Note(int signal_number, siginfo_t* info, void* context) {
  g_pending.store(true);
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal_number, info, context);
  } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal_number);
  }
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
