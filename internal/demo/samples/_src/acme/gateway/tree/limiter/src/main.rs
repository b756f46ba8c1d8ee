//! A token bucket per caller, read by the gateway over a socket.

use smallvec::SmallVec;

/// Calls of one caller within the window, in milliseconds.
struct Bucket {
    calls: SmallVec<[u64; 8]>,
}

impl Bucket {
    fn allow(&mut self, now: u64, limit: usize) -> bool {
        self.calls.retain(|t| now - *t < 1000);
        if self.calls.len() >= limit {
            return false;
        }
        self.calls.push(now);
        true
    }
}

fn main() {
    let mut bucket = Bucket { calls: SmallVec::new() };
    let allowed = (0..10).filter(|n| bucket.allow(*n, 5)).count();
    println!("{}", allowed);
}
