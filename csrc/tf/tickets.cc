#include "tickets.h"

#include <map>
#include <memory>
#include <mutex>

namespace autofuse {
namespace {

std::atomic<bool>* Find(const std::string& ticket) {
  static std::mutex* mutex = new std::mutex;
  static auto* tickets = new std::map<std::string, std::unique_ptr<std::atomic<bool>>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<std::atomic<bool>>& entry = (*tickets)[ticket];
  if (entry == nullptr) entry.reset(new std::atomic<bool>(false));
  return entry.get();
}

}  // namespace

const std::atomic<bool>* FindTicket(const std::string& ticket) { return Find(ticket); }

void PublishTicket(const std::string& ticket) { Find(ticket)->store(true); }

}  // namespace autofuse
