// Stand-in for tests: only what this project uses, named as CANN names it.
#ifndef STANDIN_GRAPH_ERROR_CODES_H_
#define STANDIN_GRAPH_ERROR_CODES_H_

#include <cstdint>

namespace ge {

using graphStatus = uint32_t;
using Status = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;

}  // namespace ge

#endif  // STANDIN_GRAPH_ERROR_CODES_H_
