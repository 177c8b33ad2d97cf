// DataCopy, DataCopyPad and the masked Copy.
#ifndef ASCENDC_TWIN_COPY_H_
#define ASCENDC_TWIN_COPY_H_

#include "sync.h"

namespace ascendc_twin {

// Bursts of a strided copy, all in bytes; pitches go from start to start.
struct Bursts {
  uint32_t count, bytes;
  uint64_t gm_pitch, ub_pitch;
};

inline uint64_t CeilBlock(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

template <class T>
void Combine(uint8_t* gm, const uint8_t* from, uint32_t bytes, Core::Atomic kind) {
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, gm + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    const auto x = Wide(a), y = Wide(b);
    const auto r = kind == Core::Atomic::kAdd   ? x + y
                   : kind == Core::Atomic::kMax ? (x > y ? x : y)
                                                : (x < y ? x : y);
    a = Narrow<T>::From(r);
    std::memcpy(gm + i, &a, sizeof(T));
  }
}

template <class T>
void CopyIn(const Local<T>& dst, const Global<T>& src, const Bursts& b, const char* api, Loc at) {
  if (b.count == 0 || b.bytes == 0) return;
  Core& core = This();
  core.CheckPlace(dst.place, (b.count - 1) * b.ub_pitch + CeilBlock(b.bytes), kBlockBytes, at, api);
  core.Issue(kPipeMte2);
  ++core.device.gm.copies_of[kPipeMte2];
  for (uint32_t i = 0; i < b.count; ++i) {
    const uint32_t ub = static_cast<uint32_t>(dst.place.address + i * b.ub_pitch);
    const uint8_t* gm = GmAccess::Read(src, i * b.gm_pitch, b.bytes, kPipeMte2, api, at);
    // The last block of a burst is written whole; what follows the data in it is filler.
    const uint32_t whole = static_cast<uint32_t>(CeilBlock(b.bytes));
    core.WriteUb(kPipeMte2, ub, whole, at, api);
    std::memcpy(core.ub.get() + ub, gm, b.bytes);
    core.SetValid(ub, b.bytes, true);
    core.SetValid(ub + b.bytes, whole - b.bytes, false);
    for (uint32_t k = b.bytes; k < whole; ++k) core.ub[ub + k] = gm[k % sizeof(T)];
  }
}

template <class T>
void CopyOut(const Global<T>& dst, const Local<T>& src, const Bursts& b, const char* api, Loc at) {
  if (b.count == 0 || b.bytes == 0) return;
  Core& core = This();
  core.CheckPlace(src.place, (b.count - 1) * b.ub_pitch + b.bytes, kBlockBytes, at, api);
  const bool atomic = core.atomic != Core::Atomic::kNone;
  if (atomic && core.atomic_type != TypeInfo<T>::kBit) {
    Refuse(at, api, "atomic", "atomics are set for another type than %s", TypeInfo<T>::kName);
  }
  core.Issue(kPipeMte3);
  ++core.device.gm.copies_of[kPipeMte3];
  for (uint32_t i = 0; i < b.count; ++i) {
    const uint32_t ub = static_cast<uint32_t>(src.place.address + i * b.ub_pitch);
    core.ReadUb(kPipeMte3, ub, b.bytes, at, api);
    core.RequireValid(ub, b.bytes, at, api);
    uint8_t* gm = GmAccess::Write(dst, i * b.gm_pitch, b.bytes, kPipeMte3, atomic, api, at);
    if (atomic) {
      Combine<T>(gm, core.ub.get() + ub, b.bytes, core.atomic);
    } else {
      std::memcpy(gm, core.ub.get() + ub, b.bytes);
    }
  }
}

// Rows with elements before or behind the data: paddingValue if isPad, else undefined.
template <class T>
void CopyInPadded(const Local<T>& dst, const Global<T>& src, const AscendC::DataCopyExtParams& p,
                  const AscendC::DataCopyPadExtParams<T>& pad, uint64_t pitch, Loc at) {
  if (p.blockCount == 0 || p.blockLen == 0) return;
  Core& core = This();
  const uint32_t left = pad.leftPadding * sizeof(T), right = pad.rightPadding * sizeof(T);
  const uint32_t row = left + p.blockLen + right;
  const uint32_t whole = static_cast<uint32_t>(CeilBlock(row));
  core.CheckPlace(dst.place, (p.blockCount - 1) * pitch + whole, kBlockBytes, at, "DataCopyPad");
  core.Issue(kPipeMte2);
  ++core.device.gm.copies_of[kPipeMte2];
  for (uint32_t i = 0; i < p.blockCount; ++i) {
    const uint32_t ub = static_cast<uint32_t>(dst.place.address + i * pitch);
    const uint64_t byte = i * (uint64_t{p.blockLen} + p.srcStride);
    const uint8_t* gm = GmAccess::Read(src, byte, p.blockLen, kPipeMte2, "DataCopyPad", at);
    core.WriteUb(kPipeMte2, ub, whole, at, "DataCopyPad");
    for (uint32_t k = 0; k < row; k += sizeof(T)) {
      std::memcpy(core.ub.get() + ub + k, &pad.paddingValue, sizeof(T));
    }
    std::memcpy(core.ub.get() + ub + left, gm, p.blockLen);
    core.SetValid(ub, whole, false);
    core.SetValid(ub + left, p.blockLen, true);
    if (pad.isPad) core.SetValid(ub, row, true);
  }
}

// UB to UB runs on the vector pipe.
template <class T>
void CopyWithin(const Local<T>& dst, const Local<T>& src, const Bursts& d, const Bursts& s,
                const char* api, Loc at) {
  if (d.count == 0 || d.bytes == 0) return;
  Core& core = This();
  core.CheckPlace(dst.place, (d.count - 1) * d.ub_pitch + d.bytes, kBlockBytes, at, api);
  core.CheckPlace(src.place, (s.count - 1) * s.ub_pitch + s.bytes, kBlockBytes, at, api);
  core.Issue(kPipeV);
  core.device.CountVector(api, sizeof(T),
                          (static_cast<int64_t>(d.count) * d.bytes + 255) / kRepeatBytes);
  for (uint32_t i = 0; i < d.count; ++i) {
    const uint32_t from = static_cast<uint32_t>(src.place.address + i * s.ub_pitch);
    const uint32_t to = static_cast<uint32_t>(dst.place.address + i * d.ub_pitch);
    core.ReadUb(kPipeV, from, s.bytes, at, api);
    core.WriteUb(kPipeV, to, d.bytes, at, api);
    std::memmove(core.ub.get() + to, core.ub.get() + from, d.bytes);
    if (core.check) std::memmove(core.valid.get() + to, core.valid.get() + from, d.bytes);
  }
}

inline void CheckWhole(uint64_t bytes, Loc at) {
  if (!This().check || bytes % kBlockBytes == 0) return;
  Refuse(at, "DataCopy", "copy size", "%llu bytes are no multiple of 32; use DataCopyPad",
         static_cast<unsigned long long>(bytes));
}

inline Bursts Single(uint64_t bytes) {
  return {bytes == 0 ? 0u : 1u, static_cast<uint32_t>(bytes), bytes, bytes};
}

inline void CheckGmAlignment(const void* p, uint32_t size, Loc at) {
  if (!This().check || reinterpret_cast<uintptr_t>(p) % size == 0) return;
  Refuse(at, "DataCopy", "alignment", "the GM address is not aligned to %u bytes", size);
}

template <class T>
void CheckPadLimits(const AscendC::DataCopyExtParams& p, Loc at) {
  RequireCall("DataCopyPad", at);
  if (!This().check) return;
  const ChipLimits& limits = This().device.limits;
  if (p.blockCount > limits.copy_blocks) {
    Refuse(at, "DataCopyPad", "limit", "blockCount %u, at most %lld", p.blockCount,
           static_cast<long long>(limits.copy_blocks));
  }
  if (p.blockLen > limits.copy_bytes) {
    Refuse(at, "DataCopyPad", "limit", "blockLen %u, at most %lld", p.blockLen,
           static_cast<long long>(limits.copy_bytes));
  }
  if (p.blockLen % sizeof(T) != 0) {
    Refuse(at, "DataCopyPad", "limit", "blockLen %u is no multiple of the %zu-byte element",
           p.blockLen, sizeof(T));
  }
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckWhole(uint64_t{count} * sizeof(T), at);
  ascendc_twin::CheckGmAlignment(src.GetPhyAddr(), sizeof(T), at);
  ascendc_twin::CopyIn(dst, src, ascendc_twin::Single(uint64_t{count} * sizeof(T)), "DataCopy", at);
}

template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckWhole(uint64_t{count} * sizeof(T), at);
  ascendc_twin::CheckGmAlignment(dst.GetPhyAddr(), sizeof(T), at);
  ascendc_twin::CopyOut(dst, src, ascendc_twin::Single(uint64_t{count} * sizeof(T)), "DataCopy",
                        at);
}

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckWhole(uint64_t{count} * sizeof(T), at);
  const ascendc_twin::Bursts b = ascendc_twin::Single(uint64_t{count} * sizeof(T));
  ascendc_twin::CopyWithin(dst, src, b, b, "DataCopy", at);
}

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckGmAlignment(src.GetPhyAddr(), sizeof(T), at);
  ascendc_twin::CopyIn(dst, src,
                       {p.blockCount, p.blockLen * 32u, (uint64_t{p.blockLen} + p.srcStride) * 32,
                        (uint64_t{p.blockLen} + p.dstStride) * 32},
                       "DataCopy", at);
}

