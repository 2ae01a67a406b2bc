//! How `baton stage` ends while somebody pushes, and never comes to an end.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::world::World;

/// A stage with a registry that somebody pushes to.
struct Busy {
    process: Child,
    remarks: Receiver<String>,
    _slow: TcpStream,
}

impl Busy {
    fn start(world: &World) -> Self {
        let mut command = world.command(&["stage", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
        command.args(["--serve-registry", "127.0.0.1:0"]);
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program runs");
        let lines = BufReader::new(process.stderr.take().expect("its remarks")).lines();
        let (tell, remarks) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let begin = "registry at http://";
        let line = remarks
            .iter()
            .find(|line| line.starts_with(begin))
            .expect("a registry");
        let address = line[begin.len()..].split(';').next().expect("an address");
        let password = fs::read_to_string(world.path("data/registry.password")).expect("a password");
        let login = STANDARD.encode(format!("baton:{}", password.trim()));
        let mut slow = TcpStream::connect(address).expect("a connection");
        let head = format!(
            "PUT /v2/a/manifests/b HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {login}\r\nExpect: 100-continue\r\n\
             Content-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: 1000\r\n\r\n"
        );
        slow.write_all(head.as_bytes()).expect("a request");
        // Said when the registry begins to read what is pushed.
        let mut go_on = [0; b"HTTP/1.1 100 Continue".len()];
        slow.read_exact(&mut go_on).expect("an answer");
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue");
        Self {
            process,
            remarks,
            _slow: slow,
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("kill");
        assert!(sent.success());
    }

    fn says(&self, what: &str) {
        assert!(self.remarks.iter().any(|line| line == what), "{what} in vain");
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn it_ends_by_itself_whoever_pushes() {
    let world = World::new();
    let mut busy = Busy::start(&world);
    busy.signal("-TERM");
    busy.says("stopping");
    busy.says("what still ran after 4 s is broken off");
    assert_eq!(busy.process.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let world = World::new();
        let mut busy = Busy::start(&world);
        busy.signal("-TERM");
        busy.says("stopping");
        busy.signal(signal);
        busy.says("stopping at once");
        assert_eq!(busy.process.wait().expect("an end").code(), Some(code));
    }
}
