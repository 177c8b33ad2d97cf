#include "strict_error.h"

#include <unordered_map>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_compat.h"

namespace autofuse {
namespace {

constexpr char kErrorOp[] = "AutofuseError";
constexpr char kErrorNode[] = "autofuse_strict_error";

// Stateful, so that no other optimizer folds it away.
REGISTER_OP("AutofuseError")
    .Attr("message: string")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc("Cannot run: the failure `message` of a strict rewrite.");

class AutofuseErrorOp : public tensorflow::OpKernel {
 public:
  explicit AutofuseErrorOp(tensorflow::OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string message;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("message", &message));
    OP_REQUIRES_OK(ctx, tensorflow::errors::Internal("tf_autofuse (strict): ", message));
  }

  void Compute(tensorflow::OpKernelContext*) override {}
};

// The node stands on the device of a node it blocks.
REGISTER_KERNEL_BUILDER(Name("AutofuseError").Device(tensorflow::DEVICE_CPU), AutofuseErrorOp);
REGISTER_KERNEL_BUILDER(Name("AutofuseError").Device(tensorflow::DEVICE_GPU), AutofuseErrorOp);

// "^name", "name:1" and "name" all mean the node `name`.
std::string NodeNameOf(const std::string& input) {
  const size_t start = !input.empty() && input[0] == '^' ? 1 : 0;
  return input.substr(start, input.find(':') - start);
}

bool IsSink(const tensorflow::NodeDef& node) {
  return node.op() == "_Retval" || node.op() == "Retval";
}

bool IsSource(const tensorflow::NodeDef& node) {
  return node.op() == "_Arg" || node.op() == "Arg" || node.op() == "Placeholder";
}

}  // namespace

void AddErrorNode(const std::string& text, const std::vector<std::string>& fetch,
                  tensorflow::GraphDef* graph) {
  std::unordered_map<std::string, tensorflow::NodeDef*> nodes;
  for (auto& node : *graph->mutable_node()) nodes[node.name()] = &node;
  if (nodes.count(kErrorNode) > 0) return;
  std::string device;  // TensorFlow places no nodes after this point: it must be set
  if (graph->node_size() > 0) device = graph->node(0).device();
  for (const std::string& tensor : fetch) {
    auto found = nodes.find(NodeNameOf(tensor));
    // The return nodes of a function are rebuilt without control inputs: take what they return.
    if (found != nodes.end() && IsSink(*found->second) && found->second->input_size() > 0) {
      found = nodes.find(NodeNameOf(found->second->input(0)));
    }
    if (found == nodes.end() || IsSource(*found->second)) continue;
    found->second->add_input(std::string("^") + kErrorNode);
    device = found->second->device();
  }
  tensorflow::NodeDef* error = graph->add_node();
  error->set_name(kErrorNode);
  error->set_op(kErrorOp);
  (*error->mutable_attr())["message"].set_s(text);
  error->set_device(device);
}

}  // namespace autofuse
