#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots one guest in QEMU and judges it: it passes only when its PID 1 wrote the token with
exit status 0, in time, and its console shows no complaint of the kernel."""

import argparse
import fcntl
import hashlib
import lzma
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

LAB = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(LAB))
CACHE = os.environ["QOFF_CACHE"]

# What no healthy kernel prints. A word here fails the guest even if all its tests passed.
COMPLAINTS = re.compile(
    r"WARNING: |BUG: |KASAN|UBSAN|Oops|Call Trace:|general protection|kernel panic|Kernel panic|"
    r"refcount_t: |possible (circular|recursive) locking|suspicious RCU usage|inconsistent lock state|"
    r"INFO: (task .* blocked|rcu_.* detected stalls|rcu_.* self-detected stall)|"
    r"unregister_netdevice: waiting|hw csum failure|ref_tracker: |ODEBUG: |list_(add|del) corruption|"
    r"DEBUG_LOCKS_WARN_ON|unreferenced object|lab-init: error")

# Exit statuses of our own, above those of a command.
FAILED_GUEST = 120
TIMED_OUT = 121

# TCG runs a guest some ten times slower than KVM; limits are given for KVM.
TCG_FACTOR = 5


def parse(argv):
    ap = argparse.ArgumentParser(
        prog="boot", description=__doc__,
        epilog="COMMAND runs as root in /src (this checkout, read-only) of a guest whose root is "
               "the lab root under a writable overlay. /results is writable and stays. ACCEL=auto|tcg|kvm "
               "chooses the accelerator; auto takes KVM where it works.")
    ap.add_argument("--kernel", default="base", help="base (default), debug, or stock: Debian's own")
    ap.add_argument("--smp", type=int, default=2, help="processors (2)")
    ap.add_argument("--mem", default=None, help="memory (1G; debug 2G)")
    ap.add_argument("--timeout", type=float, default=300,
                    help=f"seconds for all of it under KVM (300); times {TCG_FACTOR} under TCG")
    ap.add_argument("--icount", action="store_true",
                    help="count instructions (-icount shift=0,sleep=off); implies TCG and --smp 1")
    ap.add_argument("--append", default="", metavar="WORDS", help="more kernel command line")
    ap.add_argument("--qemu", action="append", default=[], metavar="WORDS",
                    help="more QEMU arguments, e.g. --qemu '-device vfio-user-pci,...'; may be repeated")
    ap.add_argument("--shared-mem", action="store_true",
                    help="guest memory in a shared memfd, as a vfio-user server needs")
    ap.add_argument("--kmemleak", action="store_true", help="scan for leaks at the end (debug kernel)")
    ap.add_argument("--results", metavar="DIR",
                    help="directory shared writable as /results (default: build/guest/<pid>, removed on success)")
    ap.add_argument("--expect-complaint", action="store_true",
                    help="do not scan the console (tests of this harness)")
    ap.add_argument("--no-panic-on-warn", action="store_true", help="let the guest live after a warning")
    ap.add_argument("--interactive", action="store_true", help="a shell on this terminal")
    ap.add_argument("--verbose", action="store_true", help="show the console as well")
    ap.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="-- COMMAND ARGS...")
    args = ap.parse_args(argv)
    if args.command[:1] == ["--"]:
        args.command = args.command[1:]
    if not args.command:
        if not args.interactive:
            ap.error("no COMMAND; or did you want --interactive?")
        args.command = ["/bin/bash", "-i"]
    if args.kernel not in ("base", "debug", "stock"):
        ap.error(f"no kernel '{args.kernel}': base, debug or stock")
    if args.icount:
        args.smp = 1
    return args


def take_slot():
    """Waits until fewer guests run than this machine bears: more of them only time each other
    out. Returns the lock, to be kept; the kernel frees it with the process."""
    slots = int(os.environ.get("QOFF_GUESTS") or (os.cpu_count() or 1) + 1)
    os.makedirs(f"{CACHE}/guests", exist_ok=True)
    told = False
    while True:
        for i in range(slots):
            lock = open(f"{CACHE}/guests/{i}", "w", encoding="ascii")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                lock.close()
        if not told:
            print(f"boot: {slots} guests are running, waiting for one to end (QOFF_GUESTS)", file=sys.stderr)
            told = True
        time.sleep(0.5)


def cpu_model():
    with open(os.path.join(LAB, "cpu-model"), encoding="ascii") as f:
        return "".join(line.strip() for line in f if not line.startswith("#"))


def kvm_works():
    """/dev/kvm may exist and still refuse, or offer a processor without the features that every
    count here assumes: only a started machine with the pinned model proves it."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    try:
        run = subprocess.run(
            ["qemu-system-x86_64", "-machine", "q35,accel=kvm", "-cpu", cpu_model() + ",enforce",
             "-nodefaults", "-display", "none", "-m", "64", "-S", "-monitor", "stdio"],
            input=b"quit\n", timeout=10, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def choose_accel(args):
    wish = os.environ.get("ACCEL") or "auto"
    if wish not in ("auto", "tcg", "kvm"):
        sys.exit(f"boot: error: ACCEL={wish}: auto, tcg or kvm")
    if args.icount:
        return "tcg"
    if wish == "kvm" and not kvm_works():
        sys.exit("boot: error: ACCEL=kvm, but /dev/kvm does not work here, or lacks features of kernel/lab/cpu-model: use ACCEL=auto")
    if wish == "auto":
        return "kvm" if kvm_works() else "tcg"
    return wish


class Cpio:
    """A newc archive, just enough for an initramfs."""

    def __init__(self):
        self.parts = []
        self.ino = 0

    def add(self, name, mode, data=b"", rdev=(0, 0)):
        self.ino += 1
        raw = name.encode() + b"\0"
        head = "070701" + "".join(f"{v:08x}" for v in (
            self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(raw), 0))
        for part in (head.encode() + raw, data):
            self.parts.append(part + b"\0" * (-len(part) % 4))

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def stock_modules(release):
    """The modules that Debian's kernel needs to reach the root, dependencies first."""
    paths = []
    for name in ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "virtio_rng"):
        out = subprocess.run(["modprobe", "-S", release, "--show-depends", name], check=True,
                             capture_output=True, text=True).stdout
        for line in out.splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in paths:
                paths.append(words[1])
    return paths


