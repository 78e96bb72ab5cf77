# The emulated machines of the bare-metal images: sourced by what runs them.

# machine TARGET: sets `machine` to the command that boots it, but for the image, and `good` to its status for success.
machine() {
    good=0
    case $1 in
    thumbv7*) machine=(qemu-system-arm -M mps2-an386 -semihosting-config enable=on,target=native) ;;
    thumbv8m*) machine=(qemu-system-arm -M mps2-an505 -semihosting-config enable=on,target=native) ;;
    riscv32*) machine=(qemu-system-riscv32 -M virt -bios none -serial stdio) ;;
    riscv64*) machine=(qemu-system-riscv64 -M virt -bios none -serial stdio) ;;
    aarch64*) machine=(qemu-system-aarch64 -M virt -cpu cortex-a53 -semihosting -serial stdio) ;;
    x86_64*)
        machine=(qemu-system-x86_64 -M microvm -cpu max -serial stdio -device isa-debug-exit,iobase=0xf4,iosize=0x04)
        good=33
        ;;
    esac
    machine+=(-display none -monitor none -no-reboot)
}
