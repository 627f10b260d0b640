#![allow(clippy::unwrap_used)]
use super::*;

/// A process may call itself `x) S 1 (`, to be taken for a child of process 1.
#[test]
fn a_process_name_cannot_forge_its_parent() {
    for (stat, parent) in [
        (&b"12 (bash) S 7 12 12 0"[..], Some(7)),
        (b"12 (x) S 1 (y) S 7 12", Some(7)),
        (b"12 (a b) c) R 99 1", Some(99)),
        (b"1 (init) S 0 1 1", None),
        (b"12 (bash) S", None),
        (b"12 bash S 7", None),
        (b"12 (bash) S -1", None),
        (b"", None),
    ] {
        assert_eq!(parse_parent(stat), parent, "{}", String::from_utf8_lossy(stat));
    }
}

#[test]
fn only_sockets_are_sockets() {
    for (target, socket) in [
        (&b"socket:[12345]"[..], Some(12_345)),
        (b"pipe:[12345]", None),
        (b"/tmp/socket:[12345]", None),
        (b"socket:[12345", None),
        (b"socket:[]", None),
        (b"socket:[-1]", None),
    ] {
        assert_eq!(parse_socket(target), socket);
    }
}

#[test]
fn our_own_process_is_read_like_any_other() {
    let process = Process::open(std::process::id()).unwrap();
    assert_eq!(process.executable().unwrap(), Executable::Present(std::env::current_exe().unwrap()));
    assert_eq!(process.parent().unwrap().pid, std::os::unix::process::parent_id());
    assert_eq!(
        process.open_executable().unwrap().metadata().unwrap().len(),
        process.stat_executable().unwrap().st_size.cast_unsigned()
    );
}
