//! The list of a large fleet, of which some hang, each in its way: it is there when the time limit of
//! one machine is over, and names those that did not answer.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, SOON, poll};

/// What a machine that is there may take.
const LIMIT: Duration = Duration::from_secs(4);
/// What the command itself and a busy machine may add.
const MORE: Duration = Duration::from_millis(1_500);

/// How a made-up machine answers.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// As a daemon of before greetings.
    Well,
    /// It takes the connection, and says nothing.
    Never,
    /// A byte of its head in each second.
    DripsHead,
    /// A byte of its body in each second.
    DripsBody,
    /// A page with a script, whatever was asked.
    Page,
    /// More sessions than anybody has.
    Endless,
}

/// Machines that only look like ones; gone when dropped.
struct Crowd {
    end: Arc<AtomicBool>,
    doors: Vec<(JoinHandle<()>, std::net::SocketAddr)>,
}

impl Crowd {
    fn new() -> Crowd {
        Crowd { end: Arc::default(), doors: Vec::new() }
    }

    fn add(&mut self, address: IpAddr, port: u16, how: How) {
        let door = TcpListener::bind((address, port)).unwrap();
        let at = door.local_addr().unwrap();
        let end = self.end.clone();
        let accept = move || {
            let mut open = Vec::new();
            while let Ok((stream, _)) = door.accept() {
                if end.load(Ordering::Relaxed) {
                    break;
                }
                let end = end.clone();
                open.push(std::thread::spawn(move || answer(stream, how, &end)));
            }
            open.into_iter().for_each(|answered| answered.join().unwrap());
        };
        self.doors.push((std::thread::spawn(accept), at));
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for (door, at) in self.doors.drain(..) {
            // Wakes it.
            let _ = TcpStream::connect(at);
            door.join().unwrap();
        }
    }
}

fn answer(mut stream: TcpStream, how: How, end: &AtomicBool) {
    let mut asked = [0; 4_096];
    stream.set_read_timeout(Some(SOON)).unwrap();
    let Ok(n) = stream.read(&mut asked) else { return };
    let asked = String::from_utf8_lossy(&asked[..n]).into_owned();
    let (status, body) = match asked.starts_with("GET /v1/sessions ") {
        true => ("200 OK", json!({"sessions": [{"name": "s", "harness": "command", "state": "idle", "dir": "/"}]})),
        false => ("404 Not Found", json!({"error": "there is nothing"})),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    match how {
        // That the other end is gone already is its own affair.
        How::Well => drop(stream.write_all(format!("{head}{body}").as_bytes())),
        How::Page => {
            let page = "<script>alert(1)</script>";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n", page.len());
            drop(stream.write_all(format!("{head}Connection: close\r\n\r\n{page}").as_bytes()));
        }
        How::Endless => {
            let one = "{\"name\":\"x\"},";
            let body = format!("{{\"sessions\":[{}{{\"name\":\"y\"}}]}}", one.repeat(5_000));
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
            drop(stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()));
        }
        How::Never => while !until_over(end) {},
        How::DripsHead => drip(&mut stream, &head, end),
        How::DripsBody => {
            stream.write_all(head.as_bytes()).unwrap();
            drip(&mut stream, &body, end);
        }
    }
}

/// A byte in each second, until all is over.
fn drip(stream: &mut TcpStream, text: &str, end: &AtomicBool) {
    for byte in text.bytes() {
        if stream.write_all(&[byte]).is_err() || until_over(end) {
            return;
        }
    }
}

