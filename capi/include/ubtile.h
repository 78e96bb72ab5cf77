/*
 * ubtile: the backward passes of grid sampling, max unpooling, replication padding and im2col.
 *
 * Made by cbindgen from capi/src; `cargo test -p ubtile-capi --test header` compares, and with UBTILE_BLESS=1 writes it.
 *
 * One way through: fill a `..._desc` with tensors and attributes; `..._plan` checks it and says how many bytes of workspace
 * the run needs; `..._run` computes it. `..._run_share` does one share of the work, which may run beside the other shares of
 * its phase; `..._run_tile` does one bounded slice on boxes that the caller moves, e.g. by DMA. `..._store` and `..._load`
 * turn a plan into bytes and back.
 *
 * What holds for every function, unless it says otherwise:
 *
 * - Status: 0 or one of UBTILE_ERROR_..., whose numbers are aclnn's. After an error outputs are unspecified, and a plan that
 *   was to be made is unusable. Nothing is written to where an error could have been found first.
 * - Shapes are outermost first. Strides are in elements, not bytes; 0 repeats an element and is for inputs only.
 * - Alignment: the data of a tensor or box is aligned to its dtype's size (c64: 4, c128: 8), else UBTILE_ERROR_PARAM_INVALID.
 *   A workspace may start anywhere. Structs have C's alignment.
 * - Ownership: all memory is the caller's. Nothing is allocated, freed, or kept after the return; descriptions may be
 *   overwritten after `..._plan`. Plans contain no pointer to the caller's memory and may be copied, also with memcpy, but
 *   only within one program: across programs use `..._store`. An output or workspace overlaps no other buffer of a call.
 * - Reentrancy: there are no globals. Any number of calls may run at the same time, also from an interrupt handler, as long as
 *   what one of them writes is not used by another. A plan is only read.
 * - Floating-point environment: round to nearest even, subnormals kept, no trapped exception; on Arm, FPSCR's RN, FZ and DN
 *   are 0. Nothing changes it. An interrupt handler that calls must have the floating-point registers saved.
 * - Interrupts are neither blocked nor needed. A call takes time in proportion to its problem, share or tile, and may be
 *   interrupted anywhere.
 * - Stack: docs/firmware.md lists the worst case of each function. No recursion.
 */


#ifndef UBTILE_H
#define UBTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** For `ubtile_options`: no limit, or the target's own number. */
#define UBTILE_DEFAULT SIZE_MAX


/**
 * Success.
 */
#define UBTILE_SUCCESS 0

/**
 * A pointer that must not be NULL is NULL.
 */
#define UBTILE_ERROR_PARAM_NULLPTR 161001

/**
 * A tensor, attribute, plan or buffer that is not usable.
 */
#define UBTILE_ERROR_PARAM_INVALID 161002

/**
 * An index outside of the unpooled plane.
 */
#define UBTILE_ERROR_RUNTIME 361001

/**
 * The target's local memory does not hold the smallest tile, or sizes of the plan overflow; those of a tensor are
 * UBTILE_ERROR_PARAM_INVALID.
 */
#define UBTILE_ERROR_TILING 561002

/**
 * IEEE 754 binary32. Dtypes have the numbers of aclDataType.
 */
#define UBTILE_F32 0

/**
 * IEEE 754 binary16.
 */
#define UBTILE_F16 1

/**
 * Signed 8-bit integer.
 */
#define UBTILE_I8 2

/**
 * Signed 32-bit integer.
 */
#define UBTILE_I32 3

/**
 * Unsigned 8-bit integer.
 */
#define UBTILE_U8 4

/**
 * Signed 16-bit integer.
 */
#define UBTILE_I16 6

/**
 * Signed 64-bit integer.
 */
#define UBTILE_I64 9

/**
 * IEEE 754 binary64.
 */
#define UBTILE_F64 11

/**
 * One byte, 0 or 1.
 */
#define UBTILE_BOOL 12

/**
 * Two f32: real, imaginary.
 */
#define UBTILE_C64 16

/**
 * Two f64: real, imaginary.
 */
#define UBTILE_C128 17

/**
 * bfloat16.
 */
#define UBTILE_BF16 27

/**
 * Dimensions that a tensor may have.
 */
#define UBTILE_MAX_RANK 8

/**
 * Bytes of a stored plan.
 */
#define UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES 840

/**
 * Bytes of a stored plan.
 */
#define UBTILE_IM2COL_BACKWARD_STORED_BYTES 448

/**
 * Bytes of a stored plan.
 */
#define UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES 672

/**
 * Bytes of a stored plan.
 */
#define UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES 544

/**
 * A tensor: dtype, shape, and strides in elements. Entries beyond the rank are not looked at.
 */
