/* The example on a Cortex-M4: newlib, whose files and streams reach the debugger by semihosting. */
#include <stdio.h>
#include <stdint.h>

#include "../im2col.h"

static void print(const char *text) { puts(text); }

int main(void) { return im2col_example("cortex-m4", print); }

extern uint32_t stack_top;
extern void _start(void);

/* The vector table's reset: the floating-point unit on (CPACR), then newlib's start. */
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\n isb");
    _start();
}

static void stopped(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))&stack_top, reset, stopped, stopped, stopped, stopped, stopped, stopped,
    stopped, stopped, stopped, stopped, stopped, stopped, stopped, stopped};
