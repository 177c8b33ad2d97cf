// Flags, barriers, atomics, block numbers, tiling data: what a kernel says besides moving and math.
#ifndef ASCENDC_TWIN_SYNC_H_
#define ASCENDC_TWIN_SYNC_H_

#include "pipe.h"

namespace ascendc_twin {

struct PipePair {
  uint32_t from, to;
};
constexpr PipePair PipesOf(AscendC::HardEvent event) {
  constexpr PipePair pairs[] = {{kPipeMte2, kPipeV},    {kPipeV, kPipeMte2}, {kPipeV, kPipeMte3},
                                {kPipeMte3, kPipeV},    {kPipeMte2, kPipeS}, {kPipeS, kPipeMte2},
                                {kPipeMte3, kPipeS},    {kPipeS, kPipeMte3}, {kPipeMte2, kPipeMte3},
                                {kPipeMte3, kPipeMte2}, {kPipeV, kPipeS},    {kPipeS, kPipeV}};
  return pairs[static_cast<int>(event)];
}

inline Core::Flag& FlagOf(AscendC::HardEvent event, int32_t id, const char* api, Loc at) {
  if (id < 0 || id > 7) Refuse(at, api, "flag", "event id %d is outside 0..7", id);
  return This().flags[static_cast<size_t>(event)][id];
}

template <class T>
void SetAtomic(Core::Atomic kind, const char* api, Loc at) {
  RequireCall(api, at);
  const uint32_t allowed = This().device.npu_arch == kArch2002
                               ? kI16 | kF16 | kF32
                               : kI8 | kI16 | kF16 | kBf16 | kI32 | kF32;
  if (!(TypeInfo<T>::kBit & allowed)) {
    Refuse(at, api, "dtype", "no atomics on %s", TypeInfo<T>::kName);
  }
  Core& core = This();
  core.atomic = kind;
  core.atomic_type = TypeInfo<T>::kBit;
  core.atomic_line = at.line;
}

template <class T>
void LoadTiling(T& tiling, const uint8_t* from, Loc at) {
  const Device& device = This().device;
  if (from != device.tiling || device.tiling_bytes < static_cast<int64_t>(sizeof(T))) {
    Refuse(at, "GET_TILING_DATA", "tiling", "%zu bytes wanted, %lld given", sizeof(T),
           static_cast<long long>(device.tiling_bytes));
  }
  std::memcpy(&tiling, from, sizeof(T));
}

enum KernelType { kVectorOnly, kMixed, kAiCore };
// 2002 has cores of one kind, the others have vector cores.
inline void SetKernelType(KernelType type, Loc at) {
  Core& core = This();
  if (core.check && (core.device.npu_arch == kArch2002) != (type == kAiCore)) {
    Refuse(at, "KERNEL_TASK_TYPE_DEFAULT", "chip", "%s has no cores of this type",
           core.device.chip);
  }
  core.hard_sync_allowed = type == kMixed;
}

}  // namespace ascendc_twin

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::Core::Flag& flag = ascendc_twin::FlagOf(event, eventID, "SetFlag", at);
  if (flag.set) {
    ascendc_twin::Refuse(at, "SetFlag", "flag", "event id %d is set already, at line %d", eventID,
                         flag.line);
  }
  const ascendc_twin::Core& core = ascendc_twin::This();
  const int32_t queues = core.QueueIds(event);
  if (core.check && eventID < queues && !(core.ids_given[size_t(event)] >> eventID & 1)) {
    ascendc_twin::Refuse(at, "SetFlag", "event ids",
                         "event id %d may be one of the %d that queue buffers take: use "
                         "FetchEventID",
                         eventID, queues);
  }
  flag.set = true;
  flag.clock = ascendc_twin::This().Snapshot(ascendc_twin::PipesOf(event).from);
  flag.line = at.line;
}

template <HardEvent event>
void WaitFlag(int32_t eventID, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::Core::Flag& flag = ascendc_twin::FlagOf(event, eventID, "WaitFlag", at);
  if (!flag.set) {
    ascendc_twin::Refuse(at, "WaitFlag", "flag", "event id %d is not set: waits for ever", eventID);
  }
  flag.set = false;
  ascendc_twin::This().Learn(ascendc_twin::PipesOf(event).to, flag.clock);
}

template <pipe_t pipe>
void PipeBarrier() {
  static_assert(pipe == PIPE_V || pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_ALL,
                "PipeBarrier takes PIPE_V, PIPE_MTE2, PIPE_MTE3 or PIPE_ALL");
  ascendc_twin::Core& core = ascendc_twin::This();
  if (pipe == PIPE_ALL) return core.BarrierAll();
  core.Barrier(pipe == PIPE_V      ? ascendc_twin::kPipeV
               : pipe == PIPE_MTE2 ? ascendc_twin::kPipeMte2
                                   : ascendc_twin::kPipeMte3);
}

