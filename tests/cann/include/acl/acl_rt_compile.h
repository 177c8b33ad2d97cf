// Stand-in for tests: compiling at run time.
#ifndef STANDIN_ACL_ACL_RT_COMPILE_H_
#define STANDIN_ACL_ACL_RT_COMPILE_H_

#include "acl/acl.h"

extern "C" {

typedef void* aclrtcProg;

aclError aclrtcCreateProg(aclrtcProg* prog, const char* src, const char* name, int header_count,
                          const char** headers, const char** include_names);
aclError aclrtcCompileProg(aclrtcProg prog, int option_count, const char** options);
aclError aclrtcDestroyProg(aclrtcProg* prog);
aclError aclrtcGetBinDataSize(aclrtcProg prog, size_t* size);
aclError aclrtcGetBinData(aclrtcProg prog, char* data);
aclError aclrtcGetCompileLogSize(aclrtcProg prog, size_t* size);
aclError aclrtcGetCompileLog(aclrtcProg prog, char* log);

}  // extern "C"

#endif  // STANDIN_ACL_ACL_RT_COMPILE_H_
