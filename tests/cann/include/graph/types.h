// Stand-in for tests: only what this project uses, named as CANN names it.
#ifndef STANDIN_GRAPH_TYPES_H_
#define STANDIN_GRAPH_TYPES_H_

#include <cstdint>

namespace ge {

enum DataType : int32_t { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT32 = 3, DT_INT64 = 9, DT_BOOL = 12 };
enum Format : int32_t { FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2 };
enum Placement : int32_t { kPlacementHost = 0, kPlacementDevice = 1 };
using float32_t = float;
using char_t = char;

}  // namespace ge

#endif  // STANDIN_GRAPH_TYPES_H_
