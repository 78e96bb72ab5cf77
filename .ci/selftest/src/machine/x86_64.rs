//! QEMU's microvm: from the 32-bit PVH entry to long mode, a serial port, and the debug device to exit.

use core::arch::{asm, global_asm};

global_asm!(
    r#"
    .section .note.pvh, "a"
    .balign 4
    .long 4, 4, 18
    .asciz "Xen"
    .long _start

    .section .head, "ax"
    .code32
    .global _start
_start:
    // The first gigabyte as 512 pages of 2 MiB.
    lea edi, [tables + 8192]
    mov eax, 0x83
    mov ecx, 512
1:  mov [edi], eax
    add edi, 8
    add eax, 0x200000
    loop 1b
    lea eax, [tables + 8192 + 3]
    mov [tables + 4096], eax
    lea eax, [tables + 4096 + 3]
    mov [tables], eax
    lea eax, [tables]
    mov cr3, eax
    // PAE, OSFXSR, OSXMMEXCPT.
    mov eax, (1 << 5) | (1 << 9) | (1 << 10)
    mov cr4, eax
    mov ecx, 0xC0000080
    rdmsr
    or eax, 1 << 8
    wrmsr
    mov eax, 0x80000003
    mov cr0, eax
    lgdt [gdt_pointer]
    // A far jump to selector 8, which the assembler has no word for in this syntax.
    .byte 0xea
    .long 2f
    .word 8

    .code64
2:  lea rsp, [stack_top]
    // AVX, where the processor has it: OSXSAVE, then XCR0 = x87, SSE, AVX.
    mov eax, 1
    cpuid
    mov eax, (1 << 26) | (1 << 28)
    and ecx, eax
    cmp ecx, eax
    jne 3f
    mov rax, cr4
    or rax, 1 << 18
    mov cr4, rax
    xor ecx, ecx
    xgetbv
    or eax, 7
    xsetbv
3:  call image_main

    .balign 8
gdt:
    .quad 0
    .quad 0x00209A0000000000
gdt_pointer:
    .word 15
    .long gdt

    .section .bss.tables, "aw", @nobits
    .balign 4096
tables:
    .skip 3 * 4096

    // What the C library would bring. The direction flag is clear.
    .section .text.memory, "ax"
    .global memcpy
    .global memmove
    .global memset
    .global memcmp
    .global bcmp
memmove:
    mov rax, rdi
    sub rax, rsi
    cmp rax, rdx
    jae memcpy
    lea rdi, [rdi + rdx - 1]
    lea rsi, [rsi + rdx - 1]
    mov rcx, rdx
    std
    rep movsb
    cld
    lea rax, [rdi + 1]
    ret
memcpy:
    mov rax, rdi
    mov rcx, rdx
    rep movsb
    ret
memset:
    mov r8, rdi
    mov eax, esi
    mov rcx, rdx
    rep stosb
    mov rax, r8
    ret
memcmp:
bcmp:
    xor eax, eax
    xor ecx, ecx
4:  cmp rcx, rdx
    je 5f
    movzx eax, byte ptr [rdi + rcx]
    movzx r8d, byte ptr [rsi + rcx]
    inc rcx
    sub eax, r8d
    je 4b
5:  ret
"#
);

/// Named by `core`'s tables for unwinding, of which nothing is left.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Prints a byte.
pub(crate) fn put(byte: u8) {
    // SAFETY: the serial port's data register.
    unsafe { asm!("out dx, al", in("dx") 0x3f8u16, in("al") byte) };
}

/// Ends the machine: QEMU exits with 33 or 35.
pub(crate) fn exit(good: bool) -> ! {
    // SAFETY: the debug device's port.
    unsafe { asm!("out dx, eax", in("dx") 0xf4u16, in("eax") if good { 16u32 } else { 17 }) };
    loop {}
}

/// A triple fault: QEMU exits with 0.
#[cfg(feature = "plant-crash")]
pub(crate) fn crash() -> ! {
    // SAFETY: on purpose none: there is no table of interrupts.
    unsafe { asm!("ud2", options(noreturn)) }
}
