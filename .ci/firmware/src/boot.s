    .syntax unified

    .section .vectors, "a"
    .word stack_top
    .word reset
    .rept 14
    .word stopped
    .endr

    .section .text.reset, "ax"
    .global reset
    .thumb_func
reset:
    @ The floating-point unit is off after a reset: grant access to it (CPACR, CP10 and CP11).
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    orr r1, r1, #(0xF << 20)
    str r1, [r0]
    dsb
    isb
    ldr r0, =data_start
    ldr r1, =data_end
    ldr r2, =data_load
1:  cmp r0, r1
    bhs 2f
    ldr r3, [r2], #4
    str r3, [r0], #4
    b 1b
2:  ldr r0, =bss_start
    ldr r1, =bss_end
    movs r2, #0
3:  cmp r0, r1
    bhs 4f
    str r2, [r0], #4
    b 3b
4:  bl firmware_main
    .ltorg

    .section .text.stopped, "ax"
    .global stopped
    .thumb_func
stopped:
    b stopped

    @ Where the panic handler ends: an infinite loop. It is written here because no optimisation can then inline it, merge it
    @ with another loop or rename it: the symbol is in the linked image exactly if something in it can panic.
    .section .text.panic_reached, "ax"
    .global panic_reached
    .thumb_func
panic_reached:
    b panic_reached
