//! Sends the request and follows redirects. Each target is checked like the first URL.

use std::io;

use reqwest::Response;
use reqwest::header::{HeaderValue, LOCATION};
use turnwright_core::Error;
use url::{Host, Url};

use super::failure::{denied, stop, too_slow, unanswered};
use super::guard::check_form;
use super::reader::HttpReader;

/// Returns the first response that is not a redirect, with its host.
pub(super) async fn get(reader: &HttpReader) -> io::Result<(String, Response)> {
    let mut url = reader.url.clone();
    let mut with_headers = true;
    for _ in 0..=reader.limits.max_redirects {
        let guard = &reader.fetcher.shared().guard;
        guard.check_url(&url).map_err(stop)?;
        let response = send(reader, &url, with_headers).await?;
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok((shown_host(&url), response));
        }
        let next = target(&url, response.headers().get(LOCATION)).map_err(stop)?;
        // Also for later hops: the URL was chosen by the server that redirected back here.
        with_headers &= next.origin() == url.origin();
        url = next;
    }
    let host = shown_host(&reader.url);
    let message = format!("{host} redirects too often: raise the limit with `max_redirects`");
    Err(io::Error::other(message))
}

async fn send(reader: &HttpReader, url: &Url, with_headers: bool) -> io::Result<Response> {
    let shared = reader.fetcher.shared();
    let mut request = shared.http.get(dialled(reader, url));
    if let Some((name, value)) = reader.accept() {
        request = request.header(name, value);
    }
    if with_headers {
        // These replace headers of the same name.
        request = request.headers(reader.headers.clone());
    }
    let limits = &reader.limits;
    let limit = limits.connect_timeout.saturating_add(limits.idle_timeout);
    match tokio::time::timeout(limit, request.send()).await {
        Ok(answer) => answer.map_err(|error| unanswered(&shown_host(url), error)),
        Err(_) => Err(too_slow(&shown_host(url), "idle_timeout")),
    }
}

/// Returns the target of a redirect.
pub(super) fn target(url: &Url, location: Option<&HeaderValue>) -> Result<Url, Error> {
    let host = shown_host(url);
    let invalid_target = || denied(format!("{host} redirects to an invalid URL"));
    let location = location.ok_or_else(invalid_target)?;
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| invalid_target())?;
    let next = url.join(location).map_err(|_| invalid_target())?;
    check_form(&next)?;
    if url.scheme() == "https" && next.scheme() == "http" {
        let message = format!("{host} redirects from `https` to `http`, which is not followed");
        return Err(denied(message));
    }
    Ok(next)
}

/// Returns the URL for the client. The client dials an IP address in a URL without the resolver, so the address
/// mapping of tests is applied here.
fn dialled(reader: &HttpReader, url: &Url) -> Url {
    let mut url = url.clone();
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    };
    if let (Some(dial), Some(address)) = (&reader.fetcher.shared().dial, address) {
        let to = dial(address);
        // Both fail only for a URL without a host.
        let _ = url.set_ip_host(to.ip());
        let _ = url.set_port(Some(to.port()));
    }
    url
}

/// Returns the only part of a URL that is shown.
pub(super) fn shown_host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
