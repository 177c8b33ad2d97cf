/* Numbers of a kernel that are no part of its code, such as one over the size of a tensor.
 *
 * Kernels that differ in nothing else are compiled once: the library of another one is that of the
 * first with its own numbers written over (tf_autofuse/build/numbers.py), which finds them by the
 * mark. So the compiler must not know that nobody changes them.
 */
#ifndef AUTOFUSE_HOST_NUMBERS_H_
#define AUTOFUSE_HOST_NUMBERS_H_

#define AUTOFUSE_NUMBERS_MARK "autofuse: numbers"

template <int count>
struct Numbers {
  char mark[24];
  double values[count];
};

#define AUTOFUSE_NUMBERS(count, ...)                                   \
  extern __attribute__((visibility("hidden"))) Numbers<count> numbers; \
  Numbers<count> numbers = {AUTOFUSE_NUMBERS_MARK, {__VA_ARGS__}};

#endif /* AUTOFUSE_HOST_NUMBERS_H_ */
