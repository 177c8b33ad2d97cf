/* What the tiling library of a kernel bundle exports: the host's half of a kernel for the NPU.
 *
 * Plain C; the structure that `data` points to is the kernel's own, a row of int64.
 */
#ifndef AUTOFUSE_CORE_DEVICE_TILING_H_
#define AUTOFUSE_CORE_DEVICE_TILING_H_

#include <stdint.h>

#define AUTOFUSE_DEVICE_ABI_VERSION 1

#ifdef __cplusplus
#define AUTOFUSE_DEVICE_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define AUTOFUSE_DEVICE_EXPORT __attribute__((visibility("default")))
#endif

/* The version the library was generated for. */
AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_abi_version(void);

/* Name of the kernel's entry function. */
AUTOFUSE_DEVICE_EXPORT const char* autofuse_device_entry(void);

/* The chip that the kernel was scheduled for: its name and the number of its architecture. */
AUTOFUSE_DEVICE_EXPORT const char* autofuse_device_chip(void);
AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_npu_arch(void);

/* 1 for a kernel whose blocks wait for each other: all of them must be started at once. */
AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_together(void);

/* Bytes of the tiling structure, which is the kernel's last argument, by value. */
AUTOFUSE_DEVICE_EXPORT int64_t autofuse_device_tiling_bytes(void);

/* Fills *data for merged axis sizes and run-time strides (csrc/core/shape_spec.h) on `cores` vector
 * cores; *blocks gets the number of blocks to launch, *workspace the bytes of scratch in global
 * memory for the kernel, behind the 16 MiB that AscendC::GetUserWorkspace skips. Returns 0, or
 * another value when the kernel cannot run such sizes. */
AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_tiling(const int64_t* sizes, const int64_t* strides,
                                                      int64_t cores, void* data, int64_t* blocks,
                                                      int64_t* workspace);

#endif /* AUTOFUSE_CORE_DEVICE_TILING_H_ */