typedef struct ubtile_tensor {
  /**
   * UBTILE_F32, ...
   */
  int32_t dtype;
  /**
   * Dimensions, at most UBTILE_MAX_RANK.
   */
  uint32_t rank;
  /**
   * Sizes, outermost first.
   */
  size_t shape[UBTILE_MAX_RANK];
  /**
   * Distance in elements between neighbours along each dimension.
   */
  size_t strides[UBTILE_MAX_RANK];
} ubtile_tensor;

/**
 * The machine that a plan is for. `ubtile_target_named` fills it.
 */
typedef struct ubtile_target {
  /**
   * Cores that may run shares at the same time, at least 1.
   */
  size_t cores;
  /**
   * Bytes of memory that the boxes of a tile should fit; of the grid sampler, those that
   * `ubtile_grid_sampler_2d_backward_boxes` names.
   */
  size_t local_bytes;
  /**
   * Granularity of those boxes in bytes, at least 1; of what is no power of two, the next one is taken.
   */
  size_t block_bytes;
  /**
   * Bytes that a vector instruction takes at once, at least 1; 4 where there is none.
   */
  size_t vector_bytes;
  /**
   * Whether memory is read through caches, so that a copy of an input with far strides pays.
   */
  bool caches;
} ubtile_target;

/**
 * A set of vector instructions that this processor has. Opaque; filled by `ubtile_level_detect` and the like.
 */
typedef struct ubtile_level {
  /**
   * Not to be touched.
   */
  size_t opaque[2];
} ubtile_level;

/**
 * A problem: the gradients of an image and of the grid that says where it was sampled.
 */
typedef struct ubtile_grid_sampler_2d_backward_desc {
  /**
   * `[N, C, Ho, Wo]`. All tensors are f16, bf16, f32 or f64, of one dtype.
   */
  struct ubtile_tensor grad_output;
  /**
   * `[N, C, Hi, Wi]`.
   */
  struct ubtile_tensor input;
  /**
   * `[N, Ho, Wo, 2]`: x and y; -1..1 is the image.
   */
  struct ubtile_tensor grid;
  /**
   * `[N, C, Hi, Wi]`, described also when it is not wanted.
   */
  struct ubtile_tensor input_grad;
  /**
   * `[N, Ho, Wo, 2]`, described also when it is not wanted.
   */
  struct ubtile_tensor grid_grad;
  /**
   * 0 bilinear, 1 nearest, 2 bicubic.
   */
  int64_t interpolation;
  /**
   * 0 zeros, 1 border, 2 reflection.
   */
  int64_t padding_mode;
  /**
   * Whether -1 and 1 mean the centres of the corner pixels.
   */
  bool align_corners;
  /**
   * Whether `input_grad` is wanted, and whether `grid_grad` is.
   */
  bool output_mask[2];
} ubtile_grid_sampler_2d_backward_desc;

/**
 * What may be asked of a plan.
 */
typedef struct ubtile_options {
  /**
   * Most bytes of workspace, or UBTILE_DEFAULT. 0 always works.
   */
  size_t workspace_limit;
  /**
   * Bytes of local memory in place of the target's, or UBTILE_DEFAULT.
   */
  size_t local_bytes;
} ubtile_options;

/**
 * A plan. Opaque: filled by `ubtile_grid_sampler_2d_backward_plan` or `..._load`, may be copied.
 */
typedef struct ubtile_grid_sampler_2d_backward_tiling {
  /**
   * Not to be touched.
   */
  size_t opaque[128];
} ubtile_grid_sampler_2d_backward_tiling;

/**
 * A tile: a run of points of one image with some of its channels. Pairs are the first and one past the last.
 */
typedef struct ubtile_grid_sampler_2d_backward_tile_info {
  /**
   * The image.
   */
  size_t image;
  /**
   * Channels.
   */
  size_t channels[2];
  /**
   * Points, `h * Wo + w`.
   */
  size_t points[2];
  /**
   * Rows of `input_grad` that the tile adds to.
   */
  size_t rows[2];
  /**
   * Whether the gradient of the grid is made here.
   */
  bool makes_grid_grad;
  /**
   * Whether the sums of `input_grad` begin here.
   */
  bool first_points;
  /**
   * Whether `input_grad` is complete behind it.
   */
  bool last_points;
  /**
   * Whether sums of `input_grad` need a box of their own, of f32; else they are made in `input_grad`.
   */
  bool sums_apart;
} ubtile_grid_sampler_2d_backward_tile_info;

/**
 * Elements to read. NULL with 0 bytes is an empty one.
 */
typedef struct ubtile_input {
  /**
   * The first one.
   */
  const void *data;
  /**
   * Bytes of all, as many as the tensor's strides reach, or more.
   */
  size_t bytes;
} ubtile_input;

