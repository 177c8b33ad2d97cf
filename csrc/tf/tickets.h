// Kernels that are built in the background: which of them are ready.
#ifndef AUTOFUSE_TF_TICKETS_H_
#define AUTOFUSE_TF_TICKETS_H_

#include <atomic>
#include <string>

namespace autofuse {

// Whether the kernel of a ticket may be used; false until PublishTicket. Never destroyed.
const std::atomic<bool>* FindTicket(const std::string& ticket);

// Lets everybody who waits for `ticket` use its kernel from the next call on.
void PublishTicket(const std::string& ticket);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_TICKETS_H_
