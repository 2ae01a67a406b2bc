//! A network between an author and a registry that breaks when a test wants it to.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// What an exhausted network still lets through on each connection: enough for manifests, and not for layers.
const TRICKLE: u64 = 8 << 10;

/// The way that bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToRegistry,
    FromRegistry,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The next connections break off after so many bytes.
    Cut { way: Way, after: u64, connections: u64 },
    /// After so many bytes altogether no connection brings more than [`TRICKLE`] from the registry.
    Exhaust { bytes: u64 },
    /// A connection that has carried so many bytes to the registry stops at the next piece with `text` in it, until
    /// [`Proxy::release`].
    Hold { text: &'static str, after: u64 },
}

struct State {
    target: SocketAddr,
    fault: Mutex<Fault>,
    connections: AtomicU64,
    from_registry: AtomicU64,
    held: Mutex<bool>,
    changed: Condvar,
}

/// The network: until it is told otherwise, all goes through.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

impl Proxy {
    pub(crate) fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            target,
            fault: Mutex::new(Fault::None),
            connections: AtomicU64::new(0),
            from_registry: AtomicU64::new(0),
            held: Mutex::new(false),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || state.connect(client));
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets something go wrong from the next connection on.
    pub(crate) fn suffer(&self, fault: Fault) {
        self.state.connections.store(0, Ordering::SeqCst);
        self.state.from_registry.store(0, Ordering::SeqCst);
        *lock(&self.state.fault) = fault;
    }

    /// How many connections there were since the last fault began.
    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// How many bytes came from the registry since the last fault began.
    pub(crate) fn received(&self) -> u64 {
        self.state.from_registry.load(Ordering::SeqCst)
    }

    /// Waits until a connection is held.
    pub(crate) fn wait_until_held(&self) {
        let held = lock(&self.state.held);
        drop(
            self.state
                .changed
                .wait_while(held, |held| !*held)
                .expect("no panic elsewhere"),
        );
    }

    /// Lets everything through again.
    pub(crate) fn release(&self) {
        *lock(&self.state.fault) = Fault::None;
        *lock(&self.state.held) = false;
        self.state.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic elsewhere")
}

impl State {
    fn connect(self: Arc<Self>, client: TcpStream) {
        let Ok(registry) = TcpStream::connect(self.target) else {
            return;
        };
        let number = self.connections.fetch_add(1, Ordering::SeqCst);
        let (Ok(client_too), Ok(registry_too)) = (client.try_clone(), registry.try_clone()) else {
            return;
        };
        let other = Arc::clone(&self);
        thread::spawn(move || other.carry(Way::FromRegistry, number, registry_too, client_too));
        self.carry(Way::ToRegistry, number, client, registry);
    }

    fn carry(&self, way: Way, number: u64, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 4096];
        let mut carried = 0_u64;
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut piece = &buffer[..read];
            let fault = *lock(&self.fault);
            let is_cut = match fault {
                Fault::Cut {
                    way: cut,
                    after,
                    connections,
                } if cut == way && number < connections && carried + read as u64 > after => {
                    piece = &piece[..usize::try_from(after.saturating_sub(carried)).expect("a piece")];
                    true
                }
                Fault::Exhaust { bytes } if way == Way::FromRegistry => {
                    let altogether = bytes.saturating_sub(self.from_registry.load(Ordering::SeqCst));
                    let left = altogether.max(TRICKLE.saturating_sub(carried));
                    let passing = piece.len().min(usize::try_from(left).expect("a piece"));
                    piece = &piece[..passing];
                    passing < read
                }
                _ => false,
            };
            if let Fault::Hold { text, after } = fault {
                let is_meant = carried >= after && String::from_utf8_lossy(piece).contains(text);
                if way == Way::ToRegistry && is_meant {
                    *lock(&self.held) = true;
                    self.changed.notify_all();
                    let held = lock(&self.held);
                    drop(
                        self.changed
                            .wait_while(held, |held| *held)
                            .expect("no panic elsewhere"),
                    );
                }
            }
            carried += piece.len() as u64;
            if way == Way::FromRegistry {
                self.from_registry.fetch_add(piece.len() as u64, Ordering::SeqCst);
            }
            if to.write_all(piece).is_err() || is_cut {
                break;
            }
        }
        from.shutdown(Shutdown::Both).ok();
        to.shutdown(Shutdown::Both).ok();
    }
}