/**
 * Elements to write, or workspace. NULL with 0 bytes is an empty one.
 */
typedef struct ubtile_output {
  /**
   * The first one.
   */
  void *data;
  /**
   * Bytes of all, as many as the tensor's strides reach, or more.
   */
  size_t bytes;
} ubtile_output;

/**
 * The memory of a run: whole tensors. An output that is not wanted is not looked at.
 */
typedef struct ubtile_grid_sampler_2d_backward_buffers {
  /**
   * As described.
   */
  struct ubtile_input grad_output;
  /**
   * As described.
   */
  struct ubtile_input input;
  /**
   * As described.
   */
  struct ubtile_input grid;
  /**
   * As described.
   */
  struct ubtile_output input_grad;
  /**
   * As described.
   */
  struct ubtile_output grid_grad;
  /**
   * As many bytes as the plan says, from any address.
   */
  struct ubtile_output workspace;
} ubtile_grid_sampler_2d_backward_buffers;

/**
 * The boxes of a tile, without gaps. Those of a gradient that is not wanted, or not made by this tile, are not looked at. Only
 * `grad_output`, `grid`, `grid_grad` and `totals` are as small as the machine's `local_bytes` asks for.
 */
typedef struct ubtile_grid_sampler_2d_backward_boxes {
  /**
   * `[channels, points]`.
   */
  struct ubtile_input grad_output;
  /**
   * `[channels, Hi, Wi]`: the whole image.
   */
  struct ubtile_input input;
  /**
   * `[points, 2]`.
   */
  struct ubtile_input grid;
  /**
   * `[channels, rows, Wi]`, stays while the points of the same channels follow; complete where `last_points` is set.
   */
  struct ubtile_output input_grad;
  /**
   * `[channels, rows, Wi]` of f32, stays as well; not looked at where `sums_apart` is not set.
   */
  struct ubtile_output input_grad_sums;
  /**
   * `[points, 2]`, complete with the last channels.
   */
  struct ubtile_output grid_grad;
  /**
   * `[points, 2]` of f32 (f64 for f64), stays while further channels of the same points follow, in this share or the
   * next; not looked at with up to 64 channels.
   */
  struct ubtile_output totals;
} ubtile_grid_sampler_2d_backward_boxes;

/**
 * A problem: `out[n, c, y, x]` is the sum of `grad_output[n, (c * kh + i) * kw + j, a * Lw + b]` over all taps `(i, j)` and
 * windows `(a, b)` that lie there. Pairs are (height, width).
 */
typedef struct ubtile_im2col_backward_desc {
  /**
   * `[N, C * kh * kw, L]` or without N: f16, bf16, f32 or f64.
   */
  struct ubtile_tensor grad_output;
  /**
   * `[N, C, H, W]` or without N: f16, bf16, f32 or f64.
   */
  struct ubtile_tensor out;
  /**
   * `[H, W]`.
   */
  int64_t input_size[2];
  /**
   * `[kh, kw]`.
   */
  int64_t kernel_size[2];
  /**
   * `[dh, dw]`.
   */
  int64_t dilation[2];
  /**
   * `[ph, pw]`.
   */
  int64_t padding[2];
  /**
   * `[sh, sw]`.
   */
  int64_t stride[2];
} ubtile_im2col_backward_desc;

/**
 * A plan. Opaque: filled by `ubtile_im2col_backward_plan` or `..._load`, may be copied.
 */
typedef struct ubtile_im2col_backward_tiling {
  /**
   * Not to be touched.
   */
  size_t opaque[128];
} ubtile_im2col_backward_tiling;

/**
 * A tile: a box of one plane of `out` and the windows that reach it. Pairs are the first and one past the last.
 */
typedef struct ubtile_im2col_backward_tile_info {
  /**
   * The plane, `n * C + c`.
   */
  size_t plane;
  /**
   * Rows of the box.
   */
  size_t rows[2];
  /**
   * Columns of the box.
   */
  size_t columns[2];
  /**
   * Kernel rows.
   */
  size_t kernel_rows[2];
  /**
   * Kernel columns.
   */
  size_t kernel_columns[2];
  /**
   * Rows and columns of windows in the box of each tap.
   */
  size_t windows[2];
  /**
   * Whether the box of sums goes on from the tile before.
   */
  bool accumulates;
  /**
   * Whether `out` is complete behind it.
   */
  bool last;
  /**
   * Whether sums need a box of their own, of dtype f64 where `grad_output` is f64 and of f32 else; otherwise they are made in `out`.
   */
  bool sums_apart;
  /**
   * Elements of the box of `grad_output`: `[kernel rows, kernel columns, window rows, window columns]`.
   */
  size_t input_cells;
  /**
   * Elements of the box of `out`, and of that of the sums: `[rows, columns]`.
   */
  size_t cells;
} ubtile_im2col_backward_tile_info;

