// Stand-in for tests: only what this project uses, named as CANN names it.
#ifndef STANDIN_GRAPH_ASCEND_STRING_H_
#define STANDIN_GRAPH_ASCEND_STRING_H_

#include <string>

namespace ge {

class AscendString {
 public:
  AscendString() = default;
  AscendString(const char* text) : text_(text) {}
  const char* GetString() const { return text_.c_str(); }
  bool operator<(const AscendString& other) const { return text_ < other.text_; }
  bool operator==(const AscendString& other) const { return text_ == other.text_; }

 private:
  std::string text_;
};

}  // namespace ge

#endif  // STANDIN_GRAPH_ASCEND_STRING_H_
