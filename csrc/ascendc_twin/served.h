// What of the requests for a GM buffer has to come from memory and what the L2 cache serves.
//
// Cores that ask for the same byte at about the same time, which is in the same epoch and between
// the same two resets of their pipes, get it from L2 but for the first. A core that asks again for
// what it had before counts again: that it would still be there is not relied on.
#ifndef ASCENDC_TWIN_SERVED_H_
#define ASCENDC_TWIN_SERVED_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ascendc_twin {

class Requests {
 public:
  using Time = std::pair<uint32_t, uint32_t>;

  void Add(Time time, int64_t core, int64_t begin, int64_t end);

  // For each byte the most times that one core asks for it, summed over all times.
  int64_t Fetched() const;

 private:
  struct Stretch {
    int64_t begin, end;
  };
  // (position, times from there on), by position.
  using Steps = std::vector<std::pair<int64_t, int64_t>>;

  static Steps Coverage(const std::vector<Stretch>& list);

  static Steps Larger(const Steps& a, const Steps& b);

  static int64_t Area(const Steps& steps);

  std::map<std::pair<Time, int64_t>, std::vector<Stretch>> of_;
};

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_SERVED_H_