/**
 * The memory of a run: whole tensors.
 */
typedef struct ubtile_im2col_backward_buffers {
  /**
   * As described.
   */
  struct ubtile_input grad_output;
  /**
   * As described.
   */
  struct ubtile_output out;
  /**
   * As many bytes as the plan says, from any address: none unless `grad_output` has far strides and the target caches.
   */
  struct ubtile_output workspace;
} ubtile_im2col_backward_buffers;

/**
 * The boxes of a tile, without gaps.
 */
typedef struct ubtile_im2col_backward_boxes {
  /**
   * `[kernel rows, kernel columns, window rows, window columns]`; windows that do not exist hold anything finite or not: they
   * are not read.
   */
  struct ubtile_input grad_output;
  /**
   * `[rows, columns]`, complete where `last` is set. Without a box of sums it holds them and stays while tiles accumulate.
   */
  struct ubtile_output out;
  /**
   * `[rows, columns]`, stays while tiles accumulate; empty where `sums_apart` is not set.
   */
  struct ubtile_output sums;
} ubtile_im2col_backward_boxes;

/**
 * A problem: `out[n, c, i] = grad_output[n, c, indices[n, c, i]]`.
 */
typedef struct ubtile_max_unpool2d_backward_desc {
  /**
   * `[N, C, oH, oW]` or without N: any dtype but the complex ones.
   */
  struct ubtile_tensor grad_output;
  /**
   * The forward pass' input, `[N, C, H, W]` or without N. Only described, there is no buffer.
   */
  struct ubtile_tensor self_tensor;
  /**
   * Of `self`'s shape: flat positions in the plane `[oH, oW]`, i32 or i64.
   */
  struct ubtile_tensor indices;
  /**
   * Of `self`'s shape; its dtype may differ where the contract casts.
   */
  struct ubtile_tensor out;
  /**
   * `[oH, oW]`.
   */
  int64_t output_size[2];
} ubtile_max_unpool2d_backward_desc;

/**
 * A plan. Opaque: filled by `ubtile_max_unpool2d_backward_plan` or `..._load`, may be copied.
 */
typedef struct ubtile_max_unpool2d_backward_tiling {
  /**
   * Not to be touched.
   */
  size_t opaque[128];
} ubtile_max_unpool2d_backward_tiling;

/**
 * A tile: a run of one plane's elements and a slice of the cells that they may point to. Pairs are the first and one past the
 * last.
 */
typedef struct ubtile_max_unpool2d_backward_tile_info {
  /**
   * The plane, `n * C + c`.
   */
  size_t plane;
  /**
   * Elements of `indices` and `out`, in the plane's `H * W`.
   */
  size_t elements[2];
  /**
   * Cells of `grad_output`, in the plane's `oH * oW`.
   */
  size_t cells[2];
  /**
   * Whether the tile before made the same elements from an earlier slice.
   */
  bool accumulates;
  /**
   * Whether the elements are complete behind it.
   */
  bool last;
} ubtile_max_unpool2d_backward_tile_info;

/**
 * The memory of a run: whole tensors.
 */
typedef struct ubtile_max_unpool2d_backward_buffers {
  /**
   * As described.
   */
  struct ubtile_input grad_output;
  /**
   * As described.
   */
  struct ubtile_input indices;
  /**
   * As described.
   */
  struct ubtile_output out;
  /**
   * As many bytes as the plan says, from any address: none unless inputs have far strides and the target caches. Not looked
   * at of a tile.
   */
  struct ubtile_output workspace;
} ubtile_max_unpool2d_backward_buffers;

/**
 * A problem: `grad_input[n, c, h, w]` is the sum of `grad_output[n, c, i, j]` over all `(i, j)` that replication padding copied
 * from `(h, w)`.
 */
typedef struct ubtile_replication_pad2d_backward_desc {
  /**
   * `[N, C, H + top + bottom, W + left + right]` or without N: f16, bf16, f32, f64, c64 or c128.
   */
  struct ubtile_tensor grad_output;
  /**
   * The forward pass' input, `[N, C, H, W]` or without N. Only described, there is no buffer.
   */
  struct ubtile_tensor self_tensor;
  /**
   * Of `self`'s shape and dtype.
   */
  struct ubtile_tensor grad_input;
  /**
   * `[left, right, top, bottom]`, negative where the forward pass cropped.
   */
  int64_t padding[4];
} ubtile_replication_pad2d_backward_desc;

/**
 * A plan. Opaque: filled by `ubtile_replication_pad2d_backward_plan` or `..._load`, may be copied.
 */
