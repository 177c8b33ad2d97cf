// LocalTensor and GlobalTensor.
#ifndef ASCENDC_TWIN_TENSOR_H_
#define ASCENDC_TWIN_TENSOR_H_

#include "chip.h"

namespace ascendc_twin {
struct GmAccess;
}

namespace AscendC {

template <typename T>
class LocalTensor {
 public:
  using PrimType = T;
  LocalTensor() = default;

  T GetValue(const uint32_t offset, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) const {
    ascendc_twin::Core& core = ascendc_twin::This();
    const uint32_t where = Element(offset, "GetValue", at);
    core.Issue(ascendc_twin::kPipeS);
    core.ReadUb(ascendc_twin::kPipeS, where, sizeof(T), at, "GetValue");
    core.RequireValid(where, sizeof(T), at, "GetValue");
    T value;
    std::memcpy(&value, core.ub.get() + where, sizeof(T));
    return value;
  }

  template <typename S>
  void SetValue(const uint32_t index, const S value,
                ascendc_twin::Loc at = ascendc_twin::Loc::Here()) const {
    ascendc_twin::Core& core = ascendc_twin::This();
    const uint32_t where = Element(index, "SetValue", at);
    core.Issue(ascendc_twin::kPipeS);
    core.WriteUb(ascendc_twin::kPipeS, where, sizeof(T), at, "SetValue");
    core.SetValid(where, sizeof(T), true);
    const T stored = static_cast<T>(value);
    std::memcpy(core.ub.get() + where, &stored, sizeof(T));
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> other;
    other.place = place;
    return other;
  }

  LocalTensor operator[](const uint32_t offset) const {
    LocalTensor part = *this;
    const uint64_t bytes = static_cast<uint64_t>(offset) * sizeof(T);
    part.place.address = static_cast<uint32_t>(place.address + bytes);
    part.place.bytes = bytes < place.bytes ? static_cast<uint32_t>(place.bytes - bytes) : 0;
    return part;
  }

  uint32_t GetSize() const { return place.bytes / sizeof(T); }
  void SetSize(const uint32_t size) { place.bytes = size * sizeof(T); }
  uint64_t GetPhyAddr() const { return place.address; }
  uint64_t GetPhyAddr(const uint32_t offset) const { return place.address + offset * sizeof(T); }

  ascendc_twin::Place place;

 private:
  uint32_t Element(uint32_t offset, const char* api, ascendc_twin::Loc at) const {
    ascendc_twin::Place element = place;
    element.address += offset * static_cast<uint32_t>(sizeof(T));
    ascendc_twin::This().CheckPlace(element, sizeof(T), sizeof(T), at, api);
    return element.address;
  }
};

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;

  void SetGlobalBuffer(__gm__ T* buffer, uint64_t size = 0) {
    data_ = buffer;
    size_ = size;
    buffer_ = ascendc_twin::This().device.gm.Find(reinterpret_cast<const uint8_t*>(buffer));
  }

  T GetValue(const uint64_t offset, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) const;
  void SetValue(const uint64_t offset, T value, ascendc_twin::Loc at = ascendc_twin::Loc::Here());

  GlobalTensor operator[](const uint64_t offset) const {
    GlobalTensor part = *this;
    part.data_ = data_ + offset;
    part.size_ = offset < size_ ? size_ - offset : 0;
    return part;
  }
  uint64_t GetSize() const { return size_; }
  const __gm__ T* GetPhyAddr() const { return data_; }
  __gm__ T* GetPhyAddr(const uint64_t offset) const { return data_ + offset; }

 private:
  friend struct ascendc_twin::GmAccess;

  uint8_t* Address(uint64_t offset) const { return reinterpret_cast<uint8_t*>(data_ + offset); }

  T* data_ = nullptr;
  uint64_t size_ = 0;
  int32_t buffer_ = -1;
};

}  // namespace AscendC

namespace ascendc_twin {

template <class T>
using Local = AscendC::LocalTensor<T>;
template <class T>
using Global = AscendC::GlobalTensor<T>;

// Global memory as the copies use it: every access is checked and counted.
struct GmAccess {
  template <class T>
  static const uint8_t* Read(const Global<T>& gm, int64_t byte, int64_t bytes, uint32_t pipe,
                             const char* api, Loc at) {
    const uint8_t* p = gm.Address(0) + byte;
    This().device.gm.Read(gm.buffer_, p, bytes, This().Use(pipe, false, at, api));
    return p;
  }
  // The flags of a SyncAll: memory of the kernel that holds zeros.
  template <class T>
  static void CheckZero(const Global<T>& gm, uint32_t bytes, const char* api, Loc at) {
    const GmUse use = This().Use(kPipeMte2, false, at, api);
    const uint8_t* p = gm.Address(0);
    if (!This().device.gm.Holds(gm.buffer_, p, bytes, use)) return;
    for (uint32_t i = 0; i < bytes; ++i) {
      if (p[i] != 0) Refuse(at, api, "SyncAll", "byte %u of the flags is not zero", i);
    }
  }
  template <class T>
  static uint8_t* Write(const Global<T>& gm, int64_t byte, int64_t bytes, uint32_t pipe,
                        bool atomic, const char* api, Loc at) {
    uint8_t* p = gm.Address(0) + byte;
    This().device.gm.Write(gm.buffer_, p, bytes, This().Use(pipe, atomic, at, api));
    return p;
  }
};

}  // namespace ascendc_twin

namespace AscendC {

template <typename T>
T GlobalTensor<T>::GetValue(const uint64_t offset, ascendc_twin::Loc at) const {
  using ascendc_twin::kPipeS;
  ascendc_twin::This().Issue(kPipeS);
  const int64_t byte = static_cast<int64_t>(offset * sizeof(T));
  T value;
  std::memcpy(&value, ascendc_twin::GmAccess::Read(*this, byte, sizeof(T), kPipeS, "GetValue", at),
              sizeof(T));
  return value;
}

template <typename T>
void GlobalTensor<T>::SetValue(const uint64_t offset, T value, ascendc_twin::Loc at) {
  using ascendc_twin::kPipeS;
  ascendc_twin::This().Issue(kPipeS);
  const int64_t byte = static_cast<int64_t>(offset * sizeof(T));
  uint8_t* to =
      ascendc_twin::GmAccess::Write(*this, byte, sizeof(T), kPipeS, false, "SetValue", at);
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_TENSOR_H_
