// Runs csrc/core and the block scheduler of csrc/tf under sanitizers, on inputs made at random.
// Usage: core_driver <rounds>. Ends with 0, or with what a sanitizer says.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "core/shape_spec.h"
#include "core/small_array.h"
#include "core/trusted_file.h"
#include "tf/parallel.h"

namespace {

std::mt19937 g_random(1);

int64_t Below(int64_t count) { return static_cast<int64_t>(g_random() % count); }

const char* const kSpecs[] = {
    "v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0.1/s;out=0.1.2/0.1/s;",
    "v1;axes=2;groups=0,1;in=0?.1?/0?.1?;out=0.1;",
    "v1;axes=3;groups=0,1,1;fixed=2:64;in=0.1*2;out=0.1.2;",
    "v1;axes=0;groups=;in=;out=s;",
};
const char* const kWords[] = {"0",  "1",  "9",    "1024",   "4294967297", "99999999999999999999",
                              "?",  "*",  ".",    "/",      ";",          ",",
                              "-",  "s",  "in=",  "fixed=", ":",          "out=",
                              "\0", "v1", "\xff", "64",     "groups=",    " "};

std::string Damaged(std::string text) {
  for (int64_t edits = 1 + Below(3); edits > 0; --edits) {
    const size_t at = static_cast<size_t>(Below(static_cast<int64_t>(text.size()) + 1));
    if (Below(2) == 0) text.erase(at, static_cast<size_t>(Below(4)));
    if (Below(2) == 0) text.insert(std::min(at, text.size()), kWords[Below(24)]);
  }
  return text;
}

int64_t Size() {
  const int64_t sizes[] = {0, 1, 2, 3, 64, 65, 4096, -1, int64_t{1} << 31};
  return sizes[Below(9)];
}

// Reads damaged specs and evaluates those that are still good; the number of good ones.
int64_t Specs(int64_t rounds) {
  int64_t good = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    const std::string start = kSpecs[Below(4)];
    autofuse::ShapeSpec spec;
    std::string error;
    if (!autofuse::ShapeSpec::Parse(round % 8 == 0 ? start : Damaged(start), &spec, &error)) {
      if (error.empty()) std::abort();
      continue;
    }
    ++good;
    std::vector<int64_t> flat(spec.flat_dims()), sizes(spec.axes()), merged(spec.merged_axes()),
        strides(spec.stride_count());
    for (int64_t& size : flat) size = Below(3) == 0 ? Size() : 64;
    if (!spec.BindAxes(flat.data(), sizes.data(), &error)) continue;
    spec.MergeSizes(sizes.data(), merged.data());
    spec.Strides(flat.data(), sizes.data(), strides.data());
    for (const auto& output : spec.outputs()) {
      for (const auto& dim : output.dims) autofuse::ShapeSpec::DimSize(dim, sizes.data());
    }
  }
  return good;
}

void Digests(const char* file) {
  for (size_t size : {0, 1, 55, 56, 63, 64, 65, 1000}) {
    const std::string data(size, 'x');
    autofuse::Sha256 whole, parts;
    whole.Update(data.data(), size);
    for (size_t i = 0; i < size; i += 7)
      parts.Update(data.data() + i, std::min<size_t>(7, size - i));
    if (whole.Finish() != parts.Finish()) std::abort();
  }
  if (autofuse::FileDigest(file).size() != 64 || !autofuse::FileDigest("/nonexistent").empty()) {
    std::abort();
  }
  if (autofuse::WhyUntrusted("/nonexistent").empty()) std::abort();
  autofuse::WhyUntrusted(file);
}

void Parallel(int64_t rounds) {
  tensorflow::thread::ThreadPool pool(3);
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t total = Below(200);
    std::vector<int64_t> seen(static_cast<size_t>(total), 0);  // plain: ranges must not overlap
    autofuse::ParallelRanges(round % 5 == 0 ? nullptr : &pool, 4, total, 1000000,
                             [&](int64_t begin, int64_t end) {
                               for (int64_t i = begin; i < end; ++i) ++seen[i];
                             });
    if (std::accumulate(seen.begin(), seen.end(), int64_t{0}) != total) std::abort();
  }
}

void SmallArrays() {
  for (size_t size = 0; size < 20; ++size) {
    autofuse::SmallArray<int64_t, 8> array(size);
    for (size_t i = 0; i < size; ++i) array[i] = static_cast<int64_t>(i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rounds = argc > 1 ? std::atoll(argv[1]) : 1000;
  const int64_t good = Specs(rounds);
  Digests(argv[0]);
  SmallArrays();
  Parallel(rounds / 20);
  std::printf("%lld good specs\n", static_cast<long long>(good));
  return good > 0 ? 0 : 1;
}
