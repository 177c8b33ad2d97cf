// Registers the Python passes with a GE that has no Python passes of its own. GE loads this
// library from opp/vendors/*/custom_fusion_passes in every process, also in those without Python,
// so it knows nothing of Python itself: the bridge beside it is loaded with the first graph.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "python_bridge.h"
#include "register/register_custom_pass.h"

namespace autofuse {
namespace {

#ifndef AUTOFUSE_LIBPYTHON
#define AUTOFUSE_LIBPYTHON ""
#endif

void Warn(const std::string& text) {
  aclAppLog(ACL_WARNING, __FUNCTION__, __FILE__, __LINE__, "tf_autofuse: %s", text.c_str());
}

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const size_t end = path.find_last_of('/');
  return end == std::string::npos ? "." : path.substr(0, end);
}

// The interpreter of this process, else the one of the build, or the one that is named.
bool HavePython() {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return true;
  const char* named = std::getenv("AUTOFUSE_LIBPYTHON");
  const char* path = named != nullptr ? named : AUTOFUSE_LIBPYTHON;
  if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
  Warn(std::string("no Python in this process, and none in '") + path + "': " + dlerror());
  return false;
}

AutofuseRunPasses LoadBridge() {
  if (!HavePython()) return nullptr;
  const std::string path = OwnFolder() + "/python/libtf_autofuse_bridge.so";
  void* bridge = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = bridge == nullptr ? nullptr : dlsym(bridge, AUTOFUSE_RUN_PASSES);
  if (function == nullptr) Warn(dlerror());
  return reinterpret_cast<AutofuseRunPasses>(function);
}

// Without Python or the bridge the graph stays as it is: GE must not fail for that.
ge::Status RunPasses(ge::GraphPtr& graph, ge::CustomPassContext& context) {
  static const AutofuseRunPasses run = LoadBridge();
  return run == nullptr || graph == nullptr ? ge::SUCCESS : run(&graph, &context);
}

}  // namespace
}  // namespace autofuse

REGISTER_CUSTOM_PASS("TfAutofusePassBridge")
    .CustomPassFn(autofuse::RunPasses)
#ifdef AUTOFUSE_HAS_PASS_STAGE
    .Stage(ge::CustomPassStage::kAfterBuiltinFusionPass)
#endif
    ;