def module_bytes(path):
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".xz"):
        return lzma.decompress(data)
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    return data


def initramfs(release):
    """Builds it when its inputs changed; release is that of the stock kernel or None."""
    source = os.path.join(LAB, "init.c")
    key = hashlib.sha256()
    for path in (source, os.path.abspath(__file__), "/etc/lab-versions"):
        with open(path, "rb") as f:
            key.update(f.read())
    key.update((release or "").encode())
    os.makedirs(f"{CACHE}/initramfs", exist_ok=True)
    done = f"{CACHE}/initramfs/{key.hexdigest()[:12]}.cpio"
    if os.path.exists(done):
        return done
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Wextra", "-std=gnu11", "-o", f"{tmp}/init", source],
                       check=True)
        archive = Cpio()
        for name in ("dev", "proc", "sys", "root", "lower", "upper", "modules"):
            archive.add(name, 0o040755)
        archive.add("dev/console", 0o020600, rdev=(5, 1))
        with open(f"{tmp}/init", "rb") as f:
            archive.add("init", 0o100755, f.read())
        names = []
        for path in stock_modules(release) if release else []:
            names.append("/modules/" + re.sub(r"\.(xz|zst|gz)$", "", os.path.basename(path)))
            archive.add(names[-1][1:], 0o100644, module_bytes(path))
        archive.add("modules.list", 0o100644, "".join(n + "\n" for n in names).encode())
    new = f"{done}.{os.getpid()}"
    with open(new, "wb") as f:
        f.write(archive.bytes())
    os.rename(new, done)
    return done


def qemu_command(args, accel, kernel, results, run):
    if args.kernel == "stock":
        image, ramdisk = f"/boot/vmlinuz-{kernel}", initramfs(kernel)
    else:
        # PVH entry: the uncompressed image, so that TCG does not spend seconds unpacking one. Its
        # C code runs before KASAN has its shadow, hence not with the debug kernel.
        image, ramdisk = f"{kernel}/{'vmlinux' if args.kernel == 'base' else 'bzImage'}", initramfs(None)
    mem = args.mem or ("2G" if args.kernel == "debug" else "1G")
    words = ["console=ttyS0", "panic=-1", "oops=panic", "mitigations=off", "tsc=reliable",
             "net.ifnames=0", "no_timer_check"]
    if not args.no_panic_on_warn:
        words.append("panic_on_warn=1")
    if args.kernel == "debug" and not args.kmemleak:
        words.append("kmemleak=off")    # a stack trace for each allocation, for nothing
    if args.interactive:
        words += ["lab-interactive", "quiet"]
    cmd = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
           "-cpu", cpu_model(), "-smp", str(args.smp), "-m", mem,
           "-kernel", image, "-initrd", ramdisk, "-append", " ".join(words + shlex.split(args.append))]
    machine = f"q35,accel={accel}"
    if args.shared_mem:
        cmd += ["-object", f"memory-backend-memfd,id=ram,size={mem},share=on"]
        machine += ",memory-backend=ram"
    cmd += ["-machine", machine]
    if accel == "tcg" and not args.icount and args.smp > 1:
        cmd += ["-accel", "tcg,thread=multi"]
        cmd[cmd.index("-machine") + 1] = machine.replace(f",accel={accel}", "")
    if args.icount:
        cmd += ["-icount", "shift=0,sleep=off"]
    for tag, path, ro in (("labroot", "/lab", True), ("src", TREE, True), ("results", results, False)):
        cmd += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap"
                + (",readonly=on" if ro else ""),
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    if args.kernel != "stock":
        cmd += ["-fsdev", f"local,id=modules,path={kernel}/install/lib/modules,security_model=none,readonly=on",
                "-device", "virtio-9p-pci,fsdev=modules,mount_tag=modules"]
    cmd += ["-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng",
            "-device", "virtio-serial-pci",
            "-chardev", f"file,id=status,path={run}/status",
            "-device", "virtserialport,chardev=status,name=lab.status"]
    if args.interactive:
        cmd += ["-chardev", "stdio,id=console,signal=off", "-chardev", "null,id=out"]
    else:
        cmd += ["-chardev", f"file,id=console,path={run}/console",
                "-chardev", "stdio,id=out,signal=off"]
    cmd += ["-device", "virtserialport,chardev=out,name=lab.out", "-serial", "chardev:console"]
    if args.kernel == "debug":
        # Half of the ACPI code is about hot-plug, and ACPI is most of this kernel's boot under TCG.
        cmd += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
    for more in args.qemu:
        cmd += shlex.split(more)
    return cmd