typedef struct ubtile_replication_pad2d_backward_tiling {
  /**
   * Not to be touched.
   */
  size_t opaque[128];
} ubtile_replication_pad2d_backward_tiling;

/**
 * A tile: a box of `grad_input` and what folds into it. Pairs are the first and one past the last.
 */
typedef struct ubtile_replication_pad2d_backward_tile_info {
  /**
   * Planes, `n * C + c`; several planes are whole ones.
   */
  size_t planes[2];
  /**
   * Rows of the box.
   */
  size_t rows[2];
  /**
   * Columns of the box.
   */
  size_t columns[2];
  /**
   * Rows of `grad_output`.
   */
  size_t source_rows[2];
  /**
   * Columns of `grad_output`.
   */
  size_t source_columns[2];
  /**
   * Whether the sums go on from the tile before.
   */
  bool accumulates;
  /**
   * Whether the box is complete behind it, and written.
   */
  bool last;
  /**
   * Elements of the box of `grad_output`: `[planes, source rows, source columns]`.
   */
  size_t input_cells;
  /**
   * Elements of the box of `grad_input`: `[planes, rows, columns]`.
   */
  size_t cells;
  /**
   * Elements that the sums take: f32, for f64 f64, for complex ones the dtype itself.
   */
  size_t sums;
} ubtile_replication_pad2d_backward_tile_info;

/**
 * The memory of a run: whole tensors.
 */
typedef struct ubtile_replication_pad2d_backward_buffers {
  /**
   * As described.
   */
  struct ubtile_input grad_output;
  /**
   * As described.
   */
  struct ubtile_output grad_input;
  /**
   * As many bytes as the plan says, from any address: none unless `grad_output` has far strides and the target caches.
   */
  struct ubtile_output workspace;
} ubtile_replication_pad2d_backward_buffers;

/**
 * The boxes of a tile, without gaps.
 */
typedef struct ubtile_replication_pad2d_backward_boxes {
  /**
   * `[planes, source rows, source columns]`.
   */
  struct ubtile_input grad_output;
  /**
   * `[planes, rows, columns]`, written where `last` is set.
   */
  struct ubtile_output grad_input;
  /**
   * The tile's `sums` elements, stay from a tile to the next; empty where that is 0.
   */
  struct ubtile_output sums;
} ubtile_replication_pad2d_backward_boxes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Fills `tensor` with a contiguous tensor of `rank` sizes.
 *
 * # Safety
 * `shape` points to `rank` sizes, `tensor` to a tensor; either may be NULL, which is an error.
 */
int32_t ubtile_tensor_contiguous(int32_t dtype, uint32_t rank, const size_t *shape, struct ubtile_tensor *tensor);

/**
 * Fills `target` with a machine by name: "cortex-m3", "cortex-m4", "cortex-m33", "riscv32imac", "cortex-a53", or "host" with one
 * thread.
 *
 * # Safety
 * `name` is a string that ends in a zero byte, `target` points to a target; either may be NULL, which is an error.
 */
int32_t ubtile_target_named(const char *name,
                            struct ubtile_target *target);

/**
 * Fills `level` with the fastest one of this processor. It asks the processor, which under a hypervisor can take
 * microseconds: call it once and keep the level. Needs no operating system.
 *
 * # Safety
 * `level` points to a level or is NULL, which is an error.
 */
int32_t ubtile_level_detect(struct ubtile_level *level);

/**
 * Fills `level` with that of one lane, which every processor has.
 *
 * # Safety
 * `level` points to a level or is NULL, which is an error.
 */
int32_t ubtile_level_scalar(struct ubtile_level *level);

/**
 * Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
 * `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; the last two are written.
 */
int32_t ubtile_grid_sampler_2d_backward_plan(const struct ubtile_grid_sampler_2d_backward_desc *desc,
                                             const struct ubtile_target *target,
                                             const struct ubtile_options *options,
                                             struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                             size_t *workspace_bytes);

/**
 * Writes a plan as UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
 * every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
 */
int32_t ubtile_grid_sampler_2d_backward_store(const struct ubtile_grid_sampler_2d_backward_desc *desc,
                                              const struct ubtile_target *target,
                                              const struct ubtile_options *options,
                                              uint8_t *bytes,
                                              size_t len);

/**
 * Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
 * otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
 * `workspace_bytes` may be NULL. The bytes may start anywhere.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
 */
int32_t ubtile_grid_sampler_2d_backward_load(const uint8_t *bytes,
                                             size_t len,
                                             struct ubtile_grid_sampler_2d_backward_desc *desc,
                                             struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                             size_t *workspace_bytes);

