//! What a command can reach beyond files: network, processes, environment, kernel.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use bowline_cage::{Network, Verdict, probes};

use crate::{Workspace, cage};

#[test]
fn every_probe_holds() {
    let Some(cage) = cage() else { return };
    for finding in probes(cage).unwrap() {
        assert_ne!(finding.verdict, Verdict::Broken, "{}: {}", finding.claim, finding.seen);
    }
}

#[test]
fn without_a_grant_there_is_no_network_but_its_own_loopback() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    ws.fails(cage, &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"));
    assert!(listener.accept().is_err(), "somebody got through");
    let own = "import socket as s; a=s.create_server(('127.0.0.1',0)); s.create_connection(a.getsockname())";
    ws.works(cage, &format!("python3 -c \"{own}\""));
}

#[test]
fn abstract_sockets_of_the_machine_are_out_of_reach() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let name = format!("bowline-test-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect = format!("import socket;s=socket.socket(socket.AF_UNIX);s.connect('\\0{name}')");
    ws.fails(cage, &format!("python3 -c \"{connect}\""));
}

#[test]
fn a_granted_proxy_is_the_only_way_out() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    let socket = ws.place.path().join("proxy");
    let proxy = UnixListener::bind(&socket).unwrap();
    ws.grant.network = Network::Proxy(socket);
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = proxy.accept().unwrap();
        let mut request = [0; 4096];
        let count = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let fetch = "import urllib.request as u; print(u.urlopen('http://example.com/x').read().decode())";
    assert_eq!(ws.works(cage, &format!("python3 -c \"{fetch}\"")), "hello\n");
    let request = answering.join().unwrap();
    assert!(request.starts_with("GET http://example.com/x "), "{request}");
}

#[test]
fn the_environment_is_what_the_grant_says() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.env = vec![("TOKEN".into(), "for-this-one".into()), ("LANG".into(), "C".into())];
    let mut names: Vec<String> = Vec::new();
    for line in ws.works(cage, "/usr/bin/env").lines() {
        names.push(line.split('=').next().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR", "TOKEN"]);
    assert_eq!(ws.works(cage, "printf $TOKEN$LANG"), "for-this-oneC");
}

#[test]
fn secrets_of_the_environment_stand_on_no_command_line() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    let secret = format!("canary-{}", std::process::id());
    ws.grant.env = vec![("TOKEN".into(), secret.clone().into())];
    std::thread::scope(|scope| {
        let running = scope.spawn(|| ws.works(cage, "touch up; while ! test -e seen; do sleep 0.01; done"));
        while !ws.root().join("up").exists() {
            std::thread::yield_now();
        }
        assert_eq!(crate::processes_with(&secret), 0);
        ws.write("seen", "");
        running.join().unwrap();
    });
}

#[test]
fn a_loader_variable_of_the_grant_does_not_reach_bubblewrap() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.env = vec![("LD_PRELOAD".into(), ws.root().join("evil.so").into())];
    // Inside, the loader complains once for each program; outside it never sees it.
    let ran = ws.sh(cage, "true");
    let said = String::from_utf8_lossy(&ran.errors);
    assert!(said.contains("evil.so") && !said.contains("bwrap"), "{said}");
}

#[test]
fn open_files_of_the_caller_are_closed() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let open = ws.works(cage, "ls /proc/self/fd | wc -l");
    assert_eq!(open.trim(), "4", "three and the one `ls` reads");
}

#[test]
fn the_first_process_is_out_of_reach() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    for line in [
        "kill -9 1",
        "cat /proc/1/environ",
        "cat /proc/1/mem",
        "readlink /proc/1/fd/1",
        "echo x > /proc/1/fd/2",
        "ls /proc/1/root/",
    ] {
        ws.fails(cage, line);
    }
    assert_eq!(ws.works(cage, "kill -9 1; echo alive"), "alive\n");
}

#[test]
fn the_kernel_is_not_to_be_configured() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    for line in [
        "echo 1 > /proc/sys/kernel/pid_max",
        "echo 1 > /proc/sys/vm/drop_caches",
        "echo h > /proc/sysrq-trigger",
        "mount -t tmpfs x /tmp",
        "umount /proc",
        "unshare -U true",
        "unshare -n true",
        "dmesg",
        "bwrap --ro-bind / / true",
        "hostname x",
    ] {
        ws.fails(cage, line);
    }
    let grep = ws.works(cage, "grep -E '^(NoNewPrivs|Seccomp|Cap[A-Z][a-z]+):' /proc/self/status");
    for line in grep.lines() {
        let (name, value) = line.split_once(':').unwrap();
        let expected = match name {
            "NoNewPrivs" => "1",
            "Seccomp" => "2",
            _ => "0000000000000000",
        };
        assert_eq!(value.trim(), expected, "{name}");
    }
    assert_eq!(grep.lines().count(), 7);
}
