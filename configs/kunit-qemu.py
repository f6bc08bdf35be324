# SPDX-License-Identifier: GPL-2.0-only
#
# On which machine does kunit.py run the tests that need a debug store? For its option
# --qemu_config; VM_QEMU and PATH name the directory that scripts/build-qemu prints.
import os

from ..qemu_config import QemuArchParams

QEMU_ARCH = QemuArchParams(
    linux_arch='x86_64',
    kconfig='CONFIG_SERIAL_8250=y\nCONFIG_SERIAL_8250_CONSOLE=y',
    qemu_arch='x86_64',
    kernel_path='arch/x86/boot/bzImage',
    kernel_command_line='console=ttyS0',
    extra_qemu_params=[
        '-L', os.environ['VM_QEMU'], '-L', '/usr/share/seabios', '-smp', '2',
        '-cpu', 'Skylake-Client,check=off,+ds,+dtes64,+ds-cpl'])