template <bool isAIVOnly = true>
void SyncAll(ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::Core& core = ascendc_twin::This();
  if (core.check && core.device.npu_arch == ascendc_twin::kArch2002) {
    ascendc_twin::Refuse(at, "SyncAll", "chip", "%s has the form with workspace only",
                         core.device.chip);
  }
  if (core.check && !core.hard_sync_allowed) {
    ascendc_twin::Refuse(at, "SyncAll", "SyncAll",
                         "KERNEL_TYPE_AIV_ONLY has no hard SyncAll: use "
                         "KERNEL_TYPE_MIX_AIV_1_0");
  }
  if (core.check && core.device.block_dim > core.device.vector_cores) {
    ascendc_twin::Refuse(at, "SyncAll", "SyncAll", "%d blocks on %d cores never meet",
                         core.device.block_dim, core.device.vector_cores);
  }
  core.BarrierAll();
  core.device.Barrier(core.turn, core.index, at);
}

// The form over global memory: a zeroed block of it, and of UB, for every core.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
             const int32_t usedCores = 0, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  Core& core = This();
  const int32_t cores = usedCores == 0 ? core.device.block_dim : usedCores;
  const uint32_t bytes = static_cast<uint32_t>(cores) * kBlockBytes;
  if (core.check && (cores != core.device.block_dim || cores > core.device.vector_cores)) {
    Refuse(at, "SyncAll", "SyncAll", "%d of %d blocks on %d cores never meet", cores,
           core.device.block_dim, core.device.vector_cores);
  }
  core.CheckPlace(ubWorkspace.place, bytes, kBlockBytes, at, "SyncAll");
  core.Issue(kPipeMte2);
  core.WriteUb(kPipeMte2, ubWorkspace.place.address, bytes, at, "SyncAll");
  core.SetValid(ubWorkspace.place.address, bytes, false);
  core.BarrierAll();
  GmAccess::CheckZero(gmWorkspace, bytes, "SyncAll", at);
  core.device.Barrier(core.turn, core.index, at);
}

// Sets `size` elements of global memory by copies out of UB that it finds itself.
template <typename T>
void Fill(GlobalTensor<T>& gm, const uint64_t size, const T value,
          ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  RequireType<T>(kAllFloats | kInts16And32, "Fill", at);
  if (size == 0) return;
  Core& core = This();
  core.Issue(kPipeMte3);
  ++core.device.gm.copies_of[kPipeMte3];
  const int64_t bytes = static_cast<int64_t>(size * sizeof(T));
  uint8_t* to = GmAccess::Write(gm, 0, bytes, kPipeMte3, false, "Fill", at);
  for (uint64_t i = 0; i < size; ++i) std::memcpy(to + i * sizeof(T), &value, sizeof(T));
}
// The scalar unit's cache is written back and emptied; of one line it is taken to be whole.
template <typename T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {
  ascendc_twin::This().RefreshCache();
}

template <typename T>
void SetAtomicAdd(ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::SetAtomic<T>(ascendc_twin::Core::Atomic::kAdd, "SetAtomicAdd", at);
}
template <typename T>
void SetAtomicMax(ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::SetAtomic<T>(ascendc_twin::Core::Atomic::kMax, "SetAtomicMax", at);
}
template <typename T>
void SetAtomicMin(ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::SetAtomic<T>(ascendc_twin::Core::Atomic::kMin, "SetAtomicMin", at);
}
inline void SetAtomicNone() { ascendc_twin::This().atomic = ascendc_twin::Core::Atomic::kNone; }
inline void DisableDmaAtomic() { SetAtomicNone(); }

inline int64_t GetBlockIdx() { return ascendc_twin::This().index; }
inline int64_t GetBlockNum() { return ascendc_twin::This().device.block_dim; }
inline void InitSocState() {}

inline __gm__ uint8_t* GetUserWorkspace(GM_ADDR workspace) {
  return workspace + ascendc_twin::kSystemWorkspace;
}

inline void SetDeqScale(half scale) {
  ascendc_twin::Core& core = ascendc_twin::This();
  core.deq_scale_set = true;
  core.deq_scale = scale;
}

}  // namespace AscendC

#define KERNEL_TYPE_AIV_ONLY ascendc_twin::kVectorOnly
#define KERNEL_TYPE_MIX_AIV_1_0 ascendc_twin::kMixed
#define KERNEL_TYPE_AICORE ascendc_twin::kAiCore
#define KERNEL_TASK_TYPE_DEFAULT(type) \
  ascendc_twin::SetKernelType(type, ascendc_twin::Loc{__LINE__})

#define REGISTER_TILING_DEFAULT(type) using AscendcTwinTiling [[maybe_unused]] = type
#define GET_TILING_DATA(name, from) \
  AscendcTwinTiling name;           \
  ascendc_twin::LoadTiling(name, from, ascendc_twin::Loc{__LINE__})
#define GET_TILING_DATA_WITH_STRUCT(type, name, from) \
  type name;                                          \
  ascendc_twin::LoadTiling(name, from, ascendc_twin::Loc{__LINE__})
#define TILING_KEY_IS(key) (ascendc_twin::This().device.tiling_key == (key))

#endif  // ASCENDC_TWIN_SYNC_H_
