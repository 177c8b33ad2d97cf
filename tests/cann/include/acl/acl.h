// Stand-in for tests: the calls of the runtime that this project uses.
#ifndef STANDIN_ACL_ACL_H_
#define STANDIN_ACL_ACL_H_

#include <cstddef>
#include <cstdint>

extern "C" {

typedef int aclError;
typedef void* aclrtStream;
typedef void* aclrtBinHandle;
typedef void* aclrtFuncHandle;
typedef enum { ACL_DEBUG = 0, ACL_INFO = 1, ACL_WARNING = 2, ACL_ERROR = 3 } aclLogLevel;
typedef enum { ACL_DEV_ATTR_VECTOR_CORE_NUM = 201 } aclrtDevAttr;
typedef enum { ACL_RT_BINARY_LOAD_OPT_MAGIC = 2 } aclrtBinaryLoadOptionType;
typedef enum { ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE = 1 } aclrtLaunchKernelAttrId;

static const aclError ACL_SUCCESS = 0;
#define ACL_RT_BINARY_MAGIC_ELF_AICORE 0x43554245U
#define ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE 0x41415246U

typedef struct {
  aclrtLaunchKernelAttrId id;
  union {
    uint8_t schemMode;
  } value;
} aclrtLaunchKernelAttr;

typedef struct {
  aclrtLaunchKernelAttr* attrs;
  size_t numAttrs;
} aclrtLaunchKernelCfg;

typedef struct {
  aclrtBinaryLoadOptionType type;
  union {
    uint32_t magic;
  } value;
} aclrtBinaryLoadOption;

typedef struct {
  aclrtBinaryLoadOption* options;
  size_t numOpt;
} aclrtBinaryLoadOptions;

typedef struct {
  uint32_t addrOffset;
  uint32_t dataOffset;
} aclrtPlaceHolderInfo;

void aclAppLog(aclLogLevel level, const char* func, const char* file, uint32_t line,
               const char* fmt, ...);
aclError aclrtGetDevice(int32_t* device);
aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attr, int64_t* value);
aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                 const aclrtBinaryLoadOptions* options, aclrtBinHandle* handle);
aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name,
                                aclrtFuncHandle* function);
aclError aclrtBinaryUnLoad(aclrtBinHandle handle);
aclError aclrtLaunchKernelV2(aclrtFuncHandle function, uint32_t blocks, const void* args,
                             size_t size, aclrtLaunchKernelCfg* config, aclrtStream stream);
aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle function, uint32_t blocks,
                                       aclrtStream stream, aclrtLaunchKernelCfg* config, void* args,
                                       size_t size, aclrtPlaceHolderInfo* holders,
                                       size_t holder_count);

}  // extern "C"

#endif  // STANDIN_ACL_ACL_H_