/**
 * Phases of a plan: all shares of one are complete before the next one begins. 0 without a plan.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_grid_sampler_2d_backward_phases(const struct ubtile_grid_sampler_2d_backward_tiling *tiling);

/**
 * Shares of a phase, which may run at the same time; 0 where there is no such phase.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_grid_sampler_2d_backward_shares(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                              size_t phase);

/**
 * Tiles of a share. None in phases that only move or add what is staged, nor where zeros are all there is to write: run such shares.
 * None in `points` either, whose gradients the tiles of `compute` make. Counting takes time in proportion to them.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_grid_sampler_2d_backward_tiles(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                             size_t phase,
                                             size_t share);

/**
 * Describes tile number `index` of a share, found without a look at those before; UBTILE_ERROR_PARAM_INVALID where there
 * is none.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; `info` is written.
 */
int32_t ubtile_grid_sampler_2d_backward_tile(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                             size_t phase,
                                             size_t share,
                                             size_t index,
                                             struct ubtile_grid_sampler_2d_backward_tile_info *info);

/**
 * Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
 * alignment as described to the plan; buffers at least as long as the strides reach.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
 */
int32_t ubtile_grid_sampler_2d_backward_run(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                            const struct ubtile_level *level,
                                            const struct ubtile_grid_sampler_2d_backward_buffers *buffers);

/**
 * Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
 * workspace too, which stays from the first phase to the last; of the outputs only the share's own elements are written, so
 * other shares may run at the same time. It looks at the buffers that the share uses, and of outputs at its own elements.
 * Others may be NULL with 0 bytes; if they are not, they are checked alike, and the workspace must be as large as for a whole
 * run.
 *
 * # Safety
 * As for `ubtile_grid_sampler_2d_backward_run`; no other call writes the same share.
 */
int32_t ubtile_grid_sampler_2d_backward_run_share(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                                  const struct ubtile_level *level,
                                                  size_t phase,
                                                  size_t share,
                                                  const struct ubtile_grid_sampler_2d_backward_buffers *buffers);

/**
 * Computes tile number `index` of a share on boxes. Tiles of a share come in order; with more than 64 channels so do the shares of a
 * phase, as gradients of the grid are added up over them.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
 */
int32_t ubtile_grid_sampler_2d_backward_run_tile(const struct ubtile_grid_sampler_2d_backward_tiling *tiling,
                                                 const struct ubtile_level *level,
                                                 size_t phase,
                                                 size_t share,
                                                 size_t index,
                                                 const struct ubtile_grid_sampler_2d_backward_boxes *boxes);

/**
 * Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
 * `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; the last two are written.
 */
int32_t ubtile_im2col_backward_plan(const struct ubtile_im2col_backward_desc *desc,
                                    const struct ubtile_target *target,
                                    const struct ubtile_options *options,
                                    struct ubtile_im2col_backward_tiling *tiling,
                                    size_t *workspace_bytes);

/**
 * Writes a plan as UBTILE_IM2COL_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
 * every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
 */
int32_t ubtile_im2col_backward_store(const struct ubtile_im2col_backward_desc *desc,
                                     const struct ubtile_target *target,
                                     const struct ubtile_options *options,
                                     uint8_t *bytes,
                                     size_t len);

/**
 * Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
 * otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_IM2COL_BACKWARD_STORED_BYTES. `desc` gets the description; it and
 * `workspace_bytes` may be NULL. The bytes may start anywhere.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
 */
int32_t ubtile_im2col_backward_load(const uint8_t *bytes,
                                    size_t len,
                                    struct ubtile_im2col_backward_desc *desc,
                                    struct ubtile_im2col_backward_tiling *tiling,
                                    size_t *workspace_bytes);

/**
 * Phases of a plan: all shares of one are complete before the next one begins. 0 without a plan.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_im2col_backward_phases(const struct ubtile_im2col_backward_tiling *tiling);

/**
 * Shares of a phase, which may run at the same time; 0 where there is no such phase.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_im2col_backward_shares(const struct ubtile_im2col_backward_tiling *tiling, size_t phase);

/**
 * Tiles of a share. Counting takes time in proportion to them.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_im2col_backward_tiles(const struct ubtile_im2col_backward_tiling *tiling, size_t phase, size_t share);

/**
 * Describes tile number `index` of a share, found without a look at those before; UBTILE_ERROR_PARAM_INVALID where there
 * is none.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; `info` is written.
 */
int32_t ubtile_im2col_backward_tile(const struct ubtile_im2col_backward_tiling *tiling,
                                    size_t phase,
                                    size_t share,
                                    size_t index,
                                    struct ubtile_im2col_backward_tile_info *info);

/**
 * Tells which window `(a, b)` of tap `(i, j)` the first cell of its box is: the box of a tap holds the windows `(a + r, b + c)`,
 * row by row. Negative windows, and those beyond `[Lh, Lw]`, do not exist. A tap that is not the tile's is
 * UBTILE_ERROR_PARAM_INVALID. `tap` and `first` are two numbers each.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `tap` and `first` to two numbers, of which `first` is written.
 */
