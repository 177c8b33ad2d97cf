/* The C interface between a generated kernel library and whoever runs it.
 *
 * A library holds one kernel and exports three of the functions declared at the end, or all. A
 * caller first checks autofuse_abi_version(), then asks autofuse_tiling() once per set of sizes and
 * strides, then calls autofuse_run() for every phase in order, each phase cut into ranges of blocks
 * that may run at the same time.
 *
 * Plain C; the layout of the structures is part of the interface, changed only with the version.
 */
#ifndef AUTOFUSE_CORE_KERNEL_ABI_H_
#define AUTOFUSE_CORE_KERNEL_ABI_H_

#include <stdint.h>

#define AUTOFUSE_ABI_VERSION 3

/* Limits of AutofuseTiling. */
#define AUTOFUSE_MAX_PHASES 12
#define AUTOFUSE_MAX_PARAMS 48

/* Return values of autofuse_run. */
#define AUTOFUSE_OK 0
#define AUTOFUSE_DIVISION_BY_ZERO 1 /* an integer division or modulus had a zero divisor */
#define AUTOFUSE_OUT_OF_RANGE 2     /* an index or label has no place in what it picks from */

/* The functions of a kernel library: C names, visible to dlsym. */
#ifdef __cplusplus
#define AUTOFUSE_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define AUTOFUSE_EXPORT __attribute__((visibility("default")))
#endif

/* The data of one launch. Nothing is owned; all pointers outlive the launch. Tensors are dense and
 * row-major; the pointer of an empty tensor may be null. */
typedef struct AutofuseArgs {
  const void* const* inputs; /* one per input */
  void* const* outputs;      /* one per output */
  const int64_t* sizes;      /* elements along each merged axis */
  const int64_t* strides;    /* the run-time table: a row for each input that is not simply dense,
                                in input order, with the element stride along every merged axis and
                                the offset of the first point, then two numbers for each interval of
                                an axis: its first coordinate and the one behind its last; may be
                                null if there is none of them */
  void* workspace;           /* workspace_bytes of scratch, aligned to 64, contents undefined; null
                                if the kernel asked for none */
} AutofuseArgs;

/* How one set of sizes is cut. Filled by autofuse_tiling, read by the caller and autofuse_run. */
typedef struct AutofuseTiling {
  int64_t phases;                          /* in use: 0 (nothing to do) .. AUTOFUSE_MAX_PHASES */
  int64_t blocks[AUTOFUSE_MAX_PHASES];     /* independent blocks of each phase */
  int64_t block_cost[AUTOFUSE_MAX_PHASES]; /* rough cost of one block in nanoseconds */
  int64_t workspace_bytes;                 /* scratch shared by all phases of a launch */
  int64_t p[AUTOFUSE_MAX_PARAMS];          /* the kernel's own parameters */
} AutofuseTiling;

/* The version this library was generated for: AUTOFUSE_ABI_VERSION. */
AUTOFUSE_EXPORT int32_t autofuse_abi_version(void);

/* Fills *out for the given merged sizes, the run-time table (`strides` of AutofuseArgs) and at most
 * `threads` threads. Returns 0, or another value when the kernel cannot run such sizes. Depends on
 * its arguments only; any thread may call it. */
AUTOFUSE_EXPORT int32_t autofuse_tiling(const int64_t* sizes, int32_t n_sizes,
                                        const int64_t* strides, int32_t threads,
                                        AutofuseTiling* out);

/* Runs blocks [begin, end) of one phase. A phase may start only when all blocks of the one before
 * have ended; ranges of one phase may run in parallel. Outputs without elements may be skipped; a
 * reduction over an empty axis writes its identity. Returns AUTOFUSE_OK or another value above. */
AUTOFUSE_EXPORT int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling* tiling,
                                     int32_t phase, int64_t begin, int64_t end);

/* Only in kernels that read at computed coordinates: after autofuse_run has returned
 * AUTOFUSE_OUT_OF_RANGE on this thread, a coordinate that was none, and the size of its dim; -1 as
 * the size where something else was out of range. */
AUTOFUSE_EXPORT void autofuse_refused(int64_t* coordinate, int64_t* size);

/* Only in kernels that can run in place: the input whose memory `output` may take, -1 for none. No
 * input is named for two outputs. */
AUTOFUSE_EXPORT int32_t autofuse_reused(int32_t output);

#endif /* AUTOFUSE_CORE_KERNEL_ABI_H_ */
