#include "device_binary.h"

#include <memory>

#include "acl/acl_rt_compile.h"

namespace autofuse {
namespace {

constexpr size_t kShownLog = 2000;

// A program of aclrtc that is destroyed in any case.
class Program {
 public:
  ~Program() {
    if (program_ != nullptr) (void)aclrtcDestroyProg(&program_);
  }
  aclrtcProg* address() { return &program_; }
  aclrtcProg get() const { return program_; }

 private:
  aclrtcProg program_ = nullptr;
};

bool Refuse(const char* call, aclError code, std::string* error) {
  *error = std::string(call) + " failed with " + std::to_string(code);
  return false;
}

std::string Log(aclrtcProg program) {
  size_t size = 0;
  if (aclrtcGetCompileLogSize(program, &size) != ACL_SUCCESS || size == 0) return "";
  std::string text(size + 1, '\0');
  if (aclrtcGetCompileLog(program, &text[0]) != ACL_SUCCESS) return "";
  text.resize(text.find('\0'));
  return ": " + text.substr(0, kShownLog);
}

}  // namespace

bool CompileKernel(const std::string& source, const std::string& name, int32_t npu_arch,
                   Bytes* binary, std::string* error) {
  Program program;
  aclError code =
      aclrtcCreateProg(program.address(), source.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (code != ACL_SUCCESS) return Refuse("aclrtcCreateProg", code, error);
  const std::string arch = "--npu-arch=dav-" + std::to_string(npu_arch);
  const char* options[] = {arch.c_str()};
  code = aclrtcCompileProg(program.get(), 1, options);
  if (code != ACL_SUCCESS) {
    (void)Refuse("aclrtcCompileProg", code, error);
    *error += Log(program.get());
    return false;
  }
  size_t size = 0;
  code = aclrtcGetBinDataSize(program.get(), &size);
  if (code != ACL_SUCCESS || size == 0) return Refuse("aclrtcGetBinDataSize", code, error);
  binary->resize(size);
  code = aclrtcGetBinData(program.get(), reinterpret_cast<char*>(binary->data()));
  return code == ACL_SUCCESS || Refuse("aclrtcGetBinData", code, error);
}

DeviceBinary::~DeviceBinary() {
  if (binary_ != nullptr) (void)aclrtBinaryUnLoad(binary_);
}

aclrtFuncHandle DeviceBinary::Function(const char* entry, bool together, std::string* error) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (function_ != nullptr) return function_;
  aclrtBinaryLoadOption option;
  option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
  // Blocks that wait for each other make a mixed kernel, whose ELF is of another kind.
  option.value.magic =
      together ? ACL_RT_BINARY_MAGIC_ELF_AICORE : ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE;
  aclrtBinaryLoadOptions options;
  options.options = &option;
  options.numOpt = 1;
  aclError code = ACL_SUCCESS;
  if (binary_ == nullptr) {
    code = aclrtBinaryLoadFromData(bytes_.data(), bytes_.size(), &options, &binary_);
  }
  if (code != ACL_SUCCESS) {
    binary_ = nullptr;
    (void)Refuse("aclrtBinaryLoadFromData", code, error);
    return nullptr;
  }
  code = aclrtBinaryGetFunction(binary_, entry, &function_);
  if (code != ACL_SUCCESS) {
    function_ = nullptr;
    (void)Refuse("aclrtBinaryGetFunction", code, error);
  }
  return function_;
}

}  // namespace autofuse
