#include "served.h"

namespace ascendc_twin {

void Requests::Add(Time time, int64_t core, int64_t begin, int64_t end) {
  std::vector<Stretch>& list = of_[{time, core}];
  if (!list.empty() && list.back().end == begin) {
    list.back().end = end;
  } else {
    list.push_back({begin, end});
  }
}

int64_t Requests::Fetched() const {
  int64_t total = 0;
  auto next = of_.begin();
  while (next != of_.end()) {
    const Time time = next->first.first;
    Steps most;
    for (; next != of_.end() && next->first.first == time; ++next) {
      most = Larger(most, Coverage(next->second));
    }
    total += Area(most);
  }
  return total;
}

Requests::Steps Requests::Coverage(const std::vector<Stretch>& list) {
  Steps changes;
  for (const Stretch& s : list) {
    changes.emplace_back(s.begin, 1);
    changes.emplace_back(s.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  Steps steps;
  int64_t times = 0;
  for (const auto& change : changes) {
    times += change.second;
    if (!steps.empty() && steps.back().first == change.first) {
      steps.back().second = times;
    } else {
      steps.emplace_back(change.first, times);
    }
  }
  return steps;
}

Requests::Steps Requests::Larger(const Steps& a, const Steps& b) {
  Steps larger;
  size_t i = 0, j = 0;
  int64_t x = 0, y = 0;
  while (i < a.size() || j < b.size()) {
    const bool first = j == b.size() || (i < a.size() && a[i].first <= b[j].first);
    const int64_t at = first ? a[i].first : b[j].first;
    if (i < a.size() && a[i].first == at) x = a[i++].second;
    if (j < b.size() && b[j].first == at) y = b[j++].second;
    const int64_t times = std::max(x, y);
    if (larger.empty() || larger.back().second != times) larger.emplace_back(at, times);
  }
  return larger;
}

int64_t Requests::Area(const Steps& steps) {
  int64_t area = 0;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    area += (steps[i + 1].first - steps[i].first) * steps[i].second;
  }
  return area;
}

}  // namespace ascendc_twin
