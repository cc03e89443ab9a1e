//! The system call filter, as the classic BPF program bubblewrap loads.
//!
//! Programs of every kind must run, so what is not named is allowed; what is
//! named reaches into other processes, the kernel's configuration, new
//! namespaces, or around the other walls. Calls of another calling convention and
//! calls newer than this list are not allowed, or they would pass by the names.
//!
//! The program is data built in memory; nothing is installed here.

use libc::{c_long, c_uint};

/// Refused with "not permitted".
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_perf_event_open,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    STATMOUNT,
    LISTMOUNT,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    // Work handed to the kernel, which then does it outside this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Keys of the login session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    LSM_SET_SELF_ATTR,
    libc::SYS_memfd_secret,
];

/// Refused where they exist: the first PC's inheritance.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
    libc::SYS_sysfs,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

// Names the C library's table does not have yet; numbers are the same everywhere.
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const LSM_SET_SELF_ATTR: c_long = 460;
const OPEN_TREE_ATTR: c_long = 467;
const FCHMODAT2: c_long = 452;

/// The last call this list has an opinion on (`file_setattr`, Linux 6.17).
const NEWEST: u32 = 469;

/// Answered with "no such call", so that callers fall back to one whose
/// arguments a filter can see.
const UNKNOWN: &[c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// Calls that give a file its mode, and which argument that is.
const MODES: &[(c_long, u32)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[(c_long, u32)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[(c_long, u32)] = &[];

/// Calls that give a mode only when they create; the argument is noise otherwise.
/// (call, argument with the flags, argument with the mode)
const OPENS: &[(c_long, u32, u32)] = &[(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const OPENS_HERE: &[(c_long, u32, u32)] = &[(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS_HERE: &[(c_long, u32, u32)] = &[];

/// Every flag of `clone` that makes a namespace.
const NEW_NAMESPACE: u32 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;

/// Unix, IPv4, IPv6. Not netlink, packets, or VM sockets, which know no namespace.
const FAMILIES: [u32; 3] = [1, 2, 10];

/// Terminal requests that type for the person at the terminal.
const TYPING: [u32; 2] = [0x5412, 0x541C];

/// Personalities that change nothing about protection, and the question for the current one.
const PERSONALITIES: [u32; 5] = [0, 0x0008, 0x0002_0000, 0x0002_0008, 0xffff_ffff];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Numbers from here on belong to the x32 convention.
const X32: u32 = 0x4000_0000;
const _: () = assert!(NEWEST < X32);

// Operations of classic BPF: load a word, jump if equal / at least / any bit set, return.
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_ABOVE: u16 = 0x25;
const IF_ANY: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const FAIL: u32 = 0x0005_0000;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// One instruction.
#[derive(Clone, Copy, Debug)]
struct Step {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// The program in the bytes the kernel wants; nothing for a processor we do not know.
pub(crate) fn program() -> Option<Vec<u8>> {
    Some(steps()?.iter().flat_map(|step| step.bytes()).collect())
}

fn steps() -> Option<Vec<Step>> {
    let mut steps = vec![
        Step::load(ARCHITECTURE_AT),
        Step::jump(IF_EQUAL, ARCHITECTURE?, 1, 0),
        Step::ret(KILL),
        Step::load(NUMBER_AT),
        // x32 numbers, negative ones and the future's.
        Step::jump(IF_ABOVE, NEWEST, 0, 1),
        Step::ret(fail(libc::ENOSYS)),
    ];
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        on(&mut steps, *call, &[Step::ret(fail(libc::EPERM))]);
    }
    for call in UNKNOWN {
        on(&mut steps, *call, &[Step::ret(fail(libc::ENOSYS))]);
    }
    for (call, argument) in MODES.iter().chain(MODES_HERE) {
        on(&mut steps, *call, &refuse_bits(*argument, SET_ID));
    }
    for (call, flags, mode) in OPENS.iter().chain(OPENS_HERE) {
        on(&mut steps, *call, &refuse_created_with_set_id(*flags, *mode));
    }
    on(&mut steps, libc::SYS_clone, &refuse_bits(0, NEW_NAMESPACE));
    on(&mut steps, libc::SYS_socket, &only(0, &FAMILIES, libc::EAFNOSUPPORT));
    on(&mut steps, libc::SYS_socketpair, &only(0, &FAMILIES, libc::EAFNOSUPPORT));
    on(&mut steps, libc::SYS_personality, &only(0, &PERSONALITIES, libc::EPERM));
    on(&mut steps, libc::SYS_ioctl, &none_of(1, &TYPING));
    steps.push(Step::ret(ALLOW));
    Some(steps)
}

/// Does `then` if the call is this one; otherwise goes on behind it.
fn on(steps: &mut Vec<Step>, call: c_long, then: &[Step]) {
    let (Ok(number), Ok(skip)) = (u32::try_from(call), u8::try_from(then.len())) else { return };
    steps.push(Step::jump(IF_EQUAL, number, 0, skip));
    steps.extend_from_slice(then);
}

fn refuse_bits(argument: u32, bits: u32) -> [Step; 4] {
    [Step::argument(argument), Step::jump(IF_ANY, bits, 0, 1), Step::ret(fail(libc::EPERM)), Step::ret(ALLOW)]
}

fn refuse_created_with_set_id(flags: u32, mode: u32) -> Vec<Step> {
    // O_TMPFILE creates too; its own bit without O_DIRECTORY's, which it contains.
    let creates = libc::O_CREAT.cast_unsigned() | (libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();
    let mut steps = vec![Step::argument(flags), Step::jump(IF_ANY, creates, 1, 0), Step::ret(ALLOW)];
    steps.extend(refuse_bits(mode, SET_ID));
    steps
}

fn only(argument: u32, values: &[u32], error: i32) -> Vec<Step> {
    let mut steps = vec![Step::argument(argument)];
    for value in values {
        steps.push(Step::jump(IF_EQUAL, *value, 0, 1));
        steps.push(Step::ret(ALLOW));
    }
    steps.push(Step::ret(fail(error)));
    steps
}

fn none_of(argument: u32, values: &[u32]) -> Vec<Step> {
    let mut steps = vec![Step::argument(argument)];
    for value in values {
        steps.push(Step::jump(IF_EQUAL, *value, 0, 1));
        steps.push(Step::ret(fail(libc::EPERM)));
    }
    steps.push(Step::ret(ALLOW));
    steps
}

fn fail(error: i32) -> u32 {
    FAIL | c_uint::try_from(error).unwrap_or(0)
}

impl Step {
    fn load(at: u32) -> Self {
        Self { code: LOAD, if_true: 0, if_false: 0, value: at }
    }

    /// The lower half of an argument: what is looked at is 32 bits wide everywhere.
    fn argument(index: u32) -> Self {
        let lower = if cfg!(target_endian = "little") { 0 } else { 4 };
        Self::load(16 + 8 * index + lower)
    }

    fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> Self {
        Self { code, if_true, if_false, value }
    }

    fn ret(value: u32) -> Self {
        Self { code: RETURN, if_true: 0, if_false: 0, value }
    }

    fn bytes(self) -> [u8; 8] {
        let [a, b] = self.code.to_ne_bytes();
        let [e, f, g, h] = self.value.to_ne_bytes();
        [a, b, self.if_true, self.if_false, e, f, g, h]
    }
}

#[cfg(test)]
mod tests;
