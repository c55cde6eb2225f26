//! Recordings of real servers, which are not part of this repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use turnwright_models::http::{Request, Transport as _};
use turnwright_testkit::cassette::Cassette;
use url::Url;

use super::{on_disk, read};

#[tokio::test]
async fn recordings_of_real_servers_are_replayed() {
    let Some(root) = wire() else { return };
    let mut folders = vec![root];
    let (mut files, mut played) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|item| item == "json") {
                played += play_all(&path).await;
                files += 1;
            }
        }
    }
    assert!(files > 0 && played > 0, "there is nothing in it");
    crate::say(format_args!("played {played} recordings of {files} files"));
}

async fn play_all(path: &Path) -> usize {
    let cassette = Cassette::replay(path).unwrap();
    let (mut played, mut left) = (0, 0);
    for entry in on_disk(path).as_array().unwrap() {
        let (request, response) = (&entry["request"], &entry["response"]);
        if request["method"] != "POST" {
            left += 1;
            continue;
        }
        let url = format!(
            "https://models.example{}",
            request["path"].as_str().unwrap()
        );
        let asked = Request::new(Url::parse(&url).unwrap(), request["body"].to_string());
        let got = cassette.send(asked).await.unwrap();
        assert_eq!(json!(got.status), response["status"]);
        assert_eq!(
            got.header("content-type"),
            response["headers"]["content-type"].as_str()
        );
        let (bytes, broken) = read(got.body).await;
        assert_eq!(bytes, response["body"].as_str().unwrap().as_bytes());
        assert!(broken.is_none());
        played += 1;
    }
    assert_eq!(cassette.unused().len(), left, "{}", path.display());
    played
}

fn wire() -> Option<PathBuf> {
    let separate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    let root = std::env::var_os("TURNWRIGHT_WIRE").map_or(separate, PathBuf::from);
    if !root.is_dir() {
        let place = root.display();
        crate::say(format_args!(
            "SKIPPED: there are no recordings of real servers at {place}; set TURNWRIGHT_WIRE"
        ));
        return None;
    }
    Some(root)
}
