// Ctrl-C while graphs are optimized.
//
// Python tells its main thread only, and not before that is back from TensorFlow. A graph that is
// optimized on another thread learns of it here.
#ifndef AUTOFUSE_TF_INTERRUPTS_H_
#define AUTOFUSE_TF_INTERRUPTS_H_

namespace autofuse {

// Between the two calls SIGINT is noted before it goes on to whoever handles it. Calls may nest; no
// two at the same time.
void WatchInterrupts();
void UnwatchInterrupts();

// An interrupt is on its way to the user's code. Until it is there, graphs run as they are.
bool InterruptPending();
void SetInterruptPending(bool pending);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_INTERRUPTS_H_
