// Stand-in for tests: registration of passes, and the context they get.
#ifndef STANDIN_REGISTER_REGISTER_CUSTOM_PASS_H_
#define STANDIN_REGISTER_REGISTER_CUSTOM_PASS_H_

#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"

namespace ge {

class CustomPassContext {
 public:
  void SetErrorMessage(const AscendString& text) { error_ = text; }
  AscendString GetErrorMessage() const { return error_; }

 private:
  AscendString error_;
};

enum class CustomPassStage : uint32_t { kBeforeInferShape = 0, kAfterBuiltinFusionPass = 3 };
using CustomPassFunc = std::function<Status(GraphPtr&, CustomPassContext&)>;

class PassRegistrationData {
 public:
  explicit PassRegistrationData(const std::string& name) : name_(name) {}
  PassRegistrationData& CustomPassFn(const CustomPassFunc& function) {
    Table()[name_] = function;
    return *this;
  }
  PassRegistrationData& Stage(CustomPassStage) { return *this; }
  static std::map<std::string, CustomPassFunc>& Table() {
    static std::map<std::string, CustomPassFunc> table;
    return table;
  }

 private:
  std::string name_;
};

}  // namespace ge

#define REGISTER_CUSTOM_PASS(name) \
  static const ge::PassRegistrationData g_custom_pass = ge::PassRegistrationData(name)

#endif  // STANDIN_REGISTER_REGISTER_CUSTOM_PASS_H_
