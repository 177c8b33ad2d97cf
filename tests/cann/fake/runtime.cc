// A runtime without a device: aclrtc builds kernels for the twin with the host's compiler, and a
// launch runs them there. Every buffer must be one this file knows.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>

#include "acl/acl.h"
#include "acl/acl_rt_compile.h"
#include "fake.h"

namespace {

struct Program {
  std::string source, name, log, binary;
};

// Goes behind the kernel text: runs the entry on the twin of an Ascend910B.
const char* const kDriver = R"(
#include "twin_driver.h"
#include "twin_core.cc"
ASCENDC_TWIN_ENTRY(%ENTRY%)
extern "C" __attribute__((visibility("default"))) int32_t fake_launch(
    uint8_t* const* pointers, const int64_t* bytes, const int32_t* kinds, int32_t buffers,
    const uint8_t* tiling, int64_t tiling_bytes, int32_t blocks, int32_t cores, char* text) {
  static int64_t read[64], fetched[64], written[64];
  AscendcTwinRun run = {};
  run.pointers = pointers;
  run.bytes = bytes;
  run.kinds = kinds;
  run.read = read;
  run.fetched = fetched;
  run.written = written;
  run.tiling = tiling;
  run.tiling_bytes = tiling_bytes;
  run.buffers = buffers;
  run.block_dim = blocks;
  run.vector_cores = cores;
  run.ub_bytes = 184 * 1024;
  run.check = 1;
  run.chip = "Ascend910B";
  run.lacks = "";
  run.npu_arch = 2201;
  const int64_t limits[] = {255, 8, 64, 4095, 2097151};
  for (int i = 0; i < 5; ++i) run.limits[i] = limits[i];
  static AscendcTwinReport report;
  report = AscendcTwinReport();
  const int32_t code = ascendc_twin_run(&run, &report);
  std::snprintf(text, 512, "%s %s %s", report.rule, report.api, report.text);
  return code;
}
)";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Addresses of tensors come first, then that of the workspace, then the tiling structure.
aclError Launch(aclrtFuncHandle function, uint32_t blocks, const void* args, size_t size) {
  using Run = int32_t (*)(uint8_t* const*, const int64_t*, const int32_t*, int32_t, const uint8_t*,
                          int64_t, int32_t, int32_t, char*);
  const auto* words = static_cast<const uint64_t*>(args);
  std::vector<uint8_t*> pointers;
  std::vector<int64_t> bytes;
  std::vector<int32_t> kinds;
  bool tensors = true;
  for (size_t i = 0; tensors && i < size / sizeof(uint64_t); ++i) {
    const Buffer* buffer = fake::Find(reinterpret_cast<void*>(words[i]));
    tensors = buffer != nullptr && buffer->kind < 2;
    pointers.push_back(reinterpret_cast<uint8_t*>(words[i]));
    bytes.push_back(buffer == nullptr ? 0 : buffer->bytes);
    kinds.push_back(tensors ? buffer->kind : 2);
  }
  if (tensors) return 107002;
  fake::Blocks() = static_cast<int>(blocks);
  char text[512];
  const auto* tiling = reinterpret_cast<const uint8_t*>(words + pointers.size());
  const size_t rest = size - pointers.size() * sizeof(uint64_t);
  if (reinterpret_cast<Run>(function)(
          pointers.data(), bytes.data(), kinds.data(), static_cast<int32_t>(bytes.size()), tiling,
          static_cast<int64_t>(rest), static_cast<int32_t>(blocks), fake::kCores, text) == 0) {
    return ACL_SUCCESS;
  }
  aclAppLog(ACL_ERROR, "", "", 0, "twin: %s", text);
  return 507015;
}

}  // namespace

extern "C" {

void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char* fmt, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, fmt);
  vsnprintf(text, sizeof(text), fmt, arguments);
  va_end(arguments);
  fake::Log() += std::string(text) + "\n";
}

aclError aclrtGetDevice(int32_t* device) {
  *device = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr, int64_t* value) {
  *value = fake::kCores;
  return ACL_SUCCESS;
}

aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int, const char**,
                          const char**) {
  *prog = new Program{src, name, "", ""};
  return ACL_SUCCESS;
}

aclError aclrtcCompileProg(aclrtcProg prog, int option_count, const char** options) {
  auto* program = static_cast<Program*>(prog);
  if (option_count != 1 || std::string(options[0]) != "--npu-arch=dav-2201") return 145000;
  std::smatch found;
  const std::regex entry("__global__ [^;{]*?void (\\w+)\\(");
  if (!std::regex_search(program->source, found, entry)) {
    program->log = "no entry function";
    return 145001;
  }
  ++fake::Compiles();
  static std::map<std::string, std::string> built;  // the host's compiler takes its time
  const auto known = built.find(program->source);
  if (known != built.end()) {
    program->binary = known->second;
    return ACL_SUCCESS;
  }
  char folder[] = "/tmp/fake_rtc_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 145002;
  const std::string base(folder);
  std::string driver(kDriver);
  driver.replace(driver.find("%ENTRY%"), 7, found[1].str());
  std::ofstream(base + "/k.cc") << program->source << driver;
  const std::string command = "g++ -O1 -std=c++17 -fPIC -shared -pthread -ffp-contract=off -w -I" +
                              std::string(std::getenv("AUTOFUSE_TWIN_DIR")) + " -o " + base +
                              "/k.so " + base + "/k.cc > " + base + "/log 2>&1";
  const int code = std::system(command.c_str());
  program->log = ReadAll(base + "/log");
  program->binary = ReadAll(base + "/k.so");
  if (std::system(("rm -r " + base).c_str()) != 0) return 145003;
  if (code == 0) built[program->source] = program->binary;
  return code == 0 ? ACL_SUCCESS : 145004;
}

aclError aclrtcDestroyProg(aclrtcProg* prog) {
  delete static_cast<Program*>(*prog);
  *prog = nullptr;
  return ACL_SUCCESS;
}

aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* size) {
  *size = static_cast<Program*>(prog)->binary.size();
  return ACL_SUCCESS;
}

aclError aclrtcGetBinData(aclrtcProg prog, char* data) {
  const std::string& binary = static_cast<Program*>(prog)->binary;
  std::memcpy(data, binary.data(), binary.size());
  return ACL_SUCCESS;
}

aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* size) {
  *size = static_cast<Program*>(prog)->log.size();
  return ACL_SUCCESS;
}

aclError aclrtcGetCompileLog(aclrtcProg prog, char* log) {
  const std::string& text = static_cast<Program*>(prog)->log;
  std::memcpy(log, text.data(), text.size());
  return ACL_SUCCESS;
}

aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                 const aclrtBinaryLoadOptions* options, aclrtBinHandle* handle) {
  if (options->numOpt != 1 ||
      (options->options[0].value.magic != ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE &&
       options->options[0].value.magic != ACL_RT_BINARY_MAGIC_ELF_AICORE)) {
    return 107000;
  }
  char path[] = "/tmp/fake_bin_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, data, length) != static_cast<ssize_t>(length)) return 107001;
  close(file);
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  return *handle == nullptr ? 107004 : ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name,
                                aclrtFuncHandle* function) {
  if (std::string(name) != "autofused_kernel") return 107005;
  *function = dlsym(handle, "fake_launch");
  return *function == nullptr ? 107005 : ACL_SUCCESS;
}

aclError aclrtBinaryUnLoad(aclrtBinHandle handle) { return dlclose(handle); }

aclError aclrtLaunchKernelV2(aclrtFuncHandle function, uint32_t blocks, const void* args,
                             size_t size, aclrtLaunchKernelCfg*, aclrtStream) {
  if (fake::Find(const_cast<void*>(args)) == nullptr) return 107006;  // not device memory
  return Launch(function, blocks, args, size);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle function, uint32_t blocks, aclrtStream,
                                       aclrtLaunchKernelCfg*, void* args, size_t size,
                                       aclrtPlaceHolderInfo*, size_t holder_count) {
  return holder_count == 0 ? Launch(function, blocks, args, size) : 107007;
}

}  // extern "C"
