// What the fake runtime and the fake engine share: device memory, and counters for tests.
#ifndef TESTS_CANN_FAKE_FAKE_H_
#define TESTS_CANN_FAKE_FAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>

struct Buffer {
  int64_t bytes;
  int32_t kind;  // 0 input, 1 output, 2 workspace, 3 arguments
};

namespace fake {

constexpr int32_t kCores = 8;

void* Allocate(size_t bytes, int32_t kind);
const Buffer* Find(void* address);
std::string& Log();
int& Compiles();
int& Blocks();  // of the last launch

}  // namespace fake

#endif  // TESTS_CANN_FAKE_FAKE_H_
