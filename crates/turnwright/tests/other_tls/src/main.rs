//! A program that uses reqwest with its default TLS beside Turnwright.

use turnwright::models::fetch::Fetcher;
use turnwright::models::http::Client;

fn main() {
    reqwest::Client::builder().no_proxy().build().expect("reqwest's default TLS");
    Client::builder().no_proxy().build().expect("Turnwright's TLS");
    Fetcher::builder().build().expect("Turnwright's TLS");
    println!("both");
}
