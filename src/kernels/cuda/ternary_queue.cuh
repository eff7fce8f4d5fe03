// How a block of the ternary stream kernels has weights on the way: its warps take pieces of its
// row tiles in turn, and each has asked for the next ones while it works on one.
#pragma once

#include "kernels/cuda/ternary_barrier.cuh"
#include "kernels/cuda/ternary_device.cuh"

namespace gpuready::device {

using ternary::kStreamWarps;
using ternary::TernaryStreamParams;

inline constexpr u32 kStreamThreads = 32 * kStreamWarps;
inline constexpr u32 kPieceTiles = ternary::kStreamPieceTiles;  // at the most
inline constexpr u32 kPieceBytes = kPieceTiles * kTileBytes;

// Pieces are counted over the row tiles of a block.
struct Piece {
  u32 row = 0, index;
  u32 first, count;  // column tiles

  GPUREADY_DEVICE Piece(const TernaryStreamParams& p, u32 number) : index(number) {
    for (; index >= p.pieces; index -= p.pieces) ++row;
    place(p);
  }
  // To the one that is as many further on as the block has warps.
  GPUREADY_DEVICE void advance(const TernaryStreamParams& p) {
    row += p.rows_per_turn;
    index += p.pieces_per_turn;
    if (index >= p.pieces) {
      index -= p.pieces;
      ++row;
    }
    place(p);
  }
  GPUREADY_DEVICE void place(const TernaryStreamParams& p) {
    const u32 larger = p.col_tiles - p.pieces * p.piece_tiles;  // pieces with one more
    first = index * p.piece_tiles + (index < larger ? index : larger);
    count = p.piece_tiles + (index < larger ? 1 : 0);
  }
};

// The row tiles of a block. All blocks' follow each other, so that they read one stretch of memory
// side by side.
struct BlockRows {
  const char* tiles;
  u64 step;   // from one to the next, in bytes
  u32 count;  // of them

  GPUREADY_DEVICE BlockRows(const TernaryStreamParams& p, u32 block)
      : tiles(reinterpret_cast<const char*>(p.tiles_address) +
              static_cast<u64>(block) * p.col_tiles * kTileBytes),
        step(static_cast<u64>(p.groups) * p.col_tiles * kTileBytes),
        count(p.block_tiles + (block < p.larger_blocks ? 1 : 0)) {}

  GPUREADY_DEVICE const char* at(const Piece& piece) const {
    return tiles + piece.row * step + piece.first * kTileBytes;
  }
};

#if __CUDA_ARCH__ >= 900

// In shared memory, from its start on: room for p.stages pieces of each warp, which come by a bulk
// copy each. They are read once, and must not drive from the second-level cache what is prefetched.
class Queue {
 public:
  GPUREADY_DEVICE Queue(const TernaryStreamParams& p, const BlockRows& rows, u32* shared)
      : p_(p),
        rows_(rows),
        lane_(thread_index() % 32),
        room_(shared_address(shared) + thread_index() / 32 * p.stages * kPieceBytes),
        asked_(p, thread_index() / 32) {
    GPUREADY_SHARED static u64 arrived[kStreamWarps][ternary::kStreamMostStages];
    arrived_ = shared_address(arrived[thread_index() / 32]);
    if (lane_ == 0) {
      for (u32 s = 0; s < p.stages; ++s) barrier_init(arrived_ + 8 * s, 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(read_once_));
    }
    for (u32 s = 0; s < p.stages; ++s) ask(s);
    warp_barrier();
  }

  static GPUREADY_DEVICE u32 words(const TernaryStreamParams& p) {
    return kStreamWarps * p.stages * (kPieceBytes / 4);
  }

  // The next piece into `tiles`; what lies behind its last is no one's. Asks for one more.
  GPUREADY_DEVICE void take() {
    barrier_wait(arrived_ + 8 * stage_, turn_);
    const u32 from = room_ + stage_ * kPieceBytes + lane_ * 16;
#pragma unroll
    for (u32 i = 0; i < kPieceTiles; ++i)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(tiles[i].x), "=r"(tiles[i].y), "=r"(tiles[i].z), "=r"(tiles[i].w)
                   : "r"(from + i * kTileBytes)
                   : "memory");
    warp_barrier();
    ask(stage_);
    if (++stage_ == p_.stages) stage_ = 0, turn_ ^= 1;
  }
  GPUREADY_DEVICE bool next_is_whole() const { return true; }
  template <bool kWhole>
  GPUREADY_DEVICE void used(u32) {}

  Words4 tiles[kPieceTiles];

 private:
  GPUREADY_DEVICE void ask(u32 stage) {
    if (asked_.row >= rows_.count) return;
    if (lane_ == 0) {
      const u32 bytes = asked_.count * kTileBytes;
      barrier_expect(arrived_ + 8 * stage, bytes);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
          "[%1], %2, [%3], %4;" ::"r"(room_ + stage * kPieceBytes),
          "l"(rows_.at(asked_)), "r"(bytes), "r"(arrived_ + 8 * stage), "l"(read_once_)
          : "memory");
    }
    asked_.advance(p_);
  }

  const TernaryStreamParams& p_;
  const BlockRows& rows_;
  const u32 lane_, room_;
  u32 arrived_, stage_ = 0, turn_ = 0;
  u64 read_once_ = 0;
  Piece asked_;
};

#else

// In registers: a tile of the next piece is asked for where one of this piece was used.
class Queue {
 public:
  GPUREADY_DEVICE Queue(const TernaryStreamParams& p, const BlockRows& rows, u32*)
      : p_(p), rows_(rows), asked_(p, thread_index() / 32) {
    find();
#pragma unroll
    for (u32 i = 0; i < kPieceTiles; ++i) {
      tiles[i] = Words4{0, 0, 0, 0};
      used<false>(i);
    }
  }

  static GPUREADY_DEVICE u32 words(const TernaryStreamParams&) { return 0; }

  GPUREADY_DEVICE void take() {
    asked_.advance(p_);
    find();
  }
  GPUREADY_DEVICE bool next_is_whole() const { return asked_.count == kPieceTiles; }
  // The piece's tile `i`; kWhole: next_is_whole().
  template <bool kWhole>
  GPUREADY_DEVICE void used(u32 i) {
    if (kWhole || i < asked_.count) tiles[i] = load_weights(at_ + i * kTileBytes);
  }

  Words4 tiles[kPieceTiles];

 private:
  GPUREADY_DEVICE void find() {
    if (asked_.row >= rows_.count) asked_.count = 0;
    at_ = rows_.at(asked_) + thread_index() % 32 * 16;
  }

  const TernaryStreamParams& p_;
  const BlockRows& rows_;
  Piece asked_;
  const char* at_;
};

#endif

}  // namespace gpuready::device