template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckGmAlignment(dst.GetPhyAddr(), sizeof(T), at);
  ascendc_twin::CopyOut(dst, src,
                        {p.blockCount, p.blockLen * 32u, (uint64_t{p.blockLen} + p.dstStride) * 32,
                         (uint64_t{p.blockLen} + p.srcStride) * 32},
                        "DataCopy", at);
}

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  const uint32_t bytes = p.blockLen * 32u;
  ascendc_twin::CopyWithin(
      dst, src, {p.blockCount, bytes, 0, (uint64_t{p.blockLen} + p.dstStride) * 32},
      {p.blockCount, bytes, 0, (uint64_t{p.blockLen} + p.srcStride) * 32}, "DataCopy", at);
}

template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<T>& pad,
                 ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckPadLimits<T>(p, at);
  if (pad.leftPadding * sizeof(T) > 32 || pad.rightPadding * sizeof(T) > 32) {
    ascendc_twin::Refuse(at, "DataCopyPad", "limit",
                         "padding of %u and %u elements is over 32 "
                         "bytes",
                         pad.leftPadding, pad.rightPadding);
  }
  const uint32_t left = pad.leftPadding * sizeof(T), right = pad.rightPadding * sizeof(T);
  const uint64_t pitch =
      ascendc_twin::CeilBlock(uint64_t{left} + p.blockLen + right) + uint64_t{p.dstStride} * 32;
  if (left == 0 && right == 0) {
    ascendc_twin::CopyIn(dst, src,
                         {p.blockCount, p.blockLen, uint64_t{p.blockLen} + p.srcStride, pitch},
                         "DataCopyPad", at);
    return;
  }
  ascendc_twin::CopyInPadded(dst, src, p, pad, pitch, at);
}

template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p,
                 ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CheckPadLimits<T>(p, at);
  ascendc_twin::CopyOut(dst, src,
                        {p.blockCount, p.blockLen, uint64_t{p.blockLen} + p.dstStride,
                         ascendc_twin::CeilBlock(p.blockLen) + uint64_t{p.srcStride} * 32},
                        "DataCopyPad", at);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_COPY_H_