int32_t ubtile_im2col_backward_first_window(const struct ubtile_im2col_backward_tiling *tiling,
                                            size_t phase,
                                            size_t share,
                                            size_t index,
                                            const size_t *tap,
                                            int64_t *first);

/**
 * Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
 * alignment as described to the plan; buffers at least as long as the strides reach.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
 */
int32_t ubtile_im2col_backward_run(const struct ubtile_im2col_backward_tiling *tiling,
                                   const struct ubtile_level *level,
                                   const struct ubtile_im2col_backward_buffers *buffers);

/**
 * Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
 * workspace too, which stays between phases; of `out` only the share's own elements are written, so other shares may run at
 * the same time. It looks at the buffers that the share uses, and of outputs at its own elements. Others may be NULL with 0
 * bytes; if they are not, they are checked alike, and the workspace must be as large as for a whole run.
 *
 * # Safety
 * As for `ubtile_im2col_backward_run`; no other call writes the same share.
 */
int32_t ubtile_im2col_backward_run_share(const struct ubtile_im2col_backward_tiling *tiling,
                                         const struct ubtile_level *level,
                                         size_t phase,
                                         size_t share,
                                         const struct ubtile_im2col_backward_buffers *buffers);

/**
 * Computes tile number `index` of a share on boxes. Tiles of a share come in order.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
 */
int32_t ubtile_im2col_backward_run_tile(const struct ubtile_im2col_backward_tiling *tiling,
                                        const struct ubtile_level *level,
                                        size_t phase,
                                        size_t share,
                                        size_t index,
                                        const struct ubtile_im2col_backward_boxes *boxes);

/**
 * Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
 * `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; the last two are written.
 */
int32_t ubtile_max_unpool2d_backward_plan(const struct ubtile_max_unpool2d_backward_desc *desc,
                                          const struct ubtile_target *target,
                                          const struct ubtile_options *options,
                                          struct ubtile_max_unpool2d_backward_tiling *tiling,
                                          size_t *workspace_bytes);

/**
 * Writes a plan as UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
 * every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
 */
int32_t ubtile_max_unpool2d_backward_store(const struct ubtile_max_unpool2d_backward_desc *desc,
                                           const struct ubtile_target *target,
                                           const struct ubtile_options *options,
                                           uint8_t *bytes,
                                           size_t len);

/**
 * Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
 * otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
 * `workspace_bytes` may be NULL. The bytes may start anywhere.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
 */
int32_t ubtile_max_unpool2d_backward_load(const uint8_t *bytes,
                                          size_t len,
                                          struct ubtile_max_unpool2d_backward_desc *desc,
                                          struct ubtile_max_unpool2d_backward_tiling *tiling,
                                          size_t *workspace_bytes);

/**
 * Phases of a plan: all shares of one are complete before the next one begins. 0 without a plan.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_max_unpool2d_backward_phases(const struct ubtile_max_unpool2d_backward_tiling *tiling);

/**
 * Shares of a phase, which may run at the same time; 0 where there is no such phase.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_max_unpool2d_backward_shares(const struct ubtile_max_unpool2d_backward_tiling *tiling, size_t phase);

/**
 * Tiles of a share. Counting takes time in proportion to them.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_max_unpool2d_backward_tiles(const struct ubtile_max_unpool2d_backward_tiling *tiling,
                                          size_t phase,
                                          size_t share);

/**
 * Describes tile number `index` of a share, found without a look at those before; UBTILE_ERROR_PARAM_INVALID where there
 * is none.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; `info` is written.
 */
int32_t ubtile_max_unpool2d_backward_tile(const struct ubtile_max_unpool2d_backward_tiling *tiling,
                                          size_t phase,
                                          size_t share,
                                          size_t index,
                                          struct ubtile_max_unpool2d_backward_tile_info *info);

/**
 * Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
 * alignment as described to the plan; buffers at least as long as the strides reach. An index outside of the plane is
 * UBTILE_ERROR_RUNTIME: nothing is read through it, and `out` is 0 there.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
 */
int32_t ubtile_max_unpool2d_backward_run(const struct ubtile_max_unpool2d_backward_tiling *tiling,
                                         const struct ubtile_level *level,
                                         const struct ubtile_max_unpool2d_backward_buffers *buffers);

/**
 * Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
 * workspace too, which stays between phases; of `out` only the share's own elements are written, so other shares may run at
 * the same time. An index outside of the plane is UBTILE_ERROR_RUNTIME, as for a whole run. It looks at the buffers that the
 * share uses, and of outputs at its own elements. Others may be NULL with 0 bytes; if they are not, they are checked alike,
 * and the workspace must be as large as for a whole run.
 *
 * # Safety
 * As for `ubtile_max_unpool2d_backward_run`; no other call writes the same share.
 */
