// Runs kernel libraries of the processor that it is compiled for: requests come on the standard
// input, answers go to the standard output, both as 64-bit words and raw data.
// emulated_host.py has the other end.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernel_abi.h"

namespace {

enum Request { kTiling = 0, kRun = 1 };

struct Kernel {
  decltype(&autofuse_tiling) tiling;
  decltype(&autofuse_run) run;
};

void Read(void* to, size_t bytes) {
  if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) exit(0);  // the other end is gone
}

int64_t ReadWord() {
  int64_t word = 0;
  Read(&word, sizeof(word));
  return word;
}

std::vector<int64_t> ReadWords() {
  std::vector<int64_t> words(ReadWord());
  Read(words.data(), words.size() * sizeof(int64_t));
  return words;
}

void Write(const void* from, size_t bytes) { fwrite(from, 1, bytes, stdout); }

// Aligned as tensors of TensorFlow are; the bytes around tell who wrote too far.
class Buffer {
 public:
  explicit Buffer(int64_t bytes)
      : bytes_(bytes), room_(bytes + 3 * kLine, kGuard), start_(room_.data() + kLine) {
    start_ += -reinterpret_cast<uintptr_t>(start_) % kLine;
  }
  char* data() { return start_; }
  int64_t size() const { return bytes_; }
  bool IsWhole() const {
    const auto is_guard = [](char c) { return c == kGuard; };
    return std::all_of(room_.data(), const_cast<const char*>(start_), is_guard) &&
           std::all_of(const_cast<const char*>(start_) + bytes_, room_.data() + room_.size(),
                       is_guard);
  }

 private:
  static constexpr int64_t kLine = 64;
  static constexpr char kGuard = 0x5a;
  int64_t bytes_;
  std::vector<char> room_;
  char* start_;
};

Kernel Open(const std::string& path) {
  static auto& opened = *new std::map<std::string, Kernel>;
  const auto found = opened.find(path);
  if (found != opened.end()) return found->second;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return opened[path] = {
             reinterpret_cast<decltype(&autofuse_tiling)>(dlsym(library, "autofuse_tiling")),
             reinterpret_cast<decltype(&autofuse_run)>(dlsym(library, "autofuse_run"))};
}

int64_t RunPhases(const Kernel& kernel, const AutofuseArgs& args, const AutofuseTiling& tiling,
                  int64_t threads) {
  for (int32_t phase = 0; phase < tiling.phases; ++phase) {
    const int64_t blocks = tiling.blocks[phase], parts = std::max<int64_t>(1, threads);
    for (int64_t part = parts; part-- > 0;) {  // any order must do
      const int32_t code = kernel.run(&args, &tiling, phase, blocks * part / parts,
                                      blocks * (part + 1) / parts);
      if (code != AUTOFUSE_OK) return code;
    }
  }
  return AUTOFUSE_OK;
}

void AnswerRun(const Kernel& kernel, const AutofuseTiling& tiling,
               const std::vector<int64_t>& sizes, const int64_t* strides, int64_t threads) {
  std::vector<Buffer> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const int64_t bytes : ReadWords()) inputs.emplace_back(bytes);
  for (Buffer& buffer : inputs) {
    Read(buffer.data(), buffer.size());
    in.push_back(buffer.data());
  }
  for (const int64_t bytes : ReadWords()) outputs.emplace_back(bytes);
  for (Buffer& buffer : outputs) out.push_back(buffer.data());
  Buffer workspace(tiling.workspace_bytes);
  const AutofuseArgs args = {in.data(), out.data(), sizes.data(), strides,
                             tiling.workspace_bytes > 0 ? workspace.data() : nullptr};
  int64_t code = RunPhases(kernel, args, tiling, threads);
  for (const Buffer& buffer : outputs) {
    if (!buffer.IsWhole()) code = -1;
  }
  if (!workspace.IsWhole()) code = -1;
  Write(&code, sizeof(code));
  for (Buffer& buffer : outputs) Write(buffer.data(), buffer.size());
}

void Answer() {
  const int64_t request = ReadWord();
  std::string path(ReadWord(), '\0');
  Read(&path[0], path.size());
  const std::vector<int64_t> sizes = ReadWords();
  const int64_t threads = ReadWord();
  const bool has_strides = ReadWord() != 0;
  const std::vector<int64_t> words = ReadWords();
  const int64_t* strides = has_strides ? words.data() : nullptr;
  const Kernel kernel = Open(path);
  AutofuseTiling tiling = {};
  const int64_t code = kernel.tiling(sizes.data(), static_cast<int32_t>(sizes.size()), strides,
                                     static_cast<int32_t>(threads), &tiling);
  if (request == kTiling) {
    Write(&code, sizeof(code));
    Write(&tiling, sizeof(tiling));
  } else {
    AnswerRun(kernel, tiling, sizes, strides, threads);
  }
  fflush(stdout);
}

}  // namespace

int main() {
  for (;;) Answer();
}
