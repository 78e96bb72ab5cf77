/*
 * The example problem of both C programs: the four 2 x 2 windows of a 3 x 3 image are folded back.
 *
 * Uses nothing but ubtile.h. Returns 0 if everything came out as it must.
 */
#ifndef IM2COL_EXAMPLE_H
#define IM2COL_EXAMPLE_H

#include "ubtile.h"

/* One image with one channel: 4 taps of 4 windows each. Every window is the same, so each cell counts its windows. */
static const float grad_output[1 * 4 * 4] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static float out[3 * 3];
static ubtile_im2col_backward_tiling tiling, again;
static uint8_t stored[UBTILE_IM2COL_BACKWARD_STORED_BYTES];

static int im2col_example(const char *machine, void (*print)(const char *))
{
    static const float want[3 * 3] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    static const size_t columns[] = {1, 4, 4}, image[] = {1, 1, 3, 3};
    ubtile_im2col_backward_desc desc = {
        .input_size = {3, 3}, .kernel_size = {2, 2}, .dilation = {1, 1}, .padding = {0, 0}, .stride = {1, 1}};
    ubtile_target target;
    ubtile_im2col_backward_buffers buffers = {
        .grad_output = {grad_output, sizeof grad_output}, .out = {out, sizeof out}, .workspace = {NULL, 0}};
    size_t workspace_bytes, i;

    if (ubtile_tensor_contiguous(UBTILE_F32, 3, columns, &desc.grad_output) != UBTILE_SUCCESS
        || ubtile_tensor_contiguous(UBTILE_F32, 4, image, &desc.out) != UBTILE_SUCCESS
        || ubtile_target_named(machine, &target) != UBTILE_SUCCESS) {
        print("no description");
        return 1;
    }
    if (ubtile_im2col_backward_plan(&desc, &target, NULL, &tiling, &workspace_bytes) != UBTILE_SUCCESS
        || workspace_bytes != 0) {
        print("no plan");
        return 1;
    }
    if (ubtile_im2col_backward_run(&tiling, NULL, &buffers) != UBTILE_SUCCESS) {
        print("no result");
        return 1;
    }
    for (i = 0; i < 9; i++) {
        if (out[i] != want[i]) {
            print("wrong result");
            return 1;
        }
    }

    /* A plan in flash: whole it is the same plan, damaged it is refused. */
    if (ubtile_im2col_backward_store(&desc, &target, NULL, stored, sizeof stored) != UBTILE_SUCCESS
        || ubtile_im2col_backward_load(stored, sizeof stored, NULL, &again, NULL) != UBTILE_SUCCESS) {
        print("no stored plan");
        return 1;
    }
    stored[100] ^= 1;
    if (ubtile_im2col_backward_load(stored, sizeof stored, NULL, &again, NULL) != UBTILE_ERROR_PARAM_INVALID) {
        print("a damaged plan was taken");
        return 1;
    }

    /* What the contract refuses has aclnn's number. */
    desc.stride[0] = 0;
    if (ubtile_im2col_backward_plan(&desc, &target, NULL, &tiling, NULL) != UBTILE_ERROR_PARAM_INVALID
        || ubtile_im2col_backward_run(&tiling, NULL, &buffers) != UBTILE_ERROR_PARAM_INVALID) {
        print("a stride of 0 was taken");
        return 1;
    }
    print("im2col: 1 2 1 / 2 4 2 / 1 2 1, as it must be");
    return 0;
}

#endif