def read_text(path):
    try:
        with open(path, "rb") as f:
            return f.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def judge(args, run, code, timed_out):
    """Returns (exit status, reason); reason is None for a pass."""
    console = read_text(f"{run}/console")
    token = re.fullmatch(r"lab-guest-exit (\d+)\n", read_text(f"{run}/status"))
    found = None if args.expect_complaint else COMPLAINTS.search(console)
    if found:
        line = console[console.rfind("\n", 0, found.start()) + 1:].split("\n", 1)[0].strip()
        return FAILED_GUEST, f"the kernel complained: {line}"
    if timed_out:
        return TIMED_OUT, f"no end within {args.limit:.0f} s"
    if not token:
        return FAILED_GUEST, f"the guest ended without its token (QEMU exit {code})"
    status = int(token[1])
    if status:
        return status, f"the command ended with {status}"
    return 0, None


def main(argv):
    args = parse(argv)
    kernel = os.environ["LAB_KERNEL"]
    accel = choose_accel(args)
    args.limit = args.timeout * (TCG_FACTOR if accel == "tcg" else 1)

    os.makedirs(f"{TREE}/build/guest", exist_ok=True)
    if args.results:
        results = os.path.join(TREE, args.results)
        os.makedirs(results, exist_ok=True)
    else:
        results = tempfile.mkdtemp(dir=f"{TREE}/build/guest", prefix=f"{args.kernel}.")
    run = tempfile.mkdtemp(prefix="guest.")

    with open(f"{results}/cmd", "w", encoding="utf-8") as f:
        for name, value in sorted(os.environ.items()):
            if re.fullmatch(r"(QOFF_(?!CACHE)\w+|NIC|TRAFFIC|MIX|SIZE|CIPHER|ROWS|DEV|CI)", name):
                f.write(f"export {name}={shlex.quote(value)}\n")
        f.write(f"export QOFF_ACCEL={accel} QOFF_KERNEL={args.kernel}\n")
        f.write("exec " + shlex.join(args.command) + "\n")
    for name, wanted in (("kmemleak", args.kmemleak), ("modules", args.kernel != "stock")):
        if wanted:
            open(f"{results}/{name}", "w", encoding="ascii").close()
        elif os.path.exists(f"{results}/{name}"):
            os.unlink(f"{results}/{name}")

    slot = take_slot()
    began = time.monotonic()
    cmd = qemu_command(args, accel, kernel, results, run)
    timed_out = False
    # A pipe that never ends: at the end of its input QEMU would close the guest's output port.
    with subprocess.Popen(cmd, stdin=None if args.interactive else subprocess.PIPE) as qemu:
        def stop(signum, _frame):
            qemu.kill()
            sys.exit(128 + signum)
        signal.signal(signal.SIGTERM, stop)
        try:
            code = qemu.wait(None if args.interactive else args.limit)
        except subprocess.TimeoutExpired:
            timed_out = True
            qemu.kill()
            code = qemu.wait()
        except KeyboardInterrupt:
            qemu.kill()
            raise

    slot.close()

    if args.interactive:
        return 0
    status, reason = judge(args, run, code, timed_out)
    shutil.copy(f"{run}/console", f"{results}/console.log")
    if args.verbose or reason:
        text = read_text(f"{run}/console").splitlines()
        print("\n".join("  | " + line.rstrip() for line in (text if args.verbose else text[-60:])), file=sys.stderr)
    shutil.rmtree(run)
    for name in ("cmd", "kmemleak", "modules"):
        if os.path.exists(f"{results}/{name}"):
            os.unlink(f"{results}/{name}")
    took = time.monotonic() - began
    if reason:
        print(f"boot: FAILED after {took:.1f} s ({args.kernel}, {accel}): {reason}; console: "
              f"{os.path.relpath(results, TREE)}/console.log", file=sys.stderr)
        return status
    if not args.results:
        shutil.rmtree(results)
    print(f"boot: passed in {took:.1f} s ({args.kernel}, {accel})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
