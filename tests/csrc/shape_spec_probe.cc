// ShapeSpec behind C functions, for the tests to call.
#include <cstring>

#include "shape_spec.h"

namespace {

int Copy(const std::string& error, char* text) {
  std::strncpy(text, error.c_str(), 511);
  return 1;
}

}  // namespace

extern "C" {

// counts: axes, merged axes, strides, input dims, output dims. Returns 1 with the error in `text`.
int probe_parse(const char* spec_text, int64_t* counts, char* text) {
  autofuse::ShapeSpec spec;
  std::string error;
  if (!autofuse::ShapeSpec::Parse(spec_text, &spec, &error)) return Copy(error, text);
  counts[0] = spec.axes();
  counts[1] = spec.merged_axes();
  counts[2] = spec.stride_count();
  counts[3] = spec.flat_dims();
  counts[4] = 0;
  for (const auto& output : spec.outputs()) counts[4] += output.dims.size();
  return 0;
}

int probe_evaluate(const char* spec_text, const int64_t* flat, int64_t* axes, int64_t* merged,
                   int64_t* strides, int64_t* output_dims, char* text) {
  autofuse::ShapeSpec spec;
  std::string error;
  if (!autofuse::ShapeSpec::Parse(spec_text, &spec, &error)) return Copy(error, text);
  if (!spec.BindAxes(flat, axes, &error)) return Copy(error, text);
  spec.MergeSizes(axes, merged);
  spec.Strides(flat, axes, strides);
  for (const auto& output : spec.outputs()) {
    for (const auto& dim : output.dims) {
      *output_dims++ = autofuse::ShapeSpec::DimSize(dim, axes);
    }
  }
  return 0;
}
}