/// Waits for the end, a second at most; whether it has come.
fn until_over(end: &AtomicBool) -> bool {
    for _ in 0..20 {
        if end.load(Ordering::Relaxed) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn a_list_of_fifty_machines_of_which_ten_hang_is_there_when_the_limit_of_one_is_over() {
    let mut lab = Lab::idle(&["home"]);
    let IpAddr::V4(own) = lab[0].address else { panic!("an IPv4 lab") };
    let [a, b, c, _] = own.octets();
    let mut crowd = Crowd::new();
    let mut known = vec![("home".to_string(), lab[0].address)];
    for n in 0..50u8 {
        let how = match n {
            0..5 => How::Never,
            5..8 => How::DripsHead,
            8..10 => How::DripsBody,
            _ => How::Well,
        };
        let address = IpAddr::V4(Ipv4Addr::new(a, b, c, 100 + n));
        crowd.add(address, lab[0].port, how);
        known.push((format!("m{n:02}"), address));
    }
    lab[0].know(&known);
    lab[0].start();
    lab[0].add("mine", lab.dir.path(), &["true"]);
    let begun = Instant::now();
    let said = lab[0].cli(&["a2a", "list"]);
    let took = begun.elapsed();
    let agents: Vec<&str> = said.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    let expected: Vec<String> =
        ["home/mine".to_string()].into_iter().chain((10..50).map(|n| format!("m{n}/s"))).collect();
    assert_eq!(agents, expected, "{said:?}");
    let silent: Vec<&str> = said.err.lines().filter(|line| line.contains("is unreachable")).collect();
    assert_eq!(silent.len(), 10, "{said:?}");
    for n in 0..10 {
        assert!(silent.iter().any(|line| line.contains(&format!("m{n:02} is unreachable (never seen"))), "{silent:?}");
    }
    println!("50 machines of which 10 hang: listed after {:.2} s, the limit of one is 4 s", took.as_secs_f64());
    assert!(took < LIMIT + MORE, "{took:?}");
    assert!(took > LIMIT - Duration::from_millis(100), "the ten had their time: {took:?}");
    // Those that answered were seen, and it is said when they are away.
    drop(crowd);
    poll("all are away", || {
        let fleet = lab[0].get("/v1/fleet").json();
        fleet["machines"].as_array().unwrap().iter().filter(|m| m["reachable"] == json!(true)).count() == 1
    });
    let fleet = lab[0].get("/v1/fleet").json();
    let seen: Vec<bool> = fleet["machines"].as_array().unwrap().iter().map(|m| m["last_seen"] != Value::Null).collect();
    assert_eq!(seen.iter().filter(|seen| **seen).count(), 40, "{fleet}");
    let said = lab[0].cli(&["a2a", "list"]);
    assert_eq!(said.err.matches("(last seen 20").count(), 40, "{said:?}");
    assert_eq!(said.err.matches("(never seen from here)").count(), 10, "{said:?}");
}

#[test]
fn what_another_machine_answers_is_never_a_page_and_never_endless() {
    let mut lab = Lab::idle(&["home"]);
    let IpAddr::V4(own) = lab[0].address else { panic!("an IPv4 lab") };
    let [a, b, c, _] = own.octets();
    let mut crowd = Crowd::new();
    let mut known = vec![("home".to_string(), lab[0].address)];
    for (n, (name, how)) in
        [("page", How::Page), ("endless", How::Endless), ("well", How::Well)].into_iter().enumerate()
    {
        let address = IpAddr::V4(Ipv4Addr::new(a, b, c, 200 + n as u8));
        crowd.add(address, lab[0].port, how);
        known.push((name.to_string(), address));
    }
    lab[0].know(&known);
    lab[0].start();
    let page = lab[0].get("/v1/machines/page/anything");
    assert_eq!(page.status, 502, "{page:?}");
    assert!(!page.body.contains("script"), "{page:?}");
    for path in ["/v1/machines/page/anything", "/v1/machines/well/sessions", "/v1/status", "/nowhere"] {
        let head = lab[0].get(path).head.to_lowercase();
        assert!(head.contains("x-content-type-options: nosniff"), "{path}: {head}");
        assert!(head.contains("content-security-policy: default-src 'none'"), "{path}: {head}");
    }
    let fleet = lab[0].get("/v1/fleet").json();
    let of = |name: &str| fleet["machines"].as_array().unwrap().iter().find(|m| m["machine"] == name).unwrap().clone();
    assert_eq!(of("endless")["sessions"], json!([]));
    assert!(of("endless")["why"].as_str().unwrap().contains("5001 sessions"), "{}", of("endless"));
    assert_eq!(of("well")["sessions"][0]["name"], "s");
}
