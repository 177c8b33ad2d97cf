// What a broken rule says: the line of the kernel, the API call, the rule, and a sentence.
#ifndef ASCENDC_TWIN_VIOLATION_H_
#define ASCENDC_TWIN_VIOLATION_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

// What needs no types of the kernel is compiled once, as a library of its own: the .cc files here.
#define ASCENDC_TWIN_CORE __attribute__((visibility("default")))

namespace ascendc_twin {

// A line of the kernel text: the place of the API call that has Loc::Here() as default argument.
struct Loc {
  int line;
  static constexpr Loc Here(int line = __builtin_LINE()) { return Loc{line}; }
};

class Violation : public std::exception {
 public:
  Violation(int at, std::string name, std::string broken, std::string detail)
      : line(at), api(std::move(name)), rule(std::move(broken)), text(std::move(detail)) {}
  const char* what() const noexcept override { return text.c_str(); }
  int line;
  std::string api, rule, text;
};

[[noreturn]] ASCENDC_TWIN_CORE void Refuse(Loc at, const char* api, const char* rule,
                                           const char* format, ...)
    __attribute__((format(printf, 4, 5)));

// A stride that the instruction holds in 8 or 16 bits; a larger one would wrap without a word.
template <class Field>
Field Stride(int64_t value, const char* type, Loc at) {
  constexpr int64_t most = static_cast<Field>(~Field{0});
  if (value < 0 || value > most) {
    Refuse(at, type, "stride", "%lld is outside 0..%lld", static_cast<long long>(value),
           static_cast<long long>(most));
  }
  return static_cast<Field>(value);
}

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_VIOLATION_H_
