// Stand-in for tests: a prototype is checked for its form and its attributes are counted.
#ifndef STANDIN_GRAPH_OPERATOR_REG_H_
#define STANDIN_GRAPH_OPERATOR_REG_H_

#include <string>
#include <vector>

#include "graph/types.h"

namespace ge {

struct TensorType {
  static TensorType ALL() { return TensorType(); }
};
using String = std::string;
using Int = int64_t;
using ListInt = std::vector<int64_t>;

// The last prototype that was declared.
struct Prototype {
  std::vector<std::string> attributes;
  static Prototype& Last() {
    static Prototype last;
    return last;
  }
};

class PrototypeRow {
 public:
  explicit PrototypeRow(const char*) { Prototype::Last() = Prototype(); }
  PrototypeRow& Port(const char*, const TensorType&) { return *this; }
  template <typename T>
  PrototypeRow& Attribute(const char* name, const T&) {
    Prototype::Last().attributes.push_back(name);
    return *this;
  }
};

#define REG_OP(type) static const PrototypeRow g_row_##type = PrototypeRow(#type)
#define DYNAMIC_INPUT(name, type) Port(#name, type)
#define DYNAMIC_OUTPUT(name, type) Port(#name, type)
#define REQUIRED_ATTR(name, kind) Attribute(#name, kind())
#define ATTR(name, kind, ...) Attribute(#name, kind(__VA_ARGS__))
#define OP_END_FACTORY_REG(type) Port("", TensorType::ALL());

}  // namespace ge

#endif  // STANDIN_GRAPH_OPERATOR_REG_H_