int32_t ubtile_max_unpool2d_backward_run_share(const struct ubtile_max_unpool2d_backward_tiling *tiling,
                                               const struct ubtile_level *level,
                                               size_t phase,
                                               size_t share,
                                               const struct ubtile_max_unpool2d_backward_buffers *buffers);

/**
 * Computes tile number `index` of a share on boxes without gaps: of `grad_output` the slice `cells`, of `indices` and `out` the
 * run `elements`, which stays while tiles accumulate. Tiles of a share come in order. An index outside of the plane is
 * UBTILE_ERROR_RUNTIME, as for a whole run.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
 */
int32_t ubtile_max_unpool2d_backward_run_tile(const struct ubtile_max_unpool2d_backward_tiling *tiling,
                                              const struct ubtile_level *level,
                                              size_t phase,
                                              size_t share,
                                              size_t index,
                                              const struct ubtile_max_unpool2d_backward_buffers *boxes);

/**
 * Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
 * `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; the last two are written.
 */
int32_t ubtile_replication_pad2d_backward_plan(const struct ubtile_replication_pad2d_backward_desc *desc,
                                               const struct ubtile_target *target,
                                               const struct ubtile_options *options,
                                               struct ubtile_replication_pad2d_backward_tiling *tiling,
                                               size_t *workspace_bytes);

/**
 * Writes a plan as UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
 * every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
 */
int32_t ubtile_replication_pad2d_backward_store(const struct ubtile_replication_pad2d_backward_desc *desc,
                                                const struct ubtile_target *target,
                                                const struct ubtile_options *options,
                                                uint8_t *bytes,
                                                size_t len);

/**
 * Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
 * otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
 * `workspace_bytes` may be NULL. The bytes may start anywhere.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
 */
int32_t ubtile_replication_pad2d_backward_load(const uint8_t *bytes,
                                               size_t len,
                                               struct ubtile_replication_pad2d_backward_desc *desc,
                                               struct ubtile_replication_pad2d_backward_tiling *tiling,
                                               size_t *workspace_bytes);

/**
 * Phases of a plan: all shares of one are complete before the next one begins. 0 without a plan.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_replication_pad2d_backward_phases(const struct ubtile_replication_pad2d_backward_tiling *tiling);

/**
 * Shares of a phase, which may run at the same time; 0 where there is no such phase.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_replication_pad2d_backward_shares(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                                size_t phase);

/**
 * Tiles of a share. Counting takes time in proportion to them.
 *
 * # Safety
 * `tiling` is NULL or points to a plan.
 */
size_t ubtile_replication_pad2d_backward_tiles(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                               size_t phase,
                                               size_t share);

/**
 * Describes tile number `index` of a share, found with a look at the tiles of two planes at most; UBTILE_ERROR_PARAM_INVALID
 * where there is none.
 *
 * # Safety
 * Each pointer is NULL or points to its struct; `info` is written.
 */
int32_t ubtile_replication_pad2d_backward_tile(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                               size_t phase,
                                               size_t share,
                                               size_t index,
                                               struct ubtile_replication_pad2d_backward_tile_info *info);

/**
 * Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
 * alignment as described to the plan; buffers at least as long as the strides reach.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
 */
int32_t ubtile_replication_pad2d_backward_run(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                              const struct ubtile_level *level,
                                              const struct ubtile_replication_pad2d_backward_buffers *buffers);

/**
 * Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
 * workspace too, which stays between phases; of `grad_input` only the share's own elements are written, so other shares may
 * run at the same time. It looks at the buffers that the share uses, and of outputs at its own elements. Others may be NULL
 * with 0 bytes; if they are not, they are checked alike, and the workspace must be as large as for a whole run.
 *
 * # Safety
 * As for `ubtile_replication_pad2d_backward_run`; no other call writes the same share.
 */
int32_t ubtile_replication_pad2d_backward_run_share(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                                    const struct ubtile_level *level,
                                                    size_t phase,
                                                    size_t share,
                                                    const struct ubtile_replication_pad2d_backward_buffers *buffers);

/**
 * Computes tile number `index` of a share on boxes. Tiles of a share come in order.
 *
 * # Safety
 * Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
 */
int32_t ubtile_replication_pad2d_backward_run_tile(const struct ubtile_replication_pad2d_backward_tiling *tiling,
                                                   const struct ubtile_level *level,
                                                   size_t phase,
                                                   size_t share,
                                                   size_t index,
                                                   const struct ubtile_replication_pad2d_backward_boxes *boxes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UBTILE_H */
