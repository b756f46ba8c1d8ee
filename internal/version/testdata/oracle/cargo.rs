// Adds to each pair on standard input the sign of its comparison by the semver
// crate, without build metadata as requirements are matched; leaves out what it
// does not read.
use semver::Version;
use std::io::BufRead;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (a, b) = line.split_once('\t').unwrap();
        if let (Ok(left), Ok(right)) = (Version::parse(a), Version::parse(b)) {
            println!("{a}\t{b}\t{}", left.cmp_precedence(&right) as i8);
        }
    }
}
