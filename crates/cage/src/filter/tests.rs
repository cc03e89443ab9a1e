//! The program, run by an interpreter of its own.

use proptest::prelude::*;

use super::*;

/// What the kernel would do with this call.
fn verdict(architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let steps = steps().unwrap();
    let word = |at: u32| match at {
        NUMBER_AT => number,
        ARCHITECTURE_AT => architecture,
        at => {
            let argument = arguments[(at as usize - 16) / 8];
            if at % 8 == 0 { argument as u32 } else { (argument >> 32) as u32 }
        }
    };
    let (mut at, mut held) = (0, 0);
    loop {
        let step = steps[at];
        at += 1;
        let holds = match step.code {
            LOAD => {
                held = word(step.value);
                continue;
            }
            RETURN => return step.value,
            IF_EQUAL => held == step.value,
            IF_ABOVE => held > step.value,
            IF_ANY => held & step.value != 0,
            other => panic!("no such operation: {other:#x}"),
        };
        at += usize::from(if holds { step.if_true } else { step.if_false });
    }
}

fn native(call: c_long, arguments: [u64; 6]) -> u32 {
    verdict(ARCHITECTURE.unwrap(), u32::try_from(call).unwrap(), arguments)
}

const NOTHING: [u64; 6] = [0; 6];

#[test]
fn what_is_named_fails_whatever_its_arguments() {
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        assert_eq!(native(*call, NOTHING), fail(libc::EPERM), "{call}");
        assert_eq!(native(*call, [u64::MAX; 6]), fail(libc::EPERM), "{call}");
    }
}

#[test]
fn ordinary_calls_pass() {
    for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_mmap, libc::SYS_futex, libc::SYS_exit_group] {
        assert_eq!(native(call, [7; 6]), ALLOW, "{call}");
    }
}

#[test]
fn other_calling_conventions_do_not_pass_by_the_names() {
    assert_eq!(verdict(0x4000_0003, 1, NOTHING), KILL);
    let x32 = X32 + u32::try_from(libc::SYS_ptrace).unwrap();
    assert_eq!(verdict(ARCHITECTURE.unwrap(), x32, NOTHING), fail(libc::ENOSYS));
}

#[test]
fn calls_newer_than_the_list_do_not_exist() {
    assert_eq!(native(c_long::from(NEWEST), NOTHING), ALLOW);
    assert_eq!(native(c_long::from(NEWEST) + 1, NOTHING), fail(libc::ENOSYS));
}

#[test]
fn no_file_becomes_set_user_id() {
    for mode in [0o4755, 0o2755, 0o6000] {
        assert_eq!(native(libc::SYS_fchmod, [3, mode, 0, 0, 0, 0]), fail(libc::EPERM));
        assert_eq!(native(libc::SYS_fchmodat, [3, 0, mode, 0, 0, 0]), fail(libc::EPERM));
        assert_eq!(native(FCHMODAT2, [3, 0, mode, 0, 0, 0]), fail(libc::EPERM));
        let create = u64::try_from(libc::O_CREAT | libc::O_WRONLY).unwrap();
        assert_eq!(native(libc::SYS_openat, [3, 0, create, mode, 0, 0]), fail(libc::EPERM));
        let unnamed = u64::try_from(libc::O_TMPFILE | libc::O_RDWR).unwrap();
        assert_eq!(native(libc::SYS_openat, [3, 0, unnamed, mode, 0, 0]), fail(libc::EPERM));
    }
    assert_eq!(native(libc::SYS_fchmod, [3, 0o1777, 0, 0, 0, 0]), ALLOW);
    assert_eq!(native(libc::SYS_openat, [3, 0, 0, 0o6777, 0, 0]), ALLOW, "nothing is created");
    let folder = u64::try_from(libc::O_DIRECTORY).unwrap();
    assert_eq!(native(libc::SYS_openat, [3, 0, folder, 0o6777, 0, 0]), ALLOW, "nothing is created");
}

#[test]
fn threads_are_made_and_namespaces_are_not() {
    let thread = 0x003d_0f00;
    assert_eq!(native(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), ALLOW);
    for bit in [17, 25, 26, 27, 28, 29, 30] {
        assert_eq!(native(libc::SYS_clone, [1 << bit, 0, 0, 0, 0, 0]), fail(libc::EPERM), "{bit}");
    }
    assert_eq!(native(libc::SYS_clone3, NOTHING), fail(libc::ENOSYS));
}

#[test]
fn terminals_take_no_typing() {
    assert_eq!(native(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), fail(libc::EPERM));
    // The kernel looks at the lower half only; so do we.
    assert_eq!(native(libc::SYS_ioctl, [0, 0x1_0000_5412, 0, 0, 0, 0]), fail(libc::EPERM));
    assert_eq!(native(libc::SYS_ioctl, [0, 0x5413, 0, 0, 0, 0]), ALLOW);
}

proptest! {
    #[test]
    fn every_call_gets_an_answer(number: u32, arguments: [u64; 6]) {
        let answer = verdict(ARCHITECTURE.unwrap(), number, arguments);
        prop_assert!(answer == ALLOW || answer & 0xffff_0000 == FAIL);
    }

    #[test]
    fn only_three_families_of_sockets_exist(family: u32) {
        let expected = if FAMILIES.contains(&family) { ALLOW } else { fail(libc::EAFNOSUPPORT) };
        prop_assert_eq!(native(libc::SYS_socket, [u64::from(family), 0, 0, 0, 0, 0]), expected);
        prop_assert_eq!(native(libc::SYS_socketpair, [u64::from(family), 0, 0, 0, 0, 0]), expected);
    }
}
