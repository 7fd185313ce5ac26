//! A wire between two machines that can be cut: each knows the other by an address of the wire alone,
//! and is seen by the other as coming from one. A thread for each direction of each connection.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::http;
use crate::lab::{Lab, poll};

/// Calls go in one direction: from the first machine to the second, or back.
pub struct Wire {
    ends: [Arc<End>; 2],
    accepting: Vec<JoinHandle<()>>,
}

/// Where the machine that calls reaches the other one.
struct End {
    at: SocketAddr,
    to: SocketAddr,
    /// The address that the other one sees.
    from: IpAddr,
    is_cut: AtomicBool,
    /// Answers do not come through, and end their connection.
    loses_answers: AtomicBool,
    lost: AtomicUsize,
    /// How long a piece is on its way, in milliseconds.
    delay: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl Wire {
    /// Between two machines that were not started yet; it is whole.
    pub fn between(lab: &mut Lab) -> Wire {
        let IpAddr::V4(first) = lab[0].address else { panic!("labs are of IPv4") };
        let [a, b, c, _] = first.octets();
        // What the second machine is to the first, and the first to the second.
        let seen = [110, 111].map(|last| IpAddr::V4(Ipv4Addr::new(a, b, c, last)));
        let ends = [(0, 1), (1, 0)].map(|(caller, called)| {
            Arc::new(End {
                at: SocketAddr::new(seen[caller], lab[called].port),
                to: SocketAddr::new(lab[called].address, lab[called].port),
                from: seen[called],
                is_cut: AtomicBool::new(true),
                loses_answers: AtomicBool::new(false),
                lost: AtomicUsize::new(0),
                delay: AtomicU64::new(0),
                open: Mutex::new(Vec::new()),
            })
        });
        for (me, other) in [(0, 1), (1, 0)] {
            let mine = (lab[me].name.clone(), lab[me].address);
            let others = (lab[other].name.clone(), seen[me]);
            lab[me].know(&[mine, others]);
        }
        let mut wire = Wire { ends, accepting: Vec::new() };
        wire.heal();
        wire
    }

    /// From here on neither reaches the other: what is open ends, what is new is refused.
    pub fn cut(&mut self) {
        for end in &self.ends {
            end.is_cut.store(true, Ordering::SeqCst);
            end.hang_up();
            // Wakes whoever accepts there, to see that it is over.
            let _ = TcpStream::connect(end.at);
        }
        self.accepting.drain(..).for_each(|thread| thread.join().unwrap());
        // Those that came in between.
        self.ends.iter().for_each(|end| end.hang_up());
        // A child that another test starts holds what this process had open until it is its own program.
        poll("nobody answers", || self.ends.iter().all(|end| TcpStream::connect(end.at).is_err()));
    }

    pub fn heal(&mut self) {
        for end in &self.ends {
            let listener = TcpListener::bind(end.at).unwrap();
            end.is_cut.store(false, Ordering::SeqCst);
            end.loses_answers.store(false, Ordering::SeqCst);
            let end = end.clone();
            self.accepting.push(std::thread::spawn(move || accept(&listener, &end)));
        }
    }

    /// Answers to what this machine calls are lost from here on.
    pub fn lose_answers(&self, caller: usize) {
        self.ends[caller].loses_answers.store(true, Ordering::SeqCst);
    }

    /// From here on everything takes so long each way.
    pub fn slow(&self, each_way: Duration) {
        let millis = u64::try_from(each_way.as_millis()).unwrap();
        self.ends.iter().for_each(|end| end.delay.store(millis, Ordering::SeqCst));
    }

    /// Waits until one was.
    pub fn until_lost(&self, caller: usize) {
        poll("an answer was lost", || self.ends[caller].lost.load(Ordering::SeqCst) > 0);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.accepting.is_empty() {
            self.cut();
        }
    }
}

impl End {
    fn hang_up(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, end: &Arc<End>) {
    for caller in listener.incoming() {
        if end.is_cut.load(Ordering::SeqCst) {
            return;
        }
        let caller = caller.unwrap();
        // A machine that is down refuses, through a wire as without one.
        let Some(called) = http::connect(end.from, end.to) else { continue };
        called.set_read_timeout(None).unwrap();
        let twice = |stream: &TcpStream| stream.try_clone().unwrap();
        end.open.lock().unwrap().extend([twice(&caller), twice(&called)]);
        let (back, forth) = ((twice(&called), twice(&caller)), (caller, called));
        let (asks, answers) = (end.clone(), end.clone());
        std::thread::spawn(move || pump(forth, &asks, false));
        std::thread::spawn(move || pump(back, &answers, true));
    }
}

fn until_it_is_there(end: &End) {
    std::thread::sleep(Duration::from_millis(end.delay.load(Ordering::SeqCst)));
}

fn pump((mut from, mut to): (TcpStream, TcpStream), end: &End, answers: bool) {
    let mut piece = [0; 16_384];
    while let Ok(n @ 1..) = from.read(&mut piece) {
        if answers && end.loses_answers.load(Ordering::SeqCst) {
            end.lost.fetch_add(1, Ordering::SeqCst);
            break;
        }
        until_it_is_there(end);
        if to.write_all(&piece[..n]).is_err() {
            break;
        }
    }
    // Whichever side has ended, the other hears of it.
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
